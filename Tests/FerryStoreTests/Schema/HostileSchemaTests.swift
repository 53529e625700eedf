import FerryCore
import FerrySchema
import Foundation
import GRDB
import XCTest

@testable import FerryStore

/// A schema from the container may only create.
final class HostileSchemaTests: XCTestCase {
    private let path = FileManager.default.temporaryDirectory.appendingPathComponent(
        "ferry-\(UUID().uuidString).sqlite"
    )
    .path

    override func tearDown() {
        for suffix in ["", "-wal", "-shm", ".other"] {
            try? FileManager.default.removeItem(atPath: path + suffix)  // a temporary file, which may not be there
        }
    }

    private func create(_ statements: [String]) throws {
        _ = try DatabaseCreator.create(
            SchemaRecord(
                userVersion: 0, applicationID: 0,
                statements: statements.enumerated().map {
                    .init(type: "table", name: "hostile\($0)", table: "hostile\($0)", sql: $1)
                }, tracked: []), at: path)
    }

    func testWhatDoesNotCreateIsRefusedAndNothingIsLeft() throws {
        let before = try DatabaseQueue(path: path)
        try before.write { try $0.execute(sql: "CREATE TABLE my_song(id, x); INSERT INTO my_song VALUES (1, 2)") }
        try before.close()
        let hostile = [
            "INSERT INTO my_song VALUES (3, 4)", "DELETE FROM my_song", "UPDATE my_song SET x = 0",
            "DROP TABLE my_song",
            "ATTACH '\(path).other' AS other", "PRAGMA writable_schema = 1", "VACUUM INTO '\(path).other'",
            "SELECT load_extension('evil')", "CREATE TEMP TABLE t(x)", "ALTER TABLE my_song RENAME TO other",
            "CREATE TABLE t(x); DELETE FROM my_song", "WITH a AS (SELECT 1) INSERT INTO my_song SELECT 5, 6 FROM a",
            "CREATE TABLE t AS SELECT * FROM my_song",
            "CREATE TABLE t AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i FROM n",
            "", "not SQL at all", "EXPLAIN DELETE FROM my_song", "/**/DELETE FROM my_song",
        ]
        for statement in hostile {
            XCTAssertThrowsError(try create(["CREATE TABLE well(id)", statement]), statement) { error in
                XCTAssertEqual((error as? FerryError)?.code, .damagedFile, statement)
            }
        }
        let after = try DatabaseQueue(path: path)
        XCTAssertEqual(
            try after.read {
                try String.fetchAll($0, sql: "SELECT id || x FROM my_song UNION ALL SELECT name FROM sqlite_schema")
            },
            ["12", "my_song"])
        XCTAssertFalse(FileManager.default.fileExists(atPath: path + ".other"))
    }

    func testWhatSchemasHoldIsCreated() throws {
        try create([
            "CREATE TABLE a_b(id INTEGER PRIMARY KEY AUTOINCREMENT, x)", "CREATE INDEX a_x ON a_b(x)",
            "CREATE VIEW v AS SELECT * FROM a_b", "CREATE VIRTUAL TABLE f USING fts5(x)",
            "CREATE TRIGGER t AFTER INSERT ON a_b BEGIN INSERT INTO f VALUES (NEW.x); END",
        ])
        let queue = try DatabaseQueue(path: path)
        XCTAssertEqual(
            try queue.write {
                try $0.execute(sql: "INSERT INTO a_b(x) VALUES ('sea')")
                return try String.fetchAll($0, sql: "SELECT x FROM f WHERE f MATCH 'sea'")
            }, ["sea"])
    }
}
