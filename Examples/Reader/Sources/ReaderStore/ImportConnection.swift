import Foundation
import GRDB

/// The database connection of imports: of their own, so that nobody who reads or marks an article waits for more than one
/// batch. Imports of several feeds take turns on it.
///
/// It keeps the numbers of the authors and categories that were met last. Numbers are safe only as long as nobody else
/// writes: a replay may join two authors into one row. So they are forgotten whenever another connection has committed,
/// and when a transaction of this one was rolled back.
final class ImportConnection: @unchecked Sendable {  // because all but `queue` is used only within its accesses
    static let rememberedNames = 500

    private let queue: DatabaseQueue
    private var authors = LRUCache<String, Int64>(capacity: rememberedNames)
    private var categories = LRUCache<String, Int64>(capacity: rememberedNames)
    private var dataVersion: Int64 = -1

    init(path: String) throws {
        var configuration = Configuration()
        configuration.busyMode = .timeout(Library.busySeconds)
        configuration.label = "import"
        queue = try DatabaseQueue(path: path, configuration: configuration)
    }

    /// Makes one transaction. It waits for other connections' transactions, and they for it.
    func write<Result>(_ body: (Database, ImportConnection) throws -> Result) throws -> Result {
        try queue.writeWithoutTransaction { database in
            var result: Result?
            do {
                try database.inTransaction(.immediate) {
                    try forgetIfOthersWrote(database)
                    result = try body(database, self)
                    return .commit
                }
            } catch {
                forget()
                throw error
            }
            guard let result else { throw DatabaseError(message: "a transaction ended without a result") }
            return result
        }
    }

    private func forgetIfOthersWrote(_ database: Database) throws {
        let version = try Int64.fetchOne(database, sql: "PRAGMA data_version") ?? 0
        if version != dataVersion { forget() }
        dataVersion = version
    }

    private func forget() {
        authors.removeAll()
        categories.removeAll()
    }

    // MARK: Names

    func author(_ name: String, in database: Database) throws -> Int64 {
        if let known = authors.value(forKey: name) { return known }
        let id = try Self.row("author", name, database)
        authors.store(id, forKey: name)
        return id
    }

    func category(_ name: String, in database: Database) throws -> Int64 {
        if let known = categories.value(forKey: name) { return known }
        let id = try Self.row("category", name, database)
        categories.store(id, forKey: name)
        return id
    }

    /// The row with the name, made where it is missing. The table compares names as its column does.
    private static func row(_ table: String, _ name: String, _ database: Database) throws -> Int64 {
        let find = try database.cachedStatement(sql: "SELECT id FROM \(table) WHERE name = ?")
        if let id = try Int64.fetchOne(find, arguments: [name]) { return id }
        try database.cachedStatement(sql: "INSERT INTO \(table)(name) VALUES (?)").execute(arguments: [name])
        return database.lastInsertedRowID
    }
}
