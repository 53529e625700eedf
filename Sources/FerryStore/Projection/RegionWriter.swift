import FerryCore
import FerryMerge

/// Writes the rows, states and anomalies of a solved region.
///
/// Rows are deleted first, then keys are assigned, then rows updated and inserted. States and anomalies come last, and
/// only after every row was accepted. On an error, the caller rolls back the savepoint and solves again.
struct RegionWriter {
    let access: StoreAccess
    let region: DependencyRegion
    private let givenKeys: GivenKeys
    private var connection: SQLConnection { access.connection }

    init(_ access: StoreAccess, _ region: DependencyRegion) {
        self.access = access
        givenKeys = GivenKeys(access)
        self.region = region
    }

    /// Thrown if the schema refuses rows, with the reasons: rule 4. Holds all objects of a round at once, so the order
    /// of writing decides nothing.
    struct Refused: Error {
        var reasons: [RowToken: RefusalCause] = [:]

        mutating func add(_ object: RegionObject, _ message: String) {
            for member in object.members { reasons[member.token] = .schema(message) }
        }
    }

    /// Thrown if rows are refused as not unique, because different rows hold claims unknown to the rules.
    struct TakenRows: Error {
        /// The holders of the claims.
        var values: [LearnedClaims.TakenValue] = []
        /// For all objects of the rows.
        var reasons: [RowToken: RefusalCause] = [:]
    }

    /// Thrown if the schema refuses rows outside of the region that refer to an object of the region by its new key. The
    /// rules must decide about such rows too.
    struct RefusedOutside: Error {
        var rows: [RowToken]
    }

    /// Thrown if objects get keys different from those assumed by the rules, and claims depend on the keys.
    struct OtherKeys: Error {
        var keys: [RowToken: FieldValue] = [:]
    }

    /// - Returns: the number of rows written.
    func write() throws -> Int {
        var written = 0
        var insertions: [RegionObject] = []
        var refused = Refused()
        var taken: [(object: RegionObject, message: String)] = []
        for object in region.objects where !object.isJoined {
            var state = object.state
            if state.shown != .joined { continue }
            // Unchecked references ask the state for the representative: no row stands for this object any more.
            state.shown = .none
            try access.objects(of: object.table.id).save(state)
            object.state = state
        }
        for object in region.objects where object.hasRow && !object.isShown {
            try delete(object)
            written += 1
        }
        // Objects getting a row get a key first, so references to them can be written. Integer keys come before keys
        // containing them.
        let appearing = region.objects.filter { $0.isShown && !$0.hasRow }
        var moves: [(object: RegionObject, former: FieldValue)] = []
        for object in appearing where object.table.isMapped {
            if let former = try assignKey(object) { moves.append((object, former)) }
        }
        try checkClaims(of: appearing)
        for object in appearing where !object.table.isMapped { try assignKey(object) }
        insertions += appearing
        for object in region.objects where object.isShown && object.hasRow {
            let changes = try differences(object)
            if changes.isEmpty { continue }
            written += 1
            guard
                let refusal = try access.writer(of: object.table.id).update(
                    key: object.state.key, changes, of: object.token.id)
            else {
                if !object.table.isMapped { try assignKey(object) }
                continue
            }
            // The value is still held by a row about to release the value. The row is deleted, and inserted again after
            // all releases.
            if !refusal.isTakenValue {
                refused.add(object, refusal.message)
            } else if let failure = try access.writer(of: object.table.id).delete(
                key: object.state.key, of: object.token.id)
            {
                refused.add(object, failure.message)
            } else {
                insertions.append(object)
                if !object.table.isMapped { try assignKey(object) }
            }
        }
        // Oldest first: if two rows have a claim the rules could not see, the oldest is present when the second is
        // refused.
        for object in oldestFirst(insertions) {
            if let refusal = try insert(object) {
                if refusal.isTakenValue {
                    taken.append((object, refusal.message))
                } else {
                    refused.add(object, refusal.message)
                }
            }
            written += 1
        }
        // A value may be taken only because a further object's row was refused. The next round decides.
        if !refused.reasons.isEmpty { throw refused }
        if !taken.isEmpty { throw try takenRows(taken) }
        for (object, former) in moves {
            guard let key = object.state.key.first else { continue }
            let unmoved = try KeyReservations(access).moveReferences(
                to: object.token.id, in: object.table, from: former, to: key, besides: { region[$0] != nil })
            if !unmoved.isEmpty { throw RefusedOutside(rows: unmoved.map(\.row)) }
        }
        let formerMembers = FormerMembers()
        for object in region.objects { try record(object, formerMembers) }
        try recordClasses()
        return written
    }

