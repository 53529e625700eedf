import XCTest

@testable import FerryStore

/// Triggers of the app's that replace rows, while Ferry writes what another device did: what they displace on this device is
/// there again in the end.
final class ReplacingTriggerTests: XCTestCase {

    private func schema(_ sql: String, staying: [String] = []) -> TestSchema {
        TestSchema(
            name: "replacing",
            sql: "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT); CREATE TABLE local(x);" + sql,
            staying: ["local"] + staying)
    }

    private func trigger(_ body: String) -> String {
        "CREATE TRIGGER effect AFTER INSERT ON item WHEN EXISTS (SELECT 1 FROM local) BEGIN \(body); END;"
    }

    private func assertSound(
        _ device: TestDevice, _ message: String = "", file: StaticString = #filePath, line: UInt = #line
    ) throws {
        let report = try device.store.verify(deep: true)
        XCTAssertTrue(report.isSound, "\(message) \(report)", file: file, line: line)
        XCTAssertEqual(try device.query("SELECT * FROM ferry_pending"), [], message, file: file, line: line)
        for table in try device.query("SELECT name FROM sqlite_schema WHERE name LIKE 'ferry_old_%'") {
            XCTAssertEqual(try device.query("SELECT * FROM \(table)"), [], message, file: file, line: line)
        }
        XCTAssertEqual(
            try device.query("SELECT name FROM temp.sqlite_schema WHERE name LIKE 'ferry_before%'"), [], message,
            file: file, line: line)
    }

    /// What a trigger does on the second device, when a row comes from the first one, changes nothing on either.
    private func assertNothingHappens(
        _ sql: String, trigger body: String, rows: String, tables: [String], here: String = "",
        deed: String = "INSERT INTO item VALUES (1, 'x')", file: StaticString = #filePath, line: UInt = #line
    ) throws {
        let schema = schema(sql + trigger(body))
        let (first, second) = (try TestDevice(1, schema), try TestDevice(2, schema, hoursAhead: 1))
        try first.run(rows)
        try first.flush()
        try second.receive(first)
        try second.run("INSERT INTO local VALUES (1);" + here)
        try second.flush()
        try first.receive(second)
        func shown(_ device: TestDevice) throws -> [[String]] {
            try tables.map { try device.query("SELECT * FROM \($0) ORDER BY 1") }
        }
        let before = try shown(second)
        let published = second.log.count
        try first.run(deed)
        try first.flush()
        try second.receive(first)
        XCTAssertEqual(try shown(second), before, body, file: file, line: line)
        XCTAssertEqual(try second.query("SELECT name FROM item ORDER BY 1").suffix(1), ["x"], file: file, line: line)
        try assertSound(second, body, file: file, line: line)
        try second.flush()
        XCTAssertEqual(second.log.count, published, "something was published: \(body)", file: file, line: line)
        try first.receive(second)
        XCTAssertEqual(try shown(first), before, body, file: file, line: line)
        try assertSound(first, body, file: file, line: line)
    }

    private static let tags = "CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT UNIQUE, n INTEGER);"
    private static let threeTags = "INSERT INTO tag VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)"

    func testWhatIsDisplacedByAUniqueValueIsPutBack() throws {
        for body in [
            "INSERT OR REPLACE INTO tag(name, n) VALUES ('b', 9)",
            "REPLACE INTO tag(name, n) VALUES ('a', 8), ('b', 9)",
            "INSERT OR REPLACE INTO tag VALUES (1, 'b', 9)",
            "UPDATE OR REPLACE tag SET name = 'b' WHERE id = 1",
            "UPDATE OR REPLACE tag SET id = 2 WHERE id = 1",
            "UPDATE OR REPLACE tag SET id = 2, name = 'c' WHERE id = 1",
            "INSERT OR REPLACE INTO tag VALUES (2, 'other', 9)",
            "INSERT OR REPLACE INTO tag VALUES (2, 'b', 9)",
            "UPDATE tag SET n = 7; INSERT OR REPLACE INTO tag(name, n) VALUES ('b', 9); UPDATE tag SET n = 6",
            "INSERT OR REPLACE INTO tag(name, n) VALUES ('b', 9); DELETE FROM tag; INSERT INTO tag VALUES (2, 'z', 1)",
        ] {
            try assertNothingHappens(Self.tags, trigger: body, rows: Self.threeTags, tables: ["tag"])
        }
    }

