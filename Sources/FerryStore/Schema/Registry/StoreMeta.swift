import FerryCore
import Foundation

/// The single values that Ferry keeps about the store: typed access to `ferry_meta`.
struct StoreMeta {
    let connection: SQLConnection

    private func value(_ name: String) throws -> FieldValue {
        try connection.firstValue("SELECT value FROM ferry_meta WHERE name = ?", .text(name)) ?? .null
    }

    private func set(_ name: String, _ value: FieldValue) throws {
        try connection.execute(
            "INSERT INTO ferry_meta VALUES (?, ?) ON CONFLICT(name) DO UPDATE SET value = excluded.value",
            .text(name), value)
    }

    func integer(_ name: Name) throws -> Int64? {
        if case .integer(let value) = try value(name.rawValue) { value } else { nil }
    }
    func set(_ name: Name, _ integer: Int64) throws { try set(name.rawValue, .integer(integer)) }

    func string(_ name: Name) throws -> String? {
        if case .text(let bytes) = try value(name.rawValue) { String(decoding: bytes, as: UTF8.self) } else { nil }
    }
    func set(_ name: Name, _ string: String) throws { try set(name.rawValue, .text(string)) }

    func id<Kind>(_ name: Name) throws -> UniqueID<Kind>? {
        if case .blob(let bytes) = try value(name.rawValue) { UniqueID(bytes: bytes) } else { nil }
    }
    func set<Kind>(_ name: Name, _ id: UniqueID<Kind>) throws { try set(name.rawValue, .blob(id.bytes[...])) }

    /// A value that `set(_:json:)` kept; `nil` where there is none.
    /// - Throws: `internalInconsistency` for what it did not write.
    func json<Value: Decodable>(_ name: Name, as type: Value.Type = Value.self) throws -> Value? {
        guard let text = try string(name) else { return nil }
        do {
            return try JSONDecoder().decode(type, from: Data(text.utf8))
        } catch {
            throw FerryError(
                .internalInconsistency, "The store's note \"\(name.rawValue)\" is unreadable.", cause: error)
        }
    }
    func set(_ name: Name, json value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        try set(name, String(decoding: try encoder.encode(value), as: UTF8.self))
    }

    enum Name: String {
        /// `StoreTables.version` of the store.
        case version
        /// The container's ID, path and human identifier.
        case container, containerPath, containerName
        /// This device's number in `ferry_device`.
        case device
        /// Where the database was when it was last in use (`StoreFingerprint`).
        case fingerprint
        /// The IDs that this database had before, as `FormerDevice.text`.
        case formerDevices
        /// The raw value of the hybrid clock.
        case clock
        /// The time of the rows that were there when the database joined, as a raw value (`HybridTime.joining`).
        case oldTime
        /// Counts the changes of policies that were taken up.
        case policies
        /// The tables that travel and have had rows with a NULL in their key, as JSON, in lower case.
        case keylessTables
        /// The foreign keys of the present schema, as JSON: rows were looked through for what breaks them.
        case checkedKeys
        /// The policies that the app declared last, as JSON.
        case declaredPolicies
        /// What was selected at `init` or `join`, as JSON.
        case selection
        /// `PRAGMA schema_version` for which triggers and registry were last made.
        case schemaVersion
        /// Why the last sync failed, as JSON (`WaitingReason`); empty where it did not.
        case failure
        /// The first changeset that this device's log in the container still has.
        case logStart
        /// The last of this device's segments whose files it has removed, as JSON (`RemovedSegments`).
        case removedSegments
        /// What compaction is about to do and what it remembers, as JSON (`CompactionNotes`).
        case compaction
        /// Set when the schema is to go out with the next changeset.
        case schemaUnsent
        /// What is known of the container's settings: the tracked tables as they came, as JSON.
        case tracked
        /// The newest schema of the whole log, as JSON.
        case newestSchema
        /// The last integer that stood in for the key of a row that is not there (`KeyReservations`).
        case standIn
        /// How far a snapshot that is being read in has come, as JSON.
        case snapshot
        /// Where this device was away for so long that others may have forgotten deletions: the time of its last write that
        /// they are known to know (`KeptRows`).
        case returned
        /// Which devices count this one when they forget deletions, as JSON (`CountingDevices`).
        case counting
        /// Of logs with several branches, the files and snapshots that were taken in, as JSON: names by device
        /// (`takeInBranches`).
        case branches
        /// Logs with branches of which nothing tells where they part, as JSON: devices' IDs (`ForkedLogList`).
        case forked
        /// Objects that were updated and never inserted, as JSON (`MissingObjects`).
        case updated
        /// The last changeset of each log that says again what was said before, as JSON (`LateChanges`).
        case late
        /// The tables that stay on this device in which replays left rows that refer to nothing, as JSON (`StrandedRows`).
        case stranded
        /// What changes of the schema leave to be done, as JSON (`SchemaNews`).
        case schemaNews
        /// Which generation of each table this database shows, as JSON (`Generations`).
        case generations
        /// The tables that this device's last pass could not write to, as JSON (`WaitingMark`).
        case waitingTables
        /// How many triggers stood on each table when they were last made, as JSON: by the table's number.
        case triggers
    }

    func remove(_ name: Name) throws {
        try connection.execute("DELETE FROM ferry_meta WHERE name = ?", .text(name.rawValue))
    }
}
