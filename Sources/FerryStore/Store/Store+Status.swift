import FerryCore
import FerrySchema

extension Store {
    /// Reads the store's status in a single transaction.
    /// - Parameter counting: true to count objects, at the cost of reading all objects that are not simply shown by a row.
    package func status(counting: Bool = true) throws -> StoreStatus {
        try readAccess { try StoreStatus($0, counting: counting) }
    }

    /// Reads the records needed by a sync.
    package func reading() throws -> StoreSummary {
        try read { try lastReading.value($0) { try StoreSummary($0) } }
    }

    /// The replayed position of every device's log, including this device's. Every pass reads only this.
    package func versionVector() throws -> VersionVector {
        try read { try lastVector.value($0) { try StoreAccess.versionVector($0) } }
    }

    /// The replayed position of every device's log, and the digests of state and rows by token. Without digests while a
    /// snapshot is read.
    package func statePosition() throws -> (vector: VersionVector, digests: [UInt32: UInt64]) {
        let reading = try reading()
        return (reading.vector, reading.digests)
    }

    /// The tables with a UNIQUE index computed from device-specific integer keys. Devices may show different rows of
    /// the same state in such a table (Docs/Rules.md, "Indexes on integer keys").
    package func tablesWithIndexesOnKeys() throws -> Set<String> {
        try readAccess { access in
            Set(access.registry.tables.values.filter(\.hasIndexOnKey).map { exactKey($0.name) })
        }
    }

    /// The number of living objects in all tables.
    package func livingObjects() throws -> Int {
        try read { try DigestTable($0).allLivingObjects() }
    }

    /// Writes a consistent copy of the database to an unused path.
    package func copy(to path: String) throws {
        try vacuum(into: path)
    }
}
