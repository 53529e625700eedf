import FerryCore
import FerryStore

extension Replica {
    /// Maximum number of attempts to pack and compare while a different program writes.
    private static let deepAttempts = 3

    /// Verifies the database, as `Store.verify` does. Before a deep verification, pending changes are packed; the next
    /// `sync` publishes them. The container is not needed.
    /// - Throws: `busy` if a different program keeps writing; `notTracked`; `missingFunction` if packing needs a collation
    ///   or function of the app. Without packing, tables that need such a part are listed as unchecked.
    public func verify(deep: Bool = false) throws -> VerificationReport {
        guard deep else { return try store.verify() }
        return try packing {
            let shallow = try store.verify()
            // A damaged file is not written to, and its content is not worth a comparison.
            if !shallow.isReadable { return shallow }
            for _ in 1..<Self.deepAttempts {
                if try store.needsPass() { _ = try store.pass(replaying: [], encode: segmentEncoding(for: identity)) }
                do {
                    return try store.verify(deep: true)
                } catch let error as FerryError where error.code == .busy {
                    // A different program has written in between: tries again.
                    continue
                }
            }
            return try store.verify(deep: true)
        }
    }

    /// Accepts rows that differ from the state as changes of this device (`Store.takeUnseenWrites`); the next `sync`
    /// publishes them. The container is not needed.
    /// - Throws: `databaseCorrupt` if SQLite finds the file damaged: its content is not worth sending.
    public func takeUnseenWrites() throws -> [UnseenChanges] {
        try packing {
            let report = try store.verify()
            if !report.isReadable, let first = report.integrity.first {
                throw FerryError(
                    .databaseCorrupt,
                    "SQLite finds the file damaged, so its rows are not taken as changes: \(first). Move it aside, and run "
                        + "`ferry join` with a new one.", path: store.path)
            }
            return try store.takeUnseenWrites(encode: segmentEncoding(for: identity))
        }
    }
}
