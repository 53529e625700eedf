import FerryCore

/// A directory of `MemoryFileSystem`: its present entries, the durable entries, and every change in between.
///
/// Guarded by the file system's lock, never let out of the lock.
final class MemoryDirectory {
    enum Node {
        case file(MemoryFile)
        case directory(MemoryDirectory)
    }

    /// The changes of an operation, which reach the disk together: a node for a new name, none for a removed name.
    typealias Change = [String: Node?]

    /// As an inode's, but never used again.
    let number: UInt64
    /// How often its entries changed.
    private(set) var changeCount = 0
    private(set) var entries: [String: Node] = [:]
    private var durable: [String: Node] = [:]
    private var pending: [Change] = []

    init(number: UInt64) { self.number = number }

    /// Changes entries, not yet durably.
    func change(_ change: Change) {
        changeCount += 1
        Self.apply(change, to: &entries)
        pending.append(change)
    }

    /// Makes the entries durable.
    func synchronize() {
        durable = entries
        pending = []
    }

    /// Goes back to the remains of a crash, below this directory too.
    func crash(losing loss: MemoryFileSystem.Loss) {
        let kept =
            switch loss {
            case .nothing, .contents: pending.count
            case .everything: 0
            // File systems with a journal write such changes in their order.
            case .random(let random): Int(random.next() % UInt64(pending.count + 1))
            }
        for change in pending.prefix(kept) { Self.apply(change, to: &durable) }
        entries = durable
        changeCount += 1
        pending = []
        // In the order of their names, so that a seed always decides alike.
        for (_, node) in entries.sorted(by: { $0.key < $1.key }) {
            switch node {
            case .file(let file): file.crash(losing: loss)
            case .directory(let directory): directory.crash(losing: loss)
            }
        }
    }

    private static func apply(_ change: Change, to entries: inout [String: Node]) {
        for (name, node) in change { entries[name] = node }
    }

    /// The node at a path relative to this directory.
    func node(at path: String) -> Node? {
        var node = Node.directory(self)
        for name in path.split(separator: "/") {
            guard case .directory(let directory) = node, let next = directory.entries[String(name)] else { return nil }
            node = next
        }
        return node
    }

    /// The directory of a path's last component.
    func parent(of path: String) throws -> (MemoryDirectory, name: String) {
        let names = path.split(separator: "/")
        guard let name = names.last, case .directory(let parent) = node(at: names.dropLast().joined(separator: "/"))
        else { throw memoryError(path, "its folder is not there") }
        return (parent, String(name))
    }
}

/// The error of a failed step.
func memoryError(_ path: String, _ why: String) -> FerryError {
    FerryError(.inputOutput, "Ferry's access to \(path) failed: \(why).", path: path)
}
