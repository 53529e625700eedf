import FerryCore

/// Which visible objects of a region are one row: the result of rule 3, and what it is worked out on.
public struct RowClasses: Sendable {
    /// Who is or offers a token, oldest first.
    let providers: [RowToken: [Int]]
    /// Oldest insertion first; ties, which only a device's own insertions have, by table and ID.
    let byAge: [Int]
    /// What rule 2 says at present.
    public internal(set) var outcomes: [RowOutcome]
    /// Further targets of references, by object and reference.
    private var links: [Int: [Int: [Int]]] = [:]
    /// For each object that is not its own representative, a way to it.
    private var parents: [Int: Int] = [:]
    private var membersByRepresentative: [Int: [Int]] = [:]
    private var causes: [Int: RuleClaim] = [:]
    private let ages: [Int]
    /// Changes whenever something else may follow from the classes.
    public private(set) var revision = 0

    init(_ objects: [RuleObject]) {
        byAge = objects.indices.sorted { left, right in
            let (a, b) = (objects[left], objects[right])
            if a.inserted != b.inserted { return a.inserted.isOlder(than: b.inserted) }
            return a.token.table != b.token.table ? a.token.table < b.token.table : a.token.id < b.token.id
        }
        var providers: [RowToken: [Int]] = [:]
        for index in byAge {
            providers[objects[index].token, default: []].append(index)
            for token in objects[index].offers { providers[token, default: []].append(index) }
        }
        self.providers = providers
        var ages = Array(repeating: 0, count: objects.count)
        for (age, index) in byAge.enumerated() { ages[index] = age }
        self.ages = ages
        outcomes = objects.map { _ in .gone }
    }

    /// Whether every visible object is a row by itself.
    public var isTrivial: Bool { parents.isEmpty }

    /// Whether any reference means something else than its own values say.
    public var hasLinks: Bool { !links.isEmpty }

    /// The object under which the class of an object is shown: its oldest; itself where it is alone.
    public func representative(of object: Int) -> Int {
        var index = object
        while let parent = parents[index] { index = parent }
        return index
    }

    /// The objects that a representative's row shows, oldest first.
    public func members(of representative: Int) -> [Int] { membersByRepresentative[representative] ?? [representative] }

    /// The claim by which an object came to its class; `nil` for one that is alone or was there first.
    public func cause(of object: Int) -> RuleClaim? { causes[object] }

    /// The visible object of the region that a reference leads to: what is, or offers, its token, or what it was found
    /// to mean once resolved.
    public func target(of object: Int, reference: Int, token: RowToken) -> Int? {
        if let own = visible(token) { return own }
        return links[object]?[reference]?.first { outcomes[$0].isVisible }
    }

    /// The visible object of the region that is, or offers, a token; of several the oldest.
    public func visible(_ token: RowToken) -> Int? { providers[token]?.first { outcomes[$0].isVisible } }

    mutating func add(_ link: RuleLink) {
        revision += 1
        links[link.object, default: [:]][link.reference, default: []].append(link.target)
    }

    mutating func reset() {
        revision += 1
        parents = [:]
        membersByRepresentative = [:]
        causes = [:]
    }

    /// - Returns: whether they were two classes before.
    mutating func unite(_ left: Int, _ right: Int, because claim: RuleClaim) -> Bool {
        let (a, b) = (representative(of: left), representative(of: right))
        if a == b { return false }
        revision += 1
        let (older, younger) = ages[a] < ages[b] ? (a, b) : (b, a)
        let members = (members(of: older) + members(of: younger)).sorted { ages[$0] < ages[$1] }
        parents[younger] = older
        membersByRepresentative[younger] = nil
        membersByRepresentative[older] = members
        causes[younger] = claim
        return true
    }
}
