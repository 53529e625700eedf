import XCTest

/// Somebody dropped tables of Ferry's by hand.
final class RemovedTableTests: XCTestCase {
    func testACommandSaysWhichTableOfFerrysIsGoneAndWhatToDo() throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        for table in ["ferry_pending", "ferry_meta", "ferry_object_2"] {
            let database = try copy(workshop, without: "DROP TABLE \(table)")
            for arguments in [["status"], ["sync"], ["doctor"], ["verify"], ["conflicts"], ["history", "artist", "1"]] {
                var words = arguments
                words.insert(database, at: 1)
                try fail(workshop, words, naming: table)
            }
            try fail(workshop, ["init", database, "other", "--open"], naming: table)
            try fail(workshop, ["join", database, "shared"], naming: table)
        }
        XCTAssertFalse(FileManager.default.fileExists(atPath: workshop.path("other")))
    }

    func testLeavingWorksWhicheverTableIsGone() throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        let rows = try workshop.rows("a.sqlite")
        let listing = try workshop.sql(
            "a.sqlite", "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'ferry!_%' ESCAPE '!'")
        // Syncing makes the tables of before-images anew.
        let tables = listing.split(separator: "\n").map(String.init).filter { !$0.hasPrefix("ferry_old_") }
        XCTAssertGreaterThan(tables.count, 25)
        for table in tables {
            let database = try copy(workshop, without: "DROP TABLE \(table)")
            try workshop.fail("status", database, status: 65, code: "storeIncomplete", mentioning: table)
            let said = try workshop.succeed("leave", database).output
            XCTAssertTrue(said.hasPrefix("Tables of Ferry's were gone from \(database) already."), said)
            try checkThatNothingIsLeft(workshop, database, rows)
        }
    }

    func testLeavingWorksWhereSeveralTablesAreGoneOrTheirContentIs() throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        let rows = try workshop.rows("a.sqlite")
        for script in [
            "DELETE FROM ferry_meta", "DROP TABLE ferry_meta; DROP TABLE ferry_table; DROP TABLE ferry_column",
            "DROP TABLE ferry_device; DROP TABLE ferry_pending; DROP TABLE ferry_outbox",
        ] {
            let database = try copy(workshop, without: script)
            try workshop.fail("sync", database, status: 65, code: "storeIncomplete", mentioning: "ferry leave")
            XCTAssertEqual(try workshop.succeed("leave", database, "--json").json()["unpublished"] as? Int, 0)
            try checkThatNothingIsLeft(workshop, database, rows)
        }
    }

    func testADatabaseThatLostATableJoinsAgain() throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        try workshop.sql("a.sqlite", "DROP TABLE ferry_pending")
        try workshop.succeed("leave", "a.sqlite")
        try workshop.sql("a.sqlite", "INSERT INTO artist(name) VALUES ('new')")
        try workshop.succeed("join", "a.sqlite", "shared", "--match", "keys")
        try workshop.succeed("sync", "b.sqlite")
        let artists = "SELECT name FROM artist ORDER BY name"
        XCTAssertEqual(try workshop.sql("b.sqlite", artists), try workshop.sql("a.sqlite", artists))
        XCTAssertTrue(try workshop.sql("b.sqlite", artists).contains("new\n"))
    }

    func testTablesAndTriggersOfTheAppsAreNoRemainsOfFerrys() throws {
        let workshop = try Workshop()
        try workshop.sql(
            "app.sqlite",
            """
            CREATE TABLE ferry(id INTEGER PRIMARY KEY); CREATE TABLE ferry_trip(id INTEGER PRIMARY KEY, at);
            CREATE TABLE ferry_replay(active INTEGER NOT NULL);
            CREATE TRIGGER ferry_1_insert AFTER INSERT ON ferry BEGIN INSERT INTO ferry_trip(at) VALUES (1); END;
            """)
        let schema = try workshop.sql("app.sqlite", ".schema")
        try workshop.fail("leave", "app.sqlite", status: 65, code: "notTracked")
        try workshop.fail("status", "app.sqlite", status: 65, code: "notTracked")
        XCTAssertEqual(try workshop.sql("app.sqlite", ".schema"), schema)
    }

    // MARK: Helpers

    /// A copy of the first device's database in which a script ran.
    private func copy(_ workshop: Workshop, without script: String) throws -> String {
        let name = "copy.sqlite"
        for suffix in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: workshop.path(name + suffix)) {
            try FileManager.default.removeItem(atPath: workshop.path(name + suffix))
        }
        try workshop.sql("a.sqlite", "VACUUM INTO '\(workshop.path(name))'")
        try workshop.sql(name, script)
        return name
    }

    private func fail(_ workshop: Workshop, _ arguments: [String], naming table: String) throws {
        let outcome = try workshop.run([Workshop.binary] + arguments + ["--json"])
        XCTAssertEqual(outcome.status, 65, arguments.joined(separator: " "))
        let error = try XCTUnwrap(outcome.json()["error"] as? [String: Any])
        XCTAssertEqual(error["code"] as? String, "storeIncomplete", "\(error)")
        let message = try XCTUnwrap(error["message"] as? String)
        XCTAssertTrue(message.contains(table) && message.contains("ferry leave"), message)
    }

    private func checkThatNothingIsLeft(_ workshop: Workshop, _ database: String, _ rows: String) throws {
        XCTAssertEqual(try workshop.sql(database, "SELECT name FROM sqlite_schema WHERE name LIKE 'ferry%'"), "")
        XCTAssertEqual(try workshop.rows(database), rows)
        try workshop.sql(database, "UPDATE artist SET name = 'x' WHERE id = 1")
        try workshop.fail("leave", database, status: 65, code: "notTracked")
    }
}
