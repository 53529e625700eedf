import Foundation
import XCTest

/// Foreign keys that rows break, or that SQLite cannot use, as the command tells of them.
final class PlainReferenceCommandTests: XCTestCase {
    private let schema = """
        PRAGMA foreign_keys = OFF;
        CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT);
        CREATE TABLE track(id INTEGER PRIMARY KEY, album INTEGER REFERENCES album ON DELETE CASCADE,
            label TEXT REFERENCES album(title));
        INSERT INTO album VALUES (1, 'Blue');
        INSERT INTO track VALUES (1, 1, 'x'), (2, 99, 'y');
        """

    private func columns(_ report: [String: Any]) -> [[String]] {
        ((report["plainReferences"] as? [[String: Any]]) ?? []).compactMap { $0["columns"] as? [String] }
    }

    func testInitKeepsRowsThatReferToNothingAndSaysWhichForeignKeysTheyBreak() throws {
        let workshop = try Workshop()
        try workshop.sql("a.sqlite", schema)
        let made = try workshop.succeed("init", "a.sqlite", "shared", "--open", "--json").json()
        XCTAssertEqual(Set(columns(made).flatMap { $0 }), ["album", "label"])
        XCTAssertEqual(try workshop.sql("a.sqlite", "SELECT count(*) FROM track"), "2\n")
        let joined = try workshop.succeed("join", "b.sqlite", "shared")
        XCTAssertTrue(joined.output.contains("rows were written that refer to nothing"), joined.output)
        XCTAssertTrue(joined.output.contains("is not unique"), joined.output)
        XCTAssertEqual(try workshop.sql("b.sqlite", "SELECT label FROM track ORDER BY id"), "x\ny\n")
        for database in ["a.sqlite", "b.sqlite"] {
            let status = try workshop.succeed("status", database, "--json").json()
            XCTAssertEqual(columns(status).count, 2)
            let verified = try workshop.succeed("verify", database, "--deep", "--json").json()
            XCTAssertEqual(columns(verified).count, 2)
            XCTAssertTrue(try workshop.succeed("doctor", database).output.contains("plain reference"))
        }
    }

    func testAForeignKeyIsNamedAtInit() throws {
        let workshop = try Workshop()
        try workshop.sql("a.sqlite", schema + "DELETE FROM track WHERE id = 2;")
        try workshop.fail(
            "init", "a.sqlite", "shared", "--open", "--plain-reference", "track.id", status: 64,
            code: "invalidArgument",
            mentioning: "no foreign key")
        let made = try workshop.succeed("init", "a.sqlite", "shared", "--open", "--plain-reference", "track.album")
        XCTAssertTrue(made.output.contains("somebody said so"), made.output)
    }
}