    /// Finds the holders of these objects' claims.
    private func takenRows(_ taken: [(object: RegionObject, message: String)]) throws -> TakenRows {
        var rows = TakenRows()
        let search = TakenValues(access, region)
        for (object, message) in taken {
            rows.values += try search.find(object, rowValues(object))
            for member in object.members { rows.reasons[member.token] = .schema(message) }
        }
        return rows
    }

    private func checkClaims(of appearing: [RegionObject]) throws {
        var others = OtherKeys()
        for object in appearing {
            guard object.table.hasIndexOnKey, region.wantedKeys[object.token] == nil, let key = object.state.key.first
            else { continue }
            if try region.claimsChange(of: object, under: key) { others.keys[object.token] = key }
        }
        if !others.keys.isEmpty { throw others }
    }

    private func oldestFirst(_ objects: [RegionObject]) -> [RegionObject] {
        let ages = objects.map { (object: $0, inserted: $0.state.registers.inserted) }
        return ages.sorted { left, right in
            if left.inserted != right.inserted, let a = left.inserted, let b = right.inserted {
                return a.isOlder(than: b)
            }
            return left.object.token.id < right.object.token.id
        }.map(\.object)
    }

    private func delete(_ object: RegionObject) throws {
        if let refusal = try access.writer(of: object.table.id).delete(key: object.state.key, of: object.token.id) {
            throw FerryError(
                .database, "A row of \(object.table.name) cannot be removed: \(refusal.message). A trigger forbids it.")
        }
        var state = object.state
        guard object.table.isMapped, let key = state.key.first else { return }
        // The key is free for use from now on, unless rows go on referring to the key.
        state.kept.key = key
        if try !KeyReservations(access).isInUse(key, of: object.table) { state.key = [] }
        state.shown = .none
        try access.objects(of: object.table.id).save(state)
        object.state = state
    }

    /// - Returns: the placeholder key by which rows outside of the region may refer to the object.
    @discardableResult
    private func assignKey(_ object: RegionObject) throws -> FieldValue? {
        if object.table.isMapped {
            guard let (key, former) = try KeyReservations(access).keyForRow(of: object.state, in: object.table) else {
                var taken = TakenRows()
                for member in object.members { taken.reasons[member.token] = .takenKey }
                if let wish = object.state.kept.key {
                    taken.values += try [TakenValues(access, region).findHolder(of: wish, for: object)].compactMap {
                        $0
                    }
                }
                throw taken
            }
            var state = object.state
            state.key = [key]
            // Saved at once: the next allocation must see the key, and references look the key up.
            state.shown = .row
            try access.objects(of: object.table.id).save(state)
            object.state = state
            return former
        }
        let row = region.displayedRow(of: object)
        object.state.key = try object.table.keyColumnIDs.map { column in
            try local(row.values[column] ?? .null, column, row.source(column)) ?? .null
        }
        return nil
    }

    /// The local value of a row's portable value.
    /// - Parameter source: the object providing the value.
    private func local(_ value: FieldValue, _ column: Int, _ source: RegionObject) throws -> FieldValue? {
        if let action = source.clearedColumns[column] { return try cleared(action, column, source.table) }
        guard case .reference(let target) = value else { return value }
        guard let parent = source.table.columns[column].reference else { return .null }
        return try key(of: target, in: parent, source.table.columns[column]).map(source.table.columns[column].kept)
    }

    /// The key by which a column refers to an object.
    private func key(of target: ObjectID, in parent: Int, _ column: TrackedColumn) throws -> FieldValue? {
        let member = region[RowToken(table: parent, id: target)].map { $0.representative ?? $0 }
        if column.isUnchecked {
            if let member, member.isShown, let key = member.state.key.first { return key }
            // A row may meanwhile have taken the key reserved for an object without a row, after all references were
            // gone.
            let key = try KeyReservations(access).key(of: member?.token.id ?? target, in: access.registry[parent])
            member?.state.key = [key]
            return key
        }
        if let member { return member.state.key.first ?? .null }
        return try access.objects(of: parent).place(of: target)?.key ?? .null
    }

