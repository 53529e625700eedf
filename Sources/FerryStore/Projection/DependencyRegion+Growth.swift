import FerryCore
import FerryMerge
import FerrySchema

/// Grows a region: adds the objects affected by a member's outcome, and the objects affecting a member.
extension DependencyRegion {
    // MARK: Before solving the rules

    /// Adds the surroundings of all objects, whatever their outcomes, until no object is missing.
    ///
    /// A chain of rows referring to each other by CASCADE is added whole. If the chain grew by a row for each solving,
    /// its length would count twice.
    func expand() throws {
        while expandedCount < objects.count {
            let index = expandedCount
            expandedCount += 1
            try expand(objects[index])
            guard objects[index].hasRow, isExpectedHidden(objects[index]) else { continue }
            expectedHidden.insert(index)
            try addDependents(objects[index]) { $0.action == .cascade }
        }
    }

    /// True if an object refers by CASCADE to a member without a row after solving.
    private func isExpectedHidden(_ object: RegionObject) -> Bool {
        object.references.contains { place, target in
            let key = object.table.foreignKeys[place]
            guard key.action == .cascade, let parent = self.place(of: target) else { return false }
            if case .unique = key.target { return false }
            return expectedHidden.contains(parent) || parent < solvedCount && !objects[parent].outcome.isVisible
        }
    }

    /// Adds the objects related to an object's values.
    private func expand(_ object: RegionObject) throws {
        let references = object.references
        for (_, target) in references where !parentKeySearch.isNoted(target) {
            if let place = try access.objects(of: target.table).place(of: target.id) {
                if place.shown != .row { try add(target) }
            } else if let shown = try access.unified.representative(of: target.id, target.table) {
                try add(RowToken(table: target.table, id: shown))
            }
        }
        // The targets of columns through a further table's foreign keys may be unified too.
        let values = object.table.referenceColumns.isEmpty ? [:] : object.values
        for column in object.table.referenceColumns {
            guard let parent = column.reference, case .reference(let id)? = values[column.id],
                try access.objects(of: parent).place(of: id)?.shown == .joined
            else { continue }
            try add(RowToken(table: parent, id: id))
        }
        // Adds anomalous objects that wait for or claim parent keys and values of this object, present or former. Also
        // adds deleted objects with the parent keys this object refers to.
        let tokens =
            [object.token] + object.parentKeys + object.claims.map(\.token) + object.formerTokens
            + references.map(\.token).filter(parentKeySearch.isNoted)
        for token in tokens {
            for member in try access.anomalyTokens.objects(concernedBy: token) { try add(member) }
        }
    }

    // MARK: After solving the rules

    /// Adds the objects referring to a row that vanishes, loses members, or shows a changed key or parent key.
    func follow(_ object: RegionObject) throws {
        if try isNewTarget(object) { try addDependents(object) { $0.action == .none } }
        if object.followsRow || object.table.incoming.isEmpty { return }
        guard object.isShown else {
            if referring.referredKey(of: object).isEmpty { return }
            object.followsRow = true
            // Unchecked references stay as they are. Exceptions: a different row stands for the target, or this row
            // stood for further objects.
            let hasLed = !object.formerMembers.isEmpty
            return try addDependents(object) { object.isJoined || hasLed || $0.action != .none }
        }
        guard let row = object.row else { return }
        let table = object.table
        let shown = displayedRow(of: object).values
        let isKeyChanged = table.keyColumnIDs.contains { row[$0] != shown[$0] }
        // A row only gaining members leaves no references behind.
        let members = object.formerMembers.isEmpty ? [] : Set(object.members.map(\.token.id))
        let hasLost = object.formerMembers.contains { !members.contains($0) }
        if isKeyChanged || hasLost {
            object.followsRow = true
            try addDependents(object)
        } else if wavering.contains(object.place)
            // Includes changes of letter case: a reference to a different member of the row shows the row's value.
            || table.offeredKeys.contains(where: { $0.contains { row[$0] != shown[$0] } })
        {
            try addDependents(object) { if case .unique = $0.target { true } else { false } }
        }
    }

    /// True if earlier references to a new object may change their claims now (`GivenKeys`).
    private func isNewTarget(_ object: RegionObject) throws -> Bool {
        !object.hasRow && object.table.hasUncheckedReferences && GivenKeys.isPlain(object.state.givenKey)
    }

    /// Adds possible targets of references without a visible target: the objects showing the key or value the reference
    /// means after resolving its parts.
    func addResolvedTargets(of object: RegionObject) throws {
        guard let displayed else { return }
        let index = object.place
        for (place, reference) in object.references.enumerated() {
            let key = object.table.foreignKeys[reference.foreignKey]
            guard displayed.classes.target(of: index, reference: place, token: reference.token) == nil else { continue }
            let resolved = displayed.resolvedTarget(of: index, place)
            switch key.target {
            case .mapped: continue
            case .unique:
                if let resolved, resolved != reference.token, lookedUp.insert(resolved).inserted {
                    parentKeySearch.note(resolved, key, displayed.represented(object))
                    if let row = try parentKeySearch.object(offering: resolved) { try add(row) }
                    for member in try access.anomalyTokens.objects(concernedBy: resolved) { try add(member) }
                }
                continue
            case .key: break
            }
            for token in [reference.token, resolved].compactMap({ $0 })
            where lookedUp.insert(token).inserted {
                try add(token)
                if let shown = try access.unified.representative(of: token.id, token.table) {
                    try add(RowToken(table: token.table, id: shown))
                }
            }
        }
    }

    /// Adds the objects showing a claimed value, or waiting with the claim.
    /// - Parameter place: the index's position; `nil` for the key.
    func addRivals(
        _ object: RegionObject, _ claim: RowToken, _ place: Int?, _ values: ColumnValues
    ) throws {
        for member in try access.anomalyTokens.objects(concernedBy: claim) { try add(member) }
        guard let place else {
            try add(claim)
            return
        }
        for key in try uniqueClaims.holders(object.table, place, values, of: object.owner) {
            if let rival = try translator.object(object.table, key) {
                try add(RowToken(table: object.table.id, id: rival))
            }
        }
    }

    /// Adds the rows referring to the object's present row.
    func addDependents(
        _ object: RegionObject, where isWanted: (TrackedForeignKey) -> Bool = { _ in true }
    ) throws {
        for incoming in object.table.incoming
        where isWanted(access.registry[incoming.table].foreignKeys[incoming.foreignKey]) {
            for child in try referring.children(object, incoming) {
                try add(RowToken(table: incoming.table, id: child))
            }
        }
    }
}
