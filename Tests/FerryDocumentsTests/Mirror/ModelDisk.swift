import FerryContainer
import FerryCore
import FerryDocuments
import FerryMirror
import FerryTestSupport

/// A model of a disk: files with inodes and times, open files, and writers between any two calls of a mirror.
///
/// A file's bytes are a number. What a person wrote has its own number every time.
final class ModelDisk: MirrorDisk {
    final class Node {
        let inode: UInt64
        let born: Int64
        let isFolder: Bool
        var content: UInt64
        var modified: Int64
        var changed: Int64
        var isExecutable = false
        var children: [String: Node] = [:]
        /// Programs that have the file open for writing.
        var writers = 0

        init(inode: UInt64, born: Int64, isFolder: Bool, content: UInt64 = 0) {
            self.inode = inode
            self.born = born
            self.isFolder = isFolder
            self.content = content
            (modified, changed) = (born, born)
        }
    }

    enum Source {
        case path(DiskPath)
        case content(UInt64)
    }

    struct Crash: Error {}

    let rules: DiskRules
    /// Whether the disk exchanges names, and tells when a file was made.
    let canExchange: Bool
    let tellsBirth: Bool
    private(set) var root = Node(inode: 1, born: 1, isFolder: true)
    private var nextInode: UInt64 = 2
    private var freeInodes: [UInt64] = []
    /// In nanoseconds.
    var now: Int64 = 0
    /// Called before and after everything that a mirror does.
    var between: () throws -> Void = {}
    /// Told what a mirror destroys: a content and whether somebody had it open for writing.
    var onDestruction: (UInt64, Bool) -> Void = { _, _ in }
    /// Told which bytes a mirror takes from a place where people saw them.
    var onLeaving: (DiskPath, UInt64) -> Void = { _, _ in }
    /// Folders in which the system refuses changes.
    var closed: Set<DiskPath> = []
    private(set) var calls: [String] = []
    var onCall: (String) -> Void = { _ in }
    // Rules that a story leaves out (`MirrorStory.Omission`).
    var isBlind = false
    var ignoresWriters = false
    var replaces = false
    var hidesWork = false
    /// How files looked when they were looked at last in a scan, by inode.
    private var scanned: [UInt64: DiskStamp] = [:]

    init(rules: DiskRules = DiskRules(), canExchange: Bool = true, tellsBirth: Bool = true) {
        self.rules = rules
        self.canExchange = canExchange
        self.tellsBirth = tellsBirth
    }

    // MARK: Nodes

    func node(_ path: DiskPath) -> Node? {
        var node = root
        for name in path.text.split(separator: "/") {
            guard let next = node.children[String(name)] else { return nil }
            node = next
        }
        return node
    }

    func makeNode(isFolder: Bool, content: UInt64 = 0) -> Node {
        let inode = freeInodes.popLast() ?? nextInode
        if inode == nextInode { nextInode += 1 }
        return Node(inode: inode, born: now, isFolder: isFolder, content: content)
    }

    /// Puts a node at a path, in place of what is there.
    func put(_ node: Node, at path: DiskPath) {
        let around = self.node(path.folder)
        if let old = around?.children[path.name], old !== node { freeInodes.append(old.inode) }
        around?.children[path.name] = node
        node.changed = now
    }

    @discardableResult
    func take(_ path: DiskPath) -> Node? { node(path.folder)?.children.removeValue(forKey: path.name) }

    func free(_ node: Node) { freeInodes.append(node.inode) }

    /// Everything but the mirror's own folder, folders first.
    func everything(below path: DiskPath = .top) -> [(path: DiskPath, node: Node)] {
        guard let folder = node(path) else { return [] }
        return folder.children.sorted { $0.key < $1.key }.flatMap { name, child -> [(path: DiskPath, node: Node)] in
            let place = path.appending(name)
            if place == .own { return [] }
            return [(place, child)] + (child.isFolder ? everything(below: place) : [])
        }
    }

    private func stamp(_ node: Node) -> DiskStamp {
        DiskStamp(
            device: 1, inode: node.inode, born: tellsBirth ? node.born : 0, size: Int(node.content % 3) + 1,
            modified: node.modified, changed: node.changed, isExecutable: node.isExecutable)
    }

    private func item(_ path: DiskPath, _ node: Node) -> DiskItem {
        DiskItem(path: path, kind: node.isFolder ? .folder : .file, stamp: stamp(node))
    }

    /// Runs a call with writers before and after, and sometimes a crash.
    private func call<R>(_ name: String, _ body: () throws -> R) throws -> R {
        try between()
        let result = try body()
        calls.append(name)
        onCall(name)
        now += 1_000
        try between()
        return result
    }

    private func refuseChange(of paths: DiskPath...) throws {
        guard let path = paths.first(where: { closed.contains($0.folder) }) else { return }
        throw SystemCallError(call: "rename", number: 13).ferryError(path: "work/" + path.name)
    }

