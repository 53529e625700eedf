import Foundation
import XCTest

/// The command meets a table with a collation and a function that only the app has: its rows wait, and everything else goes on.
final class MissingFunctionCommandTests: XCTestCase {
    private static let schema = """
        CREATE TABLE word(k TEXT PRIMARY KEY, v TEXT COLLATE de UNIQUE, CHECK (slug(v) <> ''));
        CREATE TABLE plain(k TEXT PRIMARY KEY, v)
        """

    /// Runs SQL as an app does that has both.
    private func app(_ workshop: Workshop, _ database: String, _ sql: String) throws -> String {
        let outcome = try workshop.run([
            "python3", "-c",
            """
            import sqlite3, sys
            c = sqlite3.connect(sys.argv[1], isolation_level=None)
            c.create_function('slug', 1, lambda v: v.lower(), deterministic=True)
            c.create_collation('de', lambda a, b: (a.lower() > b.lower()) - (a.lower() < b.lower()))
            c.execute('PRAGMA foreign_keys = ON')
            for statement in sys.argv[2].split(';'):
                for row in c.execute(statement): print('|'.join(str(value) for value in row))
            """, workshop.path(database), sql,
        ])
        XCTAssertEqual(outcome.status, 0, outcome.errors)
        return outcome.output
    }

    func testInitAndJoinSayWhichTablesOnlyTheAppCanWriteTo() throws {
        let workshop = try Workshop()
        _ = try app(workshop, "a.sqlite", Self.schema + "; INSERT INTO word VALUES ('1', 'Wort')")
        let made = try workshop.succeed("init", "a.sqlite", "shared", "--open")
        XCTAssertTrue(made.errors.contains("word travels, and this command cannot write to it"), made.errors)
        _ = try app(workshop, "b.sqlite", Self.schema)
        let joined = try workshop.succeed("join", "b.sqlite", "shared")
        XCTAssertTrue(joined.errors.contains("1 row waits for the app"), joined.errors)
    }

    /// SQLite finds no way to read such a table without the collation: "no query solution".
    func testATableThatCannotBeReadIsNamedBeforeAnythingIsMade() throws {
        let workshop = try Workshop()
        _ = try app(
            workshop, "a.sqlite",
            "CREATE TABLE tag(name TEXT PRIMARY KEY COLLATE de) WITHOUT ROWID; CREATE TABLE plain(k TEXT PRIMARY KEY)")
        let refused = try workshop.ferry("init", "a.sqlite", "shared", "--open")
        XCTAssertEqual(refused.status, 65, refused.errors)
        XCTAssertTrue(refused.errors.contains("--except tag"), refused.errors)
        XCTAssertFalse(FileManager.default.fileExists(atPath: workshop.path("shared")))
        try workshop.succeed("init", "a.sqlite", "shared", "--open", "--except", "tag")
    }

    func testTheTableIsNamedAndEverythingElseArrives() throws {
        let workshop = try Workshop()
        _ = try app(workshop, "a.sqlite", Self.schema)
        try workshop.succeed("init", "a.sqlite", "shared", "--open")
        _ = try app(workshop, "b.sqlite", Self.schema)
        try workshop.succeed("join", "b.sqlite", "shared")
        _ = try app(workshop, "a.sqlite", "INSERT INTO word VALUES ('1', 'Wort'); INSERT INTO plain VALUES ('with', 1)")
        try workshop.succeed("sync", "a.sqlite")
        _ = try app(workshop, "a.sqlite", "INSERT INTO plain VALUES ('after', 1)")
        try workshop.succeed("sync", "a.sqlite")
        let report = try workshop.succeed("sync", "b.sqlite", "--json").json()
        XCTAssertEqual((report["waiting"] as? [Any])?.count, 0)
        let tables = try XCTUnwrap(report["waitingTables"] as? [[String: Any]])
        XCTAssertEqual(tables.map { $0["table"] as? String }, ["word"])
        XCTAssertEqual(tables.map { $0["rows"] as? Int }, [1])
        XCTAssertEqual(tables.map { $0["unpacked"] as? Int }, [0])
        let missing = tables[0]["missing"] as? String ?? ""
        XCTAssertTrue(["unknown function: slug()", "no such collation sequence: de"].contains(missing), missing)
        XCTAssertEqual(
            try app(workshop, "b.sqlite", "SELECT k FROM plain ORDER BY k; SELECT * FROM word"), "after\nwith\n")
        // What is written there travels on.
        _ = try app(workshop, "b.sqlite", "INSERT INTO word VALUES ('2', 'Satz'); INSERT INTO plain VALUES ('b', 1)")
        XCTAssertTrue(try workshop.succeed("sync", "b.sqlite").errors.contains("1 row waits for the app"))
        try workshop.succeed("sync", "a.sqlite")
        XCTAssertEqual(try app(workshop, "a.sqlite", "SELECT count(*) FROM plain; SELECT k FROM word"), "3\n1\n")
        for (database, other) in [("a.sqlite", "b.sqlite"), ("b.sqlite", "a.sqlite")] {
            try workshop.succeed("sync", database)
            let output = try workshop.succeed("status", database).output
            XCTAssertTrue(output.contains("1 row waits for the app"), output)
            XCTAssertTrue(output.contains("Sync once from the app"), output)
            XCTAssertFalse(output.contains("Everything is in step"), output)
            let status = try workshop.succeed("status", database, "--json").json()
            XCTAssertEqual((status["waitingTables"] as? [Any])?.count, 1)
            let devices = status["devices"] as? [[String: Any]]
            XCTAssertEqual(devices?.map { $0["standing"] as? String }, ["waits"], other)
            XCTAssertEqual(devices?.map { $0["waitingTables"] as? [String] }, [["word"]])
            let findings = try workshop.succeed("doctor", database, "--json").json()["findings"] as? [[String: Any]]
            XCTAssertTrue(findings?.contains { $0["subject"] as? String == "table word" } ?? false, "\(findings ?? [])")
            let verification = try workshop.ferry("verify", database, "--deep", "--json")
            XCTAssertEqual(verification.status, 69, verification.output)
        }
    }
}
