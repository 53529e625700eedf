import FerryContainer
import FerryCore
import FerryEngine
import FerrySQL
import FerryStore

/// The source of a document to add.
package struct DocumentSource: Hashable, Sendable {
    /// The file's path on the disk.
    package var file: String
    package var path: DocumentPath
    package var modifiedMicroseconds: Int64
    package var isExecutable: Bool

    package init(file: String, path: DocumentPath, modifiedMicroseconds: Int64, isExecutable: Bool = false) {
        self.file = file
        self.path = path
        self.modifiedMicroseconds = modifiedMicroseconds
        self.isExecutable = isExecutable
    }

    var mode: Int64 { isExecutable ? 1 : 0 }
}

/// The result of a change of a document.
package struct DocumentOutcome: Hashable, Sendable {
    package let document: DocumentID
    package let path: DocumentPath
    /// The version made by the change; `nil` if nothing had to be changed.
    package let version: VersionID?
    package let byteCount: Int
}

/// Changes of documents. Each call is a single transaction: all of the change is there, or nothing.
extension DocumentAccess {
    private func author() -> VersionAuthor {
        VersionAuthor(
            device: replica.identity.device, nowMilliseconds: replica.environment.clock.milliseconds(),
            random: replica.environment.random)
    }

    // MARK: Adding

    /// Adds files as documents. Folders on the way are made.
    /// - Parameters:
    ///   - replacing: true: a document at the path gets a new version. False: a document with different bytes there is
    ///     refused.
    ///   - progress: called with the bytes taken so far.
    /// - Returns: the outcomes in the order of the sources, and the bytes of the new packs.
    /// - Throws: `nameTaken`; as `Replica.storeContents`.
    package func add(
        _ sources: [DocumentSource], replacing: Bool = false, progress: ((Int) throws -> Void)? = nil
    ) throws -> (outcomes: [DocumentOutcome], newBytes: Int) {
        do {
            return try addOnce(sources, replacing: replacing, progress)
        } catch let error as FerryError where error.code == .contentNotHere {
            // Meanwhile a content with some of the bytes was deleted by a different device.
            return try addOnce(sources, replacing: replacing, progress)
        }
    }

    private func addOnce(
        _ sources: [DocumentSource], replacing: Bool, _ progress: ((Int) throws -> Void)?
    ) throws -> (outcomes: [DocumentOutcome], newBytes: Int) {
        let stored = try replica.storeContents(sources.map(\.file), progress: progress)
        let outcomes = try changing(needsFolders: sources.contains { $0.path.names.count > 1 }) { change in
            try change.insert(stored)
            return try zip(sources, stored).map { source, content in
                try change.put(
                    content, at: source.path,
                    VersionBytes(
                        content: content.id, modifiedMicroseconds: source.modifiedMicroseconds, mode: source.mode),
                    replacing: replacing)
            }
        }
        return (outcomes, stored.first?.newByteCount ?? 0)
    }

    /// Makes a folder, with the folders around it. An existing folder stays.
    /// - Throws: `nameTaken` where a document has the name.
    @discardableResult
    package func makeFolder(_ path: DocumentPath) throws -> DocumentID? {
        try changing(needsFolders: true) { try $0.makeFolders(path) }
    }

    // MARK: Changing

    /// Saves a content over the edited version. Versions made meanwhile by other devices stay, as rivals.
    /// - Returns: the new version; the edited version if the bytes are the same.
    /// - Throws: `nothingFound` for an unknown document or version; `invalidArgument` for a folder.
    package func save(
        _ content: StoredContent, modifiedMicroseconds: Int64, mode: Int64? = nil, to document: DocumentID,
        over version: VersionID
    ) throws -> VersionID {
        try changing { change in
            try Self.refuseFolder(document, change.table)
            let versions = try change.table.versions(of: document)
            guard let edited = versions.first(where: { $0.id == version }) else {
                throw FerryError(.nothingFound, "The document has no such version any more. Nothing was changed.")
            }
            let bytes = VersionBytes(
                content: content.id, modifiedMicroseconds: modifiedMicroseconds, mode: mode ?? edited.mode)
            if edited.content == bytes.content, edited.mode == bytes.mode, !edited.isSuperseded { return edited.id }
            try change.insert([content])
            let saving = DocumentChange.saving(bytes, over: edited, among: versions, by: change.author)
            try change.apply(saving)
            return saving.versions[0].id
        }
    }

