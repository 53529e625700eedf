import FerryCore
import FerryDocuments

/// The matches between the items on a disk and the entries of a mirror, before any byte is read.
///
/// An item at an entry's path and of the entry's kind is the same thing, for any inode. Programs save by putting a new file in an old
/// file's place. Of the rest a folder, and then a file, is found by the disk's number. The items of a moved folder are looked for in the
/// folder's new place.
package struct MirrorLook: Sendable {
    package struct Match: Hashable, Sendable {
        package var entry: MirrorEntry
        package var item: DiskItem
    }

    package private(set) var matches: [Match] = []
    /// Items without an entry; a folder stands before the folder's items.
    package private(set) var new: [DiskItem] = []
    /// Entries without an item.
    package private(set) var missing: [MirrorEntry] = []

    package init(_ entries: [MirrorEntry], _ items: [DiskItem]) {
        var open: [DiskPath: DiskItem] = [:]
        for item in items { open[item.path] = item }
        // Of two entries with the same path, the entry of the item there goes first. A step may have put a file in the place of a file that
        // went.
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

    /// Matches entries with the items at the entries' paths.
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
            // Of two names for a single file, the first is the moved name.
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

    /// The files to be read: new files, and files with a stamp unlike the entry's.
    package var unread: [DiskItem] {
        matches.filter { $0.item.kind == .file && $0.item.stamp != $0.entry.stamp }.map(\.item)
            + new.filter { $0.kind == .file }
    }
}

/// Holds back deletions that nobody may have meant: of an emptied directory, or of a half-mounted disk.
package enum DeletionGuard {
    /// At least so many files have to be gone, and more than half of all files.
    package static let leastCount = 20

    /// - Parameters:
    ///   - missing: entries without an item.
    ///   - entries: all entries.
    package static func holds(_ missing: [MirrorEntry], of entries: [MirrorEntry]) -> Bool {
        let gone = missing.count { $0.kind == .file }
        return gone >= leastCount && 2 * gone > entries.count { $0.kind == .file }
    }
}
