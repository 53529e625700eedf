import FerryCore

/// Which versions of one document stand beside each other: what nobody has put another version in the place of.
///
/// A leaf has no `isSuperseded`, and no other version of the document names it in `supersedes`. The second part matters where two
/// devices insert one merged version: the later insertion takes the mark away. Leaves that nobody can tell apart count as one, and
/// stand here by the latest.
package struct DocumentLeaves: Sendable {
    /// The version that the document shows; `nil` for a document without a leaf. A leaf with content, or a deletion where no leaf
    /// has content.
    package private(set) var current: VersionRow?
    /// The other leaves with content, the latest first. Not empty: the document has a conflict.
    package private(set) var rivals: [VersionRow] = []
    /// The latest deletion beside a leaf with content, which beats it.
    package private(set) var beatenDeletion: VersionRow?
    /// All leaves, those that count as one and beaten deletions included; the latest first.
    package private(set) var all: [VersionRow] = []

    /// True if nothing of the document is shown but in the trash.
    package var isDeleted: Bool { current?.content == nil }

    /// - Parameter versions: all versions of one document, in any order.
    package init(_ versions: [VersionRow]) {
        let found = LeafPlaces(of: versions.indices, in: versions)
        current = found.current.map { versions[$0] }
        rivals = found.rivals.map { versions[$0] }
        beatenDeletion = found.beatenDeletion.map { versions[$0] }
        all = found.all.map { versions[$0] }
    }

    /// The leaves that nobody can tell from a version, itself included.
    func equals(of version: VersionRow) -> [VersionRow] { all.filter { $0.isEqual(to: version) } }
}

/// As `DocumentLeaves`, by places in an array of versions.
struct LeafPlaces {
    private(set) var current: Int?
    private(set) var rivals: [Int] = []
    private(set) var beatenDeletion: Int?
    /// The latest first.
    private(set) var all: [Int] = []

    /// - Parameter places: where the versions of one document stand.
    init(of places: some Collection<Int>, in versions: [VersionRow]) {
        all = places.filter { !versions[$0].isSuperseded }
        guard all.count > 1 else {
            current = all.first
            return
        }
        var named: Set<VersionID> = []
        for place in places { named.formUnion(versions[place].supersedes.filter { $0 != versions[place].id }) }
        let rest = all.filter { !named.contains(versions[$0].id) }
        // Only a forged log has versions that supersede each other in a circle.
        if !rest.isEmpty { all = rest }
        all.sort { VersionRow.isEarlier(versions[$1], versions[$0]) }

        var seen: Set<LeafContent> = []
        for place in all {
            let version = versions[place]
            guard let content = version.content else {
                beatenDeletion = beatenDeletion ?? place
                continue
            }
            guard seen.insert(LeafContent(content: content, mode: version.mode)).inserted else { continue }
            if current == nil { current = place } else { rivals.append(place) }
        }
        if current == nil { (current, beatenDeletion) = (beatenDeletion, nil) }
    }

    private struct LeafContent: Hashable {
        let content: ContentID
        let mode: Int64
    }
}
