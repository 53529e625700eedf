import FerryCore
import FerrySQL
import FerrySchema
import FerryTestSupport
import Foundation
import GRDB
import XCTest

@testable import FerryStore

/// Writes by other processes, the `sqlite3` shell and Python, on a file database: a second device shows the same bytes.
final class CaptureTests: XCTestCase {
    private var scratch: ScratchFolder?

    override func setUpWithError() throws {
        scratch = try ScratchFolder()
    }

    override func tearDownWithError() throws { scratch = nil }

    private func path(_ name: String) throws -> String { try XCTUnwrap(scratch).path(name) }

    // MARK: Two databases

    private final class FileDevice {
        let path: String
        let store: Store
        let id: DeviceID
        var log: [Changeset] = []

        init(_ path: String, _ number: UInt64, _ schema: String) throws {
            self.path = path
            id = DeviceID(high: 0xf, low: number)
            try CaptureTests.shell(path, schema)
            store = try Store(path: path)
            _ = try store.beginTracking(
                StoreIdentity(
                    device: id, deviceName: "\(number)", container: ContainerID(high: 1, low: 1), containerName: "",
                    containerPath: "/container"), TableSelection())
        }

        func pass(_ incoming: [Changeset]) throws {
            _ = try store.pass(replaying: incoming) { changeset, _, _ in
                log.append(changeset)
                return OutboxEntry(
                    first: changeset.sequence, last: changeset.sequence, changes: changeset.operationCount,
                    checksum: Checksum(high: 1, low: changeset.sequence), bytes: [])
            }
        }
    }

    private static func run(_ tool: String, _ arguments: [String], input: String) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [tool] + arguments
        let (stdin, stdout) = (Pipe(), Pipe())
        process.standardInput = stdin
        process.standardOutput = stdout
        process.standardError = stdout
        try process.run()
        stdin.fileHandleForWriting.write(Data(input.utf8))
        try stdin.fileHandleForWriting.close()
        let text = String(decoding: stdout.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        if process.terminationStatus != 0 { throw FerryError(.database, "\(tool) says: \(text)") }
        return text
    }

    @discardableResult
    private static func shell(_ path: String, _ sql: String, foreignKeys: Bool = true) throws -> String {
        try run("sqlite3", ["-bail", path], input: "PRAGMA foreign_keys=\(foreignKeys ? "ON" : "OFF");\n" + sql)
    }

    /// Every value of every row with its type, so that nothing that differs looks equal.
    private static func content(_ path: String) throws -> String {
        let tables = try shell(
            path,
            "SELECT name FROM sqlite_schema WHERE type='table' AND name NOT LIKE 'ferry\\_%' ESCAPE '\\' AND name NOT LIKE 'sqlite%' ORDER BY name;"
        ).split(separator: "\n").map(String.init)
        var text = ""
        for table in tables {
            let columns = try shell(
                path, "SELECT name FROM pragma_table_info('\(table.replacing("'", with: "''"))') ORDER BY cid;"
            )
            .split(separator: "\n").map { quoted(String($0)) }
            // A row's values one after another, as rows of their own, so that no number of columns is too many.
            let rows = columns.map { column in
                "SELECT '\(table.replacing("'", with: "''"))', \(quotedText(column)), typeof(\(column)), quote(CASE WHEN typeof(\(column))='text' "
                    + "THEN CAST(\(column) AS BLOB) ELSE \(column) END), length(\(column)) FROM \(quoted(table)) ORDER BY 1, 2, 3, 4;"
            }
            text += try shell(path, rows.joined(separator: "\n"))
        }
        return text
    }

    /// Runs scripts on one device, a flush after each, and compares the other after each, and a third that gets all at
    /// once.
    private func assertTravels(
        _ schema: String, _ scripts: [String], foreignKeys: Bool = true, python: Bool = false,
        file: StaticString = #filePath, line: UInt = #line
    ) throws {
        let author = try FileDevice(path("a.sqlite"), 1, schema)
        let reader = try FileDevice(path("b.sqlite"), 2, schema)
        let late = try FileDevice(path("c.sqlite"), 3, schema)
        for script in scripts {
            if python {
                _ = try Self.run("python3", ["-", author.path], input: script)
            } else {
                try Self.shell(author.path, script, foreignKeys: foreignKeys)
            }
            let before = try Self.content(author.path)
            let known = author.log.count
            try author.pass([])
            XCTAssertEqual(try Self.content(author.path), before, "packing changes no rows", file: file, line: line)
            try reader.pass(Array(author.log[known...]))
            XCTAssertEqual(try Self.content(reader.path), before, script, file: file, line: line)
        }
        try late.pass(author.log)
        XCTAssertEqual(
            try Self.content(late.path), try Self.content(author.path), "all at once", file: file, line: line)
        for device in [author, reader, late] {
            XCTAssertEqual(
                try Self.shell(device.path, "PRAGMA integrity_check; PRAGMA foreign_key_check;"), "ok\n", file: file,
                line: line)
        }
    }

