import FerryCore
import FerrySchema
import XCTest

@testable import FerryStore

/// Updates of references and of UNIQUE columns, which are merged the short way where they leave nothing to decide, and what
/// keeps them from it.
final class FastReferenceUpdateTests: XCTestCase {
    /// Items that refer to makers by integers and to brands by text, in the same way.
    private static func schema(_ action: String = "ON DELETE SET NULL") -> TestSchema {
        TestSchema(
            name: "plain references",
            sql: """
                CREATE TABLE maker(id INTEGER PRIMARY KEY, name TEXT UNIQUE, size INTEGER CHECK (size < 100));
                CREATE TABLE brand(key TEXT PRIMARY KEY COLLATE NOCASE, name TEXT UNIQUE, size INTEGER CHECK (size < 100));
                CREATE TABLE item(
                    id INTEGER PRIMARY KEY, maker INTEGER REFERENCES maker \(action), brand TEXT REFERENCES brand \(action),
                    code TEXT UNIQUE, below INTEGER REFERENCES item \(action), n INTEGER);
                CREATE TABLE piece(item INTEGER REFERENCES item, place INTEGER, PRIMARY KEY(item, place)) WITHOUT ROWID;
                """)
    }

    private static let makers = """
        INSERT INTO maker VALUES (1, 'one', 0), (2, 'two', 0), (3, 'three', 0);
        INSERT INTO brand VALUES ('a', 'one', 0), ('b', 'two', 0), ('c', 'three', 0);
        """
    private static let query = "SELECT id, ifnull(maker, '-'), ifnull(brand, '-') FROM item ORDER BY 1"
    private static let targets = """
        SELECT (SELECT group_concat(id) FROM (SELECT id FROM maker ORDER BY 1)),
            (SELECT group_concat(key) FROM (SELECT key FROM brand ORDER BY 1))
        """

    private func assert(
        _ devices: [TestDevice], _ query: String = query, show expected: [String], file: StaticString = #filePath,
        line: UInt = #line
    ) throws {
        let oracle = try Oracle(devices[0].schema)
        for device in devices {
            let name = "device \(device.id.low)"
            XCTAssertEqual(try device.query(query), expected, name, file: file, line: line)
            XCTAssertEqual(try oracle.complaints(about: device), [], name, file: file, line: line)
            XCTAssertEqual(try device.query("PRAGMA foreign_key_check"), [], name, file: file, line: line)
        }
    }

    // MARK: Which columns

    /// The columns of a table whose updates go the short way now, and those among them that refer.
    private func fastColumns(of name: String, on device: TestDevice) throws -> [String] {
        try device.store.transaction { session -> [String] in
            let access = session.access
            let table = try XCTUnwrap(access.registry.table(named: name))
            let columns = FastUpdateColumns(access, table, DependencyColumns(table))
            let found = try table.columns.compactMap { column in
                try columns.foreignKeys(of: column.id).map { column.name + ($0.isEmpty ? "" : " \($0.count)") }
            }
            return found
        }
    }

    func testReferencesArePlainAndUniqueColumnsAsLongAsNobodyNearByIsExceptional() throws {
        let (first, second) = try (TestDevice(1, Self.schema("")), TestDevice(2, Self.schema("")))
        try first.run(Self.makers + "INSERT INTO item VALUES (1, 1, 'a', 'x', 1, 0)")
        try first.flush()
        try second.receive(first)
        XCTAssertEqual(
            try fastColumns(of: "item", on: second), ["maker 1", "brand 1", "code", "below 1", "n"])
        XCTAssertEqual(try fastColumns(of: "maker", on: second), ["name", "size"])
        XCTAssertEqual(try fastColumns(of: "brand", on: second), ["name", "size"])
        XCTAssertEqual(try fastColumns(of: "piece", on: second), [])
        // A maker that is deleted and held back.
        try first.run("DELETE FROM maker WHERE id = 2")
        try second.run("UPDATE item SET maker = 2")
        try first.flush()
        try second.receive(first)
        XCTAssertEqual(try second.query("SELECT kind FROM ferry_exception"), ["4"])
        XCTAssertEqual(try fastColumns(of: "item", on: second), ["maker 1", "brand 1", "below 1", "n"])
        XCTAssertEqual(try fastColumns(of: "maker", on: second), ["size"])
        XCTAssertEqual(try fastColumns(of: "brand", on: second), ["name", "size"])
        try second.run("UPDATE item SET maker = 1")
        try second.flush()
        XCTAssertEqual(try second.query("SELECT kind FROM ferry_exception"), [])
        XCTAssertEqual(
            try fastColumns(of: "item", on: second), ["maker 1", "brand 1", "code", "below 1", "n"])
    }

