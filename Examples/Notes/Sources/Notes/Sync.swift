import Ferry
import Foundation
import GRDB

/// All that the app has to do with Ferry.
enum Sync {
    /// Opens the database and the container at `folder`, whatever is there.
    /// - Parameter isFirst: whether this device makes the container. A person has to say so: a folder that is missing
    ///   or empty may just not be mounted, or not have arrived.
    static func begin(_ pool: DatabasePool, folder: String, name: String, isFirst: Bool) async throws -> SyncEngine {
        let store = Store(pool)
        func open(_ choice: ContainerChoice) async throws -> SyncEngine {
            SyncEngine(
                try await Replica.open(store, containerPath: folder, as: choice, device: NewDevice(name: name)).replica)
        }
        if isFirst {
            return try await open(
                .first { code in
                    print(
                        "Write these words down. With them a device gets in when all others are lost:\n  \(code.words)")
                })
        }
        do {
            return try await open(.existing)
        } catch let error as FerryError where error.code == .keyMissing {
            print("Type `invite` on a device that is in, and the nine words here:")
            return try await open(.further(by: .code(SecretCode(parsing: readLine() ?? "", as: .invitation))))
        }
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
