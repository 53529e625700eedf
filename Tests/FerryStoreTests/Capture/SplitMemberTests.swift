import XCTest

@testable import FerryStore

/// Rows that are inserted by the key of an object which another row shows, because they are joined: the new row is a row of
/// its own, and the other one stays what it is (`SplitMembers`).
final class SplitMemberTests: XCTestCase {
    private static let makers = TestSchema(
        name: "makers",
        sql: "CREATE TABLE maker(name TEXT PRIMARY KEY NOT NULL, code TEXT UNIQUE, place TEXT UNIQUE, note TEXT);")

    private func exchange(_ devices: [TestDevice]) throws {
        for device in devices { try device.flush() }
        for device in devices { for other in devices { try device.receive(other) } }
    }

    private func check(
        _ devices: [TestDevice], _ query: String, shows expected: [String], _ name: String, line: UInt
    ) throws {
        for device in devices {
            let name = "\(name), device \(device.id.low)"
            XCTAssertEqual(try device.query(query), expected, name, line: line)
            XCTAssertEqual(try Oracle(device.schema).complaints(about: device), [], name, line: line)
            let problems = try device.store.verify(deep: true).differences.map { "\($0.key): \($0.problem)" }
            XCTAssertEqual(problems, [], name, line: line)
        }
    }

    /// Two devices enter a maker of code `x`: the first one under the key `older`, the second one later and under `newer`.
    /// Both show the first one's key and the second one's values. Then the first one writes.
    /// - Parameters:
    ///   - others: what the devices enter with their makers.
    ///   - statements: what the first one does, OLDER and NEWER being the keys.
    ///   - query: shows `expected` there before others hear of it, and then everywhere.
    private func story(
        on schema: TestSchema = makers, others: (first: String, second: String) = ("", ""), _ statements: String,
        _ query: String = "SELECT name, place, note FROM maker ORDER BY note",
        shows expected: [String], line: UInt = #line
    ) throws {
        // One of the two has the lower ID, which is written first.
        for (older, newer) in [("a", "b"), ("b", "a")] {
            func text(_ text: String) -> String {
                text.replacingOccurrences(of: "OLDER", with: older).replacingOccurrences(of: "NEWER", with: newer)
            }
            let devices = try (1...3).map { try TestDevice($0, schema) }
            try devices[0].run(text("INSERT INTO maker VALUES ('OLDER', 'x', 'here', '1 old');" + others.first))
            try devices[0].flush()
            for device in devices { device.clock.now += 1000 }
            try devices[1].run(text("INSERT INTO maker VALUES ('NEWER', 'x', 'there', '2 new');" + others.second))
            try devices[1].flush()
            for device in devices { device.clock.now += 1000 }
            try exchange(devices)
            try check(devices, "SELECT * FROM maker", shows: ["\(older)|x|there|2 new"], "before", line: line)
            for device in devices { device.clock.now += 1000 }
            try devices[0].run(text(statements))
            try devices[0].flush()
            let shown = expected.map(text)
            try check([devices[0]], query, shows: shown, "\(older) is older", line: line)
            try exchange(devices)
            try check(devices, query, shows: shown, "\(older) is older, everywhere", line: line)
        }
    }

    /// What was written to the other one went to the new row as well.
    func testANewRowIsNotWrittenToWithTheOneThatShowedItsKey() throws {
        let insertion = "INSERT INTO maker VALUES ('NEWER', 'y', 'here', '3 other');"
        let update = "UPDATE maker SET note = '4 changed' WHERE name = 'OLDER';"
        for statements in [insertion + update, update + insertion] {
            try story(statements, shows: ["NEWER|here|3 other", "OLDER|there|4 changed"])
        }
    }