    func testWhatIsDisplacedByAKeyThatTravelsIsPutBack() throws {
        for options in ["", "WITHOUT ROWID"] {
            for body in [
                "INSERT OR REPLACE INTO place VALUES ('x', 1, 'new', 'u')",
                "INSERT OR REPLACE INTO place VALUES ('X', 1, 'new', 'two')",
                "UPDATE OR REPLACE place SET k = 'y'",
                "UPDATE OR REPLACE place SET code = 'two'",
            ] {
                try assertNothingHappens(
                    """
                    CREATE TABLE place(
                        k TEXT COLLATE NOCASE, m INTEGER, note TEXT, code TEXT UNIQUE, PRIMARY KEY (k, m)) \(options);
                    """, trigger: body,
                    rows: "INSERT INTO place VALUES ('x', 1, 'old', 'one'), ('y', 1, 'older', 'two')", tables: ["place"]
                )
            }
        }
    }

    func testWhatIsDisplacedByIndexesOfEveryKindIsPutBack() throws {
        try assertNothingHappens(
            """
            CREATE TABLE e(
                id INTEGER PRIMARY KEY, a TEXT, b INTEGER NOT NULL DEFAULT 5, g AS (b * 2), present INTEGER DEFAULT 1, k0);
            CREATE UNIQUE INDEX e_text ON e(lower(a));
            CREATE UNIQUE INDEX e_some ON e(b) WHERE b > 3 AND present AND k0 IS NULL;
            CREATE UNIQUE INDEX e_made ON e(g) WHERE b < 0;
            """,
            trigger: """
                INSERT OR REPLACE INTO e(a, b) VALUES ('ONE', 1); INSERT OR REPLACE INTO e(a, b) VALUES ('u', NULL);
                INSERT OR REPLACE INTO e(a, b) VALUES ('v', -7)
                """, rows: "INSERT INTO e(id, a, b) VALUES (1, 'one', 4), (2, 'two', 5), (3, 'three', -7)",
            tables: ["e"])
    }

    func testWhatIsDisplacedByADefaultThatNobodyKnowsBeforeIsPutBack() throws {
        try assertNothingHappens(
            "CREATE TABLE r(id INTEGER PRIMARY KEY, code INTEGER NOT NULL DEFAULT (abs(random()) % 2) UNIQUE, n);",
            trigger:
                "INSERT OR REPLACE INTO r(code, n) VALUES (NULL, 8); INSERT OR REPLACE INTO r(code, n) VALUES (NULL, 9)",
            rows: "INSERT INTO r VALUES (1, 0, 1), (2, 1, 2)", tables: ["r"])
    }

    /// A replay's own writes have foreign keys off.
    func testWhatRefersToADisplacedRowGoesOnReferringToIt() throws {
        try assertNothingHappens(
            Self.tags + """
                CREATE TABLE child(id INTEGER PRIMARY KEY, tag INTEGER REFERENCES tag ON DELETE CASCADE);
                CREATE TABLE grandchild(id INTEGER PRIMARY KEY, child INTEGER REFERENCES child ON DELETE CASCADE);
                CREATE TABLE friend(id INTEGER PRIMARY KEY, tag INTEGER REFERENCES tag ON DELETE SET NULL);
                CREATE TABLE named(id INTEGER PRIMARY KEY, tag TEXT REFERENCES tag(name) ON DELETE SET DEFAULT);
                """, trigger: "INSERT OR REPLACE INTO tag(name, n) VALUES ('b', 9)",
            rows: """
                \(Self.threeTags); INSERT INTO child VALUES (1, 2), (2, 3); INSERT INTO grandchild VALUES (1, 1);
                INSERT INTO friend VALUES (1, 2), (2, 3); INSERT INTO named VALUES (1, 'b'), (2, 'c');
                """, tables: ["tag", "child", "grandchild", "friend", "named"])
    }

    /// What rows that stay are put in line with has foreign keys on: what SQLite does to the children is taken back too.
    func testATriggerOnATableThatStaysDisplacesNothing() throws {
        let schema = TestSchema(
            name: "replacing",
            sql: Self.tags + """
                CREATE TABLE child(id INTEGER PRIMARY KEY, tag INTEGER REFERENCES tag ON DELETE CASCADE);
                CREATE TABLE grandchild(id INTEGER PRIMARY KEY, child INTEGER REFERENCES child ON DELETE CASCADE);
                CREATE TABLE friend(id INTEGER PRIMARY KEY, tag INTEGER REFERENCES tag ON DELETE SET NULL);
                CREATE TABLE pin(tag INTEGER REFERENCES tag ON DELETE CASCADE);
                CREATE TABLE trail(what TEXT UNIQUE, n);
                CREATE TRIGGER unpinned AFTER DELETE ON pin BEGIN
                    INSERT OR REPLACE INTO trail VALUES ('gone', OLD.tag);
                    INSERT OR REPLACE INTO tag(name, n) VALUES ('b', 9);
                END;
                """, staying: ["pin", "trail"])
        let (first, second) = (try TestDevice(1, schema), try TestDevice(2, schema, hoursAhead: 1))
        try first.run(
            """
            \(Self.threeTags); INSERT INTO child VALUES (1, 2), (2, 3); INSERT INTO grandchild VALUES (1, 1);
            INSERT INTO friend VALUES (1, 2), (2, 3);
            """)
        try first.flush()
        try second.receive(first)
        try second.run("INSERT INTO pin VALUES (1); INSERT INTO trail VALUES ('gone', 0)")
        try first.run("DELETE FROM tag WHERE id = 1")
        try first.flush()
        try second.receive(first)
        XCTAssertEqual(try second.query("SELECT * FROM trail"), ["gone|1"])
        for device in [first, second] {
            XCTAssertEqual(try device.query("SELECT * FROM tag"), ["2|b|2", "3|c|3"])
            XCTAssertEqual(try device.query("SELECT * FROM child"), ["1|2", "2|3"])
            XCTAssertEqual(try device.query("SELECT * FROM grandchild"), ["1|1"])
            XCTAssertEqual(try device.query("SELECT * FROM friend"), ["1|2", "2|3"])
            try assertSound(device)
        }
        try second.flush()
        XCTAssertEqual(second.log.reduce(0) { $0 + $1.operationCount }, 0)
    }

