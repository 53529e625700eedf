import FerryCore

/// Steps that wait for the disk together: a single wait for their names, and one transaction for their entries.
///
/// Invariants:
/// - A crash may leave any part of a batch done, without entries. So no two steps of a batch touch the same path, nor a path below another
///   step's path. The next pass can tell each step's item from the disk alone.
/// - Removals stand by themselves: a file that went is forgotten before anything comes.
struct OutflowBatch {
    private(set) var steps: [OutflowStep] = []
    private var touched: Set<DiskPath> = []
    /// The folders around touched paths.
    private var around: Set<DiskPath> = []
    /// New folders. Later steps may put something there: a folder without an entry is known by the folder's name.
    private var made: Set<DiskPath> = []
    private var keys: Set<MirrorKey> = []
    private var kind: Kind?

    /// A batch has at most so many steps.
    static let maximumSteps = 256

    private enum Kind { case removal, folderRemoval, other }

    var isEmpty: Bool { steps.isEmpty }

    /// Adds a step that the steps before do not touch.
    /// - Parameter known: the entries as they are before the first step of the batch.
    /// - Returns: `false` where the batch has to be carried out first.
    mutating func add(_ step: OutflowStep, _ known: [MirrorKey: MirrorEntry]) -> Bool {
        let paths = Self.paths(of: step, known)
        if !isEmpty {
            guard steps.count < Self.maximumSteps, Self.kind(of: step) == kind, paths.allSatisfy(isFree) else {
                return false
            }
            // A copy gets the rights of its document's own file: that file is in its place before.
            if case .write(let item) = step, item.key.rival != nil,
                keys.contains(MirrorKey(document: item.key.document))
            {
                return false
            }
        }
        steps.append(step)
        kind = Self.kind(of: step)
        switch step {
        case .makeFolder: made.formUnion(paths)
        case .write: touched.formUnion(paths)
        case .remove(let key), .aside(let key), .move(let key, _), .replace(let key, _), .note(let key, _),
            .removeFolder(let key):
            touched.formUnion(paths)
            keys.insert(key)
        }
        for path in paths {
            var folder = path
            while !folder.isTop {
                folder = folder.folder
                guard around.insert(folder).inserted else { break }
            }
        }
        return true
    }

    /// True for a path that no step touches, neither above nor below.
    private func isFree(_ path: DiskPath) -> Bool {
        if around.contains(path) || made.contains(path) { return false }
        var place = path
        while !place.isTop {
            if touched.contains(place) { return false }
            place = place.folder
        }
        return true
    }

    private static func kind(of step: OutflowStep) -> Kind {
        switch step {
        case .remove: .removal
        case .removeFolder: .folderRemoval
        case .aside, .makeFolder, .move, .write, .replace, .note: .other
        }
    }

    private static func paths(of step: OutflowStep, _ known: [MirrorKey: MirrorEntry]) -> [DiskPath] {
        switch step {
        case .makeFolder(let item), .write(let item): [item.path]
        case .remove(let key), .removeFolder(let key), .replace(let key, _): [known[key]?.path].compactMap { $0 }
        case .aside(let key): [known[key]?.path].compactMap { $0 } + [OutflowPlan.aside(key)]
        case .move(let key, let path): [known[key]?.path].compactMap { $0 } + [path]
        case .note: []
        }
    }
}

/// The changes of a mirror's knowledge by a batch, and files on their way out.
struct OutflowNotes {
    private(set) var entries: [MirrorEntry] = []
    private(set) var forgotten: [MirrorKey] = []
    /// Files out of their places, by name in the mirror's own folder, with their entries from before.
    var leaving: [(name: String, entry: MirrorEntry)] = []

    var isEmpty: Bool { entries.isEmpty && forgotten.isEmpty && leaving.isEmpty }

    mutating func put(_ entry: MirrorEntry, _ known: inout [MirrorKey: MirrorEntry]) {
        entries.append(entry)
        known[entry.key] = entry
    }

    mutating func forget(_ key: MirrorKey, _ known: inout [MirrorKey: MirrorEntry]) {
        forgotten.append(key)
        known[key] = nil
    }
}
