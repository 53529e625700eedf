import FerryCore

/// Something that a foreign key can refer to: an object, or a tuple of values under a UNIQUE key.
public struct RowToken: Hashable, Sendable {
    /// The number of the table in the store's registry.
    public var table: Int
    /// The object's ID, or an ID derived from the UNIQUE key and its values.
    public var id: ObjectID

    @inlinable
    public init(table: Int, id: ObjectID) {
        self.table = table
        self.id = id
    }
}

/// What a foreign key does with a row whose target is deleted.
public enum ReferenceAction: Sendable {
    /// RESTRICT or NO ACTION: the row holds its target back.
    case restrict
    case cascade
    /// SET NULL or SET DEFAULT.
    case clear
    /// Nothing: the row is shown whatever becomes of its target.
    case none
}

/// A foreign key's non-NULL value in one object.
public struct RuleReference: Sendable {
    public var target: RowToken
    public var action: ReferenceAction

    public init(target: RowToken, action: ReferenceAction) {
        self.target = target
        self.action = action
    }
}

/// An object's claim to a value of a UNIQUE index. A claim whose reference is cleared is no claim.
public struct RuleClaim: Hashable, Sendable {
    /// The index and the value, as one token.
    public var token: RowToken
    /// Indices into the object's references whose columns are part of the claim.
    public var references: [Int]

    public init(token: RowToken, references: [Int]) {
        self.token = token
        self.references = references
    }
}

/// What the rules need to know of one object.
public struct RuleObject: Sendable {
    /// Its own token; unique among the objects.
    public var token: RowToken
    public var isAlive: Bool
    /// Whether enough of its fields is known to show it again after a deletion.
    public var isRestorable: Bool
    /// Its newest insertion (the oldest insertion wins a UNIQUE value).
    public var inserted: Stamp
    /// The UNIQUE tuples it offers to foreign keys that refer to other columns than the key.
    public var offers: [RowToken]
    public var references: [RuleReference]
    public var claims: [RuleClaim]
    /// Held back by a RESTRICT reference from a row outside of the region.
    public var isHeldFromOutside: Bool
    /// SQLite refused its row in an earlier round.
    public var isRefused: Bool

    public init(
        token: RowToken, isAlive: Bool, isRestorable: Bool, inserted: Stamp, offers: [RowToken] = [],
        references: [RuleReference] = [], claims: [RuleClaim] = [], isHeldFromOutside: Bool = false,
        isRefused: Bool = false
    ) {
        self.token = token
        self.isAlive = isAlive
        self.isRestorable = isRestorable
        self.inserted = inserted
        self.offers = offers
        self.references = references
        self.claims = claims
        self.isHeldFromOutside = isHeldFromOutside
        self.isRefused = isRefused
    }
}

/// What the rules decide about one object.
public enum RowOutcome: Equatable, Sendable {
    /// Deleted, and nothing holds it back.
    case gone
    /// Shown. `cleared`: indices of the references that show NULL or the default; `isRevived`: it is deleted, and held
    /// back by an alive object.
    case shown(cleared: [Int], isRevived: Bool)
    /// Hidden until the target of this reference is shown.
    case waits(reference: Int)
    /// Hidden because an older object claims the same UNIQUE value: an index into its claims.
    case outranked(claim: Int)
    /// Hidden because the schema refuses the row.
    case refused
}

/// The rules that make rows from state, as a pure function (Docs/Merge.md, "From state to rows").
///
/// `solve` is given a region: every object whose outcome may change, and of the rest only whether a token is offered
/// by a shown row. Applied to all objects it gives all rows; applied to a closed region it gives the same outcomes.
public enum RowRules {
    /// - Parameters:
    ///   - objects: the region, in any order.
    ///   - isShownOutside: whether a row outside of the region is, or offers, the token.
    /// - Returns: the outcomes, in the order of `objects`.
    public static func solve(
        _ objects: [RuleObject], isShownOutside: (RowToken) throws -> Bool
    ) rethrows -> [RowOutcome] {
        var region = Region(objects)
        try region.revive(isShownOutside)
        // Losing a UNIQUE value hides a row, which hides rows that refer to it, which frees the values they claim.
        // Who has lost stays lost, so this ends.
        while true {
            try region.hide(isShownOutside)
            if !region.outrank() { break }
        }
        return region.outcomes
    }
}

/// The working state of one `solve`.
private struct Region {
    let objects: [RuleObject]
    /// Who is or offers a token.
    let providers: [RowToken: [Int]]
    /// Who refers to a token: object and reference.
    let dependents: [RowToken: [(object: Int, reference: Int)]]
    /// Oldest insertion first; ties, which only a device's own insertions have, by table and ID.
    let byAge: [Int]

