import FerryCore
import FerrySQL
import FerrySchema

/// A record of a membership as the store keeps it. Only the engine reads its bytes.
package struct StoredRecord: Hashable, Sendable {
    package var hash: RecordHash
    /// The whole file.
    package var bytes: [UInt8]
    /// False for a record of this device's that waits to be published.
    package var isPublished: Bool

    package init(hash: RecordHash, bytes: [UInt8], isPublished: Bool) {
        self.hash = hash
        self.bytes = bytes
        self.isPublished = isPublished
    }
}

/// What makes a store one of a sealed container's.
package struct SealedBeginning: Hashable, Sendable {
    /// The membership's first record. The store is pinned to it.
    package var genesis: RecordHash
    /// The records that are known, each after the records that it follows.
    package var records: [StoredRecord]
    /// The first record of the membership before, if this device founds the membership anew.
    package var former: RecordHash?

    package init(genesis: RecordHash, records: [StoredRecord], former: RecordHash? = nil) {
        self.genesis = genesis
        self.records = records
        self.former = former
    }
}

/// The records that count in a sealed container, as far as this device knows (Docs/Architecture/store-tables.md).
///
/// Invariants:
/// - The table is there exactly where `ferry_meta` has a genesis.
/// - A record is never changed and never removed, except together with the whole table.
struct RecordTable {
    let connection: SQLConnection

    init(_ connection: SQLConnection) { self.connection = connection }

    /// Makes a store one of a sealed container's. A former membership is forgotten.
    /// - Throws: `unsupportedTable` for a table of the app's with a name that Ferry needs.
    func begin(_ beginning: SealedBeginning) throws {
        let meta = MetaTable(connection: connection)
        if try meta.string(.genesis) == nil {
            try OwnNames.checkFreeForSealing(connection)
            try connection.executeScript(StoreTables.createSealed)
        } else {
            try connection.execute("DELETE FROM ferry_record")
        }
        try meta.set(.genesis, beginning.genesis.hex)
        if let former = beginning.former {
            try meta.set(.formerGenesis, former.hex)
        } else {
            try meta.remove(.formerGenesis)
        }
        try add(beginning.records)
    }

    /// Adds records; known records stay as they are.
    func add(_ records: [StoredRecord]) throws {
        for record in records {
            try connection.execute(
                "INSERT INTO ferry_record(hash, bytes, published) VALUES (?, ?, ?) ON CONFLICT(hash) DO NOTHING",
                .blob(record.hash.bytes[...]), .blob(record.bytes[...]), .integer(record.isPublished ? 1 : 0))
        }
    }

    /// All records, each after the records that it follows.
    func all() throws -> [StoredRecord] {
        try records("SELECT hash, bytes, published FROM ferry_record ORDER BY rowid")
    }

    /// The records after the first so many.
    func after(_ count: Int) throws -> [StoredRecord] {
        try records("SELECT hash, bytes, published FROM ferry_record ORDER BY rowid LIMIT -1 OFFSET \(count)")
    }

    /// The records of this device's that wait to be published, in order.
    func waiting() throws -> [StoredRecord] {
        try records("SELECT hash, bytes, published FROM ferry_record WHERE published = 0 ORDER BY rowid")
    }

    func count() throws -> Int { try connection.count("SELECT count(*) FROM ferry_record") }

    /// Notes that a record lies in the container.
    func notePublished(_ hash: RecordHash) throws {
        try connection.execute("UPDATE ferry_record SET published = 1 WHERE hash = ?", .blob(hash.bytes[...]))
    }

    private func records(_ sql: String) throws -> [StoredRecord] {
        try connection.rows(sql).map { row in
            guard case .blob(let name) = row[0], case .blob(let bytes) = row[1], let hash = RecordHash(bytes: name)
            else {
                throw FerryError(.internalInconsistency, "The store has a record without content.")
            }
            return StoredRecord(hash: hash, bytes: Array(bytes), isPublished: row[2].number != 0)
        }
    }
}