    func testColumnsOfSeveralForeignKeysAndOfferedOnesAreNotPlain() throws {
        let device = try TestDevice(
            1,
            TestSchema(
                name: "other",
                sql: """
                    CREATE TABLE maker(id INTEGER PRIMARY KEY);
                    CREATE TABLE pair(a TEXT, b TEXT, n, PRIMARY KEY(a, b));
                    CREATE TABLE link(maker INTEGER PRIMARY KEY REFERENCES maker, n);
                    CREATE TABLE word(id INTEGER PRIMARY KEY, word TEXT UNIQUE, maker INTEGER REFERENCES maker, n);
                    CREATE TABLE use(
                        id INTEGER PRIMARY KEY, a TEXT, b TEXT, word TEXT REFERENCES word(word), album INTEGER,
                        link INTEGER REFERENCES link, maker INTEGER REFERENCES maker, n, FOREIGN KEY(a, b) REFERENCES pair);
                    """, references: [UndeclaredReference(table: "use", column: "album", parent: "maker")]))
        // What others refer to, several columns together, by values or through another table, nobody asks for, …
        XCTAssertEqual(try fastColumns(of: "word", on: device), ["maker 1", "n"])
        XCTAssertEqual(try fastColumns(of: "use", on: device), ["maker 1", "n"])
        XCTAssertEqual(try fastColumns(of: "link", on: device), ["n"])
        XCTAssertEqual(try fastColumns(of: "pair", on: device), ["n"])
    }

    // MARK: Stories

    /// The same by integers and by text: what one does to a target, and the other to references.
    private static let sides = [
        (column: "maker", value: "2", shown: "2", deletion: "DELETE FROM maker WHERE id = 2"),
        (column: "brand", value: "'B'", shown: "B", deletion: "DELETE FROM brand WHERE key = 'b'"),
    ]

    func testAnUpdateMeetsTheDeletionOfItsTarget() throws {
        let rows =
            Self.makers + "INSERT INTO item(id, maker, brand) VALUES (1, 1, 'a'), (2, NULL, NULL), (9, NULL, NULL)"
        for (column, value, shown, deletion) in Self.sides {
            let update = "UPDATE item SET \(column) = \(value) WHERE id < 9"
            let query = "SELECT id, ifnull(\(column), '-') FROM item ORDER BY 1"
            let expected = [
                "ON DELETE CASCADE": ["9|-"], "ON DELETE SET NULL": ["1|-", "2|-", "9|-"],
                "ON DELETE RESTRICT": ["1|\(shown)", "2|\(shown)", "9|-"], "": ["1|\(shown)", "2|\(shown)", "9|-"],
            ]
            for (action, shown) in expected.sorted(by: { $0.key < $1.key }) {
                try story(
                    Self.schema(action), together: rows, one: deletion, other: update, query: query, shows: shown)
                try story(
                    Self.schema(action), together: rows, one: update, other: deletion, query: query, shows: shown)
            }
        }
    }