    /// Moves or renames a document or a folder.
    /// - Parameter path: the new path. Folders on the way are made.
    /// - Throws: `nameTaken` if the path is taken; `invalidArgument` for a move of a folder into itself.
    package func move(_ document: DocumentID, to path: DocumentPath) throws {
        try changing(needsFolders: path.names.count > 1) { change in
            guard change.tree[document] != nil else { throw Self.unknown }
            guard let name = path.name, let around = path.folder, let entry = change.tree[document], entry.isShown
            else { throw FerryError(.invalidArgument, "A document cannot be moved to “\(path)”.") }
            if let present = DocumentAccess.lookUp(path, change.tree), present != document { throw Self.taken(path) }
            let folder = try change.makeFolders(around)
            var next = folder
            while let id = next {
                if id == document {
                    throw FerryError(.invalidArgument, "“\(path)” lies in the folder that is to be moved.")
                }
                next = change.tree[id]?.folder
            }
            try change.table.place(
                document, in: folder, as: name, atMilliseconds: change.author.nowMilliseconds)
        }
    }

    /// Puts a document into the trash; a folder with everything in it.
    /// - Returns: how many documents and folders.
    /// - Throws: `nothingFound` for an unknown document.
    @discardableResult
    package func remove(_ document: DocumentID) throws -> Int {
        try changing { change in
            guard change.tree[document] != nil else { throw Self.unknown }
            var (next, count) = ([document], 0)
            while let id = next.popLast() {
                next += change.tree.shown(in: id).map(\.id)
                let versions = try change.table.versions(of: id)
                try change.apply(.removing(id, versions, by: change.author))
                count += 1
            }
            return count
        }
    }

    /// Puts a document back out of the trash, with the folders around it; a folder with all deleted documents in it.
    /// - Returns: how many documents and folders.
    /// - Throws: `nothingFound` for a document outside the trash.
    @discardableResult
    package func putBack(_ document: DocumentID) throws -> Int {
        try changing { change in
            guard let entry = change.tree[document], entry.isDeleted else {
                throw FerryError(.nothingFound, "The document is not in the trash.")
            }
            var count = 0
            var (around, seen): (DocumentID?, Set<DocumentID>) = (entry.folder, [])
            while let id = around, seen.insert(id).inserted, let folder = change.tree[id] {
                if folder.isDeleted { count += try change.putBack(id) }
                around = folder.folder
            }
            let byFolder = Dictionary(grouping: change.tree.entries.filter(\.isDeleted), by: \.folder)
            var (next, done): ([DocumentID], Set<DocumentID>) = ([document], [])
            while let id = next.popLast() {
                guard done.insert(id).inserted else { continue }
                count += try change.putBack(id)
                next += byFolder[id]?.map(\.id) ?? []
            }
            return count
        }
    }

    /// Settles a conflict by an existing version.
    /// - Returns: the current version after the change.
    /// - Throws: `nothingFound` without a conflict, or for an unknown version.
    @discardableResult
    package func settle(_ document: DocumentID, keeping version: VersionID) throws -> VersionID {
        try settle(document) { _ in .keep(version) }
    }

