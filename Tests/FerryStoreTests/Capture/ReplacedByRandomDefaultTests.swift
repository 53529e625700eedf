import FerryCore
import XCTest

@testable import FerryStore

/// OR REPLACE puts a default that no trigger can know before in place of a NULL that the column does not allow.
///
/// What `abs(random()) % 1` gives is 0, which Ferry does not know: so these stories have one outcome.
final class ReplacedByRandomDefaultTests: XCTestCase {
    private static let zero = "(abs(random()) % 1)"

    /// A row per code; what belongs to one follows it in both ways.
    private let codes = TestSchema(
        name: "codes",
        sql: """
            CREATE TABLE ticket(
                id INTEGER PRIMARY KEY, note TEXT, code INTEGER NOT NULL DEFAULT \(zero) UNIQUE);
            CREATE TABLE part(id INTEGER PRIMARY KEY, ticket INTEGER REFERENCES ticket(id) ON DELETE CASCADE, note TEXT);
            CREATE TABLE mention(id INTEGER PRIMARY KEY, ticket INTEGER REFERENCES ticket(id) ON DELETE SET NULL);
            """)

    private let tickets = "SELECT id, note, code FROM ticket ORDER BY id"

    /// Runs statements on a device whose rows another one has, and tells both.
    /// - Parameter statements: run one after another, as an app runs them.
    /// - Returns: the two devices, in line with each other.
    @discardableResult
    private func assertBoth(
        _ schema: TestSchema, together: String, _ statements: String..., query: String, show expected: [String],
        foreignKeys: Bool = true, file: StaticString = #filePath, line: UInt = #line
    ) throws -> [TestDevice] {
        let (device, other) = (try TestDevice(1, schema), try TestDevice(2, schema))
        try device.run(together)
        try device.flush()
        try other.receive(device)
        for statement in statements { try device.run(statement, foreignKeys: foreignKeys) }
        try device.flush()
        try other.receive(device)
        for each in [device, other] {
            let name = "device \(each.id.low)"
            XCTAssertEqual(try each.query(query), expected, name, file: file, line: line)
            XCTAssertEqual(try Oracle(schema).complaints(about: each), [], name, file: file, line: line)
            XCTAssertEqual(
                try each.store.verify(deep: true).differences.map(\.kind), [], name, file: file, line: line)
            XCTAssertEqual(try each.query("SELECT count(*) FROM ferry_pending"), ["0"], name, file: file, line: line)
            XCTAssertEqual(try each.query("SELECT count(*) FROM ferry_old_1"), ["0"], name, file: file, line: line)
        }
        return [device, other]
    }

    // MARK: What else a row's end means

    func testWhatRefersToTheRowFollowsItsForeignKeys() throws {
        try assertBoth(
            codes,
            together: """
                INSERT INTO ticket VALUES (1, 'old', 0), (2, 'stays', 5);
                INSERT INTO part VALUES (1, 1, 'goes'), (2, 2, 'stays');
                INSERT INTO mention VALUES (1, 1), (2, 2);
                """,
            "INSERT OR REPLACE INTO ticket VALUES (3, 'new', NULL)",
            query: "SELECT note FROM ticket UNION ALL SELECT note FROM part UNION ALL SELECT ticket FROM mention",
            show: ["stays", "new", "stays", "NULL", "2"])
    }

    /// Its values are known though nobody saw it go: whoever wrote to it later has all of it back.
    func testARowThatIsReplacedHereAndUpdatedThereComesBackWhole() throws {
        let schema = TestSchema(
            name: "groups",
            sql: """
                CREATE TABLE t(
                    id INTEGER PRIMARY KEY, a TEXT, b BLOB NOT NULL, kind TEXT, code INTEGER NOT NULL DEFAULT \(Self.zero),
                    UNIQUE(kind, code));
                """)
        // Its kind changes, so that both rows can be.
        try story(
            schema, together: "INSERT INTO t VALUES (1, 'a', x'01', 'k', 0)",
            one: "INSERT OR REPLACE INTO t VALUES (2, 'new', x'02', 'k', NULL)",
            other: "UPDATE t SET kind = 'l' WHERE id = 1", query: "SELECT a, b, kind, code FROM t ORDER BY kind",
            shows: ["new|x'02'|k|0", "a|x'01'|l|0"], conflicts: ["revived"])
    }