    func testTheFormerTargetGoesWithItsLastReference() throws {
        for action in ["ON DELETE RESTRICT", ""] {
            let schema = Self.schema(action)
            let (first, second, third) = try (TestDevice(1, schema), TestDevice(2, schema), TestDevice(3, schema))
            try first.run(Self.makers + "INSERT INTO item(id) VALUES (1), (2)")
            try first.flush()
            for device in [second, third] { try device.receive(first) }
            try first.run("DELETE FROM maker WHERE id = 1; DELETE FROM brand WHERE key = 'a'")
            try second.run("UPDATE item SET maker = 1, brand = 'a'")
            try first.flush()
            try second.receive(first)
            try first.receive(second)
            try third.receive(first, second)
            try assert([first, second, third], Self.targets, show: ["1,2,3|a,b,c"])
            // One of two references goes, and then the other.
            for update in ["maker = 2 WHERE id = 1", "brand = 'B' WHERE id = 1"] {
                try third.run("UPDATE item SET " + update)
                try third.flush()
                for device in [first, second] { try device.receive(third) }
            }
            try assert([first, second, third], Self.targets, show: ["1,2,3|a,b,c"])
            for update in ["maker = 3 WHERE id = 2", "brand = 'c' WHERE id = 2"] {
                try third.run("UPDATE item SET " + update)
                try third.flush()
                for device in [first, second] { try device.receive(third) }
            }
            try assert([first, second, third], Self.targets, show: ["2,3|b,c"])
            try assert([first, second, third], show: ["1|2|B", "2|3|c"])
        }
    }

    func testAnUpdateAwayAndTheDeletionOfTheFormerTargetComeAtOnce() throws {
        for action in ["ON DELETE CASCADE", "ON DELETE SET NULL", "ON DELETE RESTRICT", ""] {
            try story(
                Self.schema(action),
                together: Self.makers + "INSERT INTO item(id, maker, brand) VALUES (1, 1, 'a'), (2, 1, 'a')",
                one:
                    "UPDATE item SET maker = 2, brand = 'b'; DELETE FROM maker WHERE id = 1; DELETE FROM brand WHERE key = 'a'",
                other: "UPDATE item SET n = 7", query: "SELECT id, maker, brand, n FROM item ORDER BY 1",
                shows: ["1|2|b|7", "2|2|b|7"])
        }
    }

    func testWhatWaitsForItsTargetAppearsWithAnother() throws {
        for action in ["ON DELETE CASCADE", "ON DELETE SET NULL"] {
            let schema = Self.schema(action)
            let (first, second, third) = try (TestDevice(1, schema), TestDevice(2, schema), TestDevice(3, schema))
            try first.run(Self.makers + "INSERT INTO item(id) VALUES (1)")
            try first.flush()
            for device in [second, third] { try device.receive(first) }
            try first.run("DELETE FROM maker WHERE id = 1; DELETE FROM brand WHERE key = 'a'")
            try second.run("UPDATE item SET maker = 1, brand = 'a'")
            for device in [first, second] { try device.flush() }
            for device in [first, second, third] { try device.receive(first, second) }
            let isHidden = action == "ON DELETE CASCADE"
            try assert([first, second, third], show: isHidden ? [] : ["1|-|-"])
            // The maker comes back, by a write of somebody who had not heard of its deletion; the brand is given up.
            let late = try TestDevice(5, schema, hoursAhead: 2)
            try late.pass(Array(first.log.prefix(1)))
            try late.run("UPDATE maker SET size = 5 WHERE id = 1; UPDATE item SET brand = 'c' WHERE id = 1")
            try late.flush()
            for device in [first, second, third] { try device.receive(late) }
            try late.receive(first, second)
            try assert([first, second, third, late], show: ["1|1|c"])
        }
    }

