import FerryCore

/// The versions of one document that no version has replaced.
///
/// A leaf has no `isSuperseded`, and no version of the document names the leaf in `supersedes`. The second part matters
/// if two devices insert the same merged version: the later insertion takes the mark away. Indistinguishable leaves
/// count as one leaf. The latest represents them here.
package struct DocumentLeaves: Sendable {
    /// The version shown by the document; `nil` for a document without a leaf. A leaf with content, or a deletion if no
    /// leaf has content.
    package private(set) var current: VersionRow?
    /// The remaining leaves with content, the latest first. Not empty: the document has a conflict.
    package private(set) var rivals: [VersionRow] = []
    /// The latest deletion beside a leaf with content. The leaf beats the deletion.
    package private(set) var beatenDeletion: VersionRow?
    /// All leaves, the latest first. Indistinguishable leaves and beaten deletions are included.
    package private(set) var all: [VersionRow] = []

    /// True if nothing of the document is shown but in the trash.
    package var isDeleted: Bool { current?.content == nil }

    /// - Parameter versions: all versions of a single document, in any order.
    package init(_ versions: [VersionRow]) {
        let found = LeafPlaces(of: versions.indices, in: versions)
        current = found.current.map { versions[$0] }
        rivals = found.rivals.map { versions[$0] }
        beatenDeletion = found.beatenDeletion.map { versions[$0] }
        all = found.all.map { versions[$0] }
    }

    /// The leaves indistinguishable from a version, with the version included.
    func equals(of version: VersionRow) -> [VersionRow] { all.filter { $0.isEqual(to: version) } }

    /// As `equals(of:)`, without the leaves of other files: somebody chose the same bytes there.
    /// - Parameters:
    ///   - versions: all versions of the document.
    ///   - held: the versions in the other files of the document. A leaf belongs to such a file as the file's version, or as a version on
    ///     top of it.
    func equals(
        of version: VersionRow, among versions: [VersionRow], besides held: Set<VersionID>
    ) -> [VersionRow] {
        let equals = equals(of: version)
        if held.isEmpty || equals.count < 2 { return equals }
        let history = VersionHistory(versions)
        // A version behind both says nothing of the leaf's file.
        let held = held.subtracting(history.behind(version)).subtracting([version.id])
        return equals.filter { leaf in
            leaf.id == version.id || !held.contains(leaf.id) && history.behind(leaf).isDisjoint(with: held)
        }
    }
}

/// As `DocumentLeaves`, by places in an array of versions.
struct LeafPlaces {
    private(set) var current: Int?
    private(set) var rivals: [Int] = []
    private(set) var beatenDeletion: Int?
    /// The latest first.
    private(set) var all: [Int] = []

    /// - Parameter places: the indices of a single document's versions.
    init(of places: some Collection<Int>, in versions: [VersionRow]) {
        all = places.filter { !versions[$0].isSuperseded }
        guard all.count > 1 else {
            current = all.first
            return
        }
        var named: Set<VersionID> = []
        for place in places { named.formUnion(versions[place].supersedes.filter { $0 != versions[place].id }) }
        let rest = all.filter { !named.contains(versions[$0].id) }
        // Only a forged log has versions superseding each other in a circle.
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