    /// The value shown under SET NULL or SET DEFAULT. A default without a parent row shows NULL.
    private func cleared(_ action: ForeignKeyAction, _ column: Int, _ table: TrackedTable) throws -> FieldValue {
        guard action == .setDefault, let value = try access.defaultValue(of: table.columns[column]), value != .null,
            let key = table.foreignKeys.first(where: { $0.columns == [column] })
        else { return .null }
        let parent = access.registry[key.parent]
        // Some rows of the region are not written yet.
        if let token = defaultTarget(value, key), let member = region[token] { return member.isShown ? value : .null }
        let isThere = try connection.count(
            "SELECT EXISTS(SELECT 1 FROM \(quoted(parent.name)) WHERE \(parent.keyCondition(first: 1)))", value)
        return isThere != 0 ? value : .null
    }

    /// The object a default refers to; `nil` for an integer key of this device.
    private func defaultTarget(_ value: FieldValue, _ key: TrackedForeignKey) -> RowToken? {
        guard case .key = key.target else { return nil }
        return RowToken(table: key.parent, id: access.registry[key.parent].derivedID([value]))
    }

    /// The targets of defaults the object's row shows or would show. If such a target comes, the row changes.
    private func defaultTargets(_ object: RegionObject) throws -> [RowToken] {
        try object.clearedColumns.compactMap { column, action in
            guard action == .setDefault, let value = try access.defaultValue(of: object.table.columns[column]),
                value != .null,
                let key = object.table.foreignKeys.first(where: { $0.columns == [column] })
            else { return nil }
            return defaultTarget(value, key)
        }
    }

    /// The local values an object's row must show.
    func rowValues(_ object: RegionObject) throws -> [(column: Int, value: FieldValue)] {
        let row = region.displayedRow(of: object)
        var values: [(column: Int, value: FieldValue)] = []
        for column in object.table.localColumns {
            // Unknown values are left out: the default applies.
            guard let value = row.values[column.id] else { continue }
            if let shown = try local(value, column.id, row.source(column.id)) { values.append((column.id, shown)) }
        }
        return values
    }

    /// The columns of the present row with a value to change.
    private func differences(_ object: RegionObject) throws -> [(column: Int, value: FieldValue)] {
        let present = try access.reader(of: object.table.id).read(object.state.key) ?? [:]
        return try rowValues(object).filter { column, value in
            let shown = present[column]
            return shown != value && shown != value.taken(by: object.table.columns[column].affinity)
        }
    }

    private func insert(_ object: RegionObject) throws -> RowWriter.Refusal? {
        let key = object.table.isMapped ? object.state.key.first : nil
        return try access.writer(of: object.table.id).insert(key: key, rowValues(object))
    }

    // MARK: State and exceptions

    /// The former members of rows. Caches the sets of large classes: all of their members ask for the same set.
    private final class FormerMembers {
        private var known: [RowToken: Set<ObjectID>] = [:]

        func of(_ object: RegionObject) -> Set<ObjectID> {
            if object.formerMembers.count < 8 { return Set(object.formerMembers) }
            if let members = known[object.token] { return members }
            let members = Set(object.formerMembers)
            known[object.token] = members
            return members
        }
    }

    private func record(_ object: RegionObject, _ formerMembers: FormerMembers) throws {
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
            object.token, reason, tokens: reason == nil ? [] : anomalyTokens(object), check: shownCheck(object, state))
        if object.outcome == .gone { try TombstoneParentKeys(access).note(state, object.table) }
        // A later row with the integer has the same claim, and no row shows the claim.
        if try givenKeys.areAny(in: values, object.table) {
            for claim in object.claims { try access.anomalyTokens.note(claim.token, concerns: object.token) }
        }
    }

    /// The checksum of how an object is shown.
    private func shownCheck(_ object: RegionObject, _ state: ObjectState) throws -> UInt64 {
        let checks = access.objects(of: object.table.id).shownChecks
        switch state.shown {
        case .none, .row: return 0
        case .hidden: return checks.ofHidden(object.token.id)
        case .joined: return checks.ofJoined(object.token.id, to: (object.representative ?? object).token.id)
        case .anomalousRow: break
        }
        let isDeleted = !state.registers.isAlive
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
    private func recordClasses() throws {
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