    func testATargetThatIsOneWithAnotherIsShownByThatOne() throws {
        try story(
            Self.schema(), together: Self.makers + "INSERT INTO item(id, n) VALUES (1, 0), (2, 0), (3, 0)",
            one: """
                INSERT INTO maker VALUES (10, 'same', 1); INSERT INTO brand VALUES ('m', 'same', 1);
                UPDATE item SET maker = 10, brand = 'm' WHERE id = 1
                """,
            other: """
                INSERT INTO maker VALUES (20, 'same', 2); INSERT INTO brand VALUES ('n', 'same', 2);
                UPDATE item SET maker = 20, brand = 'n' WHERE id > 1
                """,
            query: "SELECT count(DISTINCT maker), count(DISTINCT brand), count(maker) FROM item", shows: ["1|1|3"])
        // And where they became one before somebody refers to the younger.
        let schema = Self.schema()
        let (first, second) = try (TestDevice(1, schema), TestDevice(2, schema, hoursAhead: 1))
        try first.run("INSERT INTO brand VALUES ('m', 'same', 1); INSERT INTO item(id) VALUES (1), (2), (3)")
        try first.flush()
        try second.run("INSERT INTO brand VALUES ('n', 'same', 2)")
        try second.flush()
        try first.receive(second)
        try second.pass(first.log)
        try second.run("UPDATE item SET brand = 'm' WHERE id = 1")
        try second.flush()
        // One that has not heard of the older brand.
        let third = try TestDevice(3, schema, hoursAhead: 2)
        try third.pass(Array(second.log.prefix(1)))
        try third.run("INSERT INTO item(id, brand) VALUES (9, 'n')")
        try third.flush()
        try third.run("UPDATE item SET brand = 'N'")
        try third.flush()
        for device in [first, second] { try device.receive(third, first, second) }
        for device in [first, second] {
            XCTAssertEqual(
                try device.query("SELECT ifnull(brand, '-') FROM item ORDER BY 1"), ["-", "-", "m", "m"],
                "device \(device.id.low)")
            XCTAssertEqual(try Oracle(schema).complaints(about: device), [])
        }
    }

    func testATargetThatTheSchemaRefusesIsWaitedFor() throws {
        for action in ["ON DELETE CASCADE", ""] {
            let schema = Self.schema(action)
            let (first, second) = try (TestDevice(1, schema), TestDevice(2, schema))
            try first.run(Self.makers + "INSERT INTO item(id, maker) VALUES (1, 1), (2, 1)")
            try first.flush()
            try second.receive(first)
            try first.run(
                """
                PRAGMA ignore_check_constraints = ON;
                INSERT INTO maker VALUES (10, 'big', 100); INSERT INTO brand VALUES ('m', 'big', 100);
                PRAGMA ignore_check_constraints = OFF;
                UPDATE item SET maker = 10 WHERE id = 1; UPDATE item SET brand = 'm' WHERE id = 2
                """)
            try first.flush()
            try second.receive(first)
            try assert([second], show: [])
            try first.run("UPDATE maker SET size = 1; UPDATE brand SET size = 1 WHERE key = 'm'")
            try first.flush()
            try second.receive(first)
            try assert([first, second], show: ["1|10|-", "2|1|m"])
        }
    }

    func testAUniqueTupleOfReferenceAndValueJoinsItsRows() throws {
        let schema = TestSchema(
            name: "tuple",
            sql: """
                CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT);
                CREATE TABLE album(
                    id INTEGER PRIMARY KEY, artist INTEGER REFERENCES artist ON DELETE CASCADE, title TEXT, year INTEGER,
                    UNIQUE(artist, title));
                """)
        try story(
            schema,
            together: """
                INSERT INTO artist VALUES (1, 'a'), (2, 'b');
                INSERT INTO album VALUES (1, 1, 'x', 1), (2, 2, 'y', 2), (3, 2, 'z', 3)
                """,
            one: "UPDATE album SET artist = 1 WHERE id = 2",
            other: "UPDATE album SET title = 'y', year = 7 WHERE id = 1",
            query: "SELECT id, artist, title, year FROM album ORDER BY 1", shows: ["1|1|y|7", "3|2|z|3"])
        try story(
            schema,
            together: """
                INSERT INTO artist VALUES (1, 'a'), (2, 'b');
                INSERT INTO album VALUES (1, 1, 'x', 1), (2, 2, 'x', 2)
                """,
            one: """
                UPDATE album SET artist = NULL WHERE id = 1; UPDATE album SET artist = 1 WHERE id = 2;
                UPDATE album SET artist = 2, year = 5 WHERE id = 1
                """,
            other: "UPDATE album SET year = 9 WHERE id = 2",
            query: "SELECT id, artist, title, year FROM album ORDER BY 1", shows: ["1|2|x|5", "2|1|x|9"])
    }

