import FerryCore

/// The visible objects of a region grouped into rows: the result of rule 3, and its working state.
package struct RowClasses: Sendable {
    /// The objects with or offering a token: by tokens, and for each token the oldest first. Sorted, because a table of
    /// hashes takes twice the memory.
    private let providers: [Provider]
    /// Oldest insertion first; ties, which only a device's own insertions have, by table and ID.
    let byAge: [Int]
    /// The present outcomes of rule 2.
    package internal(set) var outcomes: [RowOutcome]
    /// Further targets of references, by object and reference.
    private var links: [Int: [Int: [Int]]] = [:]
    /// For each object with a representative, a way to the representative; -1 for all else. Empty if every object is
    /// its own representative.
    private var parents: [Int32] = []
    /// For each object the next object of its class, in any order, and for each representative the last; -1 without a
    /// next object.
    private var next: [Int32] = []
    private var last: [Int32] = []
    /// The claims by which objects came to their classes, and for each object the place of its claim; -1 without a
    /// claim.
    private var causes: [RuleClaim] = []
    private var placesOfCauses: [Int32] = []
    private let ages: [Int]
    /// Changes whenever something else may follow from the classes.
    package private(set) var revision = 0

    private struct Provider: Sendable {
        var token: RowToken
        var object: Int32
    }

    /// - Parameter inserted: the objects' newest insertions.
    init(_ objects: RegionMembers, _ inserted: [Stamp]) {
        byAge = objects.indices.sorted { left, right in
            if inserted[left] != inserted[right] { return inserted[left].isOlder(than: inserted[right]) }
            let (a, b) = (objects.tokens[left], objects.tokens[right])
            return a.table != b.table ? a.table < b.table : a.id < b.id
        }
        var ages = Array(repeating: 0, count: objects.count)
        for (age, index) in byAge.enumerated() { ages[index] = age }
        self.ages = ages
        var providers: [Provider] = []
        providers.reserveCapacity(objects.count + objects.parentKeysCount)
        for index in objects.indices {
            providers.append(Provider(token: objects.tokens[index], object: Int32(index)))
            for token in objects.parentKeys(index) { providers.append(Provider(token: token, object: Int32(index))) }
        }
        providers.sort { left, right in
            left.token != right.token
                ? left.token < right.token : ages[Int(left.object)] < ages[Int(right.object)]
        }
        self.providers = providers
        outcomes = objects.indices.map { _ in .gone }
    }

    /// True if every visible object is a row by itself.
    package var isTrivial: Bool { parents.isEmpty }

    /// True if any reference means something else than its own values say.
    package var hasLinks: Bool { !links.isEmpty }

    /// The objects with or offering a token, oldest first.
    func providers(of token: RowToken) -> some Sequence<Int> {
        var (low, high) = (0, providers.count)
        while low < high {
            let middle = (low + high) / 2
            if providers[middle].token < token { low = middle + 1 } else { high = middle }
        }
        return providers[low...].lazy.prefix { $0.token == token }.map { Int($0.object) }
    }

    /// The representative of an object's class: its oldest object; the object itself if alone.
    package func representative(of object: Int) -> Int {
        if parents.isEmpty { return object }
        var index = object
        while parents[index] >= 0 { index = Int(parents[index]) }
        return index
    }

    /// The objects in a representative's row, oldest first.
    package func members(of representative: Int) -> [Int] {
        guard representsOthers(representative) else { return [representative] }
        var members = [representative]
        var index = next[representative]
        while index >= 0 {
            members.append(Int(index))
            index = next[Int(index)]
        }
        return members.sorted { ages[$0] < ages[$1] }
    }

    /// True if an object's row shows more objects.
    package func representsOthers(_ object: Int) -> Bool {
        !parents.isEmpty && parents[object] < 0 && next[object] >= 0
    }

    /// The claim by which an object came to its class; `nil` for the first object of a class.
    package func cause(of object: Int) -> RuleClaim? {
        placesOfCauses.isEmpty || placesOfCauses[object] < 0 ? nil : causes[Int(placesOfCauses[object])]
    }

    /// The visible object of the region to which a reference leads. That is an object with or offering its token, or
    /// the target found by resolving the reference.
    package func target(of object: Int, reference: Int, token: RowToken) -> Int? {
        if let own = visible(token) { return own }
        return links[object]?[reference]?.first { outcomes[$0].isVisible }
    }

    /// The visible object of the region with or offering a token; of several the oldest.
    package func visible(_ token: RowToken) -> Int? { providers(of: token).first { outcomes[$0].isVisible } }

    mutating func add(_ link: RuleLink) {
        revision += 1
        links[link.object, default: [:]][link.reference, default: []].append(link.target)
    }

    mutating func reset() {
        revision += 1
        parents = []
        next = []
        last = []
        causes = []
        placesOfCauses = []
    }

    /// - Returns: true if they were two classes before.
    mutating func unite(_ left: Int, _ right: Int, because claim: RuleClaim) -> Bool {
        let (a, b) = (representative(of: left), representative(of: right))
        if a == b { return false }
        revision += 1
        let (older, younger) = ages[a] < ages[b] ? (a, b) : (b, a)
        if parents.isEmpty {
            parents = Array(repeating: -1, count: ages.count)
            next = parents
            placesOfCauses = parents
            last = ages.indices.map { Int32($0) }
        }
        parents[younger] = Int32(older)
        next[Int(last[older])] = Int32(younger)
        last[older] = last[younger]
        placesOfCauses[younger] = Int32(causes.count)
        causes.append(claim)
        return true
    }
}
