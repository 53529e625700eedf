import FerryCore
import FerryDocuments

/// A step by which a directory comes to look as it should.
package enum OutflowStep: Hashable, Sendable {
    /// Takes a file off the disk that shows nothing any more.
    case remove(MirrorKey)
    /// Puts something out of the way, into the mirror's own folder. It moves to its place later.
    case aside(MirrorKey)
    case makeFolder(WantedItem)
    case move(MirrorKey, to: DiskPath)
    case write(WantedItem)
    /// Puts another version in a file's place.
    case replace(MirrorKey, by: WantedItem)
    /// The bytes are those of this version, too.
    case note(MirrorKey, VersionID)
    case removeFolder(MirrorKey)
}

/// Which steps make a directory look as it should, in their order. Pure: it follows in mind what each step does.
///
/// Each step looks at the disk before and after it (`MirrorPass`). A step that cannot be done leaves the rest as it is, and the next pass
/// plans anew.
package struct OutflowPlan: Sendable {
    package private(set) var steps: [OutflowStep] = []

    private var entries: [MirrorKey: MirrorEntry] = [:]
    private var occupied: [DiskPath: MirrorKey] = [:]
    private let waiting: Set<MirrorKey>

    /// - Parameter waiting: what must not be touched.
    package init(_ entries: [MirrorEntry], _ wanted: WantedItems, waiting: Set<MirrorKey>) {
        self.waiting = waiting
        for entry in entries {
            self.entries[entry.key] = entry
            occupied[entry.path] = entry.key
        }
        let needed = Set(wanted.items.map(\.key))
        let unneeded = entries.filter { !needed.contains($0.key) && !waiting.contains($0.key) }
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

    /// Follows a move, of a folder with everything in it.
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
    /// - Returns: `false` where something lies there that must not be touched.
    private mutating func clear(_ path: DiskPath, for key: MirrorKey) -> Bool {
        guard let other = occupied[path], other != key else { return true }
        if waiting.contains(other) { return false }
        steps.append(.aside(other))
        follow(other, to: Self.aside(other))
        return true
    }

    /// Where something lies that is out of the way.
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