    func testAValueThatAJoinedRowDoesNotShowIsClaimed() throws {
        let schema = TestSchema(
            name: "two", sql: "CREATE TABLE u(id INTEGER PRIMARY KEY, v TEXT UNIQUE, w TEXT UNIQUE, n)")
        let devices = try (1...3).map { try TestDevice($0, schema, hoursAhead: Int64($0)) }
        try devices[0].run("INSERT INTO u VALUES (3, 'c', 'd', 0)")
        try devices[0].flush()
        for device in devices.dropFirst() { try device.receive(devices[0]) }
        try devices[0].run("INSERT INTO u VALUES (1, 'k', 'p', 1)")
        try devices[1].run("INSERT INTO u VALUES (2, 'k', 'q', 2)")
        try devices[0].flush()
        try devices[1].flush()
        try devices[2].receive(devices[0], devices[1])
        XCTAssertEqual(try devices[2].query("SELECT id, v, w FROM u ORDER BY 1"), ["1|k|q", "3|c|d"])
        // Who has not heard of the first row takes its value.
        try devices[1].run("UPDATE u SET w = 'p' WHERE id = 3")
        try devices[1].flush()
        try devices[2].receive(devices[1])
        try devices[0].receive(devices[1])
        try devices[1].receive(devices[0])
        try assert(devices, "SELECT v, w FROM u", show: ["k|p"])
    }

    func testAValueThatIsHandedOnUnderHideLoserShowsWhoWaitsForIt() throws {
        let (first, second) = try (TestDevice(1, Self.schema()), TestDevice(2, Self.schema()))
        try first.run("CREATE UNIQUE INDEX item_n ON item(n); INSERT INTO item(id) VALUES (5)")
        try second.run("CREATE UNIQUE INDEX item_n ON item(n)")
        try first.store.setPolicies([PolicySetting(.index("item_n"), PolicyWord.hideLoser)])
        try first.flush()
        try second.receive(first)
        try first.run("INSERT INTO item(id, n) VALUES (1, 7)")
        try first.flush()
        try second.run("INSERT INTO item(id, n) VALUES (2, 7)")
        try second.receive(first)
        try first.receive(second)
        for device in [first, second] {
            XCTAssertEqual(try device.query("SELECT id FROM item WHERE n IS NOT NULL"), ["1"])
        }
        try first.run("UPDATE item SET n = 8 WHERE id = 1")
        try first.flush()
        try second.receive(first)
        for device in [first, second] {
            XCTAssertEqual(try device.query("SELECT n FROM item WHERE n IS NOT NULL ORDER BY 1"), ["7", "8"])
        }
    }

    func testRowsOfOneTableAreMovedBelowEachOther() throws {
        let rows = "INSERT INTO item(id) VALUES (1), (2), (3), (4); UPDATE item SET below = 1 WHERE id = 2;"
        let query = "SELECT id, ifnull(below, '-') FROM item ORDER BY 1"
        for action in ["ON DELETE CASCADE", "ON DELETE SET NULL", ""] {
            try story(
                Self.schema(action), together: rows, one: "UPDATE item SET below = 2 WHERE id = 3",
                other: "UPDATE item SET below = 3 WHERE id IN (2, 4); UPDATE item SET below = 1 WHERE id = 1",
                query: query, shows: ["1|1", "2|3", "3|2", "4|3"])
        }
        let kept = ["1|-", "2|4", "3|2", "4|-"]
        let expected = [
            "ON DELETE CASCADE": ["1|-"], "ON DELETE SET NULL": ["1|-", "2|-", "3|2"], "": kept,
        ]
        for (action, shown) in expected.sorted(by: { $0.key < $1.key }) {
            try story(
                Self.schema(action), together: rows, one: "DELETE FROM item WHERE id = 4",
                other: "UPDATE item SET below = 4 WHERE id = 2; UPDATE item SET below = 2 WHERE id = 3", query: query,
                shows: shown)
        }
    }