    /// The author's trigger did the same: what it displaced, and what came in its place, arrives with what caused it.
    func testWhatTheAuthorsTriggerReplacedArrivesOnce() throws {
        for body in [
            "INSERT OR REPLACE INTO slot(name, item) VALUES ('last', NEW.name)",
            "INSERT INTO slot(name, item) VALUES ('last', NEW.name) ON CONFLICT(name) DO UPDATE SET item = excluded.item",
            "DELETE FROM slot; INSERT INTO slot(name, item) VALUES ('last', NEW.name)",
        ] {
            try assertArrivesOnce(body)
        }
    }

    private func assertArrivesOnce(_ body: String) throws {
        for (table, key) in [
            ("slot(id INTEGER PRIMARY KEY, name TEXT UNIQUE, item TEXT)", ""),
            ("slot(name TEXT PRIMARY KEY, item TEXT)", ""),
            ("slot(id TEXT PRIMARY KEY DEFAULT (hex(randomblob(16))), name TEXT UNIQUE, item TEXT)", ""),
        ] {
            for order in [0, 1] {
                // Tables come in the order in which they were made.
                let tables = ["CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT);", "CREATE TABLE \(table)\(key);"]
                let schema = TestSchema(
                    name: "replacing",
                    sql: tables[order] + tables[1 - order] + """
                        CREATE TABLE user(id INTEGER PRIMARY KEY, slot TEXT REFERENCES slot(name) DEFERRABLE INITIALLY DEFERRED);
                        CREATE TRIGGER effect AFTER INSERT ON item BEGIN \(body); END;
                        """)
                let (first, second) = (try TestDevice(1, schema), try TestDevice(2, schema, hoursAhead: 1))
                try first.run("INSERT INTO item(name) VALUES ('one'), ('two')")
                try first.flush()
                try second.receive(first)
                for name in ["three", "four"] {
                    try first.run("INSERT INTO item(name) VALUES ('\(name)')")
                    try first.flush()
                    try second.receive(first)
                    XCTAssertEqual(try second.query("SELECT name, item FROM slot"), ["last|\(name)"], table + body)
                    XCTAssertEqual(try second.store.status().hidden, 0, table + body)
                    try assertSound(second, table + body)
                }
                try second.run("UPDATE slot SET item = 'mine'")
                second.clock.now += 1000
                try second.flush()
                try first.run("INSERT INTO item(name) VALUES ('five')")
                try first.flush()
                try second.receive(first)
                try first.receive(second)
                XCTAssertEqual(
                    try first.query("SELECT name, item FROM slot"), try second.query("SELECT name, item FROM slot"),
                    table)
                for device in [first, second] { try assertSound(device, table + body) }
                XCTAssertEqual(second.log.reduce(0) { $0 + $1.operationCount }, 1)
            }
        }
    }

