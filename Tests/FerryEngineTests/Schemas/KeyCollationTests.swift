import FerryEngine
import FerryTestSupport
import XCTest

/// A migration gives a text key another collation, on every device at a time of its own. The rows stay the same rows.
final class KeyCollationTests: XCTestCase {
    private let tags = "SELECT name, n FROM tag ORDER BY n"

    private func schema(_ collation: String) -> String {
        """
        CREATE TABLE tag(name TEXT PRIMARY KEY\(collation), n INTEGER);
        CREATE TABLE item(id INTEGER PRIMARY KEY, tag TEXT REFERENCES tag(name) ON UPDATE CASCADE);
        INSERT INTO tag VALUES ('Rock', 1), ('Jazz', 2), ('pop', 3); INSERT INTO item VALUES (1, 'Rock'), (2, 'pop');
        """
    }

    private func rebuild(_ collation: String) -> String {
        """
        PRAGMA foreign_keys = OFF; BEGIN; CREATE TABLE new_tag(name TEXT PRIMARY KEY\(collation), n INTEGER);
        INSERT INTO new_tag SELECT * FROM tag; DROP TABLE tag; ALTER TABLE new_tag RENAME TO tag; COMMIT;
        PRAGMA foreign_keys = ON;
        """
    }

    func testKeysThatBecomeOneInMoreLetterCasesStayTheSameRows() throws {
        let fleet = try Fleet.two(schema(""))
        let migration = rebuild(" COLLATE NOCASE")
        try fleet.shell(0, "UPDATE tag SET n = 10 WHERE name = 'Rock'")
        try fleet.shell(0, migration)
        _ = try fleet.replicas[0].sync()
        try fleet.shell(0, "UPDATE tag SET n = 20 WHERE name = 'jazz'")
        try fleet.shell(1, "UPDATE tag SET n = 30 WHERE name = 'pop'; INSERT INTO tag VALUES ('Folk', 4)")
        try fleet.settle()
        try fleet.shell(1, migration)
        try fleet.shell(1, "UPDATE tag SET n = 11 WHERE name = 'ROCK'; DELETE FROM tag WHERE name = 'JAZZ'")
        try fleet.assertSettled(tags, "Folk|4\nRock|11\npop|30\n")
        try fleet.join()
        try fleet.shell(2, "UPDATE tag SET n = 12 WHERE name = 'rock'; INSERT INTO tag VALUES ('Soul', 50)")
        try fleet.assertSettled(tags, "Folk|4\nRock|12\npop|30\nSoul|50\n")
        XCTAssertEqual(try fleet.shell(0, "SELECT * FROM item"), "1|Rock\n2|pop\n")
    }

    func testKeysOfOneDeviceThatAreOneOnAnotherAreShownAsEachSchemaSays() throws {
        let fleet = try Fleet.two(schema(""))
        try fleet.shell(0, rebuild(" COLLATE NOCASE"))
        _ = try fleet.replicas[0].sync()
        try fleet.shell(1, "INSERT INTO tag VALUES ('rock', 4)")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(0, "SELECT count(*) FROM tag"), "3\n")
        XCTAssertEqual(try fleet.shell(1, "SELECT count(*) FROM tag"), "4\n")
        try fleet.shell(1, "DELETE FROM tag WHERE name = 'rock'")
        try fleet.settle()
        try fleet.shell(1, rebuild(" COLLATE NOCASE"))
        try fleet.assertSettled(tags, "Rock|1\nJazz|2\npop|3\n")
    }

    func testKeysThatAreSpelledOtherwiseBeforeFerryLooks() throws {
        for collation in ["", " COLLATE NOCASE"] {
            let fleet = try Fleet.two(schema(collation))
            let migration = rebuild(" COLLATE NOCASE")
            try fleet.shell(0, migration + "UPDATE tag SET name = 'JAZZ' WHERE name = 'jazz'")
            try fleet.settle()
            XCTAssertEqual(try fleet.shell(1, tags), "Rock|1\nJAZZ|2\npop|3\n", collation)
            try fleet.shell(1, migration + "UPDATE tag SET n = 4 WHERE name = 'jazz'")
            try fleet.assertSettled(tags, "Rock|1\npop|3\nJAZZ|4\n")
        }
    }

    func testAMigrationThatWritesAllKeysInSmallLetters() throws {
        let lower =
            rebuild(" COLLATE NOCASE").replacing("SELECT * FROM tag", with: "SELECT lower(name), n FROM tag")
            + "UPDATE item SET tag = lower(tag);"
        for collation in ["", " COLLATE NOCASE"] {
            let fleet = try Fleet.two(schema(collation))
            try fleet.shell(0, lower, foreignKeys: false)
            try fleet.settle()
            try fleet.shell(1, lower, foreignKeys: false)
            try fleet.assertSettled(tags, "rock|1\njazz|2\npop|3\n")
            XCTAssertEqual(try fleet.shell(1, "SELECT * FROM item"), "1|rock\n2|pop\n", collation)
        }
    }

    func testATableThatTellsMoreKeysApartWaitsWithASentence() throws {
        let fleet = try Fleet.two(schema(" COLLATE NOCASE"))
        try fleet.shell(0, "UPDATE tag SET n = 10 WHERE name = 'rock'")
        try fleet.shell(0, rebuild(""))
        try fleet.shell(1, "INSERT INTO tag VALUES ('Folk', 4)")
        try fleet.settle()
        let waiting = try XCTUnwrap(fleet.replicas[0].status().leftOut.first { $0.name == "tag" })
        XCTAssertTrue(waiting.reason.contains("COLLATE NOCASE"), waiting.reason)
        let finding = try fleet.replicas[0].examine().findings.first { $0.subject == "table tag" }
        XCTAssertEqual(finding?.severity, .warning)
        XCTAssertTrue(finding?.problem.contains(waiting.reason) ?? false)
        XCTAssertEqual(try fleet.shell(0, tags), "Jazz|2\npop|3\nRock|10\n")
        try fleet.shell(0, rebuild(" COLLATE NOCASE"))
        try fleet.assertSettled(tags, "Jazz|2\npop|3\nFolk|4\nRock|10\n")
        XCTAssertFalse(try fleet.replicas[0].examine().findings.contains { $0.subject == "table tag" })
    }

    func testADatabaseThatTellsMoreKeysApartThanTheContainerJoinsWithoutTheTable() throws {
        let fleet = try Fleet.two(schema(" COLLATE NOCASE"))
        try fleet.join("CREATE TABLE tag(name TEXT PRIMARY KEY, n INTEGER); INSERT INTO tag VALUES ('rock', 9)")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(2, "SELECT * FROM tag"), "rock|9\n")
        XCTAssertNotNil(try fleet.replicas[2].status().leftOut.first { $0.name == "tag" })
        XCTAssertTrue(try fleet.replicas[2].examine().findings.contains { $0.subject == "table tag" })
        XCTAssertEqual(try fleet.shell(0, tags), "Rock|1\nJazz|2\npop|3\n")
    }

    func testADatabaseThatTellsFewerKeysApartThanTheContainerJoins() throws {
        let fleet = try Fleet.two(schema(""))
        try fleet.join(
            schema(" COLLATE NOCASE").replacing("'Rock', 1", with: "'ROCK', 1").replacing(
                "(1, 'Rock')", with: "(1, 'ROCK')"))
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(2, "SELECT count(*) FROM tag"), "3\n")
        for replica in fleet.replicas { XCTAssertEqual(try replica.verify(deep: true).differences, []) }
    }
}