    func testAReferenceThatThisDevicesSchemaDoesNotKnowIsKept() throws {
        let tables =
            "CREATE TABLE maker(id INTEGER PRIMARY KEY); CREATE TABLE item(id INTEGER PRIMARY KEY, maker INTEGER"
        let (old, new) = (
            TestSchema(name: "old", sql: tables + ")"), TestSchema(name: "new", sql: tables + " REFERENCES maker)")
        )
        for hasKey in [false, true] {
            let (first, second) = try (TestDevice(1, hasKey ? old : new), TestDevice(2, hasKey ? new : old))
            try first.run("INSERT INTO maker VALUES (1); INSERT INTO item VALUES (1, NULL), (2, NULL)")
            try first.flush()
            try second.receive(first)
            try first.run("UPDATE item SET maker = 1")
            try first.flush()
            try second.receive(first)
            XCTAssertEqual(try second.query("SELECT count(*) FROM maker"), ["1"])
            XCTAssertEqual(try second.query("PRAGMA integrity_check"), ["ok"])
            try first.run("UPDATE item SET maker = NULL")
            try first.flush()
            try second.receive(first)
            XCTAssertEqual(try second.query("SELECT id, ifnull(maker, '-') FROM item ORDER BY 1"), ["1|-", "2|-"])
        }
    }

    // MARK: Twins

    /// Everything that devices agree on, and what each of them keeps of conflicts.
    private func content(_ device: TestDevice) throws -> [String] {
        var lines = try device.query("SELECT \"table\", sum, count FROM ferry_digest ORDER BY 1")
        for table in ["maker", "brand", "item", "piece"] {
            lines += try device.query("SELECT * FROM \(table) ORDER BY 1, 2").map { "\(table) \($0)" }
        }
        lines += try device.query("SELECT \"table\", hex(object), kind, reason FROM ferry_exception ORDER BY 1, 2")
        return try lines
            + device.query(
                """
                SELECT "table", hex(object), "column", kind, hex(lost_value), lost_time, hex(kept_value), kept_time
                FROM ferry_conflict ORDER BY 1, 2, 3, 6
                """)
    }

    private static func rows(_ count: Int) -> String {
        var sql = ""
        for number in 1...9 {
            sql += "INSERT INTO maker VALUES (\(number), 'm\(number)', 0);"
            sql += "INSERT INTO brand VALUES ('b\(number)', 'b\(number)', 0);"
        }
        for number in 1...count {
            sql += """
                INSERT INTO item VALUES (
                    \(number), \(number % 4 == 0 ? "NULL" : "\(number % 9 + 1)"), 'b\(number % 9 + 1)', 'c\(number)', NULL, 0);
                """
        }
        return sql
    }

    /// Each of the same columns in all its rows, as the short way takes them.
    private static func updates(_ word: String, _ number: Int) -> [String] {
        [
            "UPDATE item SET maker = (id * \(number)) % 7 + 3 WHERE id % 3 <> 1",
            "UPDATE item SET brand = 'b' || ((id + \(number)) % 7 + 3)",
            "UPDATE item SET code = '\(word)' || id WHERE id % 5 <> \(number)",
            "UPDATE item SET below = (id * \(number + 1)) % 60 + 1, n = \(number) WHERE id % 2 = 0",
            "UPDATE item SET maker = NULL, brand = NULL WHERE id % 11 = \(number)",
            "UPDATE item SET maker = 2, brand = 'B' || 2, n = 9 WHERE id % 13 = \(number)",
        ]
    }

