import FerryCore

/// The newest schema of the whole log, own and replayed: what a snapshot tells of the container's tables once the
/// changesets that told it are gone.
struct NewestSchema {
    private let meta: StoreMeta

    init(_ connection: SQLConnection) { meta = StoreMeta(connection: connection) }

    /// Remembers the schema of a changeset, unless a newer one is known. Changesets come in the order of their log, and
    /// an earlier Ferry gave two schemas of one log the same time: the later one is the newer one.
    func note(_ record: SchemaRecord, at stamp: Stamp) throws {
        if let known = try read(), stamp < known.stamp { return }
        try meta.set(.newestSchema, json: Form(StampedSchema(record: record, stamp: stamp)))
    }

    /// Remembers the schema of a snapshot, unless one as new is known.
    func note(_ schema: StampedSchema) throws {
        if let known = try read(), schema.stamp <= known.stamp { return }
        try meta.set(.newestSchema, json: Form(schema))
    }

    /// The newest schema; `nil` where none was packed or replayed yet.
    func read() throws -> StampedSchema? {
        try meta.json(.newestSchema, as: Form.self)?.schema()
    }

    /// How it lies in `ferry_meta`.
    private struct Form: Codable {
        struct Statement: Codable {
            var type: String
            var name: String
            var table: String
            var sql: String
        }

        struct Table: Codable {
            var name: String
            /// As in `ferry_table`.
            var identity: String
        }

        var time: UInt64
        var device: String
        var userVersion: Int64
        var applicationID: Int64
        var statements: [Statement]
        var tracked: [Table]
        var references: [UndeclaredReference]

        init(_ schema: StampedSchema) {
            time = schema.stamp.time.rawValue
            device = schema.stamp.device.hex
            userVersion = schema.record.userVersion
            applicationID = schema.record.applicationID
            statements = schema.record.statements.map {
                Statement(type: $0.type, name: $0.name, table: $0.table, sql: $0.sql)
            }
            tracked = schema.record.tracked.map { Table(name: $0.name, identity: IdentityText.format($0.identity)) }
            references = schema.record.references
        }

        func schema() throws -> StampedSchema {
            guard let device = DeviceID(device) else {
                throw FerryError(.internalInconsistency, "The store's schema record names no device.")
            }
            let record = SchemaRecord(
                userVersion: userVersion, applicationID: applicationID,
                statements: statements.map { .init(type: $0.type, name: $0.name, table: $0.table, sql: $0.sql) },
                tracked: try tracked.map { .init(name: $0.name, identity: try IdentityText.parse($0.identity)) },
                references: references)
            return StampedSchema(record: record, stamp: Stamp(time: HybridTime(rawValue: time), device: device))
        }
    }
}
