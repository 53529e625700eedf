import FerryCore
import FerryStore

extension Replica {
    /// How often to pack and look again while other programs write.
    private static let deepAttempts = 3

    /// Looks whether the database is sound, as `Store.verify` does. For a deep look, changes that wait are packed first;
    /// the container is not needed, and they are published by the next `sync`.
    /// - Throws: `busy` where another program keeps writing; `notTracked`; `database` where the schema needs functions
    ///   of the app's own.
    public func verify(deep: Bool = false) throws -> VerificationReport {
        guard deep else { return try store.verify() }
        return try packing {
            let shallow = try store.verify()
            // A damaged file is not written to, and what it holds is not worth comparing.
            if !shallow.isReadable { return shallow }
            for _ in 1..<Self.deepAttempts {
                if try store.needsPass() { _ = try store.pass(replaying: [], seal: sealer(for: identity)) }
                do {
                    return try store.verify(deep: true)
                } catch let error as FerryError where error.code == .busy {
                    // Something was written in between: once more.
                    continue
                }
            }
            return try store.verify(deep: true)
        }
    }

    /// Takes rows that are not what the state says as changes of this device (`Store.takeUnseenWrites`); the next `sync`
    /// publishes them. The container is not needed.
    /// - Throws: `databaseCorrupt` where SQLite finds the file damaged: nothing that it holds is worth sending.
    public func takeUnseenWrites() throws -> [UnseenChanges] {
        try packing {
            let report = try store.verify()
            if !report.isReadable, let first = report.integrity.first {
                throw FerryError(
                    .databaseCorrupt,
                    "SQLite finds the file damaged, so its rows are not taken as changes: \(first). Move it aside, and run "
                        + "`ferry join` with a new one.", path: store.path)
            }
            return try store.takeUnseenWrites(seal: sealer(for: identity))
        }
    }
}