    /// Devices that read and write so many at once, the last of which goes the long way, because its app has triggers.
    private func devices(_ schema: TestSchema) throws -> [TestDevice] {
        let devices = try [1, 3, 16, 16].enumerated().map { number, count in
            let device = try TestDevice(number + 3, schema)
            device.store.newRowsAtOnce.withLock { $0 = count }
            return device
        }
        for table in ["maker", "brand", "item", "piece"] {
            try devices[3].run("CREATE TRIGGER \(table)_app AFTER UPDATE ON \(table) BEGIN SELECT 1; END")
        }
        return devices
    }

    /// - Parameter isQuiet: whether nothing becomes exceptional.
    private func compareTwins(_ action: String, isQuiet: Bool) throws {
        let schema = Self.schema(action)
        let (first, second) = try (TestDevice(1, schema, rows: Self.rows(80)), TestDevice(2, schema))
        let others = try devices(schema)
        try first.flush()
        for device in [second] + others { try device.receive(first) }
        for round in 1...5 {
            for (device, word) in [(second, "second"), (first, "first")]
            where device === first || round.isMultiple(of: 2) {
                var statements = Self.updates(word, round)
                // What nobody refers to goes, what somebody refers to meanwhile, and a value that both give to a row.
                if round == 3 {
                    statements.append("DELETE FROM maker WHERE id = 1; DELETE FROM brand WHERE key = 'b1'")
                }
                if round == 4, !isQuiet {
                    if device === second { statements.insert("UPDATE item SET maker = 1 WHERE id = 8", at: 0) }
                    statements.append("UPDATE item SET code = 'both' WHERE id = \(word.count)")
                }
                for statement in statements {
                    try device.run(statement)
                    try device.flush()
                    for other in others { try other.receive(device) }
                }
            }
            if round != 3 {
                try first.receive(second)
                try second.receive(first)
            }
        }
        try first.receive(second)
        try second.receive(first)
        let expected = try content(others[3])
        for device in others.dropLast() { XCTAssertEqual(try content(device), expected) }
        let exceptions = try others[0].query("SELECT count(*) > 0 FROM ferry_exception")
        XCTAssertEqual(exceptions, [isQuiet ? "0" : "1"])
        XCTAssertGreaterThan(try others[0].rows("SELECT 1 FROM ferry_conflict WHERE kind = 'field'").count, 150)
        let oracle = try Oracle(schema)
        let tables = try first.query("SELECT sum, count FROM ferry_digest ORDER BY \"table\"")
        for device in [first, second] + others {
            XCTAssertEqual(try device.query("SELECT sum, count FROM ferry_digest ORDER BY \"table\""), tables)
            XCTAssertEqual(try device.query("PRAGMA foreign_key_check"), [])
            XCTAssertEqual(try oracle.complaints(about: device), [])
            // The checks are those of the registers and the rows.
            try device.store.transaction { session -> Void in
                let access = session.access
                for table in access.registry.parentsFirst where table.isLocal {
                    try ChecksumRenewal(access, table).renewAll()
                }
            }
            XCTAssertEqual(try device.query("SELECT sum, count FROM ferry_digest ORDER BY \"table\""), tables)
        }
    }

    func testUpdatesOfReferencesComeToTheSameHoweverTheyAreMerged() throws {
        for action in ["ON DELETE CASCADE", "ON DELETE SET NULL", ""] { try compareTwins(action, isQuiet: true) }
    }

    func testUpdatesOfReferencesComeToTheSameWhereSomeAreExceptional() throws {
        for action in ["ON DELETE CASCADE", "ON DELETE SET NULL", ""] { try compareTwins(action, isQuiet: false) }
    }
}