    /// Ferry updates or deletes, in the same pass, what the trigger displaced before.
    func testWhatFerryWritesToADisplacedRowCounts() throws {
        for order in [0, 1] {
            let tables = ["CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT);", Self.tags]
            let schema = TestSchema(
                name: "replacing",
                sql: "CREATE TABLE local(x);" + tables[order] + tables[1 - order] + """
                    CREATE TABLE child(id INTEGER PRIMARY KEY, tag INTEGER REFERENCES tag);
                    """ + trigger("INSERT OR REPLACE INTO tag(name, n) VALUES ('a', 9), ('b', 9), ('c', 9), ('d', 9)"),
                staying: ["local"])
            let (first, second) = (try TestDevice(1, schema), try TestDevice(2, schema, hoursAhead: 1))
            try first.run(Self.threeTags)
            try first.flush()
            try second.receive(first)
            try second.run("INSERT INTO local VALUES (1)")
            // Concurrently, so that the deletion is to be undone.
            try second.run("INSERT INTO child VALUES (1, 3)")
            try first.run(
                """
                INSERT INTO item VALUES (1, 'x'); UPDATE tag SET n = 20, name = 'bb' WHERE id = 2;
                DELETE FROM tag WHERE id = 3; DELETE FROM tag WHERE id = 1; INSERT INTO tag VALUES (4, 'd', 4);
                """)
            try first.flush()
            try second.receive(first)
            try first.receive(second)
            for device in [first, second] {
                XCTAssertEqual(
                    try device.query("SELECT name, n FROM tag ORDER BY 1"), ["bb|20", "c|3", "d|4"])
                XCTAssertEqual(try device.store.status().hidden, 0)
                try assertSound(device)
            }
            // What was deleted has its values still.
            try second.flush()
            XCTAssertEqual(second.log.reduce(0) { $0 + $1.operationCount }, 1)
            let kept = try second.rowsWithoutPlace("tag").map { $0.values["n"]?.text }
            XCTAssertEqual(kept, ["1"])
        }
    }

    /// Two devices in step, of which the second one has a row in `local`, and what both show after the first one's deed.
    private func assertBothShow(
        _ expected: [String], _ query: String, _ sql: String, rows: String, here: String = "", deed: String,
        line: UInt = #line
    ) throws -> TestDevice {
        let schema = schema(sql)
        let (first, second) = (try TestDevice(1, schema), try TestDevice(2, schema, hoursAhead: 1))
        try first.run(rows)
        try first.flush()
        try second.receive(first)
        try second.run("INSERT INTO local VALUES (1);" + here)
        try first.run(deed)
        try first.flush()
        try second.receive(first)
        try first.receive(second)
        for device in [first, second] {
            XCTAssertEqual(try device.query(query), expected, line: line)
            XCTAssertEqual(try device.store.status().hidden, 0, line: line)
            try assertSound(device, line: line)
        }
        return second
    }

    /// A row to which a displaced row refers is not deleted, nor one to which a changed row refers.
    func testADisplacedRowHoldsBackWhatItRefersTo() throws {
        let held = """
            CREATE TABLE held(id INTEGER PRIMARY KEY, tag INTEGER REFERENCES tag, code TEXT UNIQUE);
            """
        let replace = "INSERT OR REPLACE INTO held(tag, code) VALUES (NULL, 'k')"
        for event in ["INSERT ON item", "DELETE ON tag"] {
            for effect in [replace, "UPDATE held SET tag = NULL", "DELETE FROM held"] {
                let trigger = """
                    CREATE TRIGGER effect AFTER \(event) WHEN EXISTS (SELECT 1 FROM local) BEGIN \(effect); END;
                    """
                _ = try assertBothShow(
                    ["3|c"], "SELECT tag.id, name FROM tag JOIN held ON tag.id = held.tag", Self.tags + held + trigger,
                    rows: Self.threeTags, here: "INSERT INTO held VALUES (1, 3, 'k')",
                    deed: "INSERT INTO item VALUES (1, 'x'); DELETE FROM tag")
            }
        }
    }

    func testADeletedRowKeepsTheValuesThatItHadBeforeTheTrigger() throws {
        for effect in ["UPDATE tag SET n = 99", "INSERT OR REPLACE INTO tag VALUES (2, 'z', 99), (3, 'b', 98)"] {
            let second = try assertBothShow(
                [], "SELECT * FROM tag",
                Self.tags + """
                    CREATE TRIGGER effect AFTER DELETE ON tag WHEN EXISTS (SELECT 1 FROM local) BEGIN \(effect); END;
                    """, rows: Self.threeTags, deed: "DELETE FROM tag")
            XCTAssertEqual(
                try second.rowsWithoutPlace("tag").compactMap { $0.values["n"]?.text }.sorted(), ["1", "2", "3"])
        }
    }

    /// What a trigger made of a row is not what the rules wrote, though it be the same.
    func testRowsThatExchangeTheirValuesDoSoByTheRulesAlone() throws {
        for effect in [
            "UPDATE OR REPLACE tag SET name = 'a' WHERE id = 2", "UPDATE OR REPLACE tag SET name = 'b' WHERE id = 1",
        ] {
            _ = try assertBothShow(
                ["1|b|1", "2|a|2", "3|c|3"], "SELECT * FROM tag ORDER BY id",
                Self.tags + """
                    CREATE TRIGGER effect AFTER DELETE ON tag WHEN EXISTS (SELECT 1 FROM local) BEGIN \(effect); END;
                    """, rows: Self.threeTags,
                deed: """
                    BEGIN; UPDATE tag SET name = NULL WHERE id = 1; UPDATE tag SET name = 'a' WHERE id = 2;
                    UPDATE tag SET name = 'b' WHERE id = 1; COMMIT
                    """)
        }
    }
}