    /// As `ARowReplacedHereAndUpdatedThereIsOneRowWithItsSuccessor`.
    func testARowThatIsReplacedHereAndUpdatedThereIsOneRowWithItsSuccessor() throws {
        try story(
            codes, together: "INSERT INTO ticket VALUES (1, 'old', 0)",
            one: "INSERT OR REPLACE INTO ticket VALUES (2, 'new', NULL)",
            other: "UPDATE ticket SET note = 'there' WHERE id = 1", query: "SELECT note, code FROM ticket",
            shows: ["there|0"])
    }

    // MARK: Statements

    func testSeveralRowsOfOneStatement() throws {
        try assertBoth(
            codes, together: "INSERT INTO ticket VALUES (1, 'old', 0), (2, 'stays', 5)",
            "INSERT OR REPLACE INTO ticket VALUES (3, 'a', NULL), (4, 'b', NULL), (5, 'c', NULL)", query: tickets,
            show: ["2|stays|5", "5|c|0"])
        try assertBoth(
            codes, together: "INSERT INTO ticket VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)",
            "UPDATE OR REPLACE ticket SET code = NULL", query: tickets, show: ["3|c|0"])
    }

    func testAStatementThatFailsOrIgnoresTellsNothing() throws {
        let device = try TestDevice(1, codes)
        try device.run("INSERT INTO ticket VALUES (1, 'old', 0)")
        try device.flush()
        for statement in [
            "INSERT INTO ticket VALUES (2, 'new', NULL)", "UPDATE ticket SET code = NULL",
            "INSERT INTO ticket VALUES (1, 'new', NULL) ON CONFLICT(id) DO UPDATE SET note = 'up'",
        ] {
            XCTAssertThrowsError(try device.run(statement), statement)
            XCTAssertEqual(try device.query("SELECT count(*) FROM ferry_pending"), ["0"], statement)
        }
        let before = device.log.count
        try device.run("INSERT OR IGNORE INTO ticket VALUES (2, 'new', NULL); UPDATE OR IGNORE ticket SET code = NULL")
        try device.flush()
        XCTAssertEqual(device.log.dropFirst(before).map(\.operationCount).reduce(0, +), 0)
        XCTAssertEqual(try device.query(tickets), ["1|old|0"])
        XCTAssertTrue(try device.store.verify(deep: true).isSound)
    }

    func testConflictClausesOfASchemaWithKeysOfText() throws {
        let schema = TestSchema(
            name: "words",
            sql: """
                CREATE TABLE t(
                    k TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, note TEXT, twice INT AS (x * 2) STORED,
                    x INT NOT NULL ON CONFLICT REPLACE DEFAULT \(Self.zero) CHECK (x < 9) UNIQUE ON CONFLICT REPLACE)
                    STRICT, WITHOUT ROWID;
                """)
        try assertBoth(
            schema, together: "INSERT INTO t VALUES ('a', 'old', 0), ('b', 'stays', 5)",
            "INSERT INTO t VALUES ('c', 'new', NULL)", query: "SELECT k, note, x, twice FROM t",
            show: ["b|stays|5|10", "c|new|0|0"])
        try assertBoth(
            schema, together: "INSERT INTO t VALUES ('a', 'old', 0), ('b', 'stays', 5)",
            "UPDATE t SET x = NULL, note = 'up' WHERE k = 'B'",
            query: "SELECT k, note, x FROM t", show: ["b|up|0"])
    }

