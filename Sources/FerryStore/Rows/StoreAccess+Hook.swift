import FerryCore
import GRDB

extension StoreAccess {
    /// Calls the app's hook with the replayed changes, as a write of the app.
    /// - Throws: `replayHookFailed`.
    func run(_ hook: ReplayHook, _ changes: ReplayedChanges) throws {
        guard let database = connection.opener as? Database else {
            throw FerryError(.internalInconsistency, "The database was closed during a replay.")
        }
        do {
            try connection.writingAsApp(enforcingForeignKeys: connection.appEnforcesForeignKeys) {
                try hook(database, changes)
                if !database.isInsideTransaction {
                    throw FerryError(.invalidArgument, "It ended the transaction, which is not its own.")
                }
            }
        } catch {
            let known = error as? FerryError
            let reason = known?.message ?? "\(error)"
            throw FerryError(
                .replayHookFailed,
                "The app's willCommitReplay failed, so nothing was replayed: \(reason) "
                    + "It is tried again with the next pass.", cause: error,
                detail: known.map(\.detail) ?? "\(error)")
        }
    }
}
