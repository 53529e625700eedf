import FerryCore
import FerrySQL
import Foundation

/// Typed access to `ferry_meta`, the store's single values.
package struct MetaTable {
    package let connection: SQLConnection

    /// An SQL expression with a value.
    package static func expression(_ name: Name) -> String {
        "(SELECT value FROM ferry_meta WHERE name = '\(name.rawValue)')"
    }

    private func value(_ name: String) throws -> FieldValue {
        try connection.firstValue("SELECT value FROM ferry_meta WHERE name = ?", .text(name)) ?? .null
    }

    private func set(_ name: String, _ value: FieldValue) throws {
        try connection.execute(
            "INSERT INTO ferry_meta VALUES (?, ?) ON CONFLICT(name) DO UPDATE SET value = excluded.value",
            .text(name), value)
    }

    package func integer(_ name: Name) throws -> Int64? {
        if case .integer(let value) = try value(name.rawValue) { value } else { nil }
    }
    package func set(_ name: Name, _ integer: Int64) throws { try set(name.rawValue, .integer(integer)) }

    package func string(_ name: Name) throws -> String? {
        if case .text(let bytes) = try value(name.rawValue) { String(decoding: bytes, as: UTF8.self) } else { nil }
    }
    package func set(_ name: Name, _ string: String) throws { try set(name.rawValue, .text(string)) }

    package func id<Kind>(_ name: Name) throws -> UniqueID<Kind>? {
        if case .blob(let bytes) = try value(name.rawValue) { UniqueID(bytes: bytes) } else { nil }
    }
    package func set<Kind>(_ name: Name, _ id: UniqueID<Kind>) throws { try set(name.rawValue, .blob(id.bytes[...])) }

    /// Reads a value written by `set(_:json:)`; `nil` if missing.
    /// - Throws: `internalInconsistency` for any different text.
    package func json<Value: Decodable>(_ name: Name, as type: Value.Type = Value.self) throws -> Value? {
        guard let text = try string(name) else { return nil }
        do {
            return try JSONDecoder().decode(type, from: Data(text.utf8))
        } catch {
            throw FerryError(
                .internalInconsistency, "The store's note \"\(name.rawValue)\" is unreadable.", cause: error)
        }
    }
    package func set(_ name: Name, json value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        try set(name, String(decoding: try encoder.encode(value), as: UTF8.self))
    }

    package enum Name: String {
        /// `StoreTables.version` of the store.
        case version
        /// The container's ID, path and human identifier.
        case container, containerPath, containerName
        /// This device's number in `ferry_device`.
        case device
        /// The database's place at the last use (`StoreFingerprint`).
        case fingerprint
        /// The published position of this device's log when a different file was last found in the database's place.
        case replacedFile
        /// The database's path at the last use. The bytes of documents that wait lie beside that path, if the database was moved alone.
        case path
        /// The device whose keys are being replaced, until others know that these keys count no more (`Replica.renewKeys`).
        case renewedKeys
        /// The device that has begun to leave a sealed container (`Replica.leave`). A database put back from before has none.
        case leaving
        /// The first record of the membership that this database's membership replaced (`Replica.seal`, `Replica.enrol`). The marker names
        /// that record while the membership is founded anew, and where the folder was set back.
        case formerGenesis
        /// The IDs of this database before the present ID, as `PreviousIdentity.text`.
        case formerDevices
        /// The raw value of the hybrid clock.
        case clock
        /// The time of pre-existing rows, as a raw value (`HybridTime.joining`).
        case oldTime
        /// The last changeset of this device's log with rows of an unknown time.
        case lastOldRows
        /// The number of applied policy changes.
        case policies
        /// The travelling tables known to have had rows with a NULL in their key, as JSON, in lower case.
        case keylessTables
        /// The foreign keys already checked for broken rows, as JSON.
        case checkedKeys
        /// The policies last declared by the app, as JSON.
        case declaredPolicies
        /// The selection of `init` or `join`, as JSON.
        case selection
        /// The root pages and columns of excepted tables, as JSON.
        case excepted
        /// `PRAGMA schema_version` when triggers and registry were last made.
        case schemaVersion
        /// The reason of the last sync's failure, as JSON (`StallReason`); empty after a success.
        case failure
        /// The first changeset of this device's log still in the container.
        case logStart
        /// This device's last segments with removed files, as JSON (`RemovedSegments`).
        case removedSegments
        /// The plan and the memory of compaction, as JSON (`CompactionMemory`).
        case compaction
        /// The names of renamed tables, as JSON (`TableNames`).
        case tableNames
        /// What this device keeps of contents, as JSON (`ContentSettings`).
        case contentSettings
        /// What lies beside the database and nobody needs, with the time when it was first seen, as JSON.
        case contentLitter
        /// When this device last looked for contents and packs that nobody needs, in milliseconds.
        case contentCollection
        /// Set if the tables of contents and documents are there (`DocumentTables`).
        case documents
        /// Set if the table of parts of large values is there (`PartTables`).
        case parts
        /// The names of renamed columns, as JSON (`ColumnNameList`).
        case columnNames
        /// Set if the schema must go out with the next changeset.
        case schemaUnsent
        /// A checksum of the schema that this device sent last.
        case sentSchema
        /// The `PRAGMA user_version` that this device sent last.
        case sentUserVersion
        /// A checksum of the rows of migration tools that this device sent last; empty without such rows.
        case sentBookkeeping
        /// The container's tracked tables as received, as JSON.
        case tracked
        /// The newest schema in all logs, as JSON.
        case newestSchema
        /// The last placeholder key (`KeyReservations`).
        case standIn
        /// The progress of reading a snapshot, as JSON.
        case snapshot
        /// Set after an absence so long that other devices may have forgotten deletions. The time of this device's last
        /// write the others are known to have seen (`Republication`).
        case returned
        /// The devices that count this device before they forget deletions, as JSON (`MemberAcknowledgements`).
        case counting
        /// For logs with several branches: the merged files and snapshots, as JSON, names by device (`mergeBranches`).
        case branches
        /// Logs with branches and an unknown fork position, as JSON: device IDs (`ForkedLogList`).
        case forked
        /// Objects with known updates and no known insertion, as JSON (`UnresolvedObjects`).
        case updated
        /// The last backdated changeset of each log, as JSON (`BackdatedChanges`).
        case late
        /// Logs known to some device and not fully in the container, as JSON (`UndeliveredLogs`).
        case undelivered
        /// The local tables with dangling rows after replays, as JSON (`DanglingRows`).
        case stranded
        /// Work left by schema changes, as JSON (`SchemaNews`).
        case schemaNews
        /// The shown generation of each table, as JSON (`Generations`).
        case generations
        /// The tables the last pass could not write to, as JSON (`WaitingMark`).
        case waitingTables
        /// How far waiting logs were replayed without the tables for which they wait, as JSON (`LogsAhead`).
        case ahead
        /// The number of triggers on each table when last made, as JSON by the table's number.
        case triggers
        /// The rules of each table when triggers were last made, as JSON by the table's number (`TableShape.rules`).
        case rules
        /// The column affinities of each table when triggers were last made, as JSON by the numbers of table and column.
        case columnTypes
        /// The first record of a sealed container's membership, in hexadecimal digits; missing for an open container.
        case genesis
    }

    package func remove(_ name: Name) throws {
        try connection.execute("DELETE FROM ferry_meta WHERE name = ?", .text(name.rawValue))
    }

    package init(connection: SQLConnection) {
        self.connection = connection
    }
}
