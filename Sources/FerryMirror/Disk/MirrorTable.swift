import FerryCore
import FerryDocuments
import FerrySQL
import FerrySchema
import FerryStore
import Foundation

/// The database's record of a directory kept in step.
package struct MirrorRecord: Sendable {
    package var id: MirrorID
    /// An absolute path.
    package var directory: String
    package var preference: IntakeWriter.Preference
    /// How many deletions wait for a person's word, and since when; or since when passes fail. In milliseconds since the Unix epoch.
    package var held = 0
    package var sinceMilliseconds: Int64?
    /// Why the last pass failed.
    package var problem: FailureNote?
    /// The remains of the last pass without an error.
    package var standing = MirrorStanding()

    /// True if the mirror rests, or the last pass left something out of step.
    package var leavesSomething: Bool {
        held > 0 || problem != nil || standing.blocked > 0 || !standing.stuck.isEmpty
    }

    package init(id: MirrorID, directory: String, preference: IntakeWriter.Preference) {
        self.id = id
        self.directory = directory
        self.preference = preference
    }
}

/// The remains of a mirror's pass.
package struct MirrorStanding: Hashable, Sendable {
    /// Documents whose bytes are not on this device yet.
    package var absent = 0
    /// Documents with copies of rivals.
    package var rivals = 0
    /// The number of documents with an obstacle in the way, and the first of the documents.
    package var blocked = 0
    package var named: [BlockedDocument] = []
    /// The first of the files, folders and documents that cannot be brought into step before somebody helps.
    package var stuck: [StuckItem] = []

    /// So many blocked documents are named at most.
    package static let maximumNamed = 200

    package init() {}

    init(_ report: MirrorReport) {
        (absent, rivals, blocked) = (report.missing, report.conflicts, report.blocked.count)
        named = Array(report.blocked.prefix(Self.maximumNamed))
        stuck = Array(report.stuck.prefix(Self.maximumNamed))
    }
}

/// Names a mirror.
package typealias MirrorID = UniqueID<MirrorIDKind>
package enum MirrorIDKind {}

/// The mirrors' knowledge (`ferry_mirror`, `ferry_mirror_entry`).
struct MirrorTable {
    private let connection: SQLConnection

    /// - Parameter connection: of a store with the tables.
    init(_ connection: SQLConnection) { self.connection = connection }

    // MARK: Mirrors

    /// All mirrors, by directory.
    func mirrors() throws -> [MirrorRecord] {
        let standings = try standings()
        var records: [MirrorRecord] = []
        try connection.forEachRow(
            "SELECT id, directory, prefer, held, since, code, problem FROM ferry_mirror ORDER BY directory"
        ) { row in
            guard let id: MirrorID = row.id(0) else { return }
            var record = MirrorRecord(
                id: id, directory: row.string(1), preference: .init(rawValue: row.string(2)) ?? .both)
            record.held = row.int(3)
            record.sinceMilliseconds = row.isNull(4) ? nil : row.integer(4)
            if !row.isNull(5) { record.problem = FailureNote(code: row.string(5), arguments: row.string(6)) }
            record.standing = standings[id] ?? MirrorStanding()
            records.append(record)
        }
        return records
    }

    func put(_ mirror: MirrorRecord) throws {
        try connection.execute(
            """
            INSERT OR REPLACE INTO ferry_mirror(id, directory, prefer, held, since, code, problem)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """, .blob(mirror.id.bytes[...]), .text(mirror.directory), .text(mirror.preference.rawValue),
            .integer(Int64(mirror.held)), mirror.sinceMilliseconds.map { .integer($0) } ?? .null,
            mirror.problem.map { .text($0.code.rawValue) } ?? .null, mirror.problem.map { .text($0.arguments) } ?? .null
        )
    }

    /// Forgets a mirror with all knowledge of the mirror's files.
    func remove(_ mirror: MirrorID) throws {
        try connection.execute("DELETE FROM ferry_mirror_entry WHERE mirror = ?", .blob(mirror.bytes[...]))
        try connection.execute("DELETE FROM ferry_mirror WHERE id = ?", .blob(mirror.bytes[...]))
        if try DocumentTables.areMirrorStandingsMade(connection) {
            try connection.execute("DELETE FROM ferry_mirror_standing WHERE mirror = ?", .blob(mirror.bytes[...]))
        }
    }

    // MARK: Standings

