import FerryCore
import GRDB
import XCTest

@testable import FerryStore

/// What an app does in the transaction of a replay.
final class ReplayHookTests: XCTestCase {
    private static let schema = TestSchema(
        name: "hook",
        sql: """
            CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE total(name TEXT PRIMARY KEY NOT NULL, n INTEGER NOT NULL) WITHOUT ROWID;
            CREATE TABLE detail(id INTEGER PRIMARY KEY, item_id INTEGER NOT NULL REFERENCES item ON DELETE CASCADE);
            CREATE TABLE late(
                id INTEGER PRIMARY KEY, item_id INTEGER NOT NULL REFERENCES item DEFERRABLE INITIALLY DEFERRED);
            """)
    /// The same, with a trigger of the app's, so that replay runs with triggers on.
    private static let triggered = TestSchema(
        name: "hook with triggers",
        sql: schema.sql + """
            CREATE TABLE seen(name TEXT);
            CREATE TRIGGER item_seen AFTER INSERT ON item BEGIN INSERT INTO seen VALUES (new.name); END;
            """)

    private func pair(_ schema: TestSchema = schema) throws -> (first: TestDevice, second: TestDevice) {
        let first = try TestDevice(1, schema)
        let second = try TestDevice(2, schema)
        try first.run("INSERT INTO item VALUES (1, 'one'), (2, 'two')")
        try first.flush()
        try second.receive(first)
        return (first, second)
    }

    func testWhatTheHookWritesTravels() throws {
        for schema in [Self.schema, Self.triggered] {
            let (first, second) = try pair(schema)
            second.store.willCommitReplay = { database, changes in
                XCTAssertNotNil(changes[table: "ITEM"])
                try database.execute(
                    sql: """
                        INSERT INTO total SELECT 'item', count(*) FROM item WHERE true
                        ON CONFLICT(name) DO UPDATE SET n = excluded.n
                        """)
            }
            try first.run("INSERT INTO item VALUES (3, 'three')")
            try first.flush()
            try second.receive(first)
            XCTAssertEqual(try second.query("SELECT * FROM total"), ["item|3"], schema.name)
            XCTAssertTrue(try second.store.needsPass())
            try second.flush()
            try first.receive(second)
            XCTAssertEqual(try first.query("SELECT * FROM total"), ["item|3"], schema.name)
            XCTAssertFalse(try second.store.needsPass())
            XCTAssertEqual(try second.query("PRAGMA foreign_key_check"), [])
        }
    }

    func testTheHookHearsWhichRowsChanged() throws {
        let (first, second) = try pair()
        let heard = Heard()
        second.store.willCommitReplay = { database, changes in
            heard.add(changes)
            let keys = changes[table: "item"]?.written.map { $0[0].databaseValue } ?? []
            heard.names += try String.fetchAll(
                database, sql: "SELECT name FROM item WHERE id IN (\(keys.map { _ in "?" }.joined(separator: ",")))",
                arguments: StatementArguments(keys))
        }
        try first.run(
            """
            UPDATE item SET name = 'uno' WHERE id = 1; DELETE FROM item WHERE id = 2;
            INSERT INTO total VALUES ('x', 1);
            """)
        try first.flush()
        try second.receive(first)
        XCTAssertEqual(heard.changes.count, 1)
        let changes = try XCTUnwrap(heard.changes.first)
        XCTAssertEqual(changes.tables.map(\.name), ["item", "total"])
        XCTAssertEqual(changes[table: "item"]?.written, [[.integer(1)]])
        XCTAssertEqual(changes[table: "item"]?.removed, [[.integer(2)]])
        XCTAssertEqual(changes[table: "total"]?.written, [[.text("x")]])
        XCTAssertFalse(changes.isTruncated)
        XCTAssertEqual(heard.names, ["uno"])
        // Nothing to replay, nothing to hear.
        try second.flush()
        XCTAssertEqual(heard.changes.count, 1)
    }

    func testALargeReplayNamesItsTablesAndSaysThatItIsTruncated() throws {
        let (first, second) = try pair()
        let heard = Heard()
        second.store.willCommitReplay = { _, changes in heard.add(changes) }
        try first.run(
            """
            WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 100 + \(ReplayedChanges.maximumRows))
            INSERT INTO item SELECT i, 'x' FROM n; INSERT INTO total VALUES ('x', 1);
            """)
        try first.flush()
        try second.receive(first)
        let changes = try XCTUnwrap(heard.changes.first)
        XCTAssertTrue(changes.isTruncated)
        XCTAssertEqual(changes.tables.map(\.name), ["item", "total"])
        XCTAssertEqual(changes.tables.map(\.written.count).reduce(0, +), ReplayedChanges.maximumRows)
    }

