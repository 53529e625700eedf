import Ferry
import Foundation
import GRDB

/// All that the app has to do with Ferry.
enum Sync {
    /// Puts the database into the container at `folder`, if it is in none yet.
    /// - Parameter isFirst: whether this device makes the container. A person has to say so: a folder that is missing
    ///   or empty may just not be mounted, or not have arrived.
    static func begin(_ pool: DatabasePool, folder: String, name: String, isFirst: Bool) throws -> SyncEngine {
        let store = Store(pool)
        if try store.identity() == nil {
            if isFirst {
                _ = try Replica.create(store, containerPath: folder, name: name)
            } else {
                _ = try Replica.join(store, containerPath: folder, name: name)
            }
        }
        return try SyncEngine(store)
    }

    /// A line for a status bar; `nil` where there is nothing to tell.
    static func line(_ event: SyncEvent) -> String? {
        switch event {
        case .synced(let report) where report.hasNews:
            "sent \(report.published.changes), received \(report.replayed.changes)"
        case .failed(let error): error.message
        default: nil
        }
    }
}
