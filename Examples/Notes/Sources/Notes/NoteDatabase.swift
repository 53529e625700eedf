import Foundation
import GRDB

/// A note, as GRDB reads and writes it. Nothing in this file knows of Ferry.
struct Note: Codable, FetchableRecord, MutablePersistableRecord, Sendable {
    var id: Int64?
    var text: String
    var isDone = false
    var folderID: Int64?

    static let databaseTableName = "note"

    enum CodingKeys: String, CodingKey {
        case id, text
        case isDone = "is_done"
        case folderID = "folder_id"
    }

    mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }
}

/// The app's database: an ordinary GRDB pool with ordinary migrations, integer keys and a foreign key.
enum NoteDatabase {
    static func open(at path: String) throws -> DatabasePool {
        let pool = try DatabasePool(path: path)
        var migrator = DatabaseMigrator()
        migrator.registerMigration("notes") { database in
            try database.execute(
                sql: """
                    CREATE TABLE folder(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
                    CREATE TABLE note(
                        id INTEGER PRIMARY KEY, text TEXT NOT NULL, is_done INTEGER NOT NULL DEFAULT 0,
                        folder_id INTEGER REFERENCES folder ON DELETE SET NULL);
                    """)
        }
        try migrator.migrate(pool)
        return pool
    }
}