    /// The value under the UNIQUE index is computed of a default, which is known, or is not.
    func testGeneratedColumnsAndExpressions() throws {
        for (value, index) in [("'A'", "g"), ("(substr('A', 1, 1 + abs(random()) % 1))", "g"), ("'A'", "lower(x)")] {
            let schema = TestSchema(
                name: "generated \(value)",
                sql: """
                    CREATE TABLE t(
                        id INTEGER PRIMARY KEY, x TEXT NOT NULL DEFAULT \(value), f TEXT AS (x || 'z'), g TEXT AS (lower(f)));
                    CREATE UNIQUE INDEX t_index ON t(\(index)) WHERE x > '';
                    """)
            for statement in [
                "INSERT OR REPLACE INTO t VALUES (3, NULL)", "UPDATE OR REPLACE t SET x = NULL WHERE id = 2",
            ] {
                let isUpdate = statement.hasPrefix("UPDATE")
                try assertBoth(
                    schema, together: "INSERT INTO t VALUES (1, 'a'), (2, 'c')", statement, query: "SELECT * FROM t",
                    show: isUpdate ? ["2|A|Az|az"] : ["2|c|cz|cz", "3|A|Az|az"])
            }
        }
    }

    /// An integer key is no rowid there, and has a default.
    func testAnIntegerKeyThatIsNoRowID() throws {
        for value in ["0", Self.zero] {
            let schema = TestSchema(
                name: "key \(value)",
                sql: "CREATE TABLE t(id INTEGER NOT NULL DEFAULT \(value) PRIMARY KEY, note TEXT) WITHOUT ROWID")
            try assertBoth(
                schema, together: "INSERT INTO t VALUES (0, 'old'), (1, 'other')",
                "UPDATE OR REPLACE t SET id = NULL WHERE id = 1", query: "SELECT note FROM t", show: ["other"])
            try assertBoth(
                schema, together: "INSERT INTO t VALUES (0, 'old'), (1, 'other')",
                "INSERT OR REPLACE INTO t VALUES (NULL, 'new')", query: "SELECT * FROM t", show: ["0|new", "1|other"])
        }
    }

    // MARK: What else is noted of the row

    private let start =
        "INSERT INTO ticket VALUES (1, 'old', 0), (2, 'stays', 5); INSERT INTO part VALUES (1, 1, 'part')"

    func testARowThatWasWrittenBefore() throws {
        for before in [
            "UPDATE ticket SET note = 'written' WHERE id = 1", "UPDATE ticket SET id = 9 WHERE id = 1",
            "DELETE FROM ticket WHERE id = 1; INSERT INTO ticket VALUES (1, 'again', 0)",
            "UPDATE ticket SET code = 7 WHERE id = 1; INSERT INTO ticket VALUES (4, 'fresh', 0)",
            "INSERT OR REPLACE INTO ticket VALUES (1, 'over', 0)",
        ] {
            let keeps = before.contains("code = 7")
            try assertBoth(
                codes, together: start,
                """
                BEGIN; PRAGMA defer_foreign_keys = 1; \(before); INSERT OR REPLACE INTO ticket VALUES (3, 'new', NULL);
                UPDATE part SET ticket = NULL; COMMIT
                """,
                query: "SELECT id, note FROM ticket WHERE note <> 'stays'", show: (keeps ? ["1|old"] : []) + ["3|new"])
        }
    }

    /// The rows are looked at once, and others come and change after that.
    func testARowThatWasWrittenAfterTheFirstSuchStatement() throws {
        for (between, row) in [
            ("UPDATE ticket SET note = 'written', code = 0 WHERE id = 1", nil),
            ("UPDATE ticket SET id = 9, code = 0 WHERE id = 1", nil),
            ("INSERT INTO ticket VALUES (4, 'fresh', 0)", "1|old"),
            ("DELETE FROM ticket WHERE id = 1; INSERT INTO ticket VALUES (1, 'again', 0)", nil),
            ("INSERT OR REPLACE INTO ticket VALUES (1, 'over', 0)", nil),
            ("UPDATE ticket SET note = 'written' WHERE id = 1", "1|written"),
            ("INSERT OR REPLACE INTO ticket VALUES (1, 'over', 8)", "1|over"),
        ] as [(String, String?)] {
            try assertBoth(
                codes, together: "INSERT INTO ticket VALUES (1, 'old', 6)",
                "INSERT OR REPLACE INTO ticket VALUES (2, 'first', NULL); DELETE FROM ticket WHERE id = 2", between,
                "INSERT OR REPLACE INTO ticket VALUES (3, 'new', NULL)", query: "SELECT id, note FROM ticket",
                show: (row.map { [$0] } ?? []) + ["3|new"])
        }
    }