    func testAHookThatThrowsRollsTheReplayBack() throws {
        struct Refusal: Error {}
        let (first, second) = try pair()
        second.store.willCommitReplay = { database, _ in
            try database.execute(sql: "INSERT INTO total VALUES ('x', 1)")
            throw Refusal()
        }
        try first.run("UPDATE item SET name = 'uno' WHERE id = 1")
        try first.flush()
        assertHookFails { try second.receive(first) }
        XCTAssertEqual(try second.query("SELECT name FROM item WHERE id = 1"), ["one"])
        XCTAssertEqual(try second.query("SELECT count(*) FROM total"), ["0"])
        second.store.willCommitReplay = nil
        try second.receive(first)
        XCTAssertEqual(try second.query("SELECT name FROM item WHERE id = 1"), ["uno"])
    }

    func testAHookThatBreaksAForeignKeyIsRefused() throws {
        for table in ["detail", "late"] {
            let (first, second) = try pair()
            second.store.willCommitReplay = { database, _ in
                try database.execute(sql: "INSERT INTO \(table) VALUES (1, 99)")
            }
            try first.run("UPDATE item SET name = 'uno' WHERE id = 1")
            try first.flush()
            assertHookFails { try second.receive(first) }
            XCTAssertEqual(try second.query("SELECT count(*) FROM \(table)"), ["0"])
            XCTAssertEqual(try second.query("SELECT name FROM item WHERE id = 1"), ["one"])
            XCTAssertEqual(try second.query("PRAGMA foreign_keys"), ["1"])
        }
    }

    func testAHookThatEndsTheTransactionIsRefused() throws {
        let (first, second) = try pair()
        second.store.willCommitReplay = { database, _ in try database.execute(sql: "ROLLBACK") }
        try first.run("UPDATE item SET name = 'uno' WHERE id = 1")
        try first.flush()
        assertHookFails { try second.receive(first) }
        XCTAssertEqual(try second.query("SELECT name FROM item WHERE id = 1"), ["one"])
    }

    func testADeferredForeignKeyMayBeMendedWithinTheHook() throws {
        let (first, second) = try pair()
        second.store.willCommitReplay = { database, _ in
            try database.execute(
                sql: "INSERT OR IGNORE INTO late VALUES (1, 99); INSERT OR IGNORE INTO item VALUES (99, 'late')")
        }
        try first.run("UPDATE item SET name = 'uno' WHERE id = 1")
        try first.flush()
        try second.receive(first)
        second.store.willCommitReplay = nil
        try second.flush()
        try first.receive(second)
        XCTAssertEqual(try first.query("SELECT name FROM late JOIN item ON item.id = item_id"), ["late"])
    }

    func testActionsOfForeignKeysFollowWhatTheHookDeletes() throws {
        let (first, second) = try pair()
        try first.run("INSERT INTO detail VALUES (1, 2)")
        try first.flush()
        second.store.willCommitReplay = { database, _ in try database.execute(sql: "DELETE FROM item WHERE id = 2") }
        try second.receive(first)
        second.store.willCommitReplay = nil
        XCTAssertEqual(try second.query("SELECT count(*) FROM detail"), ["0"])
        try second.flush()
        try first.receive(second)
        XCTAssertEqual(try first.query("SELECT count(*) FROM detail"), ["0"])
        XCTAssertEqual(try first.query("SELECT id FROM item"), ["1"])
    }

    private func assertHookFails(
        file: StaticString = #filePath, line: UInt = #line, _ body: () throws -> Void
    ) {
        XCTAssertThrowsError(try body(), file: file, line: line) { error in
            XCTAssertEqual((error as? FerryError)?.code, .replayHookFailed, "\(error)", file: file, line: line)
        }
    }
}

/// What a hook was told. Unchecked, because the store calls it on the test's own thread.
private final class Heard: @unchecked Sendable {
    private(set) var changes: [ReplayedChanges] = []
    var names: [String] = []

    func add(_ new: ReplayedChanges) { changes.append(new) }
}
