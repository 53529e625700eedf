import XCTest

@testable import FerryStore

/// Links whose key refers by value to a row that is several makers, by a value that the row does not show. Once somebody is
/// given that value, they are known by the value that they show (`LinkRekeying`).
final class LinkRekeyingTests: XCTestCase {
    private static let maker = "CREATE TABLE maker(id INTEGER PRIMARY KEY, name TEXT UNIQUE, code TEXT UNIQUE);"
    private static let link = """
        CREATE TABLE link(
            maker TEXT NOT NULL REFERENCES maker(code), place INTEGER NOT NULL, note TEXT, PRIMARY KEY(maker, place));
        """

    private let schema = TestSchema(name: "links", sql: maker + link)

    private func check(_ devices: [TestDevice], _ query: String, shows expected: [String], line: UInt = #line) throws {
        for device in devices {
            let oracle = try Oracle(device.schema)
            let name = "device \(device.id.low)"
            XCTAssertEqual(try device.query(query), expected, name, line: line)
            XCTAssertEqual(try oracle.complaints(about: device), [], name, line: line)
            let problems = try device.store.verify(deep: true).differences.map { "\($0.key): \($0.problem)" }
            XCTAssertEqual(problems, [], name, line: line)
        }
    }

    /// Two devices that each have a maker `x`, the first one's with the code `a` and what `rows` says of it; both then show
    /// the second one's code, `b`.
    private func devices(
        _ schema: TestSchema, together: String = "", _ rows: String, second: String = ""
    ) throws -> [TestDevice] {
        let devices = try (1...2).map { try TestDevice($0, schema) }
        try devices[0].run(together)
        try exchange(devices)
        try devices[0].run("INSERT INTO maker(name, code) VALUES ('x', 'a');" + rows)
        try devices[0].flush()
        devices[1].clock.now += 1000
        try devices[1].run("INSERT INTO maker(name, code) VALUES ('x', 'b');" + second)
        try devices[1].flush()
        for device in devices { device.clock.now += 2000 }
        try exchange(devices)
        return devices
    }

    private func exchange(_ devices: [TestDevice]) throws {
        for device in devices { try device.flush() }
        for device in devices { for other in devices { try device.receive(other) } }
    }

    private let links = "SELECT maker, place, note FROM link ORDER BY 1, 2"

    func testALinkStaysWithItsMakerWhenAnotherOneIsGivenTheValueOfItsKey() throws {
        let devices = try devices(schema, "INSERT INTO link VALUES ('a', 1, 'one')")
        try check(devices, links, shows: ["b|1|one"])
        try devices[0].run("INSERT INTO maker(name, code) VALUES ('y', 'a')")
        try devices[0].flush()
        try check([devices[0]], links, shows: ["b|1|one"])
        let third = try TestDevice(3, schema)
        try third.receive(devices[1], devices[0])
        try exchange(devices)
        try check(devices + [third], links, shows: ["b|1|one"])
        try devices[1].run("INSERT INTO link VALUES ('a', 1, 'other'); UPDATE link SET note = 'two' WHERE maker = 'b'")
        try exchange(devices)
        try check(devices, links, shows: ["a|1|other", "b|1|two"])
    }

    /// Both in one flush: the row that is there and the one that is inserted are of one identity before.
    func testALinkIsInsertedToWhoeverIsGivenTheValue() throws {
        for change in ["", "UPDATE link SET note = 'two' WHERE maker = 'b';"] {
            let devices = try devices(schema, "INSERT INTO link VALUES ('a', 1, 'one')")
            try devices[0].run(
                change + "INSERT INTO maker(name, code) VALUES ('y', 'a'); INSERT INTO link VALUES ('a', 1, 'other')")
            try devices[0].flush()
            let expected = ["a|1|other", "b|1|\(change.isEmpty ? "one" : "two")"]
            try check([devices[0]], links, shows: expected)
            try exchange(devices)
            try check(devices, links, shows: expected)
            try devices[1].run("DELETE FROM link WHERE maker = 'a'; UPDATE link SET note = 'three'")
            try exchange(devices)
            try check(devices, links, shows: ["b|1|three"])
        }
    }

    func testALinkThatGoesAfterAnotherOneHasItsKeyIsGone() throws {
        let devices = try devices(schema, "INSERT INTO link VALUES ('a', 1, 'one')")
        try devices[0].run(
            """
            INSERT INTO maker(name, code) VALUES ('y', 'a'); INSERT INTO link VALUES ('a', 1, 'other');
            DELETE FROM link WHERE maker = 'b';
            """)
        try exchange(devices)
        try check(devices, links, shows: ["a|1|other"])
    }

