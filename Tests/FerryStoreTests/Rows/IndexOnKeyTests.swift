import FerryCore
import FerryTestSupport
import XCTest

@testable import FerryStore

/// UNIQUE indexes whose condition or terms name an integer key, which each device has for itself.
final class IndexOnKeyTests: XCTestCase {
    private func schema(_ index: String, columns: String = "name TEXT, note TEXT") -> TestSchema {
        TestSchema(name: index, sql: "CREATE TABLE t(id INTEGER PRIMARY KEY, \(columns)); \(index)")
    }

    /// Indexes that mean the same as `UNIQUE (name)` for the keys that apps have.
    private static let ofUsualKeys = [
        "CREATE UNIQUE INDEX i ON t(name) WHERE id > 0", "CREATE UNIQUE INDEX i ON t(name) WHERE rowid >= 1",
        "CREATE UNIQUE INDEX i ON t(name) WHERE \"ID\" IS NOT NULL AND _rowid_ <> 0",
        "CREATE UNIQUE INDEX i ON t(lower(name), id > 0)",
    ]

    private func assertSound(_ devices: TestDevice..., file: StaticString = #filePath, line: UInt = #line) throws {
        for device in devices {
            let report = try device.store.verify(deep: true)
            XCTAssertEqual(
                report.differences.map { "\($0.table) \($0.key) \($0.problem)" }, [], "device \(device.id.low)",
                file: file, line: line)
            XCTAssertTrue(report.isSound, "device \(device.id.low)", file: file, line: line)
        }
    }

    // MARK: Keys that mean the same everywhere

    func testRowsThatAreInsertedWithOneValueAreOneRow() throws {
        for index in Self.ofUsualKeys {
            try story(
                schema(index), together: "INSERT INTO t VALUES (1, 'a', 'a')",
                one: "INSERT INTO t VALUES (2, 'x', 'one'), (3, 'y', 'one')",
                other: "INSERT INTO t VALUES (2, 'x', 'other'), (3, 'z', 'other')",
                query: "SELECT name, note FROM t ORDER BY name",
                shows: ["a|a", "x|other", "y|one", "z|other"])
        }
    }

    func testRowsThatAreGivenOneValueAreOneRow() throws {
        for index in Self.ofUsualKeys {
            try story(
                schema(index), together: "INSERT INTO t VALUES (1, 'a', 'a'), (2, 'b', 'b')",
                one: "UPDATE t SET name = 'x', note = 'one' WHERE id = 1",
                other: "UPDATE t SET name = 'x', note = 'other' WHERE id = 2",
                query: "SELECT id, name, note FROM t", shows: ["1|x|other"])
        }
    }

    /// Where SQLite chooses the key, a trigger before the insertion sees -1.
    func testARowUnderMinusOneIsReplaced() throws {
        let schema = TestSchema(name: "minus one", sql: "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT UNIQUE)")
        let (one, other) = (try TestDevice(1, schema), try TestDevice(2, schema, hoursAhead: 1))
        for (statement, keys) in [
            ("INSERT INTO t VALUES (-1, 'x')", ["-1|x"]), ("INSERT OR REPLACE INTO t(name) VALUES ('x')", ["0|x"]),
            ("INSERT INTO t VALUES (-1, 'y')", ["-1|y", "0|x"]),
            ("INSERT OR REPLACE INTO t VALUES (-1, 'y')", ["-1|y", "0|x"]),
            ("INSERT OR REPLACE INTO t VALUES (-1, 'x')", ["-1|x"]),
        ] {
            try one.run(statement)
            try one.flush()
            try other.receive(one)
            XCTAssertEqual(try one.query("SELECT id, name FROM t ORDER BY id"), keys, statement)
            XCTAssertEqual(
                try other.query("SELECT name FROM t ORDER BY name"), try one.query("SELECT name FROM t ORDER BY name"),
                statement)
            try assertSound(one, other)
        }
    }

    func testAConditionOnTheKeyIsComputedOfTheKeyThatTheRowHas() throws {
        let schema = TestSchema(
            name: "check",
            sql: """
                CREATE TABLE t(
                    id INTEGER PRIMARY KEY CHECK (id > 100), above INTEGER REFERENCES t(id), name TEXT,
                    CHECK (above < id))
                """)
        let (one, other) = (try TestDevice(1, schema), try TestDevice(2, schema, hoursAhead: 1))
        try one.run("INSERT INTO t VALUES (101, NULL, 'a'), (107, 101, 'b'), (110, 107, 'c')")
        try one.flush()
        try other.receive(one)
        XCTAssertEqual(try other.query("SELECT id, above FROM t ORDER BY id"), ["101|NULL", "107|101", "110|107"])
        try assertSound(one, other)
    }

