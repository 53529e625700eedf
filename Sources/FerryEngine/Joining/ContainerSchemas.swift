import FerryContainer
import FerryCore
import FerryLog
import FerrySchema
import FerryStore

/// The schema taken from the container by a joining database.
struct JoinedSchema {
    var record: SchemaRecord
    /// The tables made of the schema.
    var created: CreatedSchema
    /// Newer schemas that cannot be made here.
    var refused: [JoinReport.RefusedSchema]
}

/// The schemas that the devices of a container have published, for a database that joins.
///
/// A joining database takes the newest schema. A log may hold a schema that no database can have: a forged schema, or a newer SQLite's.
/// Such a log concerns its device alone, so the next newest schema is taken.
struct ContainerSchemas {
    /// Each device's newest schema, and the schemas of snapshots, the newest first. Never empty.
    private let candidates: [StampedSchema]
    private let names: [DeviceID: String]

    /// Reads the schemas of all logs and snapshots.
    /// - Throws: `containerEmpty` if no log is there yet; the error of a damaged file if no sound log has a schema.
    init(of container: Container) throws {
        // No device of the container has this ID, so every log is read.
        let reader = LogReader(container: container, device: DeviceID(high: 0, low: 0), schemasOnly: true)
        let snapshots = try SnapshotCatalog(container).entries()
        var newest = Newest()
        for snapshot in snapshots { if let schema = snapshot.manifest.schema { newest.take(schema) } }
        var positions = snapshots.first?.manifest.vector ?? VersionVector()
        var names: [DeviceID: String] = [:]
        var damage: FerryError?
        while true {
            let batch = try reader.read(after: positions, isThorough: true)
            names.merge(batch.heads.mapValues(\.deviceName)) { $1 }
            let problems = batch.problems.sorted { $0.key < $1.key }.map(\.value)
            // Prefers a file that has not arrived whole; the error below covers files that have not arrived at all.
            damage = problems.first { $0.code != .fileNotThereYet } ?? problems.first { $0.path != nil }
            for changeset in batch.changesets {
                positions.advance(changeset.device, to: LogPosition(sequence: changeset.sequence, time: changeset.time))
                guard let record = changeset.schema else { continue }
                newest.take(
                    StampedSchema(record: record, stamp: Stamp(time: changeset.time, device: changeset.device)))
            }
            if !batch.isFull { break }
        }
        candidates = newest.sorted
        self.names = names
        if candidates.isEmpty {
            // Waiting does not repair damaged files.
            if let damage { throw damage }
            throw FerryError(
                .containerEmpty,
                "The container holds no device's log yet: nothing says what tables it has. Wait until the folder's "
                    + "syncer has brought the files, and try again.", path: container.backend.describe(""))
        }
    }

    /// Makes the missing tables of the newest schema in a database file; makes the file if it is missing.
    /// - Throws: the error of the newest schema if no schema can be made. The database is unchanged then.
    func created(at path: String) throws -> JoinedSchema {
        try first { try DatabaseCreator.create($0, at: path) }
    }

    /// Chooses a schema for a database with the app's own tables: the newest schema with one of the tables, or else the newest of all.
    func shared(with store: Store) throws -> JoinedSchema {
        let shared = try candidates.first { try store.hasTables(of: $0.record) }
        return JoinedSchema(record: (shared ?? candidates[0]).record, created: CreatedSchema(), refused: [])
    }

    /// Returns the newest schema that `make` accepts.
    private func first(_ make: (SchemaRecord) throws -> CreatedSchema) throws -> JoinedSchema {
        var refused: [JoinReport.RefusedSchema] = []
        var first: FerryError?
        for candidate in candidates {
            do {
                return JoinedSchema(record: candidate.record, created: try make(candidate.record), refused: refused)
            } catch let error as FerryError where [.damagedFile, .database].contains(error.code) {
                let device = candidate.stamp.device
                refused.append(.init(device: names[device] ?? device.description, reason: error.message))
                first = first ?? error
            }
        }
        throw first ?? FerryError(.internalInconsistency, "A container's schemas are empty.")
    }

    /// The newest schema of each device.
    struct Newest {
        private var schemas: [DeviceID: StampedSchema] = [:]

        /// Takes a schema unless a newer schema of the same device is known. At equal times, as an earlier version of Ferry gave them, the
        /// later schema in the log wins.
        mutating func take(_ schema: StampedSchema) {
            if let known = schemas[schema.stamp.device], schema.stamp < known.stamp { return }
            schemas[schema.stamp.device] = schema
        }

        /// The newest first. Devices with the same schema count once.
        var sorted: [StampedSchema] {
            var distinct: [StampedSchema] = []
            for schema in schemas.values.sorted(by: { $1.stamp < $0.stamp })
            where !distinct.contains(where: { $0.record == schema.record }) {
                distinct.append(schema)
            }
            return distinct
        }
    }
}
