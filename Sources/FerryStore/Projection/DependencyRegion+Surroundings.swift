import FerryCore
import FerryMerge
import FerrySchema

/// Answers the rules' questions about a region's surroundings and about values.
extension DependencyRegion: RuleSurroundings {
    /// The object with a claim.
    struct Claimed {
        var object: Int32
        /// The index's position; -1 for the key.
        var index: Int32
        /// The claiming values; nil for the object's own values.
        var values: ClaimingValues?
    }

    final class ClaimingValues {
        let values: ColumnValues
        init(_ values: ColumnValues) { self.values = values }
    }

    func isHeldFromOutside(_ object: RegionObject) -> Bool {
        object.holders.contains { !contains($0) }
    }

    func isShownOutside(_ token: RowToken) throws -> Bool {
        if contains(token) { return false }
        if let known = providers[token] { return known.map { !contains($0) } ?? false }
        let provider = try provider(of: token)
        providers[token] = .some(provider)
        return provider.map { !contains($0) } ?? false
    }

    /// The object with a row having the parent key of a token.
    private func provider(of token: RowToken) throws -> RowToken? {
        if parentKeySearch.isNoted(token) { return try parentKeySearch.object(offering: token) }
        return try access.objects(of: token.table).place(of: token.id)?.shown.hasRow ?? false ? token : nil
    }

    private func rows(_ classes: RowClasses) -> ProjectedRows {
        if let displayed, displayed.classes.revision == classes.revision { return displayed }
        let made = ProjectedRows(objects, classes, access.registry)
        displayed = made
        return made
    }

    func claims(of index: Int, _ classes: RowClasses) throws -> [RuleClaim] {
        let object = objects[index]
        guard case .shown(let cleared, _) = classes.outcomes[index] else { return [] }
        let isResolving = (!classes.isTrivial || classes.hasLinks) && !object.references.isEmpty
        if !isResolving, cleared.isEmpty { return note(object.claims, index) }
        let rows = rows(classes)
        let values = rows.resolved(index)
        let isOwn = values == object.values
        var claims = isOwn ? object.claims : try self.claims(of: object, values)
        if let key = rows.resolvedKey(index) { claims.append(RuleClaim(token: key, index: nil)) }
        object.pass(claims)
        return note(claims, index, isOwn ? nil : values)
    }

    func claims(ofClass representative: Int, _ classes: RowClasses) throws -> [RuleClaim] {
        let object = objects[representative]
        let values = rows(classes).row(representative).values
        let claims = try self.claims(of: object, values)
        object.pass(claims)
        return note(claims, representative, values)
    }

    /// Records the claims as claims of an object.
    /// - Parameter values: the claiming values; `nil` for the object's own values.
    private func note(_ claims: [RuleClaim], _ index: Int, _ values: ColumnValues? = nil) -> [RuleClaim] {
        var claiming: ClaimingValues?
        for claim in claims where !searched.contains(claim.token) {
            if claiming == nil { claiming = values.map(ClaimingValues.init) }
            claimed[claim.token] = Claimed(
                object: Int32(index), index: Int32(claim.index ?? -1), values: claiming)
        }
        return claims
    }

    /// The claims of an object by these values, after applying learned equalities.
    private func claims(of object: RegionObject, _ values: ColumnValues) throws -> [RuleClaim] {
        learned.apply(try plainClaims(object.table, values, of: object.owner), of: object.token)
    }

    /// The claims of these values, before applying learned equalities.
    func plainClaims(
        _ table: TrackedTable, _ values: ColumnValues, of owner: UniqueClaims.Owner
    ) throws -> [RuleClaim] {
        let claims = try uniqueClaims.claims(table, values, of: owner)
        return try givenKeys.keyClaim(values, table).map { claims + [$0] } ?? claims
    }

    func resolvedLinks(_ classes: RowClasses) throws -> [RuleLink] {
        try rows(classes).links { try isShownOutside($0) }
    }

    func brokenReferences(_ classes: RowClasses) throws -> [RuleLink] {
        let rows = rows(classes)
        let broken = rows.brokenReferences()
        if broken.isEmpty { return [] }
        for (index, object) in objects.enumerated() where !object.table.incoming.isEmpty {
            guard let row = object.row, classes.outcomes[index].isVisible, !wavering.contains(index) else { continue }
            let shown = rows.row(classes.representative(of: index)).values
            if meaning.parentKeys(of: object.table, row) != meaning.parentKeys(of: object.table, shown) {
                wavering.insert(index)
            }
        }
        return broken
    }
}