    func testAJoinedRowComesApartAndIsDeleted() throws {
        for index in Self.ofUsualKeys {
            let schema = schema(index)
            let (one, other) = (try TestDevice(1, schema), try TestDevice(2, schema, hoursAhead: 1))
            try one.run("INSERT INTO t VALUES (1, 'x', 'one')")
            try other.run("INSERT INTO t VALUES (1, 'x', 'other')")
            try one.flush()
            try other.flush()
            try one.receive(other)
            try other.run("UPDATE t SET name = 'y'")
            try other.flush()
            try one.receive(other)
            try other.receive(one)
            for device in [one, other] {
                XCTAssertEqual(try device.query("SELECT name, note FROM t ORDER BY name"), ["x|one", "y|other"])
            }
            try assertSound(one, other)
            try one.run("DELETE FROM t WHERE name = 'x'; UPDATE t SET name = 'x'")
            try one.flush()
            try other.receive(one)
            for device in [one, other] {
                XCTAssertEqual(try device.query("SELECT name, note FROM t"), ["x|other"])
            }
            try assertSound(one, other)
        }
    }

    // MARK: Other devices, other ways

    func testADeviceThatStartsFromASnapshotShowsTheSame() throws {
        for index in Self.ofUsualKeys {
            let schema = schema(index)
            let (one, other) = (try TestDevice(1, schema), try TestDevice(2, schema, hoursAhead: 1))
            let (third, fourth) = (try TestDevice(3, schema), try TestDevice(4, schema))
            try one.run("INSERT INTO t VALUES (1, 'x', 'one'), (2, 'y', 'one')")
            try other.run("INSERT INTO t VALUES (1, 'x', 'other'), (3, 'z', 'other')")
            try fourth.run("INSERT INTO t VALUES (1, 'z', 'fourth')")
            try fourth.flush()
            try one.flush()
            try other.flush()
            try one.receive(other)
            try third.read(one.takeSnapshot())
            try third.receive(fourth)
            try one.receive(fourth)
            for device in [one, third] {
                XCTAssertEqual(
                    try device.query("SELECT name, note FROM t ORDER BY name"), ["x|other", "y|one", "z|other"])
            }
            try assertSound(one, third)
        }
    }

    func testRowsThatAreThereWhenADatabaseJoinsAreOneRow() throws {
        for index in Self.ofUsualKeys {
            let schema = schema(index)
            let one = try TestDevice(1, schema)
            try one.run("INSERT INTO t VALUES (1, 'x', 'one'), (2, 'y', 'one')")
            let other = try TestDevice(2, schema, rows: "; INSERT INTO t VALUES (1, 'y', 'other'), (2, 'w', 'other')")
            try one.flush()
            try other.receive(one)
            try one.receive(other)
            for device in [one, other] {
                XCTAssertEqual(try device.query("SELECT name FROM t ORDER BY name"), ["w", "x", "y"])
            }
            try assertSound(one, other)
        }
    }

    func testReplacedRowsAreDeletedEverywhere() throws {
        let indexes = Self.ofUsualKeys + ["CREATE UNIQUE INDEX i ON t(name, id % 1)"]
        for (index, key) in indexes.flatMap({
            [($0, "INTEGER PRIMARY KEY"), ($0, "INTEGER PRIMARY KEY AUTOINCREMENT")]
        }) {
            let schema = TestSchema(name: index, sql: "CREATE TABLE t(id \(key), name TEXT, note TEXT); \(index)")
            let (one, other) = (try TestDevice(1, schema), try TestDevice(2, schema))
            try one.run("INSERT INTO t VALUES (1, 'x', 'old'), (2, 'y', 'old'), (3, 'z', 'old')")
            try one.flush()
            try other.receive(one)
            try one.run("INSERT OR REPLACE INTO t(name, note) VALUES ('x', 'new')")
            try one.run("UPDATE OR REPLACE t SET name = 'y' WHERE name = 'z'")
            try one.run("INSERT OR REPLACE INTO t VALUES (9, 'w', 'new')")
            try one.flush()
            try other.receive(one)
            for device in [one, other] {
                XCTAssertEqual(
                    try device.query("SELECT name, note FROM t ORDER BY name"), ["w|new", "x|new", "y|old"], index)
            }
            try assertSound(one, other)
        }
    }

