import FerryContent
import FerryCore
import FerrySQL
import FerrySchema

/// A content as its row says.
package struct ContentRow: Hashable, Sendable {
    package let id: ContentID
    package let byteCount: Int
    package let list: ContentList
    /// The epoch whose key names the content and its chunks; `nil` for the key of an open container.
    package let epoch: EpochID?

    package init(id: ContentID, byteCount: Int, list: ContentList, epoch: EpochID?) {
        self.id = id
        self.byteCount = byteCount
        self.list = list
        self.epoch = epoch
    }
}

/// A pack as its row says.
package struct PackRow: Hashable, Sendable {
    package let id: PackID
    /// The device whose directory has the pack.
    package let device: DeviceID
    package let byteCount: Int
    package let directory: PackDirectory
    /// The epoch under which the pack is sealed; `nil` for a pack of an open container.
    package let epoch: EpochID?

    package init(id: PackID, device: DeviceID, byteCount: Int, directory: PackDirectory, epoch: EpochID?) {
        self.id = id
        self.device = device
        self.byteCount = byteCount
        self.directory = directory
        self.epoch = epoch
    }
}

/// The rows of contents and packs (`ferry_content`, `ferry_pack`): travelling tables, written as an app writes.
///
/// Invariant: rows of a content and of the packs with its chunks are written in one transaction.
package struct ContentRows {
    private let connection: SQLConnection

    /// - Parameter connection: of a store that has the tables (`DocumentTables`).
    package init(_ connection: SQLConnection) { self.connection = connection }

    // MARK: Writing

    /// Inserts a content. A content that is there stays.
    /// - Throws: `limitExceeded`.
    package func insert(_ content: ContentRow) throws {
        try connection.execute(
            "INSERT OR IGNORE INTO ferry_content(id, size, list, epoch) VALUES (?, ?, ?, ?)",
            .blob(content.id.bytes[...]), .integer(Int64(content.byteCount)),
            .blob(try content.list.encoded()[...]), content.epoch.value)
    }

    /// Deletes a content, unless a version refers to it.
    /// - Returns: whether the row went.
    package func delete(_ content: ContentID) throws -> Bool {
        try connection.execute(
            "DELETE FROM ferry_content WHERE id = ?1 AND NOT EXISTS(SELECT 1 FROM ferry_version WHERE content = ?1)",
            .blob(content.bytes[...]))
        return connection.changedRowCount > 0
    }

    /// Removes a pack: other packs have its chunks.
    package func remove(_ pack: PackID) throws {
        try connection.execute("DELETE FROM ferry_pack WHERE id = ?", .blob(pack.bytes[...]))
    }

    /// Inserts a pack. A pack that is there stays.
    package func insert(_ pack: PackRow) throws {
        try connection.execute(
            "INSERT OR IGNORE INTO ferry_pack(id, device, bytes, list, epoch) VALUES (?, ?, ?, ?, ?)",
            .blob(pack.id.bytes[...]), .blob(pack.device.bytes[...]), .integer(Int64(pack.byteCount)),
            .blob(pack.directory.encoded[...]), pack.epoch.value)
    }

    // MARK: Reading

    /// A content; `nil` without a row.
    /// - Throws: `damagedFile` for a row that no Ferry writes.
    package func content(_ id: ContentID) throws -> ContentRow? {
        guard
            let row = try connection.rows(
                "SELECT size, list, epoch FROM ferry_content WHERE id = ?", .blob(id.bytes[...])
            ).first
        else { return nil }
        return try Self.content(id, row)
    }

    /// A content whose row a Ferry may have written; `nil` for any other row, and without one.
    package func soundContent(_ id: ContentID) throws -> ContentRow? {
        do { return try content(id) } catch let error as FerryError where error.code == .damagedFile { return nil }
    }

    /// Whether there is a row of a content, whatever the row says.
    package func hasContent(_ id: ContentID) throws -> Bool {
        try connection.count("SELECT EXISTS(SELECT 1 FROM ferry_content WHERE id = ?)", .blob(id.bytes[...])) != 0
    }

    /// A content's length in bytes; `nil` without a row that has one.
    package func byteCount(of id: ContentID) throws -> Int? {
        let row = try connection.rows(
            "SELECT size FROM ferry_content WHERE id = ? AND \(Self.hasSize("size"))", .blob(id.bytes[...]))
        return row.first?[0].number
    }

    /// Whether a column has a length that a content may have, as SQL. Sums of others could be beyond any number.
    package static func hasSize(_ column: String) -> String {
        "typeof(\(column)) = 'integer' AND \(column) BETWEEN 0 AND \(ContentLimits.contentBytes)"
    }

    static func content(_ id: ContentID, _ row: [FieldValue]) throws -> ContentRow {
        guard case .integer(let size) = row[0], (0...Int64(ContentLimits.contentBytes)).contains(size),
            case .blob(let list) = row[1]
        else { throw ByteReader.malformed("a content's row has no list, or an impossible size") }
        return ContentRow(
            id: id, byteCount: Int(size), list: try ContentList(decoding: Array(list), byteCount: size),
            epoch: try EpochID(row[2]))
    }

    /// A pack; `nil` without a row.
    /// - Throws: as `content`.
    package func pack(_ id: PackID) throws -> PackRow? {
        guard
            let row = try connection.rows(
                "SELECT device, bytes, list, epoch FROM ferry_pack WHERE id = ?", .blob(id.bytes[...])
            ).first
        else { return nil }
        return try Self.pack(id, row)
    }

    /// A pack whose row a Ferry may have written; as `soundContent`.
    package func soundPack(_ id: PackID) throws -> PackRow? {
        do { return try pack(id) } catch let error as FerryError where error.code == .damagedFile { return nil }
    }

    /// Whether there is a row of a pack, whatever the row says.
    package func hasPack(_ id: PackID) throws -> Bool {
        try connection.count("SELECT EXISTS(SELECT 1 FROM ferry_pack WHERE id = ?)", .blob(id.bytes[...])) != 0
    }

    /// Whether a pack is sealed, as its row says; false without a row.
    package func isSealed(_ id: PackID) throws -> Bool {
        try connection.count(
            "SELECT EXISTS(SELECT 1 FROM ferry_pack WHERE id = ? AND epoch IS NOT NULL)", .blob(id.bytes[...])) != 0
    }

    static func pack(_ id: PackID, _ row: [FieldValue]) throws -> PackRow {
        guard case .blob(let device) = row[0], let device = DeviceID(bytes: device), case .integer(let bytes) = row[1],
            (1...Int64(ContentLimits.packBytes)).contains(bytes), case .blob(let list) = row[2]
        else { throw ByteReader.malformed("a pack's row has no device, or an impossible length") }
        let epoch = try EpochID(row[3])
        return PackRow(
            id: id, device: device, byteCount: Int(bytes),
            directory: try PackDirectory(inRow: list, isSealed: epoch != nil), epoch: epoch)
    }

    /// A pack's length; `nil` without a row.
    package func byteCount(of pack: PackID) throws -> Int? {
        try connection.rows("SELECT bytes FROM ferry_pack WHERE id = ?", .blob(pack.bytes[...])).first?[0].number
    }

    /// The packs of a device that have a row, without their lists.
    package func packs(of device: DeviceID) throws -> Set<PackID> {
        var packs: Set<PackID> = []
        try connection.forEachRow("SELECT id FROM ferry_pack WHERE device = ?", [.blob(device.bytes[...])]) { row in
            if let id: PackID = row.id(0) { packs.insert(id) }
        }
        return packs
    }

    /// The devices that have a pack with a row.
    package func packDevices() throws -> Set<DeviceID> {
        var devices: Set<DeviceID> = []
        try connection.forEachRow("SELECT DISTINCT device FROM ferry_pack") { row in
            if let id: DeviceID = row.id(0) { devices.insert(id) }
        }
        return devices
    }

    /// The contents that are deleted, and stay because something refers to them.
    package func heldBack() throws -> Set<ContentID> {
        var found: Set<ContentID> = []
        for table in try RegisteredTables(connection).generations(of: DocumentTables.content) {
            for token in try AnomalyTable.objects(in: table.number, of: [.heldBack], connection) {
                found.insert(ContentID(high: token.id.high, low: token.id.low))
            }
        }
        return found
    }

    /// The contents to which no version refers.
    package func withoutVersion() throws -> Set<ContentID> {
        var found: Set<ContentID> = []
        try connection.forEachRow(
            "SELECT id FROM ferry_content WHERE id NOT IN (SELECT content FROM ferry_version WHERE content IS NOT NULL)"
        ) { if let id: ContentID = $0.id(0) { found.insert(id) } }
        return found
    }

    /// All contents that some chunk is listed for, by ID.
    package func contents() throws -> [ContentID] {
        var found: [ContentID] = []
        try connection.forEachRow("SELECT id FROM ferry_content ORDER BY id") { row in
            if let id: ContentID = row.id(0) { found.append(id) }
        }
        return found
    }

    /// Each pack's device and length, for who looks whether the files are there. Rows with an impossible length are left out.
    package func forEachPack(_ body: (PackID, DeviceID, Int) throws -> Void) throws {
        try connection.forEachRow(
            """
            SELECT id, device, bytes FROM ferry_pack
            WHERE typeof(bytes) = 'integer' AND bytes BETWEEN 1 AND \(ContentLimits.packBytes) ORDER BY device, id
            """
        ) { row in
            if let id: PackID = row.id(0), let device: DeviceID = row.id(1) { try body(id, device, row.int(2)) }
        }
    }

    /// The names of documents with a content among their versions.
    package func documentNames(of content: ContentID) throws -> [String] {
        try connection.rows(
            """
            SELECT DISTINCT d.name FROM ferry_version AS v JOIN ferry_document AS d ON d.id = v.document
            WHERE v.content = ? AND typeof(d.name) = 'text' ORDER BY 1
            """, .blob(content.bytes[...])
        ).map { $0[0].text }
    }

    /// The number of versions whose content has no row.
    package func versionsWithoutContent() throws -> Int {
        try connection.count(
            "SELECT count(*) FROM ferry_version WHERE content IS NOT NULL AND content NOT IN (SELECT id FROM ferry_content)"
        )
    }

    /// The epochs whose keys name contents, or under which packs are sealed.
    package func epochs() throws -> Set<EpochID> {
        var epochs: Set<EpochID> = []
        try connection.forEachRow("SELECT epoch FROM ferry_content UNION SELECT epoch FROM ferry_pack") { row in
            if let id: EpochID = row.id(0) { epochs.insert(id) }
        }
        return epochs
    }

    /// The number of contents, and the bytes of all.
    package func total() throws -> (contents: Int, bytes: Int) {
        let row = try connection.rows(
            "SELECT count(*), coalesce(sum(size), 0) FROM ferry_content WHERE \(Self.hasSize("size"))")
        return (row[0][0].number, row[0][1].number)
    }
}

extension EpochID? {
    fileprivate var value: FieldValue { map { .blob($0.bytes[...]) } ?? .null }
}

extension EpochID {
    /// The epoch in a row: NULL, or 16 bytes.
    /// - Throws: `damagedFile` for anything else.
    fileprivate init?(_ value: FieldValue) throws {
        switch value {
        case .null: return nil
        case .blob(let bytes):
            guard let id = EpochID(bytes: bytes) else { throw ByteReader.malformed("a row names an impossible epoch") }
            self = id
        default: throw ByteReader.malformed("a row names an impossible epoch")
        }
    }
}
