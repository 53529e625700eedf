// The code of pages, word for word: each piece stands between `// <page>` and `// end`, in the order of its page. `PageCodeTests`
// compares them. What compiles here compiles in an app, which sees as much of Ferry.
import Ferry
import Foundation
import GRDB
import Observation

/// Shows something to a person, in an app.
private func show(_ text: String) {}

enum GettingStartedPage {
    static func openStore(_ path: String, _ migrator: DatabaseMigrator) throws -> Store {
        // GettingStarted.md
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        let pool = try DatabasePool(path: path, configuration: configuration)
        try migrator.migrate(pool)
        let store = Store(pool)
        // end
        return store
    }

    static func openAny(_ store: Store, _ folder: String) async throws -> (Replica, OpeningResult) {
        // GettingStarted.md
        let (replica, result) = try await Replica.open(store, containerPath: folder, device: NewDevice(name: "laptop"))
        // end
        return (replica, result)
    }

    static func openFirst(_ store: Store, _ folder: String) async throws -> Replica {
        // GettingStarted.md
        let (replica, _) = try await Replica.open(
            store, containerPath: folder, as: .first { code in show(code.words) }, device: NewDevice(name: "laptop"))
        // end
        return replica
    }

    static func invite(_ engine: SyncEngine) throws -> Int64 {
        // GettingStarted.md
        let (code, end) = try engine.replica.members.invite()
        show(code.words)  // or code.text as a QR code
        // end
        return end
    }

    static func openFurther(_ store: Store, _ folder: String, _ typed: String) async throws -> (Replica, OpeningResult)
    {
        // GettingStarted.md
        let code = try SecretCode(parsing: typed, as: .invitation)
        let (replica, result) = try await Replica.open(
            store, containerPath: folder, as: .further(by: .code(code)), device: NewDevice(name: "phone"),
            onEvent: { event in
                if case .waiting(let words) = event { show(words ?? "Waiting for the other device.") }
            })
        // end
        return (replica, result)
    }

    static func openWithIdentity(_ store: Store, _ folder: String) async throws -> Replica {
        // GettingStarted.md
        let selection = TableSelection(declaredIdentities: ["genre": ["name"]])
        let (replica, _) = try await Replica.open(
            store, containerPath: folder, as: .first { code in show(code.words) },
            device: NewDevice(selection: selection))
        // end
        return replica
    }

    static func watch(_ replica: Replica) -> SyncEngine {
        // GettingStarted.md
        let engine = SyncEngine(replica)
        engine.start()
        // end
        return engine
    }

    @MainActor static func showStatus(_ engine: SyncEngine) {
        // GettingStarted.md
        let status = SyncStatus(engine)
        show(
            status.failure?.message
                ?? (status.isInStep ? "All devices are in step." : "\(status.unpublished) changes to send."))
        for device in status.devices { show("\(device.name): \(device.standing?.rawValue ?? "not heard of yet")") }
        // end
    }

    static func showEvents(_ engine: SyncEngine) async {
        // GettingStarted.md
        for await event in engine.events {
            switch event {
            case .synced(let report): print("\(report.replayed.changes) changes came")
            case .failed(let error): print(error.message)
            default: break
            }
        }
        // end
    }

    static func syncNow(_ replica: Replica) throws {
        // GettingStarted.md
        let report = try replica.sync()
        if !report.waiting.isEmpty { show("Files of another device have not arrived yet.") }
        // end
    }

    static func conflicts(_ engine: SyncEngine, _ store: Store) async throws {
        // GettingStarted.md
        for try await conflict in try engine.newConflicts() {
            print(
                "\(conflict.table) \(conflict.key): \(conflict.kept.deviceName) wrote over \(conflict.lost.deviceName)")
        }

        let open = try store.conflicts(ConflictFilter(table: "song"))
        try engine.replica.restoreConflict(open[0].number)  // brings back what lost, as an ordinary change
        try store.resolveConflicts([open[1].number])  // leaves it as it is
        // end
    }

    static func past(_ replica: Replica) throws {
        // GettingStarted.md
        let past = try replica.history(table: "song", key: ["3"])
        try replica.restoreRow(table: "song", key: ["3"], at: past.rows[0].changes[0].timeMilliseconds ?? 0)
        // end
    }

