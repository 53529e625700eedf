import FerryCore

/// The past of a single document: how versions replaced each other. Versions in between may be gone.
package struct VersionHistory: Sendable {
    private let versions: [VersionID: VersionRow]

    /// - Parameter versions: all versions of a single document, in any order.
    package init(_ versions: [VersionRow]) {
        self.versions = Dictionary(versions.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// All remaining versions behind the given versions. A given version is included if it lies behind a second given
    /// version.
    private func past(of versions: some Sequence<VersionRow>) -> Set<VersionID> {
        var found: Set<VersionID> = []
        var next = versions.flatMap(\.supersedes)
        while let id = next.popLast() {
            guard let ancestor = self.versions[id], found.insert(id).inserted else { continue }
            next += ancestor.supersedes
        }
        return found
    }

    /// All versions behind a version. A version named by `version` may be gone.
    func behind(_ version: VersionRow) -> Set<VersionID> { past(of: [version]).union(version.supersedes) }

    /// Whether a deletion took away a version behind a given version. A deletion of a rival alone says nothing of the
    /// shown version.
    func deletes(_ deletion: VersionRow, behind version: VersionRow) -> Bool {
        let behind = behind(version)
        return deletion.supersedes.isEmpty || deletion.supersedes.contains { behind.contains($0) }
    }

    /// The nearest version behind both. `nil` without such a version, and for several of them with none behind another.
    /// Each of several would give a different merge, and such a merge might undo an edit.
    package func base(of ours: VersionRow, _ theirs: VersionRow) -> VersionRow? {
        let common = past(of: [ours]).intersection(past(of: [theirs]))
        let nearest = common.subtracting(past(of: common.compactMap { versions[$0] }))
        return nearest.count == 1 ? nearest.first.flatMap { versions[$0] } : nil
    }

    /// The version with which a leaf's branch began: the earliest behind the leaf, and behind none of the other leaves. The same on all
    /// devices with the same versions, and the same after every further edit of the branch.
    /// - Parameter others: the other leaves.
    package func beginning(of leaf: VersionRow, besides others: [VersionRow]) -> VersionRow {
        past(of: [leaf]).subtracting(past(of: others)).subtracting(others.map(\.id)).compactMap { versions[$0] }
            .filter { $0.content != nil }.min { VersionRow.isEarlier($0, $1) } ?? leaf
    }

    /// The latest version with content behind the leaves of a deleted document: the version to put back.
    package var beforeDeletion: VersionRow? {
        let leaves = DocumentLeaves(Array(versions.values))
        guard leaves.isDeleted else { return nil }
        var (next, seen) = (leaves.all, Set<VersionID>())
        var found: VersionRow?
        while let version = next.popLast() {
            for parent in version.supersedes.compactMap({ versions[$0] }) where seen.insert(parent.id).inserted {
                if parent.content == nil {
                    next.append(parent)
                } else if found.map({ VersionRow.isEarlier($0, parent) }) ?? true {
                    found = parent
                }
            }
        }
        return found
    }

    /// The pairs of leaves open to a program's merge, in the order of the attempts: the current version with each
    /// rival.
    ///
    /// Two different merges of the same versions are no pair: programs in disagreement would merge for ever.
    package var mergePairs: [MergePair] {
        let leaves = DocumentLeaves(Array(versions.values))
        guard let ours = leaves.current, ours.content != nil else { return [] }
        return leaves.rivals.compactMap { theirs in
            let isRepeated =
                ours.device == nil && theirs.device == nil && ours.supersedes == theirs.supersedes
            return isRepeated ? nil : MergePair(base: base(of: ours, theirs), ours: ours, theirs: theirs)
        }
    }
}

/// Two leaves of a document, open to a program's merge.
package struct MergePair: Hashable, Sendable {
    /// The nearest version behind both; `nil` where none is left. May be a deletion.
    package let base: VersionRow?
    /// The current version.
    package let ours: VersionRow
    package let theirs: VersionRow

    /// The mode of a merge: the side with a change since the base decides; else both modes' bits together.
    var mode: Int64 {
        guard let base, base.content != nil else { return ours.mode | theirs.mode }
        if ours.mode == base.mode { return theirs.mode }
        return theirs.mode == base.mode ? ours.mode : ours.mode | theirs.mode
    }
}