    /// A row that is only replaced by its key goes on, also where any row might have been replaced before.
    func testARowThatIsReplacedByItsKeyStaysTheSame() throws {
        let devices = try assertBoth(
            codes, together: "INSERT INTO ticket VALUES (1, 'old', 6)",
            "INSERT OR REPLACE INTO ticket VALUES (2, 'new', NULL); INSERT OR REPLACE INTO ticket VALUES (1, 'over', 7)",
            query: tickets, show: ["1|over|7", "2|new|0"])
        XCTAssertEqual(try devices[1].query("SELECT count(*) FROM ferry_object_1"), ["2"])
    }

    func testItsKeyIsTakenAgain() throws {
        for (after, rows) in [
            ("INSERT INTO ticket VALUES (1, 'again', 8)", ["again", "stays", "new"]),
            ("UPDATE ticket SET id = 1 WHERE id = 2", ["stays", "new"]),
            ("UPDATE ticket SET id = 1 WHERE id = 3", ["new", "stays"]),
            ("INSERT INTO ticket VALUES (1, 'again', 8); DELETE FROM ticket WHERE id = 1", ["stays", "new"]),
            (
                "INSERT INTO ticket VALUES (1, 'again', 8); INSERT INTO part VALUES (7, 1, 'part')",
                ["again", "stays", "new"]
            ),
        ] {
            for foreignKeys in [true, false] {
                let devices = try assertBoth(
                    codes, together: start, "INSERT OR REPLACE INTO ticket VALUES (3, 'new', NULL)", after,
                    query: "SELECT note FROM ticket ORDER BY note", show: rows.sorted(), foreignKeys: foreignKeys)
                let parts = try devices.map { try $0.query("SELECT id, ticket FROM part ORDER BY id") }
                XCTAssertEqual(parts[0].filter { $0.hasPrefix("7|") }, parts[1].filter { $0.hasPrefix("7|") }, after)
            }
        }
    }

    func testSavepointsThatAreRolledBack() throws {
        try assertBoth(
            codes, together: start,
            """
            BEGIN; SAVEPOINT s; INSERT OR REPLACE INTO ticket VALUES (3, 'new', NULL); ROLLBACK TO s; RELEASE s;
            UPDATE ticket SET note = 'written' WHERE id = 1; COMMIT
            """, query: tickets, show: ["1|written|0", "2|stays|5"])
        try assertBoth(
            codes, together: start,
            """
            BEGIN; SAVEPOINT s; INSERT OR REPLACE INTO ticket VALUES (3, 'new', NULL); ROLLBACK TO s; RELEASE s;
            INSERT OR REPLACE INTO ticket VALUES (4, 'newer', NULL); COMMIT
            """, query: tickets, show: ["2|stays|5", "4|newer|0"])
    }

    // MARK: What it costs

    /// However many rows such statements write, the table is looked at once before they are packed.
    func testTheTableIsLookedAtOnce() throws {
        let device = try TestDevice(1, codes)
        let rows = "WITH n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 50)"
        try device.run("\(rows) INSERT INTO ticket SELECT n, 'old', n FROM n; DELETE FROM ticket WHERE id = 7")
        let before = try device.query("SELECT count(*) FROM ferry_pending WHERE event = 4")
        XCTAssertEqual(before, ["0"])
        try device.flush()
        for _ in 0..<2 {
            try device.run("\(rows) INSERT OR REPLACE INTO ticket SELECT n + 100, 'new', NULL FROM n")
            XCTAssertEqual(try device.query("SELECT count(*) FROM ferry_pending WHERE event = 4"), ["49"])
        }
        XCTAssertEqual(try device.store.status(counting: false).pendingNotes, 100, "nobody is told of rows that stay")
        try device.flush()
        XCTAssertEqual(try device.query("SELECT count(*) FROM ticket"), ["50"])
        XCTAssertTrue(try device.store.verify(deep: true).isSound)
        try device.run("INSERT OR REPLACE INTO ticket VALUES (300, 'newer', NULL)")
        try device.flush()
        XCTAssertEqual(try device.query("SELECT id FROM ticket WHERE code = 0"), ["300"])
        XCTAssertTrue(try device.store.verify(deep: true).isSound)
    }