    /// The remains of the last passes, by mirror.
    func standings() throws -> [MirrorID: MirrorStanding] {
        guard try DocumentTables.areMirrorStandingsMade(connection) else { return [:] }
        var found: [MirrorID: MirrorStanding] = [:]
        try connection.forEachRow(
            "SELECT mirror, absent, rivals, blocked, named, unreadable FROM ferry_mirror_standing"
        ) { row in
            guard let mirror: MirrorID = row.id(0) else { return }
            var standing = MirrorStanding()
            (standing.absent, standing.rivals, standing.blocked) = (row.int(1), row.int(2), row.int(3))
            standing.named = Self.list(row.string(4))
            standing.stuck = Self.list(row.string(5))
            found[mirror] = standing
        }
        return found
    }

    /// A list from its JSON. The next pass tells of entries in the format of a different version of Ferry.
    private static func list<Entry: Decodable>(_ json: String) -> [Entry] {
        (try? JSONDecoder().decode([Entry].self, from: Data(json.utf8))) ?? []  // the next pass writes the list anew
    }

    private static func json(_ list: [some Encodable]) throws -> FieldValue {
        .text(String(decoding: try JSONEncoder().encode(list), as: UTF8.self))
    }

    func put(_ standing: MirrorStanding, of mirror: MirrorID) throws {
        try connection.execute(
            """
            INSERT OR REPLACE INTO ferry_mirror_standing(mirror, absent, rivals, blocked, named, unreadable)
            VALUES (?, ?, ?, ?, ?, ?)
            """,
            .blob(mirror.bytes[...]), .integer(Int64(standing.absent)), .integer(Int64(standing.rivals)),
            .integer(Int64(standing.blocked)), Self.json(standing.named), Self.json(standing.stuck))
    }

    // MARK: Entries

    func entries(of mirror: MirrorID) throws -> [MirrorEntry] {
        var entries: [MirrorEntry] = []
        try connection.forEachRow(
            """
            SELECT document, rival, path, kind, version, content, device, inode, born, size, modified, changed, executable, missing
            FROM ferry_mirror_entry WHERE mirror = ?
            """, [.blob(mirror.bytes[...])]
        ) { row in
            guard let document: DocumentID = row.id(0), let version: VersionID = row.id(4),
                let content: ContentID = row.id(5)
            else { return }
            entries.append(
                MirrorEntry(
                    path: DiskPath(row.string(2)), key: MirrorKey(document: document, rival: row.id(1)),
                    kind: row.int(3) == 0 ? .file : .folder, version: version, content: content,
                    stamp: DiskStamp(
                        device: UInt64(bitPattern: row.integer(6)), inode: UInt64(bitPattern: row.integer(7)),
                        born: row.integer(8), size: row.int(9), modified: row.integer(10), changed: row.integer(11),
                        isExecutable: row.int(12) != 0),
                    missingSince: row.isNull(13) ? nil : row.integer(13)))
        }
        return entries.sorted { $0.path < $1.path }
    }

    func put(_ entry: MirrorEntry, of mirror: MirrorID) throws {
        let stamp = entry.stamp
        try connection.execute(
            """
            INSERT OR REPLACE INTO ferry_mirror_entry(mirror, document, rival, path, kind, version, content, device, inode, born,
                size, modified, changed, executable, missing)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """, .blob(mirror.bytes[...]), .blob(entry.key.document.bytes[...]),
            .blob((entry.key.rival?.bytes ?? [])[...]), .text(entry.path.text),
            .integer(entry.kind == .file ? 0 : 1), .blob(entry.version.bytes[...]), .blob(entry.content.bytes[...]),
            .integer(Int64(bitPattern: stamp.device)), .integer(Int64(bitPattern: stamp.inode)), .integer(stamp.born),
            .integer(Int64(stamp.size)), .integer(stamp.modified), .integer(stamp.changed),
            .integer(stamp.isExecutable ? 1 : 0), entry.missingSince.map { .integer($0) } ?? .null)
    }

    func removeEntry(of key: MirrorKey, _ mirror: MirrorID) throws {
        try connection.execute(
            "DELETE FROM ferry_mirror_entry WHERE mirror = ? AND document = ? AND rival = ?", .blob(mirror.bytes[...]),
            .blob(key.document.bytes[...]), .blob((key.rival?.bytes ?? [])[...]))
    }

    /// Forgets all knowledge of a mirror's files.
    func removeEntries(of mirror: MirrorID) throws {
        try connection.execute("DELETE FROM ferry_mirror_entry WHERE mirror = ?", .blob(mirror.bytes[...]))
    }

    /// Numbers that change with the mirrors.
    func fingerprint() throws -> [Int64] {
        var numbers: [Int64] = []
        try connection.forEachRow("SELECT count(*), coalesce(sum(length(directory)), 0) FROM ferry_mirror") { row in
            numbers = [row.integer(0), row.integer(1)]
        }
        return numbers
    }
}