    // MARK: Statements

    func testRollbacksAndSavepointsLeaveNothing() throws {
        try assertTravels(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, a);",
            [
                "INSERT INTO t VALUES (1, 'kept'); BEGIN; INSERT INTO t VALUES (2, 'lost'); UPDATE t SET a = 'x'; ROLLBACK;",
                """
                BEGIN; INSERT INTO t VALUES (3, 'three'); SAVEPOINT s; DELETE FROM t; INSERT INTO t VALUES (4, 'lost');
                ROLLBACK TO s; UPDATE t SET a = 'changed' WHERE id = 1; RELEASE s; COMMIT;
                """,
            ])
    }

    func testReplaceRemovesRowsThroughEveryUniqueIndex() throws {
        try assertTravels(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT UNIQUE, b INT, c INT, UNIQUE(b, c));",
            [
                "INSERT INTO t VALUES (1, 'a', 1, 1), (2, 'b', 2, 2), (3, 'c', 3, 3), (4, NULL, NULL, NULL), (5, NULL, NULL, NULL);",
                "INSERT OR REPLACE INTO t VALUES (1, 'b', 3, 3);",
                "INSERT INTO t VALUES (7, 'g', 7, 7), (8, 'h', 8, 8), (9, 'i', 9, 9);",
                "UPDATE OR REPLACE t SET a = 'h', b = 9, c = 9 WHERE id = 7;",
                "REPLACE INTO t(a) VALUES ('h');",
                "INSERT OR REPLACE INTO t VALUES (20, 'z', 1, 1); INSERT OR REPLACE INTO t VALUES (21, 'z', 2, 2); DELETE FROM t WHERE id = 21;",
            ])
    }

    func testReplaceRemovesRowsThroughPartialAndExpressionIndexes() throws {
        try assertTravels(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT COLLATE NOCASE, b INT, state TEXT);
            CREATE UNIQUE INDEX t_lower ON t(lower(a) COLLATE RTRIM, b % 10);
            CREATE UNIQUE INDEX t_open ON t(b) WHERE state = 'open' AND b > 0;
            """,
            [
                "INSERT INTO t VALUES (1, 'Ann', 1, 'open'), (2, 'bob', 2, 'open'), (3, 'bob', 3, NULL), (4, 'bob ', 4, 'x');",
                "INSERT OR REPLACE INTO t VALUES (5, 'ANN', 11, 'closed');",
                "INSERT OR REPLACE INTO t VALUES (6, 'c', 2, 'open');",
                "UPDATE OR REPLACE t SET b = 2 WHERE id = 4;",
            ])
    }

    func testReplaceRemovesRowsThroughDefaultsThatNobodyKnowsBefore() throws {
        try assertTravels(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, code INT NOT NULL DEFAULT (abs(random()) % 6) UNIQUE);
            CREATE TABLE u(id INTEGER PRIMARY KEY, t INT REFERENCES t(id) ON DELETE CASCADE);
            """,
            [
                "INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3), (4, 'd', 9); INSERT INTO u(t) SELECT id FROM t;",
                "INSERT OR REPLACE INTO t(a, code) VALUES ('e', NULL), ('f', NULL), ('g', NULL), ('h', NULL);",
                "BEGIN; REPLACE INTO t(a, code) VALUES ('i', NULL); UPDATE t SET a = a || '!'; REPLACE INTO t(a, code) VALUES ('j', NULL); COMMIT;",
                "UPDATE OR REPLACE t SET code = NULL;",
            ])
    }

    func testUpsertsAndIgnores() throws {
        try assertTravels(
            "CREATE TABLE t(k TEXT PRIMARY KEY, n INT DEFAULT 0) WITHOUT ROWID; CREATE TABLE u(id INTEGER PRIMARY KEY, a UNIQUE, n);",
            [
                "INSERT INTO t VALUES ('a', 1), ('b', 2); INSERT INTO u VALUES (1, 'x', 1), (2, 'y', 2);",
                "INSERT INTO t(k, n) VALUES ('a', 5), ('c', 6) ON CONFLICT(k) DO UPDATE SET n = n + excluded.n;",
                "INSERT OR IGNORE INTO t VALUES ('a', 9), ('d', 9); INSERT INTO t VALUES ('b', 7) ON CONFLICT DO NOTHING;",
                "INSERT INTO u(a, n) VALUES ('x', 10) ON CONFLICT(a) DO UPDATE SET n = excluded.n; INSERT OR IGNORE INTO u(a) VALUES ('y');",
                "INSERT INTO u(a, n) VALUES ('x', 10) ON CONFLICT(a) DO UPDATE SET n = 99, a = 'moved';",
            ])
    }

    func testKeysChange() throws {
        // An integer key that is used for nothing but reference may differ, so this one is a key of its own.
        try assertTravels(
            """
            CREATE TABLE s(id INT PRIMARY KEY, a);
            CREATE TABLE k(code TEXT PRIMARY KEY COLLATE NOCASE, a) WITHOUT ROWID;
            CREATE TABLE c(s INTEGER REFERENCES s ON UPDATE CASCADE, k TEXT COLLATE NOCASE REFERENCES k ON UPDATE CASCADE, n, PRIMARY KEY (s, k));
            CREATE TABLE d(id INTEGER PRIMARY KEY, s INT, k TEXT COLLATE NOCASE, FOREIGN KEY (s, k) REFERENCES c ON UPDATE CASCADE);
            """,
            [
                "INSERT INTO s VALUES (1, 'one'), (2, 'two'); INSERT INTO k VALUES ('x', 1), ('y', 2); INSERT INTO c VALUES (1, 'x', 'n'), (2, 'y', 'm'); INSERT INTO d VALUES (1, 1, 'x');",
                "UPDATE s SET id = 10 WHERE id = 1;",
                "UPDATE k SET code = 'X' WHERE code = 'x';",
                "UPDATE k SET code = 'z', a = 3 WHERE code = 'x';",
                "BEGIN; UPDATE s SET id = 100 WHERE id = 2; UPDATE s SET id = 2 WHERE id = 10; UPDATE s SET id = 10 WHERE id = 100; COMMIT;",
                "UPDATE s SET id = id + 1;",
            ])
    }

    func testAnIntegerKeyChangesByAnyOfItsNames() throws {
        let schema = "CREATE TABLE t(id INTEGER PRIMARY KEY, a); CREATE TABLE n(id INTEGER PRIMARY KEY, oid, a);"
        let author = try FileDevice(path("a.sqlite"), 1, schema)
        let reader = try FileDevice(path("b.sqlite"), 2, schema)
        try Self.shell(author.path, "INSERT INTO t VALUES (1, 'a'), (2, 'b'); INSERT INTO n VALUES (1, 1, 'c');")
        try author.pass([])
        try reader.pass(author.log)
        for (name, script) in [
            ("id", "UPDATE t SET ID = 7 WHERE a = 'a';"), ("rowid", "UPDATE t SET RowID = 8 WHERE a = 'a';"),
            ("oid", "UPDATE t SET a = a, oid = 9 WHERE a = 'a';"),
            ("_rowid_", "UPDATE t SET [_rowid_] = 1 WHERE a = 'a';"),
            ("a column of that name", "UPDATE n SET oid = 2; UPDATE n SET rowid = 5;"),
        ] {
            try Self.shell(author.path, script)
            let rekeys = "SELECT count(*) FROM ferry_pending WHERE event = \(PendingEvent.rekey.rawValue)"
            XCTAssertEqual(try Self.shell(author.path, rekeys), "1\n", name)
            try author.pass([])
        }
        try Self.shell(author.path, "UPDATE OR REPLACE t SET rowid = 2 WHERE a = 'a';")
        try author.pass([])
        try reader.pass(Array(author.log[1...]))
        XCTAssertEqual(try Self.shell(reader.path, "SELECT a FROM t UNION ALL SELECT oid FROM n;"), "a\n2\n")
    }

    func testAnUpdateThatChangesNothingSendsNothing() throws {
        let author = try FileDevice(
            path("a.sqlite"), 1, "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b TEXT);")
        try Self.shell(author.path, "INSERT INTO t VALUES (1, 1, 'x');")
        try author.pass([])
        XCTAssertEqual(author.log.count, 1)
        try Self.shell(author.path, "UPDATE t SET a = 1, b = 'x'; UPDATE t SET a = 1.0; UPDATE t SET a = 1;")
        let masks = "SELECT group_concat(mask) FROM ferry_pending"
        XCTAssertEqual(try Self.shell(author.path, masks), "0,1,1\n")
        try author.pass([])
        XCTAssertEqual(author.log.last?.operationCount, 1, "there and back is a write, too")
        try Self.shell(author.path, "UPDATE t SET a = a, b = b;")
        try author.pass([])
        XCTAssertEqual(author.log.count, 2)
        XCTAssertFalse(try author.store.needsPass())
    }

    func testDeletionsCascade() throws {
        try assertTravels(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY, up INT REFERENCES p ON DELETE CASCADE);
            CREATE TABLE c(id INTEGER PRIMARY KEY, p INT REFERENCES p ON DELETE CASCADE, q INT REFERENCES p ON DELETE SET NULL);
            CREATE TABLE e(code TEXT PRIMARY KEY);
            CREATE TABLE f(id INTEGER PRIMARY KEY, e TEXT DEFAULT 'none' REFERENCES e ON DELETE SET DEFAULT);
            """,
            [
                "INSERT INTO p VALUES (1, NULL), (2, 1), (3, 2), (4, 4); INSERT INTO c VALUES (1, 3, 4), (2, 4, 3); INSERT INTO e VALUES ('none'), ('x'); INSERT INTO f VALUES (1, 'x');",
                "DELETE FROM p WHERE id = 1;", "DELETE FROM e WHERE code = 'x';", "DELETE FROM p;",
            ])
    }

    func testIntegersAreUsedAgain() throws {
        try assertTravels(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, a); CREATE TABLE u(id INTEGER PRIMARY KEY AUTOINCREMENT, a);",
            [
                "INSERT INTO t(a) VALUES ('a'), ('b'); INSERT INTO u(a) VALUES ('a'), ('b');",
                "DELETE FROM t WHERE id = 2; INSERT INTO t(a) VALUES ('new'); DELETE FROM u WHERE id = 2; INSERT INTO u(a) VALUES ('new');",
                "DELETE FROM t; INSERT INTO t(a) VALUES ('1'), ('2'), ('3'); DELETE FROM t WHERE id = 3; INSERT INTO t(a) VALUES ('3 again');",
                "BEGIN; DELETE FROM t; INSERT INTO t VALUES (1, 'x'); DELETE FROM t; INSERT INTO t VALUES (1, 'y'); COMMIT; VACUUM;",
            ])
    }

    // MARK: Values

    func testEveryKindOfValueKeepsItsBytes() throws {
        let columns = "id INTEGER PRIMARY KEY, i INTEGER, r REAL, t TEXT, b BLOB, n NUMERIC, u"
        let values = [
            "9223372036854775807", "-9223372036854775808", "0", "-0.0", "0.0", "1e999", "-1e999", "1.5", "1.0", "1e300",
            "5e-324", "9007199254740993", "'1'", "'1.0'", "' 1 '", "'abc'", "''", "x''", "x'00'", "x'31'", "NULL",
            "CAST(x'610062' AS TEXT)", "CAST(x'ff00fe' AS TEXT)", "CAST(x'c328' AS TEXT)", "'é🎈'", "'0x10'",
            "zeroblob(17)",
        ]
        let inserts = values.map {
            "INSERT INTO t(i, r, t, b, n, u) VALUES (\($0), \($0), \($0), \($0), \($0), \($0));"
        }
        // An update that changes nothing but the representation.
        let updates = values.enumerated().map {
            "UPDATE t SET u = \($1), n = \($1), t = \($1) WHERE id = \(values.count - $0);"
        }
        try assertTravels(
            "CREATE TABLE t(\(columns));",
            [
                inserts.joined(), updates.joined(), "UPDATE t SET u = 1; ", "UPDATE t SET u = 1.0;",
                "UPDATE t SET u = '1';", "UPDATE t SET u = x'31';",
            ])
    }

    func testKeysOfEveryKind() throws {
        try assertTravels(
            """
            CREATE TABLE t(k PRIMARY KEY, a) WITHOUT ROWID;
            CREATE TABLE b(k BLOB PRIMARY KEY, a);
            CREATE TABLE x(k TEXT PRIMARY KEY, a);
            CREATE TABLE r(k REAL, l ANY, m TEXT COLLATE RTRIM, a, PRIMARY KEY (m, k, l));
            CREATE TABLE e(k INTEGER PRIMARY KEY DESC, a);
            """,
            [
                """
                INSERT INTO t VALUES (1, 'a'), (1.5, 'b'), ('1', 'c'), (x'31', 'd'), ('A', 'e'), ('a', 'f'), (CAST(x'6100' AS TEXT), 'g'), (1e999, 'h'), ('', 'i'), (x'', 'j');
                INSERT INTO b VALUES (zeroblob(16), 1), (randomblob(16), 2), (x'01', 3);
                INSERT INTO x VALUES ('0123456789abcdef0123456789abcdef', 1), ('6ba7b810-9dad-11d1-80b4-00c04fd430c8', 2), ('6BA7B810-9dad-11d1-80b4-00c04fd430c8', 3);
                INSERT INTO r VALUES (1, 1, 'x', 1), (-0.0, 1.5, 'x', 2), (0.5, 'l', 'y  ', 3); INSERT INTO e VALUES (5, 'x'), (-1, 'y');
                """,
                "UPDATE t SET k = 1.0 WHERE k = 1; UPDATE t SET a = a || '!'; UPDATE r SET m = 'x ' WHERE k = 1; UPDATE b SET a = 9; UPDATE x SET a = 9; UPDATE e SET k = k + 1;",
                "DELETE FROM t WHERE k = '1' OR k = ''; UPDATE r SET m = 'y' WHERE m = 'y  '; DELETE FROM b WHERE length(k) = 1; DELETE FROM x WHERE a = 9 AND k LIKE '6B%'; DELETE FROM e;",
            ])
    }

    func testStrictTablesAndGeneratedColumns() throws {
        try assertTravels(
            """
            CREATE TABLE s(id INTEGER PRIMARY KEY, i INT, t TEXT, r REAL, b BLOB, a ANY) STRICT;
            CREATE TABLE w(k TEXT PRIMARY KEY NOT NULL, a ANY) STRICT, WITHOUT ROWID;
            CREATE TABLE g(id INTEGER PRIMARY KEY, a INT, v AS (a * 2), st TEXT GENERATED ALWAYS AS (a || 'x') STORED UNIQUE, z);
            """,
            [
                "INSERT INTO s VALUES (1, 1, 'x', 1, x'00', '1'), (2, NULL, '', -0.0, x'', 1.0); INSERT INTO w VALUES ('a', 1), ('b', '01'); INSERT INTO g(a, z) VALUES (1, 1), (2, 2);",
                "UPDATE s SET a = '01', r = 1e999; UPDATE w SET a = 1.0; UPDATE g SET a = a + 10, z = NULL; INSERT OR REPLACE INTO g(a) VALUES (11);",
                "UPDATE OR REPLACE g SET a = 11 WHERE a = 12;",
            ])
    }

    func testWideTables() throws {
        let wide = (0..<70).map { "c\($0)" }
        let wider = (0..<330).map { "c\($0)" }
        let fill = { (columns: [String], offset: Int) in
            columns.indices.map { "\($0 + offset)" }.joined(separator: ", ")
        }
        try assertTravels(
            "CREATE TABLE w(id INTEGER PRIMARY KEY, \(wide.joined(separator: ", "))); CREATE TABLE x(\(wider.joined(separator: ", ")), PRIMARY KEY (c329, c1));",
            [
                "INSERT INTO w VALUES (1, \(fill(wide, 0))), (2, \(fill(wide, 100))); INSERT INTO x VALUES (\(fill(wider, 0)));",
                "UPDATE w SET c0 = 'a', c31 = 'b', c32 = 'c', c63 = 'd', c64 = 'e', c69 = 'f' WHERE id = 1; UPDATE x SET c0 = 'a', c299 = 'b', c300 = 'c', c328 = 'd';",
                "UPDATE w SET c64 = NULL; UPDATE x SET c329 = 'key', c64 = 'v'; DELETE FROM w WHERE id = 2;",
            ])
    }

    func testOddNames() throws {
        try assertTravels(
            """
            CREATE TABLE "a""b"("select" INTEGER PRIMARY KEY, "x""y" TEXT, "é" , "ferry" UNIQUE, "it's", [br[ack], `tick`, "new", "old", "holder" UNIQUE);
            CREATE TABLE "order"("group" TEXT PRIMARY KEY, "from" INTEGER REFERENCES "a""b"("select") ON DELETE SET NULL, "to;" TEXT);
            CREATE UNIQUE INDEX "i""x" ON "a""b"("x""y" || 'é') WHERE "it's" IS NOT NULL;
            """,
            [
                "INSERT INTO \"a\"\"b\" VALUES (1, 'x', 'é', 'f', 'i', 'b', 't', 'n', 'o', 'h'), (2, 'y', 'é', 'g', 'i', 'b', 't', 'n', 'o', 'i'); INSERT INTO \"order\" VALUES ('g', 1, 't'), ('h', 2, 't');",
                "UPDATE \"a\"\"b\" SET \"x\"\"y\" = 'z', [br[ack] = 2, \"it's\" = 'it''s' WHERE \"select\" = 1; UPDATE \"order\" SET \"to;\" = ';';",
                "INSERT OR REPLACE INTO \"a\"\"b\"(\"x\"\"y\", \"it's\") VALUES ('y', 'q'); DELETE FROM \"a\"\"b\" WHERE \"select\" = 1;",
            ])
    }

    func testLargeValuesWrittenByPython() throws {
        try assertTravels(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b BLOB);",
            [
                """
                import sqlite3, sys
                c = sqlite3.connect(sys.argv[1])
                c.execute("INSERT INTO t(a, b) VALUES (?, ?)", ("x" * 3000000, bytes(range(256)) * 12000))
                c.execute("INSERT INTO t(a, b) VALUES (?, ?)", ("nul\\0inside", b""))
                c.execute("INSERT INTO t(a, b) VALUES (?, ?)", (float("nan"), float("-inf")))
                c.commit()
                """,
                """
                import sqlite3, sys
                c = sqlite3.connect(sys.argv[1])
                c.executemany("INSERT INTO t(a) VALUES (?)", [(i,) for i in range(500)])
                c.execute("UPDATE t SET a = a || 'y' WHERE id = 1")
                c.commit()
                c.execute("DELETE FROM t WHERE id < 100")
                c.rollback()
                """,
            ], python: true)
    }

    /// A statement that gives many rows one large value is packed in parts that a device can hold in memory.
    func testManyRowsWithOneLargeValueArePackedInParts() throws {
        let schema = "CREATE TABLE t(id INTEGER PRIMARY KEY, a BLOB);"
        let author = try FileDevice(path("a.sqlite"), 1, schema)
        XCTAssertEqual(author.store.maximumPackedBytes.withLock { $0 }, 256 << 20)
        author.store.maximumPackedBytes.withLock { $0 = 100 << 10 }
        // One row more than fit.
        try Self.shell(
            author.path,
            "WITH n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 100) "
                + "INSERT INTO t SELECT i, zeroblob(1024) FROM n;")
        try author.pass([])
        XCTAssertGreaterThan(author.log.count, 1)
        var objects: Set<ObjectID> = []
        for (number, changeset) in author.log.enumerated() {
            XCTAssertEqual(changeset.sequence, UInt64(number + 1))
            let values = changeset.tables.flatMap(\.values)
            XCTAssertLessThanOrEqual(values.reduce(0) { $0 + $1.byteCount }, 100 << 10)
            for table in changeset.tables { objects.formUnion(table.operations.map(\.object)) }
        }
        XCTAssertEqual(objects.count, 101)
        XCTAssertEqual(try author.store.read { try $0.count("SELECT count(*) FROM ferry_pending") }, 0)
    }

    /// What cannot be divided is packed as it is.
    func testOneRowWithMoreThanAPartMayHoldIsPackedAlone() throws {
        let schema = "CREATE TABLE t(id INTEGER PRIMARY KEY, a BLOB, b BLOB);"
        let author = try FileDevice(path("a.sqlite"), 1, schema)
        author.store.maximumPackedBytes.withLock { $0 = 100 << 10 }
        try Self.shell(
            author.path,
            "INSERT INTO t VALUES (1, zeroblob(60000), zeroblob(60000)), (2, 'a', 'b'), (3, zeroblob(102400), NULL);")
        try author.pass([])
        XCTAssertEqual(author.log.map(\.operationCount), [1, 1, 1])
        XCTAssertEqual(try author.store.read { try $0.count("SELECT count(*) FROM ferry_pending") }, 0)
    }

    func testWritesWithForeignKeysOff() throws {
        try assertTravels(
            "CREATE TABLE p(id INTEGER PRIMARY KEY, a); CREATE TABLE c(id INTEGER PRIMARY KEY, p INT REFERENCES p);",
            [
                "INSERT INTO c VALUES (1, 1); INSERT INTO p VALUES (1, 'after its child');",
                "DELETE FROM p; INSERT INTO p VALUES (1, 'another');",
                "INSERT OR REPLACE INTO p VALUES (1, 'replaced');",
            ], foreignKeys: false)
    }
}
