import FerryCore

/// The past of one document: which version was put in the place of which. Versions in between may be gone.
package struct VersionHistory: Sendable {
    private let versions: [VersionID: VersionRow]

    /// - Parameter versions: all versions of one document, in any order.
    package init(_ versions: [VersionRow]) {
        self.versions = Dictionary(versions.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// All versions that are still there and lie behind others. One of those others is among them where it lies behind another one.
    private func past(of versions: some Sequence<VersionRow>) -> Set<VersionID> {
        var found: Set<VersionID> = []
        var next = versions.flatMap(\.supersedes)
        while let id = next.popLast() {
            guard let ancestor = self.versions[id], found.insert(id).inserted else { continue }
            next += ancestor.supersedes
        }
        return found
    }

    /// Whether a deletion took away a version that lies behind another one. A deletion that dropped a rival alone says nothing of the
    /// version that is shown.
    func deletes(_ deletion: VersionRow, behind version: VersionRow) -> Bool {
        // A version may be gone that the other one names.
        let behind = past(of: [version]).union(version.supersedes)
        return deletion.supersedes.isEmpty || deletion.supersedes.contains { behind.contains($0) }
    }

    /// The nearest version behind both; `nil` where there is none, or several of which none lies behind another. Several would
    /// each make another merge, and one of these might take an edit back.
    package func base(of ours: VersionRow, _ theirs: VersionRow) -> VersionRow? {
        let common = past(of: [ours]).intersection(past(of: [theirs]))
        let nearest = common.subtracting(past(of: common.compactMap { versions[$0] }))
        return nearest.count == 1 ? nearest.first.flatMap { versions[$0] } : nil
    }

    /// The latest version with content behind the leaves of a deleted document: what is put back.
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

    /// The pairs of leaves that a program may merge, in the order in which they are tried: the current version with each rival.
    ///
    /// A pair in which two programs merged the same versions is none: programs that do not agree would merge for ever.
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

/// Two leaves of a document that a program may merge.
package struct MergePair: Hashable, Sendable {
    /// The nearest version behind both; `nil` where none is left. May be a deletion.
    package let base: VersionRow?
    /// The current version.
    package let ours: VersionRow
    package let theirs: VersionRow

    /// The mode of a merge: who changed it since the base decides; else both modes' bits together.
    var mode: Int64 {
        guard let base, base.content != nil else { return ours.mode | theirs.mode }
        if ours.mode == base.mode { return theirs.mode }
        return theirs.mode == base.mode ? ours.mode : ours.mode | theirs.mode
    }
}
