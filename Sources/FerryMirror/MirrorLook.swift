import FerryCore
import FerryDocuments

/// Which of what lies on a disk is which of what a mirror knows, before any byte is read.
///
/// A path with a thing of the same kind is the same thing, whatever its inode: programs save by putting a new file in an old one's place.
/// Of the rest a folder, and then a file, is found by the disk's number for it. What was in a folder that moved is looked for there.
package struct MirrorLook: Sendable {
    package struct Match: Hashable, Sendable {
        package var entry: MirrorEntry
        package var item: DiskItem
    }

    package private(set) var matches: [Match] = []
    /// What no entry is of; a folder stands before what is in it.
    package private(set) var new: [DiskItem] = []
    /// Entries of which nothing was found.
    package private(set) var missing: [MirrorEntry] = []

    package init(_ entries: [MirrorEntry], _ items: [DiskItem]) {
        var open: [DiskPath: DiskItem] = [:]
        for item in items { open[item.path] = item }
        // Of two entries with one path the one whose thing lies there: a step may have put one in the place of another that went.
        var rest = takeByPath(entries, &open) { $0.stamp.isSameThing(as: $1.stamp, isFolder: $0.kind == .folder) }
        rest = takeByPath(rest, &open) { _, _ in true }
        let folders = Set(rest.lazy.filter { $0.kind == .folder }.map(\.stamp.inode))
        for item in items where item.kind == .folder && open[item.path] != nil {
            if folders.contains(item.stamp.inode) { takeFolder(item, &open, &rest) }
        }
        takeFiles(&open, &rest)
        new = items.filter { open[$0.path] != nil }
        missing = rest
    }

    /// Matches entries with what lies at their paths.
    /// - Returns: the rest.
    private mutating func takeByPath(
        _ entries: [MirrorEntry], _ open: inout [DiskPath: DiskItem],
        where isMatch: (MirrorEntry, DiskItem) -> Bool
    ) -> [MirrorEntry] {
        entries.filter { entry in
            guard let item = open[entry.path], item.kind == entry.kind, isMatch(entry, item) else { return true }
            open[entry.path] = nil
            matches.append(Match(entry: entry, item: item))
            return false
        }
    }

    private mutating func takeFolder(
        _ item: DiskItem, _ open: inout [DiskPath: DiskItem], _ rest: inout [MirrorEntry]
    ) {
        let found = rest.firstIndex { entry in
            entry.kind == .folder && entry.stamp.isSameThing(as: item.stamp, isFolder: true)
        }
        guard let found else { return }
        let folder = rest.remove(at: found)
        open[item.path] = nil
        matches.append(Match(entry: folder, item: item))
        rest.removeAll { entry in
            guard entry.path.isBelow(folder.path) else { return false }
            let path = entry.path.moved(from: folder.path, to: item.path)
            guard let inside = open[path], inside.kind == entry.kind else { return false }
            open[path] = nil
            matches.append(Match(entry: entry, item: inside))
            return true
        }
    }

    private mutating func takeFiles(_ open: inout [DiskPath: DiskItem], _ rest: inout [MirrorEntry]) {
        if rest.isEmpty || open.isEmpty { return }
        var byInode: [UInt64: [DiskItem]] = [:]
        for item in open.values where item.kind == .file { byInode[item.stamp.inode, default: []].append(item) }
        rest.removeAll { entry in
            guard entry.kind == .file else { return false }
            // Of two names for one file the first is the one that moved.
            let found = byInode[entry.stamp.inode, default: []].filter { item in
                open[item.path] != nil && item.stamp.isSameThing(as: entry.stamp, isFolder: false)
            }.min { $0.path < $1.path }
            guard let item = found else { return false }
            open[item.path] = nil
            matches.append(Match(entry: entry, item: item))
            return true
        }
    }

    mutating func add(_ match: Match) { matches.append(match) }

    mutating func drop(new paths: Set<DiskPath>) { new.removeAll { paths.contains($0.path) } }

    /// The files that have to be read: new ones, and those that the disk shows otherwise than the entry says.
    package var unread: [DiskItem] {
        matches.filter { $0.item.kind == .file && $0.item.stamp != $0.entry.stamp }.map(\.item)
            + new.filter { $0.kind == .file }
    }
}

/// Holds deletions back that nobody may have meant: of an emptied directory, or of a disk that came up half.
package enum DeletionGuard {
    /// So many files at least have to be gone, and more than half of them all.
    package static let leastCount = 20

    /// - Parameters:
    ///   - missing: entries that are gone.
    ///   - entries: all entries.
    package static func holds(_ missing: [MirrorEntry], of entries: [MirrorEntry]) -> Bool {
        let gone = missing.count { $0.kind == .file }
        return gone >= leastCount && 2 * gone > entries.count { $0.kind == .file }
    }
}
