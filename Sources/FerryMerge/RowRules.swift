import FerryCore

/// Something to which a foreign key can refer: an object, or a tuple of values under a UNIQUE key.
@usableFromInline package struct RowToken: Hashable, Comparable, Sendable {
    /// The number of the table in the store's registry.
    @usableFromInline package var table: Int
    /// The object's ID, or an ID derived from the UNIQUE key and its values.
    @usableFromInline package var id: ObjectID

    @inlinable
    package init(table: Int, id: ObjectID) {
        self.table = table
        self.id = id
    }

    @inlinable
    package static func < (left: Self, right: Self) -> Bool {
        left.table != right.table ? left.table < right.table : left.id < right.id
    }
}

/// The effect of a foreign key on a row whose target is deleted.
package enum ReferenceAction: Sendable {
    /// RESTRICT or NO ACTION: the row retains its target.
    case restrict
    case cascade
    /// SET NULL or SET DEFAULT.
    case clear
    /// Nothing: the row is shown whatever becomes of its target.
    case none
}

/// A foreign key's non-NULL value in an object.
package struct RuleReference: Sendable {
    package var target: RowToken
    package var action: ReferenceAction

    package init(target: RowToken, action: ReferenceAction) {
        self.target = target
        self.action = action
    }
}

/// An object's claim to a value of a UNIQUE index, or to a key.
package struct RuleClaim: Hashable, Sendable {
    /// The index and the value, as a token.
    package var token: RowToken
    /// The place of the index among its table's; `nil` for the key.
    package var index: Int?
    /// True if the younger of two rows with an equal claim is hidden, instead of unifying both.
    package var hidesLosers: Bool

    package init(token: RowToken, index: Int?, hidesLosers: Bool = false) {
        self.token = token
        self.index = index
        self.hidesLosers = hidesLosers
    }
}

/// The rules' knowledge of an object.
package struct RuleObject: Sendable {
    /// The object's own token; unique among the objects.
    package var token: RowToken
    package var isAlive: Bool
    /// True if enough fields are known to show the object again after a deletion.
    package var isRestorable: Bool
    /// The newest insertion (the oldest insertion wins a UNIQUE value).
    package var inserted: Stamp
    /// The newest deletion.
    package var deleted: Stamp?
    /// The UNIQUE tuples that the object offers to foreign keys on other columns than the key.
    package var parentKeys: [RowToken]
    package var references: [RuleReference]
    /// Held back by a RESTRICT reference from a row outside of the region.
    package var isHeldFromOutside: Bool
    /// SQLite refused the row in an earlier round.
    package var isRefused: Bool

    package init(
        token: RowToken, isAlive: Bool, isRestorable: Bool, inserted: Stamp, deleted: Stamp? = nil,
        parentKeys: [RowToken] = [],
        references: [RuleReference] = [], isHeldFromOutside: Bool = false, isRefused: Bool = false
    ) {
        self.token = token
        self.isAlive = isAlive
        self.isRestorable = isRestorable
        self.inserted = inserted
        self.deleted = deleted
        self.parentKeys = parentKeys
        self.references = references
        self.isHeldFromOutside = isHeldFromOutside
        self.isRefused = isRefused
    }
}

/// The rules' decision about an object.
package enum RowOutcome: Equatable, Sendable {
    /// Deleted, and retained by nothing.
    case gone
    /// Shown. `cleared`: indices of the references that show NULL or the default; `isRevived`: deleted, and retained by
    /// an alive object.
    case shown(cleared: [Int], isRevived: Bool)
    /// Hidden until the target of this reference is shown.
    case waits(reference: Int)
    /// Hidden because an older object claims the same UNIQUE value, and the index forbids unification.
    indirect case outranked(claim: RuleClaim)
    /// Hidden because the schema refuses the row.
    case refused

    /// True if a row shows the object: its own row, or its class's.
    package var isVisible: Bool { if case .shown = self { true } else { false } }
}

