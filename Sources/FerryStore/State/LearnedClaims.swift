import FerryCore
import FerryMerge

/// What SQLite takes for one value though the rules took it for several: learned where SQLite refused a row as not unique, for
/// the solving at hand.
///
/// Which values are equal is a fact of the schema, so it makes no difference which of two rows came first, and every device
/// that shows one of them meets the same refusal. Nothing of it is stored: who is one row is solved again together
/// (`RuleRegion`), and a row that is hidden is looked at when anything near it changes (`SeedFinder`).
struct LearnedClaims {
    /// A row that SQLite refused, and the row in whose way it was.
    struct TakenValue {
        var refused: RowToken
        var holder: RowToken
        /// What the rules took both to claim under the index that SQLite named; `nil` where they claim nothing by it.
        var claims: (refused: RuleClaim?, holder: RuleClaim?)
        /// The index among its table's; `nil` for the key of a mapped table.
        var index: Int?
        var hidesLosers: Bool
    }

    /// The objects that were refused or in the way: the rules have to look at all of them.
    private(set) var objects: Set<RowToken> = []
    /// Tokens of values that are equal: each leads to a lower one, the lowest to none.
    private var lower: [RowToken: RowToken] = [:]
    /// What objects claim beside what their values say.
    private var further: [RowToken: [RuleClaim]] = [:]

    var isEmpty: Bool { objects.isEmpty }

    /// - Returns: whether anything was not known before.
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

    /// What an object claims by these claims and by what was learned.
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

    /// What stands for the value that two objects have, where no token of a value does: the same whoever was refused.
    private static func token(of value: TakenValue) -> RowToken {
        var key = CanonicalKey(table: "", index: ["taken", value.index.map { "\($0)" } ?? "key"])
        for object in [value.refused, value.holder].sorted() {
            key.append(.reference(object.id), collation: "BINARY")
        }
        return RowToken(table: value.refused.table, id: key.id)
    }
}
