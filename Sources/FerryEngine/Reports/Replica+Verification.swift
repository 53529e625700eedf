import FerryCore
import FerryStore

extension Replica {
    /// Maximum number of attempts to pack and compare while a different program writes.
    private static let deepAttempts = 3

    /// Verifies the database, as `Store.verify` does. Before a deep verification, pending changes are packed; the next
    /// `sync` publishes them. The container is not needed.
    /// - Throws: `busy` if a different program keeps writing; `notTracked`; `missingFunction` if packing needs a collation
    ///   or function of the app. Without packing, tables that need such a part are listed as unchecked.
    public func verify(deep: Bool = false) throws -> VerificationReport { try verify(deep: deep, progress: nil) }

    /// As `verify(deep:)`.
    /// - Parameter progress: is told of the phases `checking` and `comparing`.
    package func verify(deep: Bool, progress: ProgressHandler?) throws -> VerificationReport {
        progress?(SyncProgress(phase: .checking, completed: 0, total: nil))
        guard deep else { return try store.verify() }
        func compare() throws -> VerificationReport {
            try store.verify(
                deep: true,
                progress: progress.map { tell in
                    { tell(SyncProgress(phase: .comparing, completed: $0, total: $1)) }
                })
        }
        return try packing {
            for attempt in 1..<Self.deepAttempts {
                if try store.needsPass() {
                    let shallow = attempt == 1 ? try store.verify() : nil
                    // A damaged file is not written to, and its content is not worth a comparison.
                    if let shallow, !shallow.isReadable { return shallow }
                    _ = try store.pass(replaying: [], encode: segmentEncoding(for: identity))
                }
                do {
                    return try compare()
                } catch let error as FerryError where error.code == .busy {
                    // A different program has written in between: tries again.
                    continue
                }
            }
            return try compare()
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