    func testTheRowThatShowedAnotherOneKeepsItsValues() throws {
        try story(
            "INSERT INTO maker VALUES ('NEWER', 'y', 'here', '3 other')",
            shows: ["OLDER|there|2 new", "NEWER|here|3 other"])
        try story(
            "INSERT INTO maker VALUES ('NEWER', 'y', 'here', '3 other'); DELETE FROM maker WHERE name = 'NEWER'",
            shows: ["OLDER|there|2 new"])
    }

    func testTheRowThatShowedAnotherOneGoesAlone() throws {
        let insertion = "INSERT INTO maker VALUES ('NEWER', 'y', 'here', '3 other');"
        let deletion = "DELETE FROM maker WHERE name = 'OLDER';"
        for statements in [insertion + deletion, deletion + insertion] {
            try story(statements, shows: ["NEWER|here|3 other"])
        }
        try story(deletion + "INSERT INTO maker VALUES ('NEWER', 'x', 'there', '3')", shows: ["NEWER|there|3"])
        try story("UPDATE maker SET name = 'NEWER'", shows: ["NEWER|there|2 new"])
    }

    func testThreeThatAreOneStayTwo() throws {
        // The third one is of the second one's place, and of nothing that the first one has.
        let devices = try (1...3).map { try TestDevice($0, Self.makers) }
        let makers = ["'a', 'x', 'here', '1'", "'b', 'x', 'there', '2'", "'c', 'z', 'there', '3'"]
        for (number, values) in makers.enumerated() {
            try devices[number].run("INSERT INTO maker VALUES (\(values))")
            try devices[number].flush()
            for device in devices { device.clock.now += 1000 }
        }
        try exchange(devices)
        let query = "SELECT * FROM maker ORDER BY note"
        try check(devices, query, shows: ["a|z|there|3"], "before", line: #line)
        try devices[0].run("INSERT INTO maker VALUES ('b', 'y', 'far', '4')")
        try devices[0].flush()
        try check([devices[0]], query, shows: ["a|z|there|3", "b|y|far|4"], "", line: #line)
        try exchange(devices)
        try check(devices, query, shows: ["a|z|there|3", "b|y|far|4"], "everywhere", line: #line)
        try devices[1].run("UPDATE maker SET note = '5' WHERE name = 'a'")
        try exchange(devices)
        try check(devices, query, shows: ["b|y|far|4", "a|z|there|5"], "later", line: #line)
    }

    /// Rows that refer to the object by its key, or by another value, or are known by that.
    func testWhatRefersToTheJoinedRowStaysWithIt() throws {
        for action in ["NO ACTION", "RESTRICT", "CASCADE", "SET NULL"] {
            let schema = TestSchema(
                name: "items, \(action)",
                sql: Self.makers.sql + """
                    CREATE TABLE item(
                        id INTEGER PRIMARY KEY, maker TEXT REFERENCES maker(name) ON DELETE \(action),
                        place TEXT REFERENCES maker(place) ON DELETE \(action));
                    CREATE TABLE link(
                        maker TEXT NOT NULL REFERENCES maker(name) ON DELETE
                            \(action == "SET NULL" ? "CASCADE" : action), n INTEGER NOT NULL, PRIMARY KEY(maker, n));
                    """)
            let query = """
                SELECT 'item', id, maker, place FROM item UNION ALL SELECT 'link', n, maker, '' FROM link ORDER BY 1, 2
                """
            let others = (
                "INSERT INTO item VALUES (1, 'OLDER', 'here'); INSERT INTO link VALUES ('OLDER', 1);",
                "INSERT INTO item VALUES (2, 'NEWER', 'there'); INSERT INTO link VALUES ('NEWER', 2);"
            )
            let before = ["item|1|OLDER|there", "item|2|OLDER|there", "link|1|OLDER|", "link|2|OLDER|"]
            let insertion = "INSERT INTO maker VALUES ('NEWER', 'y', 'here', '3 other');"
            try story(on: schema, others: others, insertion, query, shows: before)
            try story(
                on: schema, others: others,
                insertion + """
                    INSERT INTO item VALUES (3, 'NEWER', 'here'); INSERT INTO link VALUES ('NEWER', 3);
                    UPDATE link SET maker = 'NEWER' WHERE n = 2;
                    """, query,
                shows: (before.dropLast() + ["item|3|NEWER|here", "link|2|NEWER|", "link|3|NEWER|"]).sorted())
        }
    }

    /// A reference that SET NULL cleared is there still when what it waits for comes back.
    func testAClearedReferenceIsKept() throws {
        let schema = TestSchema(
            name: "makers of towns",
            sql: """
                CREATE TABLE town(name TEXT PRIMARY KEY NOT NULL, size INTEGER);
                CREATE TABLE maker(
                    name TEXT PRIMARY KEY NOT NULL, code TEXT UNIQUE, town TEXT REFERENCES town(name) ON DELETE SET NULL);
                """)
        for (older, newer) in [("a", "b"), ("b", "a")] {
            let devices = try (1...3).map { try TestDevice($0, schema) }
            try devices[2].run("INSERT INTO town VALUES ('Ulm', 1)")
            try exchange(devices)
            try devices[0].run("INSERT INTO maker VALUES ('\(older)', 'x', NULL)")
            try devices[0].flush()
            for device in devices { device.clock.now += 1000 }
            try devices[1].run("INSERT INTO maker VALUES ('\(newer)', 'x', 'Ulm')")
            try devices[2].run("DELETE FROM town")
            try exchange(devices)
            try check(devices, "SELECT * FROM maker", shows: ["\(older)|x|NULL"], "before", line: #line)
            try devices[0].run("INSERT INTO maker VALUES ('\(newer)', 'y', NULL)")
            try exchange(devices)
            let query = "SELECT * FROM maker ORDER BY code"
            try check(devices, query, shows: ["\(older)|x|NULL", "\(newer)|y|NULL"], "cleared", line: #line)
            try devices[1].run("INSERT INTO town VALUES ('Ulm', 2)")
            try exchange(devices)
            try check(devices, query, shows: ["\(older)|x|Ulm", "\(newer)|y|NULL"], "again", line: #line)
        }
    }

    /// By a declared identity the same: the new row is another one of these values.
    func testANewRowHasTheDeclaredIdentityOfAnObjectThatAnotherRowShows() throws {
        let schema = TestSchema(
            name: "makers by name",
            sql: """
                CREATE TABLE maker(id INTEGER PRIMARY KEY, name TEXT, code TEXT UNIQUE, note TEXT);
                CREATE TABLE item(id INTEGER PRIMARY KEY, maker INTEGER REFERENCES maker(id));
                """,
            declared: ["maker": ["name"]])
        let devices = try (1...2).map { try TestDevice($0, schema) }
        try devices[0].run("INSERT INTO maker VALUES (1, 'old', 'x', '1')")
        try devices[0].flush()
        for device in devices { device.clock.now += 1000 }
        try devices[1].run("INSERT INTO maker VALUES (2, 'new', 'x', '2'); INSERT INTO item VALUES (1, 2)")
        try exchange(devices)
        let query = """
            SELECT name, code, note, item.id FROM maker LEFT JOIN item ON maker = maker.id ORDER BY note
            """
        try check(devices, query, shows: ["new|x|2|1"], "before", line: #line)
        try devices[0].run("UPDATE maker SET name = 'newest'")
        try exchange(devices)
        try check(devices, query, shows: ["newest|x|2|1"], "renamed", line: #line)
        try devices[0].run(
            """
            INSERT INTO maker(name, code, note) VALUES ('new', 'y', '3'), ('old', 'z', '4');
            UPDATE maker SET note = '5' WHERE code = 'x'
            """)
        let expected = ["new|y|3|NULL", "old|z|4|NULL", "newest|x|5|1"]
        try devices[0].flush()
        try check([devices[0]], query, shows: expected, "there", line: #line)
        try exchange(devices)
        try check(devices, query, shows: expected, "everywhere", line: #line)
    }
}