    /// What SQLite computes of the integer that it is going to choose.
    func testARowIsReplacedByWhatIsComputedOfAKeyThatItDoesNotHaveYet() throws {
        for definition in ["INTEGER PRIMARY KEY", "INTEGER PRIMARY KEY AUTOINCREMENT"] {
            let schema = TestSchema(
                name: definition,
                sql: """
                    CREATE TABLE t(
                        id \(definition), name TEXT, half INTEGER AS (id / 2), tag TEXT AS (name || half) UNIQUE)
                    """)
            let (one, other) = (try TestDevice(1, schema), try TestDevice(2, schema))
            try one.run("INSERT INTO t(id, name) VALUES (1, 'x'), (2, 'x')")
            try one.flush()
            try other.receive(one)
            try one.run("INSERT OR REPLACE INTO t(name) VALUES ('x')")
            XCTAssertEqual(try one.query("SELECT id, name, tag FROM t"), ["1|x|x0", "3|x|x1"])
            try one.flush()
            try other.receive(one)
            for device in [one, other] {
                XCTAssertEqual(try device.query("SELECT id, name, tag FROM t"), ["1|x|x0", "3|x|x1"], definition)
            }
            try assertSound(one, other)
        }
    }

    /// An earlier Ferry made no trigger for it.
    func testADatabaseThatHasNoSuchTriggerGetsIt() throws {
        let device = try TestDevice(1, schema("CREATE UNIQUE INDEX i ON t(name) WHERE id > 0"))
        try device.run("INSERT INTO t VALUES (1, 'x', 'old')")
        try device.flush()
        try device.run(
            """
            DROP TRIGGER ferry_1_displace_new_key;
            UPDATE ferry_meta SET value = (SELECT schema_version FROM pragma_schema_version) WHERE name = 'schemaVersion'
            """)
        try device.flush()
        try device.run("INSERT OR REPLACE INTO t(name, note) VALUES ('x', 'new')")
        try device.flush()
        XCTAssertEqual(try device.query("SELECT name, note FROM t"), ["x|new"])
        try assertSound(device)
    }

    // MARK: Keys that tell rows apart

    /// Each row's key is in what it claims, so that none claim the same.
    func testWhatIsComputedOfTheKeyIsTakenByNobodyElse() throws {
        let schemas = [
            schema("CREATE UNIQUE INDEX i ON t(double)", columns: "name TEXT, note TEXT, double INTEGER AS (id * 2)"),
            schema("CREATE UNIQUE INDEX i ON t(slug || '!')", columns: "name, note, slug TEXT AS (name || '-' || id)"),
            schema("CREATE UNIQUE INDEX i ON t(name, id)"), schema("CREATE UNIQUE INDEX i ON t(name, -id)"),
        ]
        for schema in schemas {
            try story(
                schema, together: "INSERT INTO t(id, name, note) VALUES (1, 'x', 'a')",
                one: "INSERT INTO t(name, note) VALUES ('x', 'one')",
                other: "INSERT INTO t(name, note) VALUES ('x', 'other'); UPDATE t SET note = 'b' WHERE id = 1",
                query: "SELECT name, note FROM t ORDER BY 1, 2", shows: ["x|b", "x|one", "x|other"])
        }
    }

    /// Rows with a key that the condition leaves out are what they are, on every device and in every order.
    func testRowsThatTheConditionLeavesOutStayApart() throws {
        let schema = schema("CREATE UNIQUE INDEX i ON t(name) WHERE id > 0")
        for isReversed in [false, true] {
            let (one, other) = (try TestDevice(1, schema), try TestDevice(2, schema, hoursAhead: 1))
            let third = try TestDevice(3, schema)
            try one.run("INSERT INTO t VALUES (-1, 'x', 'template'), (1, 'x', 'one')")
            try other.run("INSERT INTO t VALUES (-2, 'x', 'template 2'), (1, 'x', 'other')")
            try one.flush()
            try other.flush()
            let order = isReversed ? [other, one] : [one, other]
            try order[0].receive(order[1])
            try order[1].receive(order[0])
            try third.receive(order[0])
            try third.receive(order[1])
            let expected = ["template", "template 2", "other"]
            for device in [one, other, third] {
                XCTAssertEqual(
                    try device.query("SELECT note FROM t ORDER BY id % 2 = 0, id DESC").sorted(), expected.sorted())
            }
            try assertSound(one, other, third)
        }
    }

