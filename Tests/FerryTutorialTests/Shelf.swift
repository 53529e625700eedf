// The app of the tutorial (Sources/Ferry/Ferry.docc/Tutorial.md). What stands between `// step N` and `// end` is in it word
// for word; `TutorialTests` compares them.
import Ferry
import Foundation
import GRDB

// step 2
struct Book: Codable, FetchableRecord, MutablePersistableRecord, Sendable {
    var id: Int64?
    var title: String
    var author: String
    var isFinished = false
    var minutes = 0

    mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }
}
// end

// step 3
func openDatabase(at path: String) throws -> DatabasePool {
    let pool = try DatabasePool(path: path)
    var migrator = DatabaseMigrator()
    migrator.registerMigration("books") { database in
        try database.create(table: "book") { table in
            table.autoIncrementedPrimaryKey("id")
            table.column("title", .text).notNull()
            table.column("author", .text).notNull()
            table.column("isFinished", .boolean).notNull().defaults(to: false)
            table.column("minutes", .integer).notNull().defaults(to: 0)
        }
    }
    try migrator.migrate(pool)
    return pool
}
// end

// step 4
func openEngine(
    _ pool: DatabasePool, folder: String, name: String, _ choice: ContainerChoice
) async throws -> SyncEngine {
    let (replica, _) = try await Replica.open(
        Store(pool), containerPath: folder, as: choice, device: NewDevice(name: name))
    return SyncEngine(replica)
}

func invited(by words: String) throws -> ContainerChoice {
    .further(by: .code(try SecretCode(parsing: words, as: .invitation)))
}
// end

// step 5
final class Shelf: Sendable {
    let pool: DatabasePool
    let engine: SyncEngine
    let settings: KeyValueStore

    init(database: String, folder: String, name: String, _ choice: ContainerChoice = .existing) async throws {
        pool = try openDatabase(at: database)
        engine = try await openEngine(pool, folder: folder, name: name, choice)
        settings = try KeyValueStore(engine)
        engine.start()
    }

    func invite() throws -> String { try engine.replica.members.invite().code.words }

    func close() async throws {
        try await engine.sync()
        await engine.stop()
    }
}
// end

// step 6
extension Shelf {
    func add(_ title: String, by author: String) throws {
        try pool.write { database in
            var book = Book(title: title, author: author)
            try book.insert(database)
        }
    }

    func finish(_ title: String) throws {
        try pool.write { database in
            _ = try Book.filter(Column("title") == title).updateAll(database, Column("isFinished").set(to: true))
        }
    }
}
// end

// step 7
extension Shelf {
    func books() throws -> LiveResults<Book> {
        try LiveResults(in: pool, sections: .column("author"), store: engine.store) { _ in
            Book.order(Column("author"), Column("title"))
        }
    }

    func show(_ delivery: LiveDelivery<Book>) async throws -> [String] {
        let books = try await delivery.records(in: 0..<delivery.count)
        return delivery.sections.flatMap { section in
            [section.name]
                + books[section.rows].compactMap { book in
                    book.map { "  \($0.isFinished ? "✓" : "·") \($0.title)" }
                }
        }
    }
}
// end

// step 8
extension Shelf {
    var showsFinished: Bool {
        get throws { try settings.bool(forKey: "showsFinished") }
    }

    func setShowsFinished(_ shows: Bool) throws {
        try settings.set(shows, forKey: "showsFinished")
    }
}
// end

// step 9
extension Shelf {
    func conflicts() throws -> [String] {
        try engine.store.conflicts().map { conflict in
            let place = "\(conflict.table).\(conflict.column ?? "*")"
            return "\(conflict.number): \(place): \(conflict.kept.deviceName) over \(conflict.lost.deviceName)"
        }
    }

    func takeBack(_ number: Int64) throws {
        try engine.replica.restoreConflict(number)
    }
}
// end

// step 10
extension Shelf {
    func addUpMinutes() throws {
        try engine.replica.declarePolicies([PolicySetting(table: "book", column: "minutes", .counter)])
    }

    func read(_ title: String, minutes: Int) throws {
        try pool.write { database in
            _ = try Book.filter(Column("title") == title)
                .updateAll(database, Column("minutes").set(to: Column("minutes") + minutes))
        }
    }
}
// end