    /// Two links are one row, because their makers are.
    func testLinksThatAreOneStayOne() throws {
        for statements in ["", "INSERT INTO link VALUES ('a', 1, 'other')"] {
            let devices = try devices(
                schema, "INSERT INTO link VALUES ('a', 1, 'one')", second: "INSERT INTO link VALUES ('b', 1, 'two')")
            devices[0].clock.now += 1000
            try check(devices, links, shows: ["b|1|two"])
            try devices[0].run("INSERT INTO maker(name, code) VALUES ('y', 'a');" + statements)
            try exchange(devices)
            try check(devices, links, shows: (statements.isEmpty ? [] : ["a|1|other"]) + ["b|1|two"])
            try devices[1].run("UPDATE link SET note = 'three' WHERE maker = 'b'")
            try exchange(devices)
            try check(devices, links, shows: (statements.isEmpty ? [] : ["a|1|other"]) + ["b|1|three"])
        }
    }

    /// Rows that refer to the link by its key, or by another value, or are known by that, refer to it still.
    func testWhatRefersToTheLinkStaysWithIt() throws {
        for action in ["NO ACTION", "RESTRICT", "CASCADE", "SET NULL"] {
            for statements in ["", "INSERT INTO link VALUES ('a', 1, 'other');"] {
                let columns = "maker TEXT NOT NULL, place INTEGER NOT NULL"
                let reference = "FOREIGN KEY(maker, place) REFERENCES link(maker, place) ON DELETE"
                let own = action == "SET NULL" ? "CASCADE" : action
                let schema = TestSchema(
                    name: "links with remarks, \(action)",
                    sql: Self.maker + Self.link + """
                        CREATE TABLE remark(
                            id INTEGER PRIMARY KEY, maker TEXT, place INTEGER, text TEXT, \(reference) \(action));
                        CREATE TABLE star(\(columns), color TEXT NOT NULL, PRIMARY KEY(maker, place, color),
                            \(reference) \(own));
                        CREATE TABLE mark(id INTEGER PRIMARY KEY, maker TEXT, place INTEGER, color TEXT,
                            FOREIGN KEY(maker, place, color) REFERENCES star(maker, place, color) ON DELETE \(action));
                        """)
                let devices = try devices(
                    schema,
                    """
                    INSERT INTO link VALUES ('a', 1, 'one'); INSERT INTO remark VALUES (1, 'a', 1, 'fine');
                    INSERT INTO star VALUES ('a', 1, 'red'); INSERT INTO mark VALUES (1, 'a', 1, 'red');
                    """)
                try devices[0].run("INSERT INTO maker(name, code) VALUES ('y', 'a');" + statements)
                try devices[0].flush()
                let query = """
                    SELECT maker, place, text, '' FROM remark UNION ALL SELECT maker, place, '', color FROM star
                    UNION ALL SELECT maker, place, 'mark', color FROM mark ORDER BY 3
                    """
                let expected = ["b|1||red", "b|1|fine|", "b|1|mark|red"]
                try check([devices[0]], query, shows: expected)
                try exchange(devices)
                try check(devices, query, shows: expected)
                try check(devices, links, shows: (statements.isEmpty ? [] : ["a|1|other"]) + ["b|1|one"])
            }
        }
    }

    /// A reference of the link that SET NULL cleared is there still when what it waits for comes back.
    func testWhatIsClearedOfALinkIsKept() throws {
        for statements in ["", "INSERT INTO link VALUES ('a', 1, NULL);"] {
            let schema = TestSchema(
                name: "links with shelves",
                sql: Self.maker + """
                    CREATE TABLE shelf(name TEXT PRIMARY KEY NOT NULL, size INTEGER);
                    CREATE TABLE link(
                        maker TEXT NOT NULL REFERENCES maker(code), place INTEGER NOT NULL,
                        shelf TEXT REFERENCES shelf(name) ON DELETE SET NULL, PRIMARY KEY(maker, place));
                    """)
            let devices = try devices(
                schema, together: "INSERT INTO shelf VALUES ('high', 1)", "INSERT INTO link VALUES ('a', 1, 'high')",
                second: "DELETE FROM shelf")
            let links = "SELECT maker, place, shelf FROM link WHERE maker = 'b'"
            try check(devices, links, shows: ["b|1|NULL"])
            try devices[0].run("INSERT INTO maker(name, code) VALUES ('y', 'a');" + statements)
            try exchange(devices)
            try check(devices, links, shows: ["b|1|NULL"])
            try devices[1].run("INSERT INTO shelf VALUES ('high', 2)")
            try exchange(devices)
            try check(devices, links, shows: ["b|1|high"])
        }
    }

