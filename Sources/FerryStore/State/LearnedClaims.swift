import FerryCore
import FerryMerge
import FerrySchema

/// Values equal in SQLite and different for the rules, learned for the present solving when SQLite refused a row as not
/// unique.
///
/// Equality of values is a fact of the schema. So the order of two rows does not matter, and every device showing
/// either row meets the same refusal. Nothing of this is stored. Unification is solved again together
/// (`DependencyRegion`). A hidden row is checked whenever anything near the row changes (`ProjectionSeeds`).
///
/// Invariants:
/// - `lower` has no cycles: each token leads to a lower token.
/// - Every object with an entry in `further` is in `objects`.
struct LearnedClaims {
    /// A row refused by SQLite, and the row in the way.
    struct TakenValue {
        var refused: RowToken
        var holder: RowToken
        /// The claims of both rows by the rules, under the index named by SQLite; `nil` for a row without a claim.
        var claims: (refused: RuleClaim?, holder: RuleClaim?)
        /// The index among the table's indexes; `nil` for the key of a mapped table.
        var index: Int?
        var hidesLosers: Bool
    }

    /// The refused objects and the objects in the way. The rules must see all of them.
    private(set) var objects: Set<RowToken> = []
    /// Tokens of equal values: each leads to a lower token, the lowest to none.
    private var lower: [RowToken: RowToken] = [:]
    /// Claims of objects besides the claims of their values.
    private var further: [RowToken: [RuleClaim]] = [:]

    var isEmpty: Bool { objects.isEmpty }

    /// - Returns: true if anything was new.
    mutating func learn(_ value: TakenValue) -> Bool {
        var isNews = objects.insert(value.refused).inserted
        isNews = objects.insert(value.holder).inserted || isNews
        if let left = value.claims.refused, let right = value.claims.holder {
            let (a, b) = (lowest(left.token), lowest(right.token))
            if a == b { return isNews }
            lower[max(a, b)] = min(a, b)
            return true
        }
        let claim = RuleClaim(token: Self.token(of: value), index: value.index, hidesLosers: value.hidesLosers)
        if further[value.refused]?.contains(claim) ?? false { return isNews }
        for object in [value.refused, value.holder] { further[object, default: []].append(claim) }
        return true
    }

    /// An object's claims after applying the learned equalities.
    func apply(_ claims: [RuleClaim], of object: RowToken) -> [RuleClaim] {
        if isEmpty { return claims }
        return claims.map { RuleClaim(token: lowest($0.token), index: $0.index, hidesLosers: $0.hidesLosers) }
            + (further[object] ?? [])
    }

    private func lowest(_ token: RowToken) -> RowToken {
        var lowest = token
        while let next = lower[lowest] { lowest = next }
        return lowest
    }

    /// A token for the shared value of two objects without a common token: the same for either refused row.
    private static func token(of value: TakenValue) -> RowToken {
        var key = CanonicalKey(table: "", index: ["taken", value.index.map { "\($0)" } ?? "key"])
        for object in [value.refused, value.holder].sorted() {
            key.append(.reference(object.id), collation: "BINARY")
        }
        return RowToken(table: value.refused.table, id: key.id)
    }
}
