import FerryCore
import FerrySQL
import Foundation

/// The newest schema in all logs, own and replayed. A snapshot records this schema, so the schema outlives the
/// changesets with the original record.
package struct NewestSchema {
    private let meta: MetaTable

    package init(_ connection: SQLConnection) { meta = MetaTable(connection: connection) }

    /// Records the schema of a changeset, unless a newer schema is known. A schema that no database can have is
    /// recorded only in place of none: the schema is in snapshots, and a database that joins needs a possible schema.
    ///
    /// Changesets come in the order of their log. An earlier version of Ferry gave two schemas of a log the same time;
    /// then the later schema counts as newer.
    /// - Parameter isOwn: true for the schema of this database.
    package func note(_ record: SchemaRecord, at stamp: Stamp, isOwn: Bool = false) throws {
        if let known = try read() {
            if stamp < known.stamp { return }
            if try !isOwn && !SchemaRecorder.isPossible(record) { return }
        }
        try meta.set(.newestSchema, json: Form(StampedSchema(record: record, stamp: stamp)))
    }

    /// Records the schema of a snapshot, unless the known schema is as new or newer.
    package func note(_ schema: StampedSchema) throws {
        if let known = try read(), try schema.stamp <= known.stamp || !SchemaRecorder.isPossible(schema.record) {
            return
        }
        try meta.set(.newestSchema, json: Form(schema))
    }

    /// True if this device sent the same schema last. Ferry's own tables change SQLite's version of the schema, too. A schema that is
    /// sent once more would count as newer than what other devices have migrated to since.
    package func isSent(_ record: SchemaRecord) throws -> Bool {
        try meta.string(.sentSchema) == Self.checksum(record)
    }

    /// Records the schema that this device sends; `nil`: the next one goes out, whatever it is.
    package func noteSent(_ record: SchemaRecord?) throws {
        try meta.set(.sentSchema, record.map(Self.checksum) ?? "")
        guard let record else { return }
        try meta.set(.sentUserVersion, record.userVersion)
        try meta.set(.sentBookkeeping, Self.checksum(record.bookkeeping))
    }

    /// True if the app has noted a migration since this device sent its schema: by another `user_version`, or in a table of a
    /// migration tool. SQLite's version of the schema stays the same then.
    package func hasOtherNotes(_ connection: SQLConnection) throws -> Bool {
        guard let sent = try meta.integer(.sentUserVersion) else { return false }
        if try sent != Int64(connection.count("PRAGMA user_version")) { return true }
        let notes = try meta.string(.sentBookkeeping)
        // A database without such tables gets them by a change of the schema.
        if notes == "" { return false }
        return try notes != Self.checksum(BookkeepingTables(connection).read())
    }

    private static func checksum(_ bookkeeping: [BookkeepingRows]) throws -> String {
        try bookkeeping.isEmpty ? "" : checksum(of: bookkeeping.map(Form.Bookkeeping.init))
    }

    private static func checksum(_ record: SchemaRecord) throws -> String {
        try checksum(
            of: Form(StampedSchema(record: record, stamp: Stamp(time: .zero, device: DeviceID(high: 0, low: 0)))))
    }

    private static func checksum(of form: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return ContentHash.checksum(Array(try encoder.encode(form))).hex
    }

    /// Returns the newest schema; `nil` before any schema was packed or replayed.
    package func read() throws -> StampedSchema? {
        try meta.json(.newestSchema, as: Form.self)?.schema()
    }

    /// The JSON in `ferry_meta`.
    private struct Form: Codable {
        struct Statement: Codable {
            var type: String
            var name: String
            var table: String
            var sql: String
        }

        struct Table: Codable {
            var name: String
            /// Text as in `ferry_table`.
            var identity: String
            var localName: String?
            var keyCollations: [String]?
            var identityColumns: [String]?
            var renamedColumns: [RenamedColumn]?
        }

        struct Bookkeeping: Codable {
            var table: String
            var columns: [String]
            /// The values of each row, one after the other as in the format, in Base64.
            var rows: [Data]

            init(_ table: BookkeepingRows) {
                self.table = table.table
                columns = table.columns
                rows = table.rows.map { row in
                    var writer = ByteWriter()
                    for value in row { writer.write(value) }
                    return Data(writer.bytes)
                }
            }

            func decoded() throws -> BookkeepingRows {
                var read = BookkeepingRows(table: table, columns: columns, rows: [])
                for row in rows {
                    var reader = ByteReader(Array(row))
                    var values: [FieldValue] = []
                    for _ in columns { values.append(try reader.readValue()) }
                    read.rows.append(values)
                }
                return read
            }
        }

        var time: UInt64
        var device: String
        var userVersion: Int64
        var applicationID: Int64
        var statements: [Statement]
        var tracked: [Table]
        var references: [UndeclaredReference]
        var bookkeeping: [Bookkeeping]?

        init(_ schema: StampedSchema) {
            time = schema.stamp.time.rawValue
            device = schema.stamp.device.hex
            userVersion = schema.record.userVersion
            applicationID = schema.record.applicationID
            statements = schema.record.statements.map {
                Statement(type: $0.type, name: $0.name, table: $0.table, sql: $0.sql)
            }
            tracked = schema.record.tracked.map {
                Table(
                    name: $0.name, identity: IdentityText.format($0.identity), localName: $0.localName,
                    keyCollations: $0.keyCollations.isEmpty ? nil : $0.keyCollations,
                    identityColumns: $0.identityColumns.isEmpty ? nil : $0.identityColumns,
                    renamedColumns: $0.renamedColumns.isEmpty ? nil : $0.renamedColumns)
            }
            references = schema.record.references
            bookkeeping = schema.record.bookkeeping.isEmpty ? nil : schema.record.bookkeeping.map(Bookkeeping.init)
        }

        func schema() throws -> StampedSchema {
            guard let device = DeviceID(device) else {
                throw FerryError(.internalInconsistency, "The store's schema record names no device.")
            }
            let record = SchemaRecord(
                userVersion: userVersion, applicationID: applicationID,
                statements: statements.map { .init(type: $0.type, name: $0.name, table: $0.table, sql: $0.sql) },
                tracked: try tracked.map {
                    .init(
                        name: $0.name, identity: try IdentityText.parse($0.identity), localName: $0.localName,
                        keyCollations: $0.keyCollations ?? [], identityColumns: $0.identityColumns ?? [],
                        renamedColumns: $0.renamedColumns ?? [])
                },
                references: references, bookkeeping: try bookkeeping?.map { try $0.decoded() } ?? [])
            return StampedSchema(record: record, stamp: Stamp(time: HybridTime(rawValue: time), device: device))
        }
    }
}