    /// The first look is at a table without rows: there is none to remember.
    func testATableThatHadNoRows() throws {
        let (device, other) = (try TestDevice(1, codes), try TestDevice(2, codes))
        try device.run("INSERT OR REPLACE INTO ticket VALUES (1, 'first', NULL)")
        try device.flush()
        try device.run("INSERT OR REPLACE INTO ticket VALUES (2, 'second', NULL)")
        try device.flush()
        try other.receive(device)
        XCTAssertEqual(try other.query(tickets), ["2|second|0"])
        XCTAssertTrue(try device.store.verify(deep: true).isSound)
    }

    /// More than one changeset takes.
    func testNotesArePackedInParts() throws {
        for limit in [1, 10, 20, 40, 80] {
            let (device, other) = (try TestDevice(1, codes), try TestDevice(2, codes))
            try device.run(start)
            try device.flush()
            try other.receive(device)
            try device.run("INSERT OR REPLACE INTO ticket VALUES (3, 'new', NULL)")
            try device.run("UPDATE ticket SET note = 'written'; INSERT INTO ticket VALUES (1, 'again', 9)")
            device.store.maximumPackedBytes.withLock { $0 = limit }
            try device.flush()
            try other.receive(device)
            for each in [device, other] {
                XCTAssertEqual(try each.query(tickets), ["1|again|9", "2|written|5", "3|written|0"], "\(limit)")
                XCTAssertEqual(try Oracle(codes).complaints(about: each), [], "\(limit)")
            }
            XCTAssertEqual(try device.query("SELECT count(*) FROM ferry_old_1"), ["0"])
        }
    }

    /// Only a table whose rows such a default may replace has triggers for it.
    func testOnlyWhereASchemaNeedsThemAreThereTriggers() throws {
        let needless = [
            "x INTEGER NOT NULL DEFAULT 7 UNIQUE", "x TEXT NOT NULL DEFAULT (date('now')) UNIQUE",
            "x INTEGER NOT NULL DEFAULT \(Self.zero)", "x INTEGER DEFAULT \(Self.zero) UNIQUE",
            "x INTEGER NOT NULL UNIQUE",
            "x INTEGER NOT NULL DEFAULT (random()) UNIQUE", "x BLOB NOT NULL DEFAULT (randomblob(16)) UNIQUE",
            "x TEXT NOT NULL DEFAULT (lower(hex(randomblob(16)))) UNIQUE",
            """
            x TEXT NOT NULL UNIQUE DEFAULT (lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' ||
                substr(hex(randomblob(2)), 2) || '-' || substr('89ab', abs(random()) % 4 + 1, 1) ||
                substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6))))
            """,
        ]
        let needed = [
            "x INTEGER NOT NULL DEFAULT \(Self.zero) UNIQUE", "x TEXT NOT NULL DEFAULT (hex(randomblob(4))) UNIQUE",
            "x TEXT NOT NULL DEFAULT (substr(hex(randomblob(16)), 1, 4)) UNIQUE",
            "x INTEGER NOT NULL DEFAULT (hex(randomblob(16)) || '1' + 1) UNIQUE",
            "x REAL NOT NULL DEFAULT (random()) UNIQUE",
            "x BLOB NOT NULL DEFAULT (randomblob(16)), g AS (substr(x, 1, 1)) UNIQUE",
        ]
        let keys = [
            "id INTEGER PRIMARY KEY) WITHOUT ROWID": "0", "id INTEGER DEFAULT 5 PRIMARY KEY) WITHOUT ROWID": "1",
            "id INTEGER DEFAULT 5 PRIMARY KEY)": "0", "id TEXT DEFAULT 'a' PRIMARY KEY) WITHOUT ROWID": "0",
        ]
        let columns = (needless + needed).map {
            ("id INTEGER PRIMARY KEY, \($0))", needed.contains($0) ? "2" : "0")
        }
        for (table, count) in columns + keys.map({ ($0, $1) }) {
            let device = try TestDevice(1, TestSchema(name: table, sql: "CREATE TABLE t(\(table);"))
            let found = try device.query(
                "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'ferry\\_1\\_unforeseen%' ESCAPE '\\'")
            XCTAssertEqual(found, [count], table)
        }
    }

