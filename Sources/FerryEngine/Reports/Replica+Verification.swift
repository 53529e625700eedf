import FerryCore
import FerryStore
import Foundation

extension Replica {
    /// Maximum number of attempts to pack and compare while a different program writes.
    private static let deepAttempts = 3

    /// Verifies the database, as `Store.verify` does. Before a deep verification, pending changes are packed; the next
    /// `sync` publishes them. The container is not needed. A copy that cannot get an ID of its own, such as a copy without its key, packs nothing:
    /// where changes wait, a temporary copy of the database is verified.
    /// - Throws: `busy` if a different program keeps writing; `notTracked`; `missingFunction` if packing needs a collation
    ///   or function of the app. Without packing, tables that need such a part are listed as unchecked.
    public func verify(deep: Bool = false) throws -> VerificationReport { try verify(deep: deep, progress: nil) }

    /// As `verify(deep:)`.
    /// - Parameter progress: is told of the phases `checking` and `comparing`.
    package func verify(deep: Bool, progress: ProgressHandler?) throws -> VerificationReport {
        progress?(SyncProgress(phase: .checking, completed: 0, total: nil))
        guard deep else { return try store.verify() }
        let compared = try lock.withLock { () throws -> VerificationReport? in
            try refreshIdentity()
            do {
                if try isCopied() { unreported = try becomeNewDevice(.copied, openContainer()) }
            } catch let error as FerryError where Self.isOfTheContainer(error.code) || Self.isOfAccess(error.code) {
                // A copy that cannot get an ID of its own packs nothing: the original packs under this ID.
                return nil
            }
            return try packedAndCompared(store, progress)
        }
        return try compared ?? comparedAside(progress)
    }

    /// Whether an error tells that this device cannot take part in the container.
    private static func isOfAccess(_ code: FerryError.Code) -> Bool {
        [.keyMissing, .keyExposed, .notMember].contains(code)
    }

    /// Packs what waits in a store, and verifies the store.
    private func packedAndCompared(_ store: Store, _ progress: ProgressHandler?) throws -> VerificationReport {
        for attempt in 1..<Self.deepAttempts {
            if try store.needsPass() {
                let shallow = attempt == 1 ? try store.verify() : nil
                // A damaged file is not written to, and its content is not worth a comparison.
                if let shallow, !shallow.isReadable { return shallow }
                _ = try store.pass(replaying: [], encode: segmentEncoding(for: identity))
            }
            do {
                return try Self.compared(store, progress)
            } catch let error as FerryError where error.code == .busy {
                // A different program has written in between: tries again.
                continue
            }
        }
        return try Self.compared(store, progress)
    }

    /// Verifies a copy of the database where nothing may be packed in the database itself, and something waits.
    private func comparedAside(_ progress: ProgressHandler?) throws -> VerificationReport {
        guard try store.needsPass() else { return try Self.compared(store, progress) }
        let shallow = try store.verify()
        if !shallow.isReadable { return shallow }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "ferry-verify-\(environment.random.next())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }  // after a failure here, only a copy stays
        let path = folder.appendingPathComponent("copy.sqlite").path
        try store.copy(to: path)
        let copy = try Store(path: path, clock: environment.clock, random: environment.random)
        let report = try packedAndCompared(copy, progress)
        try copy.close()
        return report
    }

    private static func compared(_ store: Store, _ progress: ProgressHandler?) throws -> VerificationReport {
        try store.verify(
            deep: true,
            progress: progress.map { tell in
                { tell(SyncProgress(phase: .comparing, completed: $0, total: $1)) }
            })
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
