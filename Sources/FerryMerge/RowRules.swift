import FerryCore

/// Something that a foreign key can refer to: an object, or a tuple of values under a UNIQUE key.
public struct RowToken: Hashable, Comparable, Sendable {
    /// The number of the table in the store's registry.
    public var table: Int
    /// The object's ID, or an ID derived from the UNIQUE key and its values.
    public var id: ObjectID

    @inlinable
    public init(table: Int, id: ObjectID) {
        self.table = table
        self.id = id
    }

    @inlinable
    public static func < (left: Self, right: Self) -> Bool {
        left.table != right.table ? left.table < right.table : left.id < right.id
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

/// An object's claim to a value of a UNIQUE index, or to a key.
public struct RuleClaim: Hashable, Sendable {
    /// The index and the value, as one token.
    public var token: RowToken
    /// The place of the index among its table's; `nil` for the key.
    public var index: Int?
    /// Whether of two rows that claim the same the younger is hidden, instead of both being joined.
    public var hidesLosers: Bool

    public init(token: RowToken, index: Int?, hidesLosers: Bool = false) {
        self.token = token
        self.index = index
        self.hidesLosers = hidesLosers
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
    /// Its newest deletion.
    public var deleted: Stamp?
    /// The UNIQUE tuples it offers to foreign keys that refer to other columns than the key.
    public var offers: [RowToken]
    public var references: [RuleReference]
    /// Held back by a RESTRICT reference from a row outside of the region.
    public var isHeldFromOutside: Bool
    /// SQLite refused its row in an earlier round.
    public var isRefused: Bool

    public init(
        token: RowToken, isAlive: Bool, isRestorable: Bool, inserted: Stamp, deleted: Stamp? = nil,
        offers: [RowToken] = [],
        references: [RuleReference] = [], isHeldFromOutside: Bool = false, isRefused: Bool = false
    ) {
        self.token = token
        self.isAlive = isAlive
        self.isRestorable = isRestorable
        self.inserted = inserted
        self.deleted = deleted
        self.offers = offers
        self.references = references
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
    /// Hidden because an older object claims the same UNIQUE value, and the index is not one that joins.
    indirect case outranked(claim: RuleClaim)
    /// Hidden because the schema refuses the row.
    case refused

    /// Whether a row shows it: its own, or that of its class.
    public var isVisible: Bool { if case .shown = self { true } else { false } }
}

/// What the rules have to ask about a region that depends on values.
///
/// The functions that are given `RowClasses` must answer from the classes and the objects alone.
public protocol RuleSurroundings {
    /// Whether a row outside of the region is, or offers, the token.
    func isShownOutside(_ token: RowToken) throws -> Bool
    /// What a visible object claims by its own values, its references resolved to what they mean in `classes` and
    /// cleared ones NULL.
    func claims(of object: Int, _ classes: RowClasses) throws -> [RuleClaim]
    /// What the row of a class of several claims.
    func claims(ofClass representative: Int, _ classes: RowClasses) throws -> [RuleClaim]
    /// References of present objects without a visible target by their own values, which have one once they are
    /// resolved.
    func resolvedLinks(_ classes: RowClasses) throws -> [RuleLink]
    /// References of visible objects that their rows cannot show, because the row of the target's class shows other
    /// values.
    func brokenReferences(_ classes: RowClasses) throws -> [RuleLink]
}

/// A reference of an object; for a resolved one, also the object that it leads to.
public struct RuleLink: Hashable, Sendable {
    public var object: Int
    public var reference: Int
    public var target: Int

    public init(object: Int, reference: Int, target: Int) {
        self.object = object
        self.reference = reference
        self.target = target
    }
}

/// What the rules decide about a region.
public struct RowSolution: Sendable {
    /// In the order of the objects.
    public var outcomes: [RowOutcome]
    public var classes: RowClasses
}

/// The rules that make rows from state, as a pure function (Docs/Rules.md, "From state to rows").
///
/// `solve` is given a region: every object whose outcome may change, and of the rest only whether a token is offered
/// by a shown row. Applied to all objects it gives all rows; applied to a closed region it gives the same outcomes.
public enum RowRules {
    /// - Parameters:
    ///   - objects: the region, in any order; each is asked for once.
    ///   - surroundings: answers what depends on values.
    public static func solve(
        _ objects: some Collection<RuleObject>, _ surroundings: some RuleSurroundings
    ) throws -> RowSolution {
        var region = Region(objects)
        try region.revive(surroundings)
        // Who lost a UNIQUE value stays lost, what is broken stays broken, and links only grow: so this ends.
        while true {
            try region.hide(surroundings)
            try region.join(surroundings)
            if region.link(try surroundings.resolvedLinks(region.classes)) { continue }
            if region.breakReferences(try surroundings.brokenReferences(region.classes)) { continue }
            if try !region.outrank(surroundings) { break }
        }
        return RowSolution(outcomes: region.classes.outcomes, classes: region.classes)
    }
}

/// The working state of one `solve`.
private struct Region {
    let objects: RegionMembers
    /// Who refers to a token: object and reference.
    let dependents: [RowToken: [(object: Int, reference: Int)]]

    var isPresent: [Bool]
    var isRevived: [Bool]
    var lost: [Int: RuleClaim] = [:]
    /// References that lead to an object by their resolved values, and the reverse.
    var links: Set<RuleLink> = []
    var linked: [Int: [RuleLink]] = [:]
    var linkers: [Int: [Int]] = [:]
    /// References that count as missing, by object.
    var broken: [Int: Set<Int>] = [:]
    var classes: RowClasses

    init(_ objects: some Collection<RuleObject>) {
        var inserted: [Stamp] = []
        let objects = RegionMembers(objects, inserted: &inserted)
        self.objects = objects
        var dependents: [RowToken: [(object: Int, reference: Int)]] = [:]
        for index in objects.indices {
            for (reference, value) in objects.references(index).enumerated() {
                dependents[value.target, default: []].append((index, reference))
            }
        }
        self.dependents = dependents
        isPresent = objects.indices.map(objects.isAlive)
        isRevived = objects.indices.map { _ in false }
        classes = RowClasses(objects, inserted)
    }

    /// Rule 1, to its least fixed point: a worklist of present objects, each of which holds its RESTRICT targets.
    mutating func revive(_ surroundings: some RuleSurroundings) throws {
        var work = objects.indices.filter { isPresent[$0] }
        for index in objects.indices
        where objects.isHeldFromOutside(index) && !isPresent[index] && objects.isRestorable(index) {
            isPresent[index] = true
            isRevived[index] = true
            work.append(index)
        }
        while let index = work.popLast() {
            for reference in objects.references(index) where reference.action == .restrict {
                let candidates = classes.providers(of: reference.target)
                // Revived ones do not count: who is revived must not depend on who came first.
                if candidates.contains(where: { objects.isAlive($0) }) { continue }
                if try surroundings.isShownOutside(reference.target) { continue }
                guard let chosen = lastDeleted(candidates) else { continue }
                if isPresent[chosen] { continue }
                isPresent[chosen] = true
                isRevived[chosen] = true
                work.append(chosen)
            }
        }
    }

    /// By-value targets may have several deleted candidates. The one that was deleted last is meant: others may have been
    /// forgotten by then. Of those deleted at once, the oldest.
    private func lastDeleted(_ candidates: some Sequence<Int>) -> Int? {
        var last: Int?
        for candidate in candidates where objects.isRestorable(candidate) {
            guard let known = last, let latest = objects.deleted(known) else {
                last = last ?? candidate
                continue
            }
            if let deleted = objects.deleted(candidate), latest < deleted { last = candidate }
        }
        return last
    }

    /// Rule 2, to its least fixed point: at first all present objects are shown; hiding one hides those that need it.
    mutating func hide(_ surroundings: some RuleSurroundings) throws {
        var work: [Int] = []
        for index in objects.indices {
            if !isPresent[index] {
                classes.outcomes[index] = .gone
            } else if objects.isRefused(index) {
                classes.outcomes[index] = .refused
            } else if let claim = lost[index] {
                classes.outcomes[index] = .outranked(claim: claim)
            } else {
                classes.outcomes[index] = .shown(cleared: [], isRevived: isRevived[index])
                work.append(index)
            }
        }
        while let index = work.popLast() {
            guard classes.outcomes[index].isVisible else { continue }
            var cleared: [Int] = []
            var missing: Int?
            for (position, reference) in objects.references(index).enumerated() {
                if try reference.action == .none || isShown(index, position, surroundings) { continue }
                if reference.action == .clear { cleared.append(position) } else { missing = missing ?? position }
            }
            guard let missing else {
                classes.outcomes[index] = .shown(cleared: cleared, isRevived: isRevived[index])
                continue
            }
            classes.outcomes[index] = .waits(reference: missing)
            for token in [objects.tokens[index]] + objects.offers(index) {
                for dependent in dependents[token] ?? [] { work.append(dependent.object) }
            }
            work += linkers[index] ?? []
        }
    }

    private func isShown(_ object: Int, _ position: Int, _ surroundings: some RuleSurroundings) throws -> Bool {
        if broken[object]?.contains(position) ?? false { return false }
        let token = objects.reference(object, position).target
        for candidate in classes.providers(of: token) where classes.outcomes[candidate].isVisible { return true }
        for link in linked[object] ?? [] where link.reference == position && classes.outcomes[link.target].isVisible {
            return true
        }
        return try surroundings.isShownOutside(token)
    }

    mutating func link(_ found: [RuleLink]) -> Bool {
        var changed = false
        for link in found where links.insert(link).inserted {
            linked[link.object, default: []].append(link)
            linkers[link.target, default: []].append(link.object)
            classes.add(link)
            changed = true
        }
        return changed
    }

    mutating func breakReferences(_ found: [RuleLink]) -> Bool {
        var changed = false
        for link in found where broken[link.object, default: []].insert(link.reference).inserted { changed = true }
        return changed
    }

    /// Rule 3: visible objects that claim one UNIQUE value, or one key, are one row; to the least fixed point, as
    /// references to what is joined become equal. A joined row that shows values of several objects claims those too.
    ///
    /// In rounds: all claims of a round are computed from the classes as they are when it begins, and then those with equal
    /// claims are united.
    mutating func join(_ surroundings: some RuleSurroundings) throws {
        classes.reset()
        while true {
            var equal = EqualClaims()
            for index in classes.byAge where classes.outcomes[index].isVisible {
                for claim in try surroundings.claims(of: index, classes) { equal.note(claim, of: index) }
            }
            if unite(equal) { continue }
            if classes.isTrivial { return }
            for index in classes.byAge where classes.representsOthers(index) {
                for claim in try surroundings.claims(ofClass: index, classes) { equal.note(claim, of: index) }
            }
            if !unite(equal) { return }
        }
    }

    /// Unites the classes of all objects with equal claims.
    /// - Returns: whether there were any that were not one yet.
    private mutating func unite(_ equal: EqualClaims) -> Bool {
        var hasUnited = false
        for (owner, index, claim) in equal.pairs where classes.unite(Int(owner), Int(index), because: claim) {
            hasUnited = true
        }
        return hasUnited
    }

    /// Of the classes that claim one value of an index that hides losers, the one with the oldest insertion keeps it.
    /// - Returns: whether anybody lost who had not before.
    mutating func outrank(_ surroundings: some RuleSurroundings) throws -> Bool {
        var owners: Set<RowToken> = []
        var changed = false
        for index in classes.byAge where classes.outcomes[index].isVisible && classes.representative(of: index) == index
        {
            let members = classes.members(of: index)
            let claims = try
                (members.count > 1
                ? surroundings.claims(ofClass: index, classes) : surroundings.claims(of: index, classes))
                .filter(\.hidesLosers)
            if let conflict = claims.first(where: { owners.contains($0.token) }) {
                for member in members { lost[member] = conflict }
                changed = true
            } else {
                owners.formUnion(claims.map(\.token))
            }
        }
        return changed
    }
}

/// The claims of one round: of those that are equal, who made them.
private struct EqualClaims {
    /// Who made a claim last.
    private var owners: [RowToken: Int32] = [:]
    /// Each with the one that made the same claim before it.
    private(set) var pairs: [(owner: Int32, index: Int32, claim: RuleClaim)] = []

    mutating func note(_ claim: RuleClaim, of index: Int) {
        if claim.hidesLosers { return }
        if let owner = owners.updateValue(Int32(index), forKey: claim.token) {
            pairs.append((owner, Int32(index), claim))
        }
    }
}