    static func syncAway(_ replica: Replica) throws {
        // GettingStarted.md
        do {
            _ = try replica.sync()
        } catch let error as FerryError where [.containerMissing, .containerEmpty].contains(error.code) {
            // The folder is not there now. Local changes are packed and wait.
        }
        // end
    }

    static func takePart(_ store: Store) {
        // GettingStarted.md
        store.willCommitReplay = { database, changes in
            guard let songs = changes[table: "song"] else { return }
            for key in songs.written {
                try database.execute(
                    sql: "INSERT OR IGNORE INTO unread(song_id) VALUES (?)", arguments: [key[0].databaseValue])
            }
        }
        // end
    }

    static func keep(_ engine: SyncEngine) throws {
        // GettingStarted.md
        let settings = try KeyValueStore(engine)
        try settings.set("dark", forKey: "theme")
        try settings.add("article-17", toSet: "read")
        try settings.increment("launches")
        // end
    }
}

@MainActor
enum ReadmePage {
    struct Song: Codable, FetchableRecord, TableRecord, Sendable {
        var id: Int64
        var title: String
        var artist: String
    }

    static func show(_ songs: [Song?], _ difference: LiveDifference?) {}
    static func show(_ text: String) {}

    static func open(
        _ path: String, _ migrator: DatabaseMigrator, _ folder: String, _ choice: ContainerChoice
    ) async throws -> SyncEngine {
        // README.md
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)  // beside other processes, such as `ferry watch`
        let pool = try DatabasePool(path: path, configuration: configuration)
        try migrator.migrate(pool)

        let (replica, _) = try await Replica.open(Store(pool), containerPath: folder, as: choice)
        let engine = SyncEngine(replica)
        engine.start()

        let status = SyncStatus(engine)  // observable: for SwiftUI and other views
        show(status.failure?.message ?? "\(status.unpublished) changes to send")
        // end
        return engine
    }

    static func keep(_ engine: SyncEngine) throws {
        // README.md
        let settings = try KeyValueStore(engine)
        try settings.set("dark", forKey: "theme")  // the last writer wins
        try settings.add("article-17", toSet: "read")  // sets merge member by member
        try settings.increment("launches")  // counters add up
        // end
    }

    static func list(_ pool: DatabasePool) async throws {
        // README.md
        let songs = try LiveResults(in: pool, sections: .column("artist")) { _ in
            Song.order(Column("artist"), Column("title"))
        }
        for try await delivery in songs.deliveries {
            show(try await delivery.records(in: 0..<50), delivery.difference)
        }
        // end
    }
}

enum FirstPage {
    static func open(_ path: String, _ folder: String, _ choice: ContainerChoice) async throws -> SyncEngine {
        // Ferry.md
        let store = Store(try DatabasePool(path: path))
        let (replica, _) = try await Replica.open(store, containerPath: folder, as: choice)
        let engine = SyncEngine(replica)
        engine.start()
        // end
        return engine
    }
}

// Apple.md
@MainActor @Observable
final class AppModel {
    private(set) var sync: SyncStatus?
    /// The recovery code, or the words for another device: a view shows them.
    private(set) var words: String?
    /// Why there is no container yet; a view asks the person, and calls `open` with the choice.
    private(set) var problem: FerryError?

    func open(_ pool: DatabasePool, folder: URL, keys: URL, as choice: ContainerChoice = .existing) async throws {
        do {
            let store = Store(pool, keyDirectory: keys.path)
            let (replica, _) = try await Replica.open(
                store, containerPath: folder.path, as: choice,
                onEvent: { event in
                    guard case .waiting(let words) = event else { return }
                    Task { @MainActor in self.words = words }
                })
            let engine = SyncEngine(replica)
            engine.start()
            (sync, problem) = (SyncStatus(engine), nil)
        } catch let error as FerryError {
            problem = error
        } catch is CancellationError {
            // The person went elsewhere while the call waited. The next call goes on.
        }
    }

    /// The first device. The recovery code comes from another thread.
    func found(_ pool: DatabasePool, folder: URL, keys: URL) async throws {
        try await open(
            pool, folder: folder, keys: keys,
            as: .first { code in
                Task { @MainActor in self.words = code.words }
            })
    }
}
// end
