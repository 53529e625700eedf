import FerryCore
import FerryMerge
import FerrySchema

/// Records how objects of a solved region are shown: states, anomalies and the members of rows.
extension RegionWriter {
    /// The former members of rows. Caches the sets of large classes: all of their members ask for the same set.
    final class FormerMembers {
        private var known: [RowToken: Set<ObjectID>] = [:]

        func of(_ object: RegionObject) -> Set<ObjectID> {
            if object.formerMembers.count < 8 { return Set(object.formerMembers) }
            if let members = known[object.token] { return members }
            let members = Set(object.formerMembers)
            known[object.token] = members
            return members
        }
    }

    func record(_ object: RegionObject, _ formerMembers: FormerMembers) throws {
        var state = object.state
        let values = object.values
        if let representative = object.representative, !representative.others.isEmpty {
            try recordDifferences(object, representative, values, state.registers, formerMembers)
        }
        if object.isShown {
            state.kept = try keptBesideRow(object, values)
            state.shown = isAnomalous(object, values) ? .anomalousRow : .row
        } else {
            if object.hasRow {
                state.kept.fields = values
                if object.table.isMapped, let key = state.key.first { state.kept.key = key }
            }
            // An object without a row keeps a key with referring rows.
            state.key = try KeyReservations(access).retained(state.key, by: state, in: object.table)
            state.shown = object.isJoined ? .joined : object.outcome == .gone ? .none : .hidden
        }
        let objects = access.objects(of: object.table.id)
        objects.renewCheck(of: &state, row: values)
        try objects.save(state)
        let reason =
            try !state.shown.isAnomalous
            ? nil : AnomalyCauses(access).reason(for: object, joinedBy: region.cause(of: object))
        try access.anomalies.record(
            object.token, reason, tokens: reason == nil ? [] : anomalyTokens(object),
            check: reason == nil ? 0 : toldCheck(object, state.shown))
        if object.outcome == .gone { try TombstoneParentKeys(access).note(state, object.table) }
        // A later row with the integer has the same claim, and no row shows the claim.
        if try givenKeys.areAny(in: values, object.table) {
            for claim in object.claims { try access.anomalyTokens.note(claim.token, concerns: object.token) }
        }
    }

    /// The checksum of how an object is shown, as other devices hear of it: a row that stays on this device hides nothing then.
    private func toldCheck(_ object: RegionObject, _ shown: Visibility) throws -> UInt64 {
        guard let assumed, let other = assumed[object.token] else { return try shownCheck(object, shown) }
        var shown = Visibility.hidden
        if other.isShown {
            shown = isAnomalous(other, other.values) ? .anomalousRow : .row
        } else if other.isJoined {
            shown = .joined
        } else if other.outcome == .gone {
            shown = .none
        }
        return try RegionWriter(access, assumed).shownCheck(other, shown)
    }

    /// The checksum of how an object is shown.
    func shownCheck(_ object: RegionObject, _ shown: Visibility) throws -> UInt64 {
        let checks = access.objects(of: object.table.id).shownChecks
        switch shown {
        case .none, .row: return 0
        case .hidden: return checks.ofHidden(object.token.id)
        case .joined: return checks.ofJoined(object.token.id, to: (object.representative ?? object).token.id)
        case .anomalousRow: break
        }
        let isDeleted = !object.state.registers.isAlive
        let row = region.displayedRow(of: object)
        var shown: [(column: Int, value: FieldValue)] = []
        for column in object.table.localColumns {
            let source = row.source(column.id)
            let action = source.clearedColumns[column.id]
            guard isDeleted || action != nil || source !== object,
                source.state.registers.stamp(of: column.id) != nil, let value = row.values[column.id]
            else { continue }
            shown.append((column.id, try action.map { try portableDefault($0, column, source.table) } ?? value))
        }
        return checks.ofRow(object.token.id, isDeleted: isDeleted, shown: shown)
    }

    /// The portable value shown under SET NULL or SET DEFAULT.
    private func portableDefault(
        _ action: ForeignKeyAction, _ column: TrackedColumn, _ table: TrackedTable
    ) throws -> FieldValue {
        let value = try cleared(action, column.id, table)
        guard value != .null, let parent = column.reference else { return value }
        return try access.objects(of: parent).object(forKey: value).map { .reference($0) } ?? value
    }

