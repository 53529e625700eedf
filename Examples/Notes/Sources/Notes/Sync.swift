import Ferry
import Foundation
import GRDB

/// All that the app has to do with Ferry.
enum Sync {
    /// Puts the database into the container at `folder`, if it is in none yet.
    /// - Parameter isFirst: whether this device makes the container. A person has to say so: a folder that is missing
    ///   or empty may just not be mounted, or not have arrived.
    static func begin(_ pool: DatabasePool, folder: String, name: String, isFirst: Bool) async throws -> SyncEngine {
        let store = Store(pool)
        if try store.identity() == nil {
            if isFirst {
                let sealing = ContainerSealing.sealed { code in
                    print(
                        "Write these words down. With them a device gets in when all others are lost:\n  \(code.words)")
                }
                _ = try Replica.create(store, containerPath: folder, sealing: sealing, name: name)
            } else {
                try await join(store, folder: folder, name: name)
            }
        }
        return try SyncEngine(store)
    }

    /// Joins by a code that a device shows which is in.
    private static func join(_ store: Store, folder: String, name: String) async throws {
        var enrolment = try Enrolment.pending(for: store, containerPath: folder)
        if enrolment == nil {
            print("Type `invite` on a device that is in, and the nine words here:")
            let code = try SecretCode(parsing: readLine() ?? "", as: .invitation)
            enrolment = try Enrolment.begin(for: store, containerPath: folder, by: .code(code))
        }
        guard let enrolment else { return }
        try await enrolment.waitUntilAdmitted()
        _ = try enrolment.join(store, name: name)
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
