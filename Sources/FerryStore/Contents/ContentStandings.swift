import FerryContent
import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// What this device knows of contents beyond their rows: which are deleted and remembered, and which stay although they are deleted.
struct ContentStandings {
    private let access: StoreAccess
    private let table: TrackedTable
    private let objects: ObjectTable
    private let list: Int
    private let size: Int

    /// - Returns: `nil` for a store without contents.
    init?(_ access: StoreAccess) throws {
        guard let table = access.registry.table(named: DocumentTables.content), table.isLocal,
            let list = table.columnID("list"), let size = table.columnID("size"),
            try DocumentTables.areMade(access.meta)
        else { return nil }
        self.access = access
        self.table = table
        self.list = list
        self.size = size
        objects = access.objects(of: table.id)
    }

    func token(_ content: ContentID) -> RowToken {
        RowToken(table: table.id, id: ObjectID(high: content.high, low: content.low))
    }

    /// A content's standing; `nil` for one that is not known, or of which the list is not known.
    func standing(of content: ContentID) throws -> ContentStanding? {
        let state = try objects.load(token(content).id)
        if state.registers.isAlive { return state.shown.hasRow ? .living : nil }
        if state.isHeldBack { return .heldBack }
        return try state.registers.deleted != nil && keptList(state) != nil ? .deleted : nil
    }

    /// True if any content is deleted and remembered, held back or not.
    func hasDeleted() throws -> Bool {
        try access.connection.count(
            "SELECT EXISTS(SELECT 1 FROM \(table.objectTable) WHERE \(Visibility.tombstoneCondition))") != 0
            || !ContentRows(access.connection).heldBack().isEmpty
    }

    /// The contents that are deleted and remembered with their list, without those that something holds back.
    func deleted() throws -> [ContentID] {
        try tombstones().filter { try keptList(objects.load(token($0).id)) != nil }
    }

    /// Runs `body` for each chunk that a remembered deleted content lists. A content may come with chunks of another one.
    func forEachRememberedChunk(_ body: (ChunkID) throws -> Void) throws {
        for content in try tombstones() {
            guard let list = try keptList(objects.load(token(content).id)) else { continue }
            for chunk in list.chunks { try body(chunk.id) }
        }
    }

    private func tombstones() throws -> [ContentID] {
        var found: [ContentID] = []
        try access.connection.forEachRow(
            "SELECT object FROM \(table.objectTable) WHERE \(Visibility.tombstoneCondition)"
        ) { if let id: ContentID = $0.id(0) { found.append(id) } }
        return found
    }

    /// The row of a content that is deleted and remembered, or held back, as the last insertion has it; `nil` for another one, and for
    /// a row that no Ferry wrote.
    func row(of content: ContentID) throws -> ContentRow? {
        let state = try objects.load(token(content).id)
        if state.isHeldBack { return try ContentRows(access.connection).soundContent(content) }
        guard let list = try keptList(state), case .integer(let size)? = state.kept.fields[size] else { return nil }
        var epoch: EpochID?
        if let column = table.columnID("epoch"), case .blob(let bytes)? = state.kept.fields[column] {
            epoch = EpochID(bytes: bytes)
        }
        return ContentRow(id: content, byteCount: Int(size), list: list, epoch: epoch)
    }

    /// The list of a content without a row; `nil` where it is not known, or where no Ferry wrote it.
    private func keptList(_ state: ObjectState) throws -> ContentList? {
        guard case .blob(let bytes)? = state.kept.fields[list], case .integer(let size)? = state.kept.fields[size]
        else { return nil }
        do {
            return try ContentList(decoding: Array(bytes), byteCount: size)
        } catch  where error.code == .damagedFile {
            return nil
        }
    }
}