    /// Settles a conflict: each rival becomes a separate document beside the first.
    @discardableResult
    package func settleKeepingBoth(_ document: DocumentID) throws -> VersionID {
        let names = try deviceNames()
        return try settle(document) { change in
            let versions = try change.table.versions(of: document)
            let name = change.tree[document]?.name ?? ""
            return .keepBoth(
                names: DocumentLeaves(versions).rivals.map { rival in
                    CopyName.of(
                        name, label: rival.device.flatMap { names[$0] } ?? "",
                        madeMilliseconds: rival.madeMilliseconds)
                })
        }
    }

    /// Settles a conflict by merged bytes.
    @discardableResult
    package func settle(
        _ document: DocumentID, with content: StoredContent, modifiedMicroseconds: Int64
    ) throws -> VersionID {
        try settle(document) { change in
            try change.insert([content])
            return .with(VersionBytes(content: content.id, modifiedMicroseconds: modifiedMicroseconds))
        }
    }

    private func settle(_ document: DocumentID, _ how: (RunningChange) throws -> Settlement) throws -> VersionID {
        try changing { change in
            guard let row = try change.table.document(document) else { throw Self.unknown }
            let settling = try DocumentChange.settling(
                row, change.table.versions(of: document), how(change), by: change.author,
                isTaken: change.table.isTaken)
            try change.apply(settling)
            return settling.versions.last { $0.document == document }?.id ?? settling.versions[0].id
        }
    }

    /// The error for an ID of no document.
    static var unknown: FerryError { FerryError(.nothingFound, "There is no such document.") }

    static func taken(_ path: DocumentPath) -> FerryError {
        FerryError(
            .nameTaken, "There is a document “\(path)” already. Choose another name, or `put` a new version of it.")
    }

    // MARK: Transactions

    /// Runs a change in a single transaction. If the change refers to deleted, held-back contents, their bytes are
    /// packed again, and the change is run anew.
    /// - Parameter needsFolders: whether folders may be made: their versions have the empty content.
    /// - Throws: `busy` if other devices delete contents again and again meanwhile; as `Replica.storeAgain`.
    private func changing<Result>(
        needsFolders: Bool = false, _ body: (RunningChange) throws -> Result
    ) throws -> Result {
        try store.makeDocumentTables()
        let empty = try needsFolders ? replica.emptyContent() : nil
        var again: [StoredContent] = []
        for _ in 0..<4 {
            do {
                return try store.write { connection in
                    let change = RunningChange(connection, try Self.tree(connection), author(), empty)
                    try change.insert(again)
                    let result = try body(change)
                    let lacking = try change.lackingContents()
                    if !lacking.isEmpty { throw LackingContents(ids: lacking) }
                    return result
                }
            } catch let lack as LackingContents {
                again = try replica.storeAgain(lack.ids)
            }
        }
        throw FerryError(.busy, "Other devices removed bytes that the change needs, again and again. Try once more.")
    }

    /// The contents behind a change that must be packed before the change.
    private struct LackingContents: Error {
        let ids: [ContentID]
    }
}

/// A transaction of document changes. The tree follows each change.
final class RunningChange {
    let connection: SQLConnection
    let table: DocumentTable
    let author: VersionAuthor
    private(set) var tree: DocumentTree
    private let empty: StoredContent?
    /// Folders and documents made by this change, by path.
    private var made: [DocumentPath: DocumentID] = [:]
    /// Documents made by this change.
    private var taken: Set<DocumentID> = []
    /// The contents with bytes from this change, and the contents of its versions.
    private var stored: Set<ContentID> = []
    private var referred: Set<ContentID> = []

    init(_ connection: SQLConnection, _ tree: DocumentTree, _ author: VersionAuthor, _ empty: StoredContent?) {
        self.connection = connection
        self.tree = tree
        self.author = author
        self.empty = empty
        table = DocumentTable(connection)
    }

    private func lookUp(_ path: DocumentPath) -> DocumentID? {
        made[path] ?? DocumentAccess.lookUp(path, tree)
    }

