import FerryCore
import FerryDocuments

/// A mirror's view of the documents, at one moment.
package struct MirrorTree: Sendable {
    package let tree: DocumentTree
    /// The shown versions, and their rivals.
    package let versions: [VersionID: VersionRow]
    /// The names of devices.
    package let deviceNames: [DeviceID: String]
    /// The version with which each rival's branch began: the name of the rival's copy tells of this version, so that an edit of the copy
    /// renames the copy on no device.
    package let beginnings: [VersionID: VersionRow]

    package init(tree: DocumentTree, versions: [VersionRow], deviceNames: [DeviceID: String]) {
        self.tree = tree
        let needed = Set(tree.entries.filter(\.isShown).flatMap { [$0.version].compactMap { $0 } + $0.rivals })
        self.versions = Dictionary(
            versions.lazy.filter { needed.contains($0.id) }.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first }
        )
        self.deviceNames = deviceNames
        let disputed = Set(tree.entries.filter { $0.isShown && !$0.rivals.isEmpty }.map(\.id))
        var histories: [DocumentID: [VersionRow]] = [:]
        if !disputed.isEmpty {
            for version in versions where disputed.contains(version.document) {
                histories[version.document, default: []].append(version)
            }
        }
        var beginnings: [VersionID: VersionRow] = [:]
        for history in histories.values {
            let (past, leaves) = (VersionHistory(history), DocumentLeaves(history))
            for rival in leaves.rivals {
                beginnings[rival.id] = past.beginning(of: rival, besides: leaves.all.filter { $0.id != rival.id })
            }
        }
        self.beginnings = beginnings
    }

    package init(
        documents: [DocumentRow], versions: [VersionRow], sizes: [ContentID: Int] = [:],
        deviceNames: [DeviceID: String] = [:]
    ) {
        let tree = DocumentTree(documents: documents, versions: versions) { sizes[$0] }
        self.init(tree: tree, versions: versions, deviceNames: deviceNames)
    }
}

extension MirrorTree {
    /// True for a document with an unknown fate: the row of the new folder around, or of the shown version, has not arrived. Nothing is
    /// removed from a disk for lack of a row.
    func isUnknown(_ document: DocumentID) -> Bool { tree[document]?.version == nil }
}

/// A file or folder wanted in a mirror.
package struct WantedItem: Hashable, Sendable {
    package var path: DiskPath
    package var key: MirrorKey
    package var kind: DiskItem.Kind
    package var version: VersionID
    package var content: ContentID
    package var mode: Int64
    package var modifiedMicroseconds: Int64
}

