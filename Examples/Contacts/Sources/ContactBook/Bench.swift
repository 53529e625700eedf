import Ferry
import Foundation
import GRDB

/// A database of contacts that Ferry tracks, with a database of calls beside it: what techniques are tried on.
public final class Bench: Sendable {
    public let pool: DatabasePool
    public let store: Store
    /// The same database, with each statement reported.
    let logged: DatabasePool
    /// The calls, by a connection of their own.
    let calls: DatabaseQueue
    /// How many contacts there are.
    public let count: Int

    public init(path: String) throws {
        pool = try openContacts(at: path, calls: path + "-calls")
        store = Store(pool)
        logged = try openContacts(at: path, configuration: logging { _, _ in })
        calls = try DatabaseQueue(path: path + "-calls")
        count = try pool.read { try Contact.fetchCount($0) }
    }

    /// Makes a database of contacts and the container that it is in.
    public static func make(
        at path: String, container: String, count: Int, seed: UInt64 = 137, pictureBytes: Int = 8_192
    ) throws -> Bench {
        let pool = try openContacts(at: path, calls: path + "-calls")
        try ContactDraft.fill(pool, count: count, seed: seed, pictureBytes: pictureBytes)
        try pool.write { database in
            var random = SeededNumbers(state: seed)
            for _ in 0..<count / 5 {
                let contact = Int64.random(in: 1...Int64(max(count, 1)), using: &random)
                try database.execute(
                    sql: "INSERT INTO calls.call(contactID, seconds) VALUES (?, ?)",
                    arguments: [contact, Int.random(in: 1..<4_000, using: &random)])
            }
        }
        _ = try trackContacts(pool, container: container, name: "bench", isFirst: true)
        try pool.write { try $0.execute(sql: "ANALYZE") }
        // The notes of what was to be published are gone; so is their room now.
        try pool.vacuum()
        try pool.close()
        return try Bench(path: path)
    }
}