    /// Like an update of the key: who writes to the link without knowing of that has it under its former key.
    func testALinkThatSomebodyElseWritesToIsThereTwice() throws {
        let devices = try devices(schema, "INSERT INTO link VALUES ('a', 1, 'one')")
        try devices[0].run("INSERT INTO maker(name, code) VALUES ('y', 'a')")
        devices[1].clock.now += 1000
        try devices[1].run("UPDATE link SET note = 'two'")
        try exchange(devices)
        try check(devices, links, shows: ["a|1|two", "b|1|one"])
    }

    /// A table that stays on the device refers to the link.
    func testARowThatStaysStaysWithTheLink() throws {
        for statements in ["", "INSERT INTO link VALUES ('a', 1, 'other');"] {
            let schema = TestSchema(
                name: "links with pins",
                sql: Self.maker + Self.link + """
                    CREATE TABLE pin(id INTEGER PRIMARY KEY, maker TEXT, place INTEGER,
                        FOREIGN KEY(maker, place) REFERENCES link(maker, place) ON DELETE CASCADE);
                    """, staying: ["pin"])
            let devices = try devices(schema, "INSERT INTO link VALUES ('a', 1, 'one')")
            for device in devices { try device.run("INSERT INTO pin VALUES (1, 'b', 1)") }
            try devices[0].run("INSERT INTO maker(name, code) VALUES ('y', 'a');" + statements)
            try exchange(devices)
            for device in devices { XCTAssertEqual(try device.query("SELECT maker, place FROM pin"), ["b|1"]) }
        }
    }

    /// Two references of one key, both to values that are given away at once.
    func testBothReferencesOfAKeyChangeAtOnce() throws {
        let schema = TestSchema(
            name: "pairs",
            sql: Self.maker + """
                CREATE TABLE pair(
                    one TEXT NOT NULL REFERENCES maker(code), other TEXT NOT NULL REFERENCES maker(code), note TEXT,
                    PRIMARY KEY(one, other));
                """)
        let devices = try devices(
            schema,
            "INSERT INTO maker(name, code) VALUES ('z', 'c'); INSERT INTO pair VALUES ('a', 'c', 'n'), ('c', 'c', 'm')",
            second: "INSERT INTO maker(name, code) VALUES ('z', 'd')")
        let pairs = "SELECT one, other, note FROM pair ORDER BY 1, 2"
        try check(devices, pairs, shows: ["b|d|n", "d|d|m"])
        try devices[0].run("INSERT INTO maker(name, code) VALUES ('v', 'a'), ('w', 'c')")
        try devices[0].flush()
        try check([devices[0]], pairs, shows: ["b|d|n", "d|d|m"])
        try exchange(devices)
        try check(devices, pairs, shows: ["b|d|n", "d|d|m"])
    }

    /// A row that shows several links stands under a key that its own link does not have, and is replaced by it.
    func testALinkThatShowsSeveralKeepsItsOwnKeyWhenItIsReplaced() throws {
        let devices = try devices(
            schema, "INSERT INTO link VALUES ('a', 1, 'one')", second: "INSERT INTO link VALUES ('b', 1, 'two')")
        try check(devices, links, shows: ["b|1|two"])
        try devices[0].run("INSERT OR REPLACE INTO link VALUES ('b', 1, 'three'); UPDATE maker SET name = NULL")
        try exchange(devices)
        try check(devices, links, shows: ["a|1|three", "b|1|three"])
    }

    /// The same where the key is made of integers, which two tags have that are given one name.
    func testALinkOfIntegersThatShowsSeveralKeepsItsOwnKeyWhenItIsReplaced() throws {
        let devices = try (1...2).map { try TestDevice($0, TestSchema.retainedLinks[0]) }
        try devices[0].run(
            """
            INSERT INTO song(id, title) VALUES (1, 's'); INSERT INTO tag VALUES (1, 'x'), (2, 'y');
            INSERT INTO song_tag VALUES (1, 2, 'two');
            """)
        try exchange(devices)
        for device in devices { device.clock.now += 1000 }
        try devices[0].run("INSERT INTO song_tag VALUES (1, 1, 'one'); UPDATE tag SET name = 'z' WHERE id = 1")
        try devices[1].run("UPDATE tag SET name = 'z' WHERE id = 2")
        try exchange(devices)
        let links = "SELECT * FROM song_tag ORDER BY 2"
        try check(devices, links, shows: ["1|1|one"])
        for device in devices { device.clock.now += 1000 }
        try devices[0].run("INSERT OR REPLACE INTO song_tag VALUES (1, 1, 'three'); UPDATE tag SET name = NULL")
        try exchange(devices)
        try check(devices, links, shows: ["1|1|three", "1|2|three"])
    }
}