    // MARK: As a mirror uses it

    func ignoreText() throws -> String? { "*.tmp\n" }

    func scan(_ ignoring: IgnoreRules) throws -> DiskScan {
        try call("scan") {
            var scan = DiskScan()
            add(.top, ignoring, &scan)
            for (name, child) in node(.work)?.children.sorted(by: { $0.key < $1.key }) ?? []
            where name.hasPrefix("aside-") {
                let path = DiskPath.work.appending(name)
                scan.items.append(item(path, child))
                if child.isFolder { add(path, ignoring, &scan) }
            }
            for item in scan.items { scanned[item.stamp.inode] = item.stamp }
            return scan
        }
    }

    private func add(_ path: DiskPath, _ ignoring: IgnoreRules, _ scan: inout DiskScan) {
        for (name, child) in node(path)?.children.sorted(by: { $0.key < $1.key }) ?? [] {
            let place = path.appending(name)
            if ignoring.ignoresHere(place, isFolder: child.isFolder) { continue }
            scan.items.append(item(place, child))
            if child.isFolder { add(place, ignoring, &scan) }
        }
    }

    func item(at path: DiskPath) throws -> DiskItem? {
        try call("item") {
            guard let node = node(path) else { return nil }
            var item = item(path, node)
            if isBlind && path.isBelow(.work) {
                item.stamp = scanned[node.inode] ?? item.stamp
            }
            return item
        }
    }

    func source(at path: DiskPath) -> Source { .path(path) }

    func isOpenForWriting(_ path: DiskPath) throws -> Bool {
        try call("open") { !ignoresWriters && (node(path)?.writers ?? 0) > 0 }
    }

    func waitReason(_ path: DiskPath) throws -> String? { nil }

    func makeFolder(at path: DiskPath) throws -> Bool {
        try call("mkdir \(path)") {
            guard let around = node(path.folder), around.isFolder, around.children[path.name] == nil else {
                return false
            }
            if rules.refuses(path.name) { throw FerryError(.inputOutput, "The disk refuses \(path).") }
            try refuseChange(of: path)
            put(makeNode(isFolder: true), at: path)
            return true
        }
    }

    func removeFolder(at path: DiskPath) throws -> Bool {
        try call("rmdir \(path)") {
            guard let folder = node(path), folder.isFolder, folder.children.isEmpty else { return false }
            take(path).map(free)
            return true
        }
    }

    func rename(_ path: DiskPath, to new: DiskPath) throws -> Bool {
        try call("rename \(path) \(new)") {
            makeWork()
            guard let old = node(path), let around = node(new.folder), around.isFolder,
                replaces || around.children[new.name] == nil, !new.isBelow(path)
            else { return false }
            try refuseChange(of: path, new)
            if let there = around.children[new.name], !there.isFolder {
                onDestruction(there.content, there.writers > 0)
            }
            if rules.refuses(new.name), !new.isBelow(.own) {
                throw FerryError(.inputOutput, "The disk refuses \(new).")
            }
            if !old.isFolder, !path.isBelow(.own) { onLeaving(path, old.content) }
            take(path)
            put(old, at: new)
            return true
        }
    }

    func synchronize() throws { try call("sync") {} }
    func synchronizeWork(_ names: [String]) throws { try call("sync files") {} }

    func exchange(_ one: DiskPath, with other: DiskPath) throws -> Bool? {
        try call("exchange \(one) \(other)") {
            if !canExchange { return nil }
            guard let left = node(one), let right = node(other) else { return false }
            try refuseChange(of: one, other)
            take(one)
            take(other)
            put(right, at: one)
            put(left, at: other)
            return true
        }
    }

    func removeWork(_ name: String) throws {
        try call("unlink \(name)") { destroy(DiskPath.work.appending(name)) }
    }

    private func destroy(_ path: DiskPath) {
        guard let node = take(path) else { return }
        onDestruction(node.content, node.writers > 0)
        free(node)
    }

    func workNames() throws -> [String] {
        try call("work") {
            if hidesWork { return [] }
            return node(.work)?.children.keys.sorted() ?? []
        }
    }

    func write(_ source: Source, toWork name: String, _ item: WantedItem, like old: DiskPath?) throws {
        try call("write \(name)") {
            guard case .content(let content) = source else { return }
            makeWork()
            let path = DiskPath.work.appending(name)
            destroy(path)
            let node = makeNode(isFolder: false, content: content)
            put(node, at: path)
            node.modified = item.modifiedMicroseconds * 1000
            node.isExecutable = item.mode == 1
        }
    }

    private func makeWork() {
        for path in [DiskPath.own, .work] where node(path) == nil { put(makeNode(isFolder: true), at: path) }
    }
}
