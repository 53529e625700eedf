import XCTest

final class AlterCommandTests: XCTestCase {
    func testAColumnIsDroppedAndChangesGoOnBeingNoted() throws {
        let workshop = try Workshop()
        try workshop.sql("a.sqlite", "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, size INTEGER)")
        try workshop.sql("a.sqlite", "INSERT INTO item VALUES (1, 'one', 1)")
        try workshop.succeed("init", "a.sqlite", "shared", "--open")
        try workshop.succeed("join", "b.sqlite", "shared")
        let statement = "ALTER TABLE item DROP COLUMN size"
        let report = try workshop.succeed("alter", "a.sqlite", statement, "--json").json()
        XCTAssertEqual(report["statement"] as? String, statement)
        try workshop.sql("a.sqlite", "UPDATE item SET name = 'two'; INSERT INTO item VALUES (2, 'new')")
        try workshop.succeed("sync", "a.sqlite")
        try workshop.succeed("sync", "b.sqlite")
        XCTAssertEqual(try workshop.sql("a.sqlite", "SELECT * FROM item"), "1|two\n2|new\n")
        XCTAssertEqual(try workshop.sql("b.sqlite", "SELECT * FROM item"), "1|two|1\n2|new|\n")
        XCTAssertTrue(try workshop.succeed("verify", "a.sqlite", "--deep").output.contains("sound"))
    }

    func testAnyOtherStatementIsRefused() throws {
        let workshop = try Workshop()
        try workshop.begin()
        for statement in ["DELETE FROM artist", "ALTER TABLE artist ADD COLUMN x; DELETE FROM artist"] {
            let outcome = try workshop.run([Workshop.binary, "alter", "a.sqlite", statement])
            XCTAssertEqual(outcome.status, 64)
            XCTAssertTrue(outcome.errors.contains("ALTER TABLE"), outcome.errors)
        }
    }

    func testFerrysOwnTablesStay() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        for statement in [
            "ALTER TABLE ferry_pending DROP COLUMN mask", "alter table FERRY_meta rename to x",
            "ALTER TABLE main.\"ferry_device\" ADD COLUMN x",
        ] {
            try workshop.fail("alter", "a.sqlite", statement, status: 64, code: "invalidArgument")
        }
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'x'")
        try workshop.succeed("sync", "a.sqlite")
    }
}
