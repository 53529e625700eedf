import XCTest

/// The app's own triggers keep working, and replay converges with them present.
final class AppTriggerTests: XCTestCase {
    func testAFullTextIndexFollowsReplayedRows() throws {
        let fleet = try Fleet()
        try fleet.start(
            """
            CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT);
            CREATE VIRTUAL TABLE note_fts USING fts5(body, content='note', content_rowid='id');
            CREATE TRIGGER note_ai AFTER INSERT ON note BEGIN
                INSERT INTO note_fts(rowid, body) VALUES (new.id, new.body); END;
            CREATE TRIGGER note_ad AFTER DELETE ON note BEGIN
                INSERT INTO note_fts(note_fts, rowid, body) VALUES ('delete', old.id, old.body); END;
            CREATE TRIGGER note_au AFTER UPDATE ON note BEGIN
                INSERT INTO note_fts(note_fts, rowid, body) VALUES ('delete', old.id, old.body);
                INSERT INTO note_fts(rowid, body) VALUES (new.id, new.body); END;
            INSERT INTO note VALUES (1, 'apples and pears'), (2, 'plums');
            """)
        try fleet.join()
        let search = "SELECT note.body FROM note_fts JOIN note ON note.id = note_fts.rowid WHERE note_fts MATCH "
        XCTAssertEqual(try fleet.shell(1, search + "'pears'"), "apples and pears\n")
        try fleet.shell(
            0,
            "UPDATE note SET body = 'quinces' WHERE id = 1; DELETE FROM note WHERE id = 2; INSERT INTO note VALUES (3, 'figs');"
        )
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(1, search + "'quinces OR figs' ORDER BY 1"), "figs\nquinces\n")
        XCTAssertEqual(try fleet.shell(1, search + "'pears OR plums'"), "")
        for device in 0...1 {
            try fleet.shell(device, "INSERT INTO note_fts(note_fts) VALUES ('integrity-check');")
        }
        try fleet.assertEqual("SELECT * FROM note ORDER BY id")
    }

    func testTimesThatATriggerSetsAreThoseOfTheAuthor() throws {
        let fleet = try Fleet()
        try fleet.start(
            """
            CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, updated REAL DEFAULT 0, version INTEGER DEFAULT 0);
            CREATE TRIGGER item_updated AFTER UPDATE OF name ON item BEGIN
                UPDATE item SET updated = julianday('now'), version = version + 1 WHERE id = new.id; END;
            INSERT INTO item(id, name) VALUES (1, 'one'), (2, 'two');
            """)
        try fleet.join()
        try fleet.shell(0, "UPDATE item SET name = 'uno' WHERE id = 1")
        try fleet.shell(1, "UPDATE item SET name = 'due' WHERE id = 2")
        try fleet.settle()
        try fleet.assertEqual("SELECT id, name, quote(updated), version FROM item ORDER BY id")
        XCTAssertEqual(try fleet.shell(0, "SELECT name, version FROM item ORDER BY id"), "uno|1\ndue|1\n")
    }

    func testAnAuditTrailIsNotDoubled() throws {
        let fleet = try Fleet()
        try fleet.start(
            """
            CREATE TABLE account(id INTEGER PRIMARY KEY, amount INTEGER);
            CREATE TABLE audit(id INTEGER PRIMARY KEY, what TEXT);
            CREATE TABLE total(name TEXT PRIMARY KEY, amount INTEGER);
            INSERT INTO total VALUES ('all', 0);
            CREATE TRIGGER account_ai AFTER INSERT ON account BEGIN
                INSERT INTO audit(what) VALUES ('new ' || new.id);
                UPDATE total SET amount = amount + new.amount; END;
            CREATE TRIGGER account_ad AFTER DELETE ON account BEGIN
                INSERT INTO audit(what) VALUES ('gone ' || old.id); DELETE FROM audit WHERE what = 'new ' || old.id; END;
            INSERT INTO account VALUES (1, 10);
            """)
        try fleet.join()
        try fleet.shell(0, "INSERT INTO account VALUES (2, 5); DELETE FROM account WHERE id = 1;")
        try fleet.settle()
        try fleet.assertEqual("SELECT * FROM account; SELECT what FROM audit ORDER BY what; SELECT * FROM total")
        XCTAssertEqual(try fleet.shell(1, "SELECT what FROM audit ORDER BY what"), "gone 1\nnew 2\n")
        XCTAssertEqual(try fleet.shell(1, "SELECT amount FROM total"), "15\n")
        XCTAssertEqual(try fleet.replicas[1].status().unpublished, 0)
    }

    func testAnAppCanAskWhetherAReplayIsWriting() throws {
        let fleet = try Fleet()
        try fleet.start(
            """
            CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE seen(name TEXT);
            CREATE TRIGGER item_ai AFTER INSERT ON item WHEN NOT (SELECT active FROM ferry_replay)
                BEGIN INSERT INTO seen VALUES (new.name); END;
            """)
        try fleet.join()
        try fleet.shell(0, "INSERT INTO item VALUES (1, 'here')")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(0, "SELECT * FROM seen"), "here\n")
        XCTAssertEqual(try fleet.shell(1, "SELECT * FROM seen"), "")
        XCTAssertEqual(try fleet.shell(1, "SELECT name FROM item"), "here\n")
    }
}