    /// A row that has another integer here may be under an index that it is not under where it was made. Then it is one row
    /// with who has the same value here, and two there.
    func testWhereAnIntegerIsTakenTheIndexCountsTheOneThatTheRowHasHere() throws {
        let schema = schema("CREATE UNIQUE INDEX i ON t(name) WHERE id > 1")
        let (one, other) = (try TestDevice(1, schema), try TestDevice(2, schema, hoursAhead: 1))
        try one.run("INSERT INTO t VALUES (1, 'x', 'one'), (2, 'y', 'one')")
        try other.run("INSERT INTO t VALUES (1, 'y', 'other')")
        try one.flush()
        try other.flush()
        try one.receive(other)
        try other.receive(one)
        XCTAssertEqual(try one.query("SELECT id, name, note FROM t"), ["1|x|one", "2|y|other"])
        XCTAssertEqual(
            try other.query("SELECT name, note FROM t ORDER BY 1, 2"), ["x|one", "y|one", "y|other"])
        try assertSound(one, other)
        // What is written goes on to the same rows.
        try one.run("UPDATE t SET note = 'both' WHERE name = 'y'; INSERT INTO t VALUES (3, 'z', 'one')")
        try one.flush()
        try other.receive(one)
        XCTAssertEqual(
            try other.query("SELECT name, note FROM t ORDER BY 1, 2"), ["x|one", "y|both", "y|both", "z|one"])
        try other.run("DELETE FROM t WHERE name = 'y' AND id = 1")
        try other.flush()
        try one.receive(other)
        XCTAssertEqual(try one.query("SELECT name, note FROM t ORDER BY 1, 2"), ["x|one", "y|both", "z|one"])
        try assertSound(one, other)
    }

    /// A row under another key may claim what it did not, and the reverse.
    func testARowWhoseKeyChangesIsCountedAnew() throws {
        let schema = schema("CREATE UNIQUE INDEX i ON t(name) WHERE id > 0")
        let (one, other) = (try TestDevice(1, schema), try TestDevice(2, schema, hoursAhead: 1))
        try one.run("INSERT INTO t VALUES (1, 'x', 'one')")
        try other.run("INSERT INTO t VALUES (1, 'x', 'other')")
        try one.flush()
        try other.flush()
        try one.receive(other)
        XCTAssertEqual(try one.query("SELECT id, note FROM t"), ["1|other"])
        try one.run("UPDATE t SET id = -1")
        try one.flush()
        XCTAssertEqual(try one.query("SELECT id, name, note FROM t"), ["-1|x|one", "1|x|other"])
        try assertSound(one)
        try one.run("DELETE FROM t WHERE id = 1; UPDATE t SET id = 1, note = 'again'")
        try one.flush()
        try other.receive(one)
        for device in [one, other] {
            XCTAssertEqual(try device.query("SELECT id, name, note FROM t"), ["1|x|again"])
        }
        try assertSound(one, other)
    }