    /// An earlier Ferry made no such triggers.
    func testADatabaseThatHasNoSuchTriggersGetsThem() throws {
        let device = try TestDevice(1, codes)
        try device.run("INSERT INTO ticket VALUES (1, 'old', 0)")
        try device.flush()
        try device.run(
            """
            DROP TRIGGER ferry_1_unforeseen_insert; DROP TRIGGER ferry_1_unforeseen_update;
            UPDATE ferry_meta SET value = (SELECT schema_version FROM pragma_schema_version) WHERE name = 'schemaVersion'
            """)
        try device.flush()
        try device.run("INSERT OR REPLACE INTO ticket VALUES (2, 'new', NULL)")
        try device.flush()
        XCTAssertEqual(try device.query(tickets), ["2|new|0"])
        XCTAssertTrue(try device.store.verify(deep: true).isSound)
    }

    /// What the app's triggers do during a replay is taken back, and what was noted of it.
    func testAnAppsTriggerDoesItDuringAReplay() throws {
        let schema = TestSchema(
            name: "trigger",
            sql: codes.sql + """
                CREATE TABLE cause(id INTEGER PRIMARY KEY);
                CREATE TRIGGER effect AFTER INSERT ON cause BEGIN
                    INSERT OR REPLACE INTO ticket VALUES (-1, 'effect', NULL);
                    DELETE FROM ticket WHERE id = -1;
                END;
                """)
        let (device, other) = (try TestDevice(1, schema), try TestDevice(2, schema))
        try device.run("INSERT INTO ticket VALUES (1, 'old', 5)")
        try device.flush()
        try other.receive(device)
        try device.run("INSERT INTO cause VALUES (1)")
        try device.flush()
        try other.receive(device)
        XCTAssertEqual(try other.query(tickets), ["1|old|5"])
        // Nothing of the replay keeps it from looking again.
        try other.run("UPDATE ticket SET code = 0; INSERT OR REPLACE INTO ticket VALUES (9, 'new', NULL)")
        try other.flush()
        try device.receive(other)
        for each in [device, other] {
            XCTAssertEqual(try each.query("SELECT note, code FROM ticket"), ["new|0"])
            XCTAssertEqual(try Oracle(schema).complaints(about: each), [])
            XCTAssertTrue(try each.store.verify(deep: true).isSound)
        }
    }

    /// A row that was looked at before it got a new column is looked at again.
    func testAColumnIsAddedInBetween() throws {
        let (device, other) = (try TestDevice(1, codes), try TestDevice(2, codes, hoursAhead: 1))
        try device.run("INSERT INTO ticket VALUES (1, 'old', 6)")
        try device.flush()
        try other.receive(device)
        for each in [device, other] {
            if each === device { try each.run("INSERT OR REPLACE INTO ticket VALUES (2, 'new', NULL)") }
            try each.run("ALTER TABLE ticket ADD COLUMN kind TEXT NOT NULL DEFAULT 'k'")
        }
        // Takes up the new schema and packs nothing.
        _ = try device.store.adopt([:])
        try device.run("UPDATE ticket SET code = 3 WHERE id = 2; UPDATE ticket SET code = 0 WHERE id = 1")
        try device.run("INSERT OR REPLACE INTO ticket VALUES (3, 'newer', NULL, 'l')")
        try other.run("UPDATE ticket SET note = 'there', code = 9")
        try device.flush()
        try other.receive(device)
        try device.receive(other)
        for each in [device, other] {
            XCTAssertEqual(
                try each.query("SELECT note, code, kind FROM ticket ORDER BY code"),
                ["newer|0|l", "new|3|k", "there|9|k"])
            XCTAssertTrue(try each.store.verify(deep: true).isSound)
        }
    }
}
