import FerryContainer
import FerryCore
import FerryDocuments
import FerryEngine
import FerrySQL
import FerryStore

/// The documents of a database, for a single mirror. Belongs to a single thread.
final class StoreMirrorBase: MirrorBase {
    private let replica: Replica
    private let documents: DocumentAccess
    private let mirror: MirrorID
    /// Stored contents without a row yet.
    private var stored: [ContentID: StoredContent] = [:]
    private var unwritten: Set<ContentID> = []

    init(_ replica: Replica, _ mirror: MirrorID) {
        self.replica = replica
        documents = DocumentAccess(replica)
        self.mirror = mirror
    }

    func nowMilliseconds() -> Int64 { replica.environment.clock.milliseconds() }

    func tree() throws -> MirrorTree {
        let names = try documents.deviceNames()
        return try replica.store.read { connection in
            let table = DocumentTable(connection)
            return MirrorTree(
                documents: try table.documents(), versions: try table.versions(), sizes: try table.sizes(),
                deviceNames: names)
        }
    }

    func entries() throws -> [MirrorEntry] {
        try replica.store.read { try MirrorTable($0).entries(of: mirror) }
    }

    func store(_ files: [MirrorSource]) throws -> [Result<ContentID, FerryError>] {
        let paths = files.map { source in
            switch source {
            case .file(let path): path
            case .bytes: ""
            }
        }
        return try replica.storeEach(paths).map { result in
            result.map { content in
                stored[content.id] = content
                unwritten.insert(content.id)
                return content.id
            }
        }
    }

    func change<R>(_ body: (any MirrorRows) throws -> R) throws -> R {
        let empty = try replica.emptyContent()
        let author = VersionAuthor(
            device: replica.identity.device, nowMilliseconds: nowMilliseconds(), random: replica.environment.random)
        let contents = unwritten.compactMap { stored[$0] }
        let (result, hasWritten) = try replica.store.write { connection in
            let rows = StoreMirrorRows(connection, mirror, author, empty, contents)
            return (try body(rows), rows.hasWrittenContents)
        }
        if hasWritten { unwritten = [] }
        return result
    }

    func source(of content: ContentID) throws -> Result<MirrorSource, FerryError> {
        do {
            if let row = try replica.store.readContents({ rows, _ in try rows.soundContent(content) }),
                case .file(.bytes(let bytes)) = row.list
            {
                return .success(.bytes(bytes))
            }
            let found = try replica.fetchContents([content])[0]
            return found.path.map { .success(.file($0)) } ?? .failure(Replica.notHere(found.problem))
        } catch let error as FerryError where error.code == .contentNotHere || error.code == .contentLost {
            return .failure(error)
        }
    }
}

/// The rows of a mirror's transaction.
private final class StoreMirrorRows: MirrorRows {
    let author: VersionAuthor
    private let connection: SQLConnection
    private let table: DocumentTable
    private let entries: MirrorTable
    private let mirror: MirrorID
    private let empty: StoredContent
    /// Stored contents. All get their rows with the first version of any of them, because they share packs.
    private let contents: [StoredContent]
    private(set) var hasWrittenContents = false
    private var hasEmpty = false

    init(
        _ connection: SQLConnection, _ mirror: MirrorID, _ author: VersionAuthor, _ empty: StoredContent,
        _ contents: [StoredContent]
    ) {
        self.connection = connection
        self.mirror = mirror
        self.author = author
        self.empty = empty
        self.contents = contents
        table = DocumentTable(connection)
        entries = MirrorTable(connection)
    }

    func emptyContent() throws -> ContentID {
        if !hasEmpty { try empty.insert(connection) }
        hasEmpty = true
        return empty.id
    }

    func document(_ id: DocumentID) throws -> DocumentRow? { try table.document(id) }
    func versions(of document: DocumentID) throws -> [VersionRow] { try table.versions(of: document) }
    func isTaken(_ id: DocumentID) throws -> Bool { try table.isTaken(id) }

    func apply(_ change: DocumentChange) throws {
        let needed = Set(change.versions.compactMap(\.content))
        if !hasWrittenContents, contents.contains(where: { needed.contains($0.id) }) {
            try StoredContent.insert(contents, connection)
            hasWrittenContents = true
        }
        try table.apply(change)
    }

    func place(_ id: DocumentID, in folder: DocumentID?, as name: String, atMilliseconds now: Int64) throws {
        try table.place(id, in: folder, as: name, atMilliseconds: now)
    }

    func put(_ entry: MirrorEntry) throws { try entries.put(entry, of: mirror) }
    func removeEntry(of key: MirrorKey) throws { try entries.removeEntry(of: key, mirror) }
}