    /// The shadow values of a shown object: columns missing from the row, cleared references, and values replaced by a
    /// different object's or a representative's.
    private func keptBesideRow(_ object: RegionObject, _ values: ColumnValues) throws -> ShadowValues {
        let row = region.displayedRow(of: object)
        var kept = ShadowValues()
        for (column, value) in values {
            let source = row.source(column)
            if source.clearedColumns[column] != nil || row.values[column] != value
                || !object.table.columns[column].isLocal
            {
                kept.fields[column] = value
            }
        }
        kept.fields = kept.fields.overlaid(with: try KeyReservations(access).misleading(values, object.table))
        if let converted = object.table.convertedValues(values) {
            kept.fields = kept.fields.overlaid(with: converted)
        }
        return kept
    }

    /// Records as conflicts the values of an object the unified row does not show, when the object joins the row.
    private func recordDifferences(
        _ object: RegionObject, _ representative: RegionObject, _ values: ColumnValues, _ registers: ObjectRegisters,
        _ formerMembers: FormerMembers
    ) throws {
        let former = formerMembers.of(representative)
        let isNew =
            object.isJoined
            ? !former.contains(object.token.id) : representative.others.contains { !former.contains($0.token.id) }
        guard isNew else { return }
        let row = region.displayedRow(of: representative)
        let resolved = region.resolvedValues(of: object)
        for (column, value) in values where !object.table.keyColumnIDs.contains(column) {
            // References to unified rows count as equal.
            guard let shown = row.values[column], shown != value, shown != resolved[column],
                let lost = registers.stamp(of: column),
                let kept = row.source(column).state.registers.stamp(of: column)
            else { continue }
            try ConflictLog(access.conflicts).record(
                .joined, of: object.token, column: column,
                lost: (value, lost),
                kept: (shown, kept))
        }
    }

    private func isAnomalous(_ object: RegionObject, _ values: ColumnValues) -> Bool {
        if !object.others.isEmpty || object.isRevived || !object.clearedColumns.isEmpty { return true }
        let shown = region.displayedRow(of: object).values
        return object.table.telltaleColumns.contains { shown[$0] != values[$0] }
    }

    /// The tokens that find this object later: everything it refers to or claims, and its parent keys. Own values
    /// count, visible values, and any value the object had while the rules ran. Objects unified for a value in between
    /// stay unified, though the row shows something different.
    private func anomalyTokens(_ object: RegionObject) throws -> Set<RowToken> {
        var tokens = Set(object.references.map(\.token) + object.claims.map(\.token) + object.parentKeys)
        // If a target through a further table's foreign keys is unified, the reference may mean an object.
        let values = object.table.referenceColumns.isEmpty ? [:] : object.values
        for column in object.table.referenceColumns {
            guard let parent = column.reference, case .reference(let id)? = values[column.id] else { continue }
            tokens.insert(RowToken(table: parent, id: id))
        }
        tokens.formUnion(try defaultTargets(object))
        tokens.formUnion(try region.shownTokens(of: object))
        // An object with such a token of its own may come later.
        tokens.formUnion(region.awaitedTargets(of: object))
        tokens.formUnion(object.passingClaims)
        tokens.formUnion(try region.ownClaims(of: object))
        return tokens
    }

    /// Records the objects shown by each row.
    func recordClasses() throws {
        for object in region.objects { try access.unified.forget(object.token) }
        for object in region.objects where object.isShown {
            for member in object.others {
                try access.unified.note(member.token.id, isShownBy: object.token)
            }
        }
        for object in region.objects where object.isShown && object.table.hasReferencesInKey {
            let shown = region.displayedRow(of: object).values
            let key = object.table.derivedID(of: shown)
            if key != object.token.id { try access.unified.note(key, isShownBy: object.token, asAlias: true) }
            if let mistaken = try givenKeys.mistakenID(shown, object.table), mistaken != object.token.id {
                try access.unified.note(mistaken, isShownBy: object.token, asAlias: true)
            }
        }
    }
}