    /// Conditions that tell integers apart make devices differ, and neither stop them nor leave anything unsound.
    func testRandomChangesUnderConditionsThatTellKeysApart() throws {
        let indexes = [
            "CREATE UNIQUE INDEX i ON t(name) WHERE id > 0", "CREATE UNIQUE INDEX i ON t(name) WHERE id > 3",
            "CREATE UNIQUE INDEX i ON t(name) WHERE id < 5", "CREATE UNIQUE INDEX i ON t(name) WHERE id % 2",
            "CREATE UNIQUE INDEX i ON t(name, id % 2)", "CREATE UNIQUE INDEX i ON t(name, third)",
        ]
        for seed in 1...UInt64(40) {
            let random = SeededRandom(seed: seed)
            func choose(_ count: UInt64) -> Int { Int(random.next() % count) }
            let schema = schema(
                indexes[choose(UInt64(indexes.count))], columns: "name TEXT, note TEXT, third INTEGER AS (id / 3)")
            let devices = [try TestDevice(1, schema), try TestDevice(2, schema), try TestDevice(3, schema)]
            if choose(3) == 0 {
                try devices[0].store.setPolicies([PolicySetting(.index("i"), PolicyWord.hideLoser)])
                try devices[0].flush()
            }
            for step in 1...40 {
                let device = devices[choose(3)]
                device.clock.now += 1000
                let name = "'\(["x", "y", "z"][choose(3)])'"
                let key = choose(9) - 2
                let resolution = ["OR REPLACE", "OR IGNORE"][choose(2)]
                let statement =
                    switch choose(8) {
                    case 0, 1: "INSERT \(resolution) INTO t(id, name, note) VALUES (\(key), \(name), \(step))"
                    case 2: "INSERT \(resolution) INTO t(name, note) VALUES (\(name), \(step))"
                    case 3: "UPDATE \(resolution) t SET name = \(name), note = \(step) WHERE id = \(key)"
                    case 4: "UPDATE \(resolution) t SET id = \(choose(9) - 2) WHERE id = \(key)"
                    case 5: "DELETE FROM t WHERE id = \(key)"
                    default: ""
                    }
                try device.run(statement)
                if statement.isEmpty {
                    let other = devices[choose(3)]
                    if other === device { try device.flush() } else { try device.receive(other) }
                } else if choose(3) > 0 {
                    continue
                }
                try device.flush()
                let report = try device.store.verify(deep: true)
                XCTAssertEqual(
                    report.differences.map { "\($0.key) \($0.problem)" }, [],
                    "seed \(seed), step \(step), \(schema.name)")
                if !report.isSound { return }
            }
            for device in devices + devices {
                try device.receive(devices[0], devices[1], devices[2])
                let report = try device.store.verify(deep: true)
                XCTAssertEqual(report.differences.map { "\($0.key) \($0.problem)" }, [], "seed \(seed), \(schema.name)")
            }
        }
    }

    // MARK: Names

    func testAColumnThatIsNamedLikeTheRowIDIsThatColumn() throws {
        try story(
            schema("CREATE UNIQUE INDEX i ON t(name) WHERE rowid > 0", columns: "name TEXT, rowid INTEGER"),
            one: "INSERT INTO t VALUES (1, 'x', 1), (2, 'y', 0)",
            other: "INSERT INTO t VALUES (1, 'x', 2), (2, 'y', 0)",
            query: "SELECT name, rowid FROM t ORDER BY 1, 2", shows: ["x|2", "y|0", "y|0"])
    }

    /// A reference to its own row is its key.
    func testAConditionThatComparesAReferenceWithTheKey() throws {
        try story(
            schema(
                "CREATE UNIQUE INDEX i ON t(name) WHERE parent IS NULL OR parent <> id",
                columns: "name TEXT, parent INTEGER REFERENCES t(id)"),
            one: "INSERT INTO t VALUES (1, 'x', 1), (2, 'y', 1)",
            other: "INSERT INTO t VALUES (1, 'x', 1), (2, 'y', 1)",
            query: "SELECT name, parent = id FROM t ORDER BY 1, 2", shows: ["x|1", "x|1", "y|0"])
    }

    func testKeysThatAreNoRowIDs() throws {
        for key in [
            "id INTEGER PRIMARY KEY, name TEXT, note TEXT) WITHOUT ROWID", "id TEXT PRIMARY KEY, name TEXT, note TEXT)",
        ] {
            let schema = TestSchema(
                name: key, sql: "CREATE TABLE t(\(key); CREATE UNIQUE INDEX i ON t(note) WHERE id <> '0'",
                declared: ["t": ["name"]])
            let (one, other) = (try TestDevice(1, schema), try TestDevice(2, schema, hoursAhead: 1))
            try one.run("INSERT INTO t VALUES (1, 'x', 'v'), (0, 'a', 'v')")
            try other.run("INSERT INTO t VALUES (2, 'y', 'v'), (3, 'b', 'u')")
            try one.flush()
            try other.receive(one)
            try one.receive(other)
            for device in [one, other] {
                XCTAssertEqual(try device.query("SELECT name, note FROM t ORDER BY 1"), ["a|v", "b|u", "y|v"], key)
            }
            try assertSound(one, other)
        }
    }
}