    var isPresent: [Bool]
    var isRevived: [Bool]
    var lost: [Int?]
    var outcomes: [RowOutcome]

    init(_ objects: [RuleObject]) {
        self.objects = objects
        var providers: [RowToken: [Int]] = [:]
        var dependents: [RowToken: [(object: Int, reference: Int)]] = [:]
        for (index, object) in objects.enumerated() {
            providers[object.token, default: []].append(index)
            for token in object.offers { providers[token, default: []].append(index) }
            for (reference, value) in object.references.enumerated() {
                dependents[value.target, default: []].append((index, reference))
            }
        }
        self.providers = providers
        self.dependents = dependents
        byAge = objects.indices.sorted { left, right in
            let (a, b) = (objects[left], objects[right])
            if a.inserted != b.inserted { return a.inserted < b.inserted }
            return a.token.table != b.token.table ? a.token.table < b.token.table : a.token.id < b.token.id
        }
        isPresent = objects.map(\.isAlive)
        isRevived = objects.map { _ in false }
        lost = objects.map { _ in nil }
        outcomes = objects.map { _ in .gone }
    }

    /// Rule 1, to its least fixed point: a worklist of present objects, each of which holds its RESTRICT targets.
    mutating func revive(_ isShownOutside: (RowToken) throws -> Bool) rethrows {
        var work = objects.indices.filter { isPresent[$0] }
        for index in objects.indices
        where objects[index].isHeldFromOutside && !isPresent[index] && objects[index].isRestorable {
            isPresent[index] = true
            isRevived[index] = true
            work.append(index)
        }
        while let index = work.popLast() {
            for reference in objects[index].references where reference.action == .restrict {
                let candidates = providers[reference.target] ?? []
                // Revived ones do not count: who is revived must not depend on who came first.
                if candidates.contains(where: { objects[$0].isAlive }) { continue }
                if try isShownOutside(reference.target) { continue }
                // By-value targets may have several deleted candidates: the oldest insertion, as for UNIQUE values.
                guard let chosen = byAge.first(where: { candidates.contains($0) && objects[$0].isRestorable })
                else { continue }
                if isPresent[chosen] { continue }
                isPresent[chosen] = true
                isRevived[chosen] = true
                work.append(chosen)
            }
        }
    }

    /// Rule 2, to its least fixed point: at first all present objects are shown; hiding one hides those that need it.
    mutating func hide(_ isShownOutside: (RowToken) throws -> Bool) rethrows {
        var work: [Int] = []
        for index in objects.indices {
            if !isPresent[index] {
                outcomes[index] = .gone
            } else if objects[index].isRefused {
                outcomes[index] = .refused
            } else if let claim = lost[index] {
                outcomes[index] = .outranked(claim: claim)
            } else {
                outcomes[index] = .shown(cleared: [], isRevived: isRevived[index])
                work.append(index)
            }
        }
        while let index = work.popLast() {
            guard case .shown = outcomes[index] else { continue }
            var cleared: [Int] = []
            var missing: Int?
            for (position, reference) in objects[index].references.enumerated() {
                if try reference.action == .none || isShown(reference.target, isShownOutside) { continue }
                if reference.action == .clear { cleared.append(position) } else { missing = missing ?? position }
            }
            guard let missing else {
                outcomes[index] = .shown(cleared: cleared, isRevived: isRevived[index])
                continue
            }
            outcomes[index] = .waits(reference: missing)
            for token in [objects[index].token] + objects[index].offers {
                for dependent in dependents[token] ?? [] { work.append(dependent.object) }
            }
        }
    }

    private func isShown(_ token: RowToken, _ isShownOutside: (RowToken) throws -> Bool) rethrows -> Bool {
        for candidate in providers[token] ?? [] {
            if case .shown = outcomes[candidate] { return true }
        }
        return try isShownOutside(token)
    }

    /// Rule 3: of the shown objects that claim one UNIQUE value, the oldest insertion keeps it.
    /// - Returns: whether anybody lost who had not before.
    mutating func outrank() -> Bool {
        var owners: Set<RowToken> = []
        var changed = false
        for index in byAge {
            guard case .shown(let cleared, _) = outcomes[index] else { continue }
            let claims = objects[index].claims.enumerated().filter { _, claim in
                !claim.references.contains { cleared.contains($0) }
            }
            if let conflict = claims.first(where: { owners.contains($0.element.token) }) {
                lost[index] = conflict.offset
                changed = true
            } else {
                for (_, claim) in claims { owners.insert(claim.token) }
            }
        }
        return changed
    }
}