/// The wanted look of a mirror: the shown documents, under names allowed by the disk, with the copies of rivals.
///
/// Invariants:
/// - No two items have the same path, nor paths with the same name for the disk.
/// - A folder stands before the folder's items.
package struct WantedItems: Sendable {
    package private(set) var items: [WantedItem] = []
    /// Documents without a possible place there, and why.
    package private(set) var left: [DiskScan.Left] = []
    /// Documents there under a name unlike their own.
    package private(set) var renamed: [DiskScan.Left] = []
    private var children: [Place: DocumentID] = [:]
    private var paths: [MirrorKey: DiskPath] = [:]
    private var copies: [DiskPath: WantedItem] = [:]

    private struct Place: Hashable {
        var folder: DocumentID?
        var name: [UInt8]
    }

    private let rules: DiskRules

    /// - Parameter entries: the present places of rivals' copies. A copy keeps the name while somebody edits the copy.
    package init(_ state: MirrorTree, entries: [MirrorEntry], rules: DiskRules, ignoring: IgnoreRules) {
        self.rules = rules
        var copies: [MirrorKey: DiskPath] = [:]
        for entry in entries where entry.key.rival != nil { copies[entry.key] = entry.path }
        // No recursion: a tree may be deep.
        var next: [(folder: DocumentID?, path: DiskPath)] = [(nil, .top)]
        var place = 0
        while place < next.count {
            let (folder, path) = next[place]
            place += 1
            next += add(state, folder, path, copies, ignoring)
        }
        for item in items {
            paths[item.key] = item.path
            if item.key.rival != nil { self.copies[item.path] = item }
        }
    }

    /// The wanted copy of a rival at a path.
    package func copy(at path: DiskPath) -> WantedItem? { copies[path] }

    /// The wanted place of a file or folder.
    package func path(of key: MirrorKey) -> DiskPath? { paths[key] }

    /// The document in a folder under a name of the disk's.
    package func document(in folder: DocumentID?, named name: String) -> DocumentID? {
        children[Place(folder: folder, name: rules.key(name))]
    }

    /// Adds the items of a folder.
    /// - Returns: the folders in the folder.
    private mutating func add(
        _ state: MirrorTree, _ folder: DocumentID?, _ path: DiskPath, _ copies: [MirrorKey: DiskPath],
        _ ignoring: IgnoreRules
    ) -> [(folder: DocumentID?, path: DiskPath)] {
        var taken: Set<[UInt8]> = []
        var folders: [(folder: DocumentID?, path: DiskPath)] = []
        var conflicts: [(entry: DocumentTree.Entry, path: DiskPath)] = []
        for entry in state.tree.shown(in: folder) {
            let own = path.appending(entry.name)
            if entry.kind == .package || entry.kind == .link {
                left.append(.init(path: own.text, reason: "it is a \(entry.kind == .link ? "link" : "package")"))
                continue
            }
            if ignoring.ignoresHere(own, isFolder: entry.kind == .folder) {
                left.append(.init(path: own.text, reason: "files of this name are ignored"))
                continue
            }
            var name = entry.name
            if rules.refuses(name) || taken.contains(rules.key(name)) {
                name = LocalName.of(entry.name, entry.id, rules)
                renamed.append(.init(path: own.text, reason: "it is “\(name)” here: the disk does not take its name"))
            }
            taken.insert(rules.key(name))
            children[Place(folder: folder, name: rules.key(name))] = entry.id
            let place = path.appending(name)
            guard let item = Self.item(entry, state, place) else { continue }
            items.append(item)
            if entry.kind == .folder { folders.append((entry.id, place)) }
            if !entry.rivals.isEmpty { conflicts.append((entry, place)) }
        }
        for (entry, place) in conflicts where entry.kind == .file { addCopies(entry, place, state, copies, &taken) }
        return folders
    }

    private static func item(_ entry: DocumentTree.Entry, _ state: MirrorTree, _ path: DiskPath) -> WantedItem? {
        guard let id = entry.version, let version = state.versions[id] else { return nil }
        // A deleted folder with items has no content, and is there all the same.
        guard let content = version.content ?? (entry.kind == .folder ? .zero : nil) else { return nil }
        return WantedItem(
            path: path, key: MirrorKey(document: entry.id), kind: entry.kind == .folder ? .folder : .file, version: id,
            content: content, mode: version.mode & 1, modifiedMicroseconds: version.modifiedMicroseconds)
    }

    /// The devices of rivals, for the names of copies. Devices of one name get the first digits of their IDs: a number by arrival would name
    /// different bytes on different devices.
    private static func labels(
        of rivals: [VersionRow], _ state: MirrorTree
    ) -> [VersionID: (text: String, isMarked: Bool)] {
        let devices = rivals.map { (rival: $0.id, device: (state.beginnings[$0.id] ?? $0).device) }
        var known: [String: Set<DeviceID>] = [:]
        for device in devices.compactMap(\.device) {
            known[state.deviceNames[device] ?? "", default: []].insert(device)
        }
        return Dictionary(
            devices.map { rival, device in
                let name = device.flatMap { state.deviceNames[$0] } ?? ""
                guard let device, known[name, default: []].count > 1 else { return (rival, (name, false)) }
                let digits = device.hex.prefix(4)
                return (rival, (name.isEmpty ? String(digits) : "\(name) \(digits)", true))
            }, uniquingKeysWith: { first, _ in first })
    }

    private mutating func addCopies(
        _ entry: DocumentTree.Entry, _ path: DiskPath, _ state: MirrorTree, _ copies: [MirrorKey: DiskPath],
        _ taken: inout Set<[UInt8]>
    ) {
        let rivals = entry.rivals.compactMap { state.versions[$0] }
        let labels = Self.labels(of: rivals, state)
        var names: [VersionID: String] = [:]
        // Present copies keep their names, and new copies go around these names.
        for rival in rivals {
            guard let present = copies[MirrorKey(document: entry.id, rival: rival.id)], present.folder == path.folder,
                LocalName.isOfCopy(present.name, of: path.name),
                labels[rival.id].map({ !$0.isMarked || present.name.contains($0.text) }) ?? true,
                taken.insert(rules.key(present.name)).inserted
            else { continue }
            names[rival.id] = present.name
        }
        for rival in rivals where names[rival.id] == nil {
            let began = state.beginnings[rival.id] ?? rival
            var number = 1
            var name: String
            repeat {
                name = LocalName.ofCopy(
                    path.name, label: labels[rival.id]?.text ?? "",
                    madeMilliseconds: began.madeMilliseconds, number: number)
                if rules.refuses(name) { name = LocalName.of(name, entry.id, rules) }
                number += 1
            } while !taken.insert(rules.key(name)).inserted && number < 10_000
            names[rival.id] = name
        }
        for rival in rivals {
            guard let name = names[rival.id], let content = rival.content else { continue }
            items.append(
                WantedItem(
                    path: path.folder.appending(name), key: MirrorKey(document: entry.id, rival: rival.id), kind: .file,
                    version: rival.id, content: content, mode: rival.mode & 1,
                    modifiedMicroseconds: rival.modifiedMicroseconds))
        }
    }
}

extension ContentID {
    /// The content of folders in a mirror's table.
    package static let zero = ContentID(high: 0, low: 0)
}
