import FerryCore
import FerryDocuments

/// A step towards the wanted look of a directory.
package enum OutflowStep: Hashable, Sendable {
    /// Takes a file off the disk, because the file shows nothing any more.
    case remove(MirrorKey)
    /// Puts something out of the way, into the mirror's own folder. A later step moves the item to its place.
    case aside(MirrorKey)
    case makeFolder(WantedItem)
    case move(MirrorKey, to: DiskPath)
    case write(WantedItem)
    /// Puts a new version in a file's place.
    case replace(MirrorKey, by: WantedItem)
    /// This version has the same bytes, too.
    case note(MirrorKey, VersionID)
    case removeFolder(MirrorKey)
}

/// The steps to the wanted look of a directory, in order. Pure: the plan follows in mind the effect of each step.
///
/// Each step looks at the disk before and after (`MirrorPass`). A failed step leaves the rest of the directory alone, and the next pass
/// plans anew.
package struct OutflowPlan: Sendable {
    package private(set) var steps: [OutflowStep] = []

    private var entries: [MirrorKey: MirrorEntry] = [:]
    private var occupied: [DiskPath: MirrorKey] = [:]
    private let waiting: Set<MirrorKey>

    /// - Parameter waiting: the files and folders closed to changes.
    package init(_ entries: [MirrorEntry], _ wanted: WantedItems, waiting: Set<MirrorKey>) {
        self.waiting = waiting
        for entry in entries {
            self.entries[entry.key] = entry
            occupied[entry.path] = entry.key
        }
        let needed = Set(wanted.items.map(\.key))
        // A copy stays until the fate of its file is known: somebody may have taken the file's text over and removed the file.
        let unneeded = entries.filter { entry in
            !needed.contains(entry.key) && !waiting.contains(entry.key)
                && !waiting.contains(MirrorKey(document: entry.key.document))
        }
        for entry in unneeded where entry.kind == .file { remove(entry, .remove(entry.key)) }
        let gone = Set(unneeded.map(\.key))
        for item in wanted.items where item.kind == .folder && !waiting.contains(item.key) { placeFolder(item) }
        for item in wanted.items where item.kind == .file && !waiting.contains(item.key) { placeFile(item) }
        let folders = entries.compactMap { gone.contains($0.key) && $0.kind == .folder ? self.entries[$0.key] : nil }
        // The deepest first.
        for folder in folders.sorted(by: { ($0.path.depth, $1.path) > ($1.path.depth, $0.path) }) {
            remove(folder, .removeFolder(folder.key))
        }
    }

    private mutating func remove(_ entry: MirrorEntry, _ step: OutflowStep) {
        steps.append(step)
        entries[entry.key] = nil
        occupied[entry.path] = nil
    }

    /// Follows a move; with a folder moves everything in the folder.
    private mutating func follow(_ key: MirrorKey, to path: DiskPath) {
        guard let old = entries[key] else { return }
        let moving = old.kind == .folder ? entries.values.filter { $0.path.isBelow(old.path) } + [old] : [old]
        for entry in moving { occupied[entry.path] = nil }
        for entry in moving {
            let new = entry.path.moved(from: old.path, to: path)
            entries[entry.key]?.path = new
            occupied[new] = entry.key
        }
    }

    /// Makes room at a path.
    /// - Returns: `false` where the item at the path is closed to changes.
    private mutating func clear(_ path: DiskPath, for key: MirrorKey) -> Bool {
        guard let other = occupied[path], other != key else { return true }
        if waiting.contains(other) { return false }
        steps.append(.aside(other))
        follow(other, to: Self.aside(other))
        return true
    }

    /// The place of an item out of the way.
    package static func aside(_ key: MirrorKey) -> DiskPath {
        DiskPath.work.appending(WorkName.aside(key))
    }

    private mutating func placeFolder(_ item: WantedItem) {
        guard let entry = entries[item.key] else {
            if clear(item.path, for: item.key) { steps.append(.makeFolder(item)) }
            return
        }
        move(entry, to: item.path)
        if entry.version != item.version { steps.append(.note(item.key, item.version)) }
    }

    private mutating func move(_ entry: MirrorEntry, to path: DiskPath) {
        guard entry.path != path, clear(path, for: entry.key) else { return }
        steps.append(.move(entry.key, to: path))
        follow(entry.key, to: path)
    }

    private mutating func placeFile(_ item: WantedItem) {
        guard let entry = entries[item.key] else {
            if clear(item.path, for: item.key) { steps.append(.write(item)) }
            return
        }
        move(entry, to: item.path)
        if entry.version == item.version { return }
        if entry.content == item.content, entry.mode == item.mode {
            steps.append(.note(item.key, item.version))
        } else {
            steps.append(.replace(item.key, by: item))
        }
    }
}