    /// Writes the rows of contents with stored bytes.
    func insert(_ contents: [StoredContent]) throws {
        if contents.isEmpty { return }
        try StoredContent.insert(contents, connection)
        stored.formUnion(contents.map(\.id))
    }

    /// Writes rows of documents and versions.
    func apply(_ change: DocumentChange) throws {
        try table.apply(change)
        referred.formUnion(change.versions.compactMap(\.content))
    }

    /// The contents of new versions, deleted meanwhile by other devices and without bytes in this change.
    func lackingContents() throws -> [ContentID] {
        let unstored = referred.subtracting(stored)
        return try unstored.isEmpty ? [] : unstored.intersection(ContentRows(connection).heldBack()).sorted()
    }

    /// Makes the missing folders of a path.
    /// - Returns: the last folder; `nil` for the top.
    func makeFolders(_ path: DocumentPath) throws -> DocumentID? {
        guard let name = path.name, let around = path.folder else { return nil }
        if let present = lookUp(path) {
            guard made[path] != nil || tree[present]?.kind == .folder else { throw DocumentAccess.taken(path) }
            return present
        }
        guard let empty else {
            throw FerryError(.internalInconsistency, "A change was to make a folder, and did not say so.")
        }
        let folder = try makeFolders(around)
        try insert([empty])
        return try make(
            name, in: folder, .folder, path,
            VersionBytes(content: empty.id, modifiedMicroseconds: author.nowMilliseconds * 1000)
        ).document
    }

    private func make(
        _ name: String, in folder: DocumentID?, _ kind: DocumentKind, _ path: DocumentPath, _ bytes: VersionBytes
    ) throws -> (document: DocumentID, version: VersionID) {
        let id = try DocumentID.free(folder: folder, name: name, kind: kind, isTaken: table.isTaken)
        let change = DocumentChange.making(
            DocumentRow(id: id, folder: folder, name: name, kind: kind), bytes, by: author)
        try apply(change)
        made[path] = id
        if kind != .folder { taken.insert(id) }
        return (id, change.versions[0].id)
    }

    /// Puts a content with existing rows at a path: a new document, or a new version of the document there.
    func put(
        _ content: StoredContent, at path: DocumentPath, _ bytes: VersionBytes, replacing: Bool
    ) throws -> DocumentOutcome {
        guard let name = path.name, let around = path.folder else {
            throw FerryError(.invalidArgument, "A document needs a name, and “\(path)” has none.")
        }
        guard let present = lookUp(path) else {
            let folder = try makeFolders(around)
            let (document, version) = try make(name, in: folder, .file, path, bytes)
            return DocumentOutcome(document: document, path: path, version: version, byteCount: content.byteCount)
        }
        if made[path] == present, taken.contains(present) {
            // Two files of a directory with names different only by spelling: both are shown, the second as “name (2)”.
            let (document, version) = try make(name, in: makeFolders(around), .file, path, bytes)
            return DocumentOutcome(document: document, path: path, version: version, byteCount: content.byteCount)
        }
        let versions = try table.versions(of: present)
        guard let current = DocumentLeaves(versions).current, try table.document(present)?.kind == .file else {
            throw DocumentAccess.taken(path)
        }
        if current.content == bytes.content, current.mode == bytes.mode {
            return DocumentOutcome(document: present, path: path, version: nil, byteCount: content.byteCount)
        }
        guard replacing else { throw DocumentAccess.taken(path) }
        let saving = DocumentChange.saving(bytes, over: current, among: versions, by: author)
        try apply(saving)
        return DocumentOutcome(
            document: present, path: path, version: saving.versions[0].id, byteCount: content.byteCount)
    }

    /// Puts a document back out of the trash.
    /// - Returns: 1, or 0 where no version with content is left.
    func putBack(_ document: DocumentID) throws -> Int {
        guard let change = DocumentChange.puttingBack(document, try table.versions(of: document), by: author) else {
            return 0
        }
        try apply(change)
        return 1
    }
}
