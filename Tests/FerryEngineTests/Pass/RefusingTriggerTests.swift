import FerryStore
import XCTest

@testable import FerryEngine

/// Triggers of the app's that refuse what another device wrote: the replay wins over them, on every device alike.
final class RefusingTriggerTests: XCTestCase {

    /// Two devices, of which the first does something by which its trigger refuses what the second did; in both orders.
    private func assertShown(
        _ rows: String, by query: String, schema: String, first: String, second: String,
        file: StaticString = #filePath, line: UInt = #line
    ) throws {
        for firstSyncsFirst in [true, false] {
            let fleet = try Fleet()
            try fleet.start(schema)
            try fleet.join()
            try fleet.settle()
            try fleet.shell(0, first)
            try fleet.shell(1, second)
            _ = try fleet.replicas[firstSyncsFirst ? 0 : 1].sync()
            try fleet.settle(file: file, line: line)
            // A third device reads all of it at once.
            if firstSyncsFirst { try fleet.join() }
            try fleet.settle(file: file, line: line)
            XCTAssertEqual(try fleet.shell(0, query), rows, file: file, line: line)
            try fleet.assertEqual(query, file: file, line: line)
            for replica in fleet.replicas {
                let report = try replica.store.verify(deep: true)
                XCTAssertTrue(report.isSound, "\(report)", file: file, line: line)
                XCTAssertEqual(try replica.status().unpublished, 0, file: file, line: line)
            }
        }
    }

    private static let kinds = ["abort, 'no'", "FAIL, 'no'", "Rollback, 'no'", "ignore"]

    func testARowThatATriggerRefusesToInsertIsThere() throws {
        for kind in Self.kinds {
            try assertShown(
                "1|1|10\n2|1|20\n", by: "SELECT * FROM line ORDER BY 1",
                schema: """
                    CREATE TABLE invoice(id INTEGER PRIMARY KEY, status TEXT);
                    CREATE TABLE line(id INTEGER PRIMARY KEY, invoice INTEGER NOT NULL REFERENCES invoice, amount INT);
                    CREATE TRIGGER closed BEFORE INSERT ON line
                    WHEN (SELECT status FROM invoice WHERE id = new.invoice) = 'closed'
                    BEGIN SELECT RAISE(\(kind)); END;
                    INSERT INTO invoice VALUES (1, 'open'); INSERT INTO line VALUES (1, 1, 10);
                    """, first: "UPDATE invoice SET status = 'closed'", second: "INSERT INTO line VALUES (2, 1, 20)")
        }
    }

    func testARowThatATriggerRefusesToUpdateIsUpdated() throws {
        for kind in Self.kinds {
            try assertShown(
                "a b|new|1\n", by: "SELECT * FROM \"my \"\"notes\"",
                schema: """
                    CREATE TABLE "my ""notes"(k TEXT PRIMARY KEY, title TEXT, done INT DEFAULT 0) WITHOUT ROWID;
                    INSERT INTO "my ""notes"(k, title) VALUES ('a b', 'a');
                    create trigger "it's done" after update of title on [my "notes] when old.done begin
                        -- what is done; is done
                        select case when new.title <> 'x' then raise ( \(kind) ) end; end;
                    """, first: "UPDATE \"my \"\"notes\" SET done = 1",
                second: "UPDATE \"my \"\"notes\" SET title = 'new'")
        }
    }

    func testARowThatATriggerRefusesToDeleteIsDeleted() throws {
        for (place, kind) in Self.kinds.enumerated() {
            for action in place == 0 ? ["", "ON DELETE CASCADE", "ON DELETE SET NULL"] : ["ON DELETE CASCADE"] {
                try assertShown(
                    "5|arrives\n", by: "SELECT id, title FROM t UNION ALL SELECT * FROM z",
                    schema: """
                        CREATE TABLE t(id INTEGER PRIMARY KEY, title TEXT, done INT DEFAULT 0);
                        CREATE TABLE child(id INTEGER PRIMARY KEY, t INTEGER REFERENCES t \(action));
                        CREATE TABLE z(id INTEGER PRIMARY KEY, x);
                        INSERT INTO t(id, title) VALUES (1, 'a');
                        CREATE TRIGGER g BEFORE DELETE ON t WHEN old.done = 1 BEGIN SELECT RAISE(\(kind)); END;
                        """, first: "UPDATE t SET done = 1",
                    // Later than the update.
                    second: "UPDATE t SET title = 'b'; DELETE FROM t; INSERT INTO z VALUES (5, 'arrives')")
            }
        }
    }