/// The questions of the rules that depend on values.
///
/// Functions with a `RowClasses` parameter must answer from the classes and the objects alone.
package protocol RuleSurroundings {
    /// True if a row outside of the region is, or offers, the token.
    func isShownOutside(_ token: RowToken) throws -> Bool
    /// The claims of a visible object by its own values, its references resolved to their targets in `classes` and
    /// cleared references NULL.
    func claims(of object: Int, _ classes: RowClasses) throws -> [RuleClaim]
    /// The claims of the row of a class of several objects.
    func claims(ofClass representative: Int, _ classes: RowClasses) throws -> [RuleClaim]
    /// References of present objects without a visible target by their own values, which have a target once they are
    /// resolved.
    func resolvedLinks(_ classes: RowClasses) throws -> [RuleLink]
    /// References of visible objects that their rows cannot show, because the row of the target's class shows other
    /// values.
    func brokenReferences(_ classes: RowClasses) throws -> [RuleLink]
}

/// A reference of an object; for a resolved reference, also its target.
package struct RuleLink: Hashable, Sendable {
    package var object: Int
    package var reference: Int
    package var target: Int

    package init(object: Int, reference: Int, target: Int) {
        self.object = object
        self.reference = reference
        self.target = target
    }
}

/// The rules' decision about a region.
package struct RowSolution: Sendable {
    /// In the order of the objects.
    package var outcomes: [RowOutcome]
    package var classes: RowClasses
}

/// The rules that make rows from state, as a pure function (Docs/Rules.md, "From state to rows").
///
/// `solve` gets a region: every object whose outcome may change, and of the rest only whether a shown row offers a
/// token. Applied to all objects the rules give all rows; applied to a closed region they give the same outcomes.
package enum RowRules {
    /// - Parameters:
    ///   - objects: the region, in any order; each object is asked for once.
    ///   - surroundings: answers the questions that depend on values.
    package static func solve(
        _ objects: some Collection<RuleObject>, _ surroundings: some RuleSurroundings
    ) throws -> RowSolution {
        var region = Region(objects)
        try region.revive(surroundings)
        // An outranked object stays outranked, a broken reference stays broken, and links only grow: so the loop ends.
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

/// The working state of a `solve`.
private struct Region {
    let objects: RegionMembers
    /// The objects that refer to a token, each with the reference.
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

    /// Rule 1, to its least fixed point: a worklist of present objects, each of which retains its RESTRICT targets.
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
                // Revived objects do not count: the order must not decide which object is revived.
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

    /// By-value targets may have several deleted candidates. The last deletion is meant: others may have been forgotten
    /// by then. Among objects deleted at once, the oldest.
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

    /// Rule 2, to its least fixed point: at first all present objects are shown; hiding an object hides those that need
    /// it.
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
            for token in [objects.tokens[index]] + objects.parentKeys(index) {
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

    /// Rule 3: visible objects with an equal UNIQUE claim, or an equal key, are one row. Applied to the least fixed
    /// point, as references to unified objects become equal. A unified row that shows values of several objects claims
    /// those too.
    ///
    /// In rounds: all claims of a round are computed from the classes at its beginning, and then objects with equal
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
    /// - Returns: true if any of them were apart before.
    private mutating func unite(_ equal: EqualClaims) -> Bool {
        var hasUnited = false
        for (owner, index, claim) in equal.pairs where classes.unite(Int(owner), Int(index), because: claim) {
            hasUnited = true
        }
        return hasUnited
    }

    /// Of the classes with an equal claim on an index that hides losers, the class with the oldest insertion keeps the
    /// value.
    /// - Returns: true if any object lost for the first time.
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

/// The equal claims of a round, with their owners.
private struct EqualClaims {
    /// The last owner of a claim.
    private var owners: [RowToken: Int32] = [:]
    /// Each with the previous owner of the same claim.
    private(set) var pairs: [(owner: Int32, index: Int32, claim: RuleClaim)] = []

    mutating func note(_ claim: RuleClaim, of index: Int) {
        if claim.hidesLosers { return }
        if let owner = owners.updateValue(Int32(index), forKey: claim.token) {
            pairs.append((owner, Int32(index), claim))
        }
    }
}
