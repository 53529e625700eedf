import FerryCore
import FerryDocuments
import FerryMirror
import FerryTestSupport

/// Documents of a device in memory, with a mirror's table. What is written goes to a log, as other devices replay it.
final class ModelBase: MirrorBase, MirrorRows {
    struct Transaction {
        var stamp: PlainTables.Stamp
        var writes: [PlainTables.Write]
    }

    let device: DeviceID
    let number: Int
    unowned let disk: ModelDisk
    let random: SeededRandom
    var log: [Transaction] = []
    var replayed: [Int]
    private var tables = PlainTables()
    private var clock = 0
    private var mirror: [MirrorKey: MirrorEntry] = [:]
    private var documents: [DocumentID: DocumentRow] = [:]
    private var versionRows: [DocumentID: [VersionRow]] = [:]
    /// The writes of the transaction that is running.
    private var writes: [PlainTables.Write] = []
    /// Contents that are not on this device yet.
    var isAway: (ContentID) -> Bool = { _ in false }
    var between: () throws -> Void = {}
    // Rules that a story leaves out (`MirrorStory.Omission`).
    var forgetsCopies = false
    var editsCurrent = false
    var forgetsAbsence = false

    init(number: Int, devices: Int, disk: ModelDisk, random: SeededRandom) {
        self.number = number
        self.disk = disk
        self.random = random
        device = DeviceID(high: UInt64(number + 1), low: 5)
        replayed = Array(repeating: 0, count: devices)
    }

    // MARK: Rows

    func read() {
        let rows = tables.rows()
        documents = Dictionary(rows.documents.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        versionRows = Dictionary(grouping: rows.versions, by: \.document)
    }

    var allVersions: [VersionRow] { versionRows.values.flatMap { $0 } }

    /// Every content that a version has, shown or not.
    private(set) var contents: Set<ContentID> = []

    func take(_ transaction: Transaction) {
        for case .insertVersion(let row) in transaction.writes {
            if let content = row.content { contents.insert(content) }
        }
        for write in transaction.writes { tables.replay(write, transaction.stamp) }
        clock = max(clock, transaction.stamp.time)
    }

    private func commit(_ new: [PlainTables.Write]) {
        if new.isEmpty { return }
        clock += 1
        let transaction = Transaction(stamp: .init(time: clock, device: number), writes: new)
        take(transaction)
        log.append(transaction)
        read()
    }

    /// Commits a change that a person makes of documents, and not of files.
    func commit(_ change: DocumentChange) throws {
        try apply(change)
        finish()
    }

    func finish() {
        commit(writes)
        writes = []
    }

    // MARK: MirrorBase

    func nowMilliseconds() -> Int64 { disk.now / 1_000_000 }

    func tree() throws -> MirrorTree {
        MirrorTree(documents: Array(documents.values), versions: allVersions)
    }

    func entries() throws -> [MirrorEntry] {
        mirror.values.sorted { ($0.path, $0.key.document) < ($1.path, $1.key.document) }.map { entry in
            var entry = entry
            if forgetsAbsence { entry.missingSince = 0 }
            if editsCurrent, let current = DocumentLeaves(versionRows[entry.key.document] ?? []).current {
                entry.version = current.id
            }
            return entry
        }
    }

    func store(_ files: [ModelDisk.Source]) throws -> [Result<ContentID, FerryError>] {
        try files.map { source in
            try between()
            switch source {
            case .content(let number): return .success(Self.content(number))
            case .path(let path):
                guard let node = disk.node(path), !node.isFolder else {
                    return .failure(FerryError(.nothingFound, "There is no file."))
                }
                return .success(Self.content(node.content))
            }
        }
    }

    static func content(_ number: UInt64) -> ContentID { ContentID(high: 7, low: number) }

    /// How many transactions a mirror made.
    private(set) var changes = 0

    func change<R>(_ body: (any MirrorRows) throws -> R) throws -> R {
        try between()
        changes += 1
        let result = try body(self)
        finish()
        try between()
        return result
    }

    func source(of content: ContentID) throws -> Result<ModelDisk.Source, FerryError> {
        if isAway(content) { return .failure(FerryError(.contentNotHere, "Not here.")) }
        return .success(.content(content.low))
    }

    // MARK: MirrorRows

    var author: VersionAuthor {
        VersionAuthor(device: device, nowMilliseconds: nowMilliseconds(), random: random)
    }

    func emptyContent() throws -> ContentID { Self.content(0) }
    func document(_ id: DocumentID) throws -> DocumentRow? { documents[id] }
    func versions(of document: DocumentID) throws -> [VersionRow] { versionRows[document] ?? [] }
    func isTaken(_ id: DocumentID) throws -> Bool { documents[id] != nil }

    func apply(_ change: DocumentChange) throws {
        writes += change.documents.map { .insertDocument($0) } + change.versions.map { .insertVersion($0) }
        writes += change.superseded.sorted().map { .mark($0) }
        for row in change.documents { documents[row.id] = row }
        for row in change.versions { versionRows[row.document, default: []].append(row) }
        for (document, rows) in versionRows where rows.contains(where: { change.superseded.contains($0.id) }) {
            for place in rows.indices where change.superseded.contains(rows[place].id) {
                versionRows[document]?[place].isSuperseded = true
            }
        }
    }

    func place(_ id: DocumentID, in folder: DocumentID?, as name: String, atMilliseconds now: Int64) throws {
        writes += [.place(id, folder: folder, named: now), .rename(id, name: name, named: now)]
        documents[id]?.folder = folder
        documents[id]?.name = name
        documents[id]?.namedMilliseconds = now
    }

    func put(_ entry: MirrorEntry) throws {
        if forgetsCopies, entry.key.rival != nil { return }
        mirror[entry.key] = entry
    }
    func removeEntry(of key: MirrorKey) throws { mirror[key] = nil }
}