    func testARowThatATriggerDropsSilentlyIsThere() throws {
        try assertShown(
            "x\nx\n", by: "SELECT title FROM t",
            schema: """
                CREATE TABLE t(id INTEGER PRIMARY KEY, title TEXT);
                CREATE TRIGGER g BEFORE INSERT ON t WHEN new.title IN (SELECT title FROM t) BEGIN SELECT RAISE(IGNORE); END;
                """, first: "INSERT INTO t(title) VALUES ('x')", second: "INSERT INTO t(title) VALUES ('x')")
    }

    /// References that triggers look after, as in Calibre and Zotero.
    func testRowsThatBecomeOneAreNotHeldByReferencesThatTriggersLookAfter() throws {
        try assertShown(
            "1|x|1\n1|x|2\n",
            by: "SELECT tags.*, book FROM link JOIN tags ON tags.id = tag ORDER BY book",
            schema: """
                CREATE TABLE tags(id INTEGER PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE UNIQUE);
                CREATE TABLE link(id INTEGER PRIMARY KEY, book INT, tag INTEGER NOT NULL REFERENCES tags);
                CREATE TRIGGER fkc_delete_on_tags BEFORE DELETE ON tags BEGIN
                    SELECT CASE WHEN (SELECT count(id) FROM link WHERE tag = old.id) > 0
                        THEN RAISE(ABORT, 'Foreign key violation: tags is still referenced') END; END;
                CREATE TRIGGER fkc_insert BEFORE INSERT ON link BEGIN
                    SELECT CASE WHEN (SELECT id FROM tags WHERE id = new.tag) IS NULL
                        THEN RAISE(ABORT, 'Foreign key violation: tag not in tags') END; END;
                """, first: "INSERT INTO tags VALUES (1, 'x'); INSERT INTO link VALUES (1, 1, 1)",
            second: "INSERT INTO tags VALUES (5, 'x'); INSERT INTO link VALUES (5, 2, 5)")
    }

    /// A full-text index and a trigger that refuses, on one table: the index has all rows.
    func testAFullTextIndexHasTheRowsThatAnotherTriggerRefuses() throws {
        for kind in Self.kinds {
            for (before, name) in [("BEFORE", "z"), ("AFTER", "a")] {
                let fleet = try Fleet()
                let refusal = "BEGIN SELECT RAISE(\(kind)) WHERE (SELECT locked FROM state); END;"
                try fleet.start(
                    """
                    CREATE TABLE state(id INTEGER PRIMARY KEY, locked INT);
                    INSERT INTO state VALUES (1, 0);
                    CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT);
                    CREATE TRIGGER \(name)_i \(before) INSERT ON note \(refusal)
                    CREATE TRIGGER \(name)_u \(before) UPDATE ON note \(refusal)
                    CREATE TRIGGER \(name)_d \(before) DELETE ON note \(refusal)
                    CREATE VIRTUAL TABLE note_fts USING fts5(body, content='note', content_rowid='id');
                    CREATE TRIGGER note_ai AFTER INSERT ON note BEGIN
                        INSERT INTO note_fts(rowid, body) VALUES (new.id, new.body); END;
                    CREATE TRIGGER note_ad AFTER DELETE ON note BEGIN
                        INSERT INTO note_fts(note_fts, rowid, body) VALUES ('delete', old.id, old.body); END;
                    CREATE TRIGGER note_au AFTER UPDATE ON note BEGIN
                        INSERT INTO note_fts(note_fts, rowid, body) VALUES ('delete', old.id, old.body);
                        INSERT INTO note_fts(rowid, body) VALUES (new.id, new.body); END;
                    INSERT INTO note VALUES (1, 'apples'), (2, 'plums');
                    """)
                try fleet.join()
                try fleet.shell(1, "UPDATE state SET locked = 1")
                try fleet.shell(
                    0,
                    "UPDATE note SET body = 'quinces' WHERE id = 1; DELETE FROM note WHERE id = 2; "
                        + "INSERT INTO note VALUES (3, 'figs')")
                try fleet.settle()
                try fleet.join()
                try fleet.assertEqual(
                    "SELECT * FROM note; SELECT rowid FROM note_fts('quinces OR figs OR plums OR apples') ORDER BY 1")
                XCTAssertEqual(try fleet.shell(1, "SELECT body FROM note"), "quinces\nfigs\n")
                for device in 0...2 {
                    try fleet.shell(device, "INSERT INTO note_fts(note_fts, rank) VALUES ('integrity-check', 1)")
                }
            }
        }
    }

