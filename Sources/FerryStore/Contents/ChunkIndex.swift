import FerryContent
import FerryCore
import FerrySQL
import FerrySchema

/// Which contents list a chunk, and which packs have one: `ferry_chunk` and `ferry_chunk_use`, which follow from the rows of contents
/// and packs.
///
/// Invariant: after `update` both tables speak of exactly the rows that are there. A row that no Ferry writes is passed over, and
/// its reason is kept.
package struct ChunkIndex {
    /// A place of a chunk.
    package struct Place: Hashable, Sendable {
        package let pack: PackID
        package let device: DeviceID
        package let place: ChunkPlace

        package init(pack: PackID, device: DeviceID, place: ChunkPlace) {
            self.pack = pack
            self.device = device
            self.place = place
        }
    }

    private let connection: SQLConnection

    /// - Parameter connection: of a store that has the tables (`DocumentTables`), in a writing transaction for `update`.
    package init(_ connection: SQLConnection) { self.connection = connection }

    // MARK: Upkeep

    /// Whether rows came or went since the last update.
    package func isOutdated() throws -> Bool {
        try connection.count(
            """
            SELECT EXISTS(SELECT id FROM ferry_pack EXCEPT SELECT pack FROM ferry_pack_local)
                OR EXISTS(SELECT pack FROM ferry_pack_local EXCEPT SELECT id FROM ferry_pack)
                OR EXISTS(SELECT id FROM ferry_content EXCEPT SELECT content FROM ferry_content_local)
                OR EXISTS(SELECT content FROM ferry_content_local EXCEPT SELECT id FROM ferry_content)
            """) != 0
    }

    /// Takes in rows that came, and forgets rows that went.
    package func update() throws {
        for row in try connection.rows("SELECT pack FROM ferry_pack_local EXCEPT SELECT id FROM ferry_pack") {
            try connection.execute("DELETE FROM ferry_chunk WHERE pack = ?", row[0])
            try connection.execute("DELETE FROM ferry_pack_local WHERE pack = ?", row[0])
        }
        for row in try connection.rows("SELECT content FROM ferry_content_local EXCEPT SELECT id FROM ferry_content") {
            try connection.execute("DELETE FROM ferry_chunk_use WHERE content = ?", row[0])
            try connection.execute("DELETE FROM ferry_content_local WHERE content = ?", row[0])
            try connection.execute("DELETE FROM ferry_content_state WHERE content = ?", row[0])
        }
        for row in try connection.rows("SELECT id FROM ferry_pack EXCEPT SELECT pack FROM ferry_pack_local") {
            try takePack(row[0])
        }
        for row in try connection.rows("SELECT id FROM ferry_content EXCEPT SELECT content FROM ferry_content_local") {
            try takeContent(row[0])
        }
    }

    private func takePack(_ key: FieldValue) throws {
        var problem: String?
        do {
            for entry in try packEntries(key) {
                try connection.execute(
                    "INSERT OR IGNORE INTO ferry_chunk(chunk, pack, offset, form, stored, size) VALUES (?, ?, ?, ?, ?, ?)",
                    .blob(entry.id.bytes[...]), key, .integer(Int64(entry.place.offset)),
                    .integer(Int64(entry.place.form.rawValue)), .integer(Int64(entry.place.stored)),
                    .integer(Int64(entry.place.count)))
            }
        } catch let error as FerryError where error.code == .damagedFile {
            problem = error.code.rawValue
        }
        try connection.execute(
            "INSERT INTO ferry_pack_local(pack, problem) VALUES (?, ?)", key, problem.map { .text($0) } ?? .null)
    }

    private func takeContent(_ key: FieldValue) throws {
        var problem: String?
        do {
            for chunk in try contentChunks(key) {
                try connection.execute(
                    "INSERT OR IGNORE INTO ferry_chunk_use(chunk, content) VALUES (?, ?)", .blob(chunk.bytes[...]), key)
            }
        } catch let error as FerryError where error.code == .damagedFile {
            problem = error.code.rawValue
        }
        try connection.execute(
            "INSERT INTO ferry_content_local(content, problem) VALUES (?, ?)", key, problem.map { .text($0) } ?? .null)
    }

    // MARK: Questions

    /// The places of a chunk.
    package func places(of chunk: ChunkID) throws -> [Place] {
        try connection.rows(
            """
            SELECT c.pack, p.device, c.offset, c.form, c.stored, c.size FROM ferry_chunk AS c
            JOIN ferry_pack AS p ON p.id = c.pack WHERE c.chunk = ? ORDER BY c.pack
            """, .blob(chunk.bytes[...])
        ).compactMap { row in
            guard let pack = PackID(row[0]), let device = DeviceID(row[1]),
                let form = UInt8(exactly: row[3].number).flatMap(ChunkPlace.Form.init)
            else { return nil }
            return Place(
                pack: pack, device: device,
                place: ChunkPlace(offset: row[2].number, form: form, stored: row[4].number, count: row[5].number))
        }
    }

    /// Whether a chunk needs no packing: a content lists it whose deletion is not known here (a content that is
    /// held back alone does not count, nor does a pack that has the chunk).
    /// - Parameter heldBack: contents that are deleted, and stay because something refers to them.
    package func isKept(_ chunk: ChunkID, heldBack: Set<ContentID>) throws -> Bool {
        let found = try connection.rows(
            "SELECT content FROM ferry_chunk_use WHERE chunk = ? LIMIT \(heldBack.count + 1)", .blob(chunk.bytes[...]))
        return found.contains { row in ContentID(row[0]).map { !heldBack.contains($0) } ?? false }
    }

    /// Whether a content with a row lists a chunk.
    package func isListed(_ chunk: ChunkID) throws -> Bool {
        try connection.count("SELECT EXISTS(SELECT 1 FROM ferry_chunk_use WHERE chunk = ?)", .blob(chunk.bytes[...]))
            != 0
    }

    /// The contents with a row that list a chunk.
    package func contents(listing chunk: ChunkID) throws -> [ContentID] {
        try connection.rows("SELECT content FROM ferry_chunk_use WHERE chunk = ?", .blob(chunk.bytes[...]))
            .compactMap { ContentID($0[0]) }
    }

    /// The packs of a device with a row that names their chunks, and no chunk that a content with a row lists.
    package func unlistedPacks(of device: DeviceID) throws -> [PackID] {
        try connection.rows(
            """
            SELECT id FROM ferry_pack AS p
            WHERE device = ? AND EXISTS(SELECT 1 FROM ferry_pack_local WHERE pack = p.id AND problem IS NULL)
                AND NOT EXISTS(SELECT 1 FROM ferry_chunk AS c JOIN ferry_chunk_use AS u ON u.chunk = c.chunk WHERE c.pack = p.id)
            ORDER BY id
            """, .blob(device.bytes[...])
        ).compactMap { PackID($0[0]) }
    }

    /// The chunks of a pack, with the bytes that each takes there.
    package func chunks(of pack: PackID) throws -> [(id: ChunkID, stored: Int)] {
        try connection.rows("SELECT chunk, stored FROM ferry_chunk WHERE pack = ?", .blob(pack.bytes[...]))
            .compactMap { row in ChunkID(row[0]).map { ($0, row[1].number) } }
    }

    /// Rows of packs and contents that no Ferry writes, with the reason: each is read again.
    package func problems() throws -> [(row: String, reason: String)] {
        try problems("SELECT hex(pack), pack FROM ferry_pack_local WHERE problem IS NOT NULL", packEntries)
            + problems("SELECT hex(content), content FROM ferry_content_local WHERE problem IS NOT NULL", contentChunks)
    }

    private func problems<List>(
        _ query: String, _ read: (FieldValue) throws -> List
    ) throws -> [(row: String, reason: String)] {
        try connection.rows(query).compactMap { row in
            do {
                _ = try read(row[1])
                return nil
            } catch let error as FerryError where error.code == .damagedFile {
                return (row[0].text, error.message)
            }
        }
    }

    /// - Throws: `damagedFile` for a row that no Ferry writes.
    private func packEntries(_ key: FieldValue) throws -> [PackDirectory.Entry] {
        guard let id = PackID(key), let pack = try ContentRows(connection).pack(id) else {
            throw ByteReader.malformed("a pack's ID is impossible")
        }
        return pack.directory.entries
    }

    /// - Throws: `damagedFile` for a row that no Ferry writes.
    private func contentChunks(_ key: FieldValue) throws -> [ChunkID] {
        guard let id = ContentID(key), let content = try ContentRows(connection).content(id) else {
            throw ByteReader.malformed("a content's ID is impossible")
        }
        return content.list.chunks.map(\.id)
    }
}

extension UniqueID {
    /// An ID in a row; `nil` for anything but 16 bytes.
    fileprivate init?(_ value: FieldValue) {
        guard case .blob(let bytes) = value else { return nil }
        self.init(bytes: bytes)
    }
}