    /// What else a refusing trigger does is done; what its statements break is left out, and the other triggers run.
    func testATriggerWhoseStatementsFailStopsNeitherTheRowNorOtherTriggers() throws {
        for failing in [
            "INSERT INTO once VALUES (1)", "INSERT OR ROLLBACK INTO once VALUES (1)",
            "INSERT OR FAIL INTO once VALUES (1)",
            "INSERT INTO ending VALUES (1)", "INSERT INTO gone VALUES (1)", "SELECT no_such_function(new.x)",
            "SELECT json_extract('{', '$')", "UPDATE once SET x = abs(-9223372036854775808)",
        ] {
            let fleet = try Fleet()
            try fleet.start(
                """
                CREATE TABLE t(id INTEGER PRIMARY KEY, x);
                CREATE TABLE once(x NOT NULL UNIQUE);
                CREATE TABLE ending(x NOT NULL UNIQUE ON CONFLICT ROLLBACK);
                CREATE TABLE log(x);
                """)
            try fleet.join()
            try fleet.shell(
                1,
                """
                INSERT INTO once VALUES (1); INSERT INTO ending VALUES (1);
                CREATE TRIGGER a AFTER INSERT ON t BEGIN INSERT INTO log VALUES ('a'); END;
                CREATE TRIGGER f AFTER INSERT ON t BEGIN \(failing); END;
                CREATE TRIGGER z AFTER INSERT ON t BEGIN
                    INSERT INTO log SELECT 'z' WHERE RAISE(IGNORE) IS NULL; END;
                """)
            try fleet.shell(
                0,
                "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20) "
                    + "INSERT INTO t SELECT i, 'x' || i FROM n")
            try fleet.settle()
            XCTAssertEqual(try fleet.shell(1, "SELECT count(*) FROM t"), "20\n", failing)
            XCTAssertEqual(
                try fleet.shell(1, "SELECT x, count(*) FROM log GROUP BY 1"), "a|20\nz|20\n", failing)
            XCTAssertTrue(try fleet.replicas[1].store.verify(deep: true).isSound, failing)
        }
    }

    /// An OR clause of Ferry's, which overrules the schema's, would overrule the triggers' too.
    func testWhatATriggerSaysOfRowsThatAreInTheWayHolds() throws {
        for (clause, words) in [("", "x\n"), (" ON CONFLICT REPLACE", "x\n"), (" ON CONFLICT IGNORE", "x\n")] {
            for step in ["INSERT OR IGNORE INTO word VALUES (new.x)", "REPLACE INTO word VALUES (new.x)"] {
                let fleet = try Fleet()
                try fleet.start(
                    """
                    CREATE TABLE t(id INTEGER PRIMARY KEY, x, y UNIQUE\(clause));
                    CREATE TABLE word(x UNIQUE);
                    CREATE TABLE log(x);
                    CREATE TRIGGER w AFTER INSERT ON t BEGIN \(step); INSERT INTO log VALUES (new.id); END;
                    """)
                try fleet.join()
                try fleet.shell(
                    0,
                    "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40) "
                        + "INSERT INTO t SELECT i, 'x', i FROM n")
                try fleet.settle()
                XCTAssertEqual(try fleet.shell(1, "SELECT x FROM word"), words, step + clause)
                XCTAssertEqual(try fleet.shell(1, "SELECT count(*) FROM log"), "40\n", step + clause)
                XCTAssertEqual(try fleet.shell(1, "SELECT count(*) FROM t"), "40\n", step + clause)
            }
        }
    }

    func testAViewThatIsWrittenToInsteadOfATableWorks() throws {
        let fleet = try Fleet()
        try fleet.start(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, x);
            CREATE TABLE audit(id INTEGER PRIMARY KEY, x);
            CREATE TABLE log(x);
            CREATE VIEW both AS SELECT x FROM log;
            CREATE VIEW travelling AS SELECT x FROM audit;
            CREATE TRIGGER v INSTEAD OF INSERT ON both BEGIN
                INSERT INTO log VALUES (new.x); INSERT INTO audit(x) VALUES (new.x); END;
            CREATE TRIGGER w INSTEAD OF INSERT ON travelling BEGIN INSERT INTO audit(x) VALUES (new.x); END;
            CREATE TRIGGER i AFTER INSERT ON t BEGIN
                INSERT INTO both VALUES (new.x); INSERT INTO travelling VALUES (new.x); END;
            """)
        try fleet.join()
        try fleet.shell(0, "INSERT INTO t VALUES (1, 'x')")
        try fleet.settle()
        try fleet.assertEqual("SELECT * FROM t; SELECT * FROM audit; SELECT * FROM log")
        XCTAssertEqual(try fleet.shell(1, "SELECT x FROM log; SELECT x FROM audit"), "x\nx\nx\n")
    }
}
