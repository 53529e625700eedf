import FerryCore
import FerrySQL
import XCTest

@testable import FerryStore

/// Rows of new objects are written several by a statement, and what comes out is what comes of writing them one by one.
final class BulkRowInserterTests: XCTestCase {
    private static let schema = TestSchema(
        name: "new rows",
        sql: """
            CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
            CREATE TABLE album(
                id INTEGER PRIMARY KEY, artist INTEGER NOT NULL REFERENCES artist ON DELETE CASCADE, title TEXT,
                year INTEGER CHECK (year < 3000), cover BLOB);
            CREATE INDEX album_artist ON album(artist);
            CREATE TABLE label(code TEXT PRIMARY KEY, parent TEXT REFERENCES label ON DELETE SET NULL) WITHOUT ROWID;
            CREATE TABLE node(id INTEGER PRIMARY KEY, parent INTEGER REFERENCES node ON DELETE CASCADE, name TEXT);
            CREATE TABLE pair(
                artist INTEGER NOT NULL REFERENCES artist ON DELETE CASCADE,
                label TEXT NOT NULL REFERENCES label ON DELETE CASCADE, note REAL, PRIMARY KEY(artist, label));
            CREATE TABLE thing(key BLOB PRIMARY KEY, value);
            """)

    /// Rows of all tables: keys in order and not, references ahead and back, NULLs, empty values.
    private static func rows(_ name: String, count: Int, from first: Int = 1) -> String {
        var sql = "BEGIN;"
        for number in first..<first + count {
            sql += """
                INSERT INTO artist VALUES (\(number * 2), '\(name) \(number)');
                INSERT INTO album VALUES (\(number), \(number * 2), \(number % 5 == 0 ? "NULL" : "'\(number)'"),
                    \(number % 7 == 0 ? "NULL" : "\(number)"), \(number % 3 == 0 ? "x''" : "x'0102'"));
                INSERT INTO label VALUES ('\(name)\(number)', NULL);
                INSERT INTO node VALUES (\(1000 - number), NULL, 'down');
                INSERT INTO node VALUES (\(1000 + number), \(number > first ? "\(999 + number)" : "NULL"), 'up');
                INSERT INTO pair VALUES (\(number * 2), '\(name)\(number)', \(number).5);
                INSERT INTO thing VALUES (randomblob(16), \(number));
                INSERT INTO thing VALUES ('\(name) \(number)', NULL);
                """
        }
        sql += "UPDATE node SET parent = \(1000 + first) WHERE id < 1000;"
        sql += "UPDATE label SET parent = '\(name)\(first)' WHERE code <> '\(name)\(first)';"
        return sql + "COMMIT;"
    }

    /// A device that writes so many rows by one statement.
    private func device(_ number: Int, writing count: Int, rows: String = "") throws -> TestDevice {
        let device = try TestDevice(number, Self.schema, rows: rows)
        device.store.newRowsAtOnce.withLock { $0 = count }
        return device
    }

    /// Everything that a store says of its objects and its rows, by what devices agree on.
    private func content(_ device: TestDevice) throws -> [String] {
        var lines = try device.query("SELECT \"table\", sum, count FROM ferry_digest ORDER BY 1")
        let tables = try device.store.readAccess { access in
            try access.registry.parentsFirst.map { table in
                let rows = try access.connection.rows("SELECT object FROM \(table.objectTable) ORDER BY object")
                let registers = try rows.compactMap { row -> String? in
                    guard case .blob(let bytes) = row[0], let object = ObjectID(bytes: bytes) else { return nil }
                    return "\(object) \(try access.objects(of: table.id).load(object).registers)"
                }
                return (table.name, table.objectTable, registers)
            }
        }
        for (name, states, registers) in tables {
            // What names the devices by numbers that are this device's own is in the registers.
            let columns = try device.query(
                """
                SELECT group_concat('"' || name || '"') FROM pragma_table_info('\(states)') WHERE name <> 'state'
                """)[0]
            lines += try device.query("SELECT \(columns) FROM \(states) ORDER BY object").map { "\(states) \($0)" }
            lines += registers.map { "\(states) \($0)" }
            lines += try device.query("SELECT * FROM \(quoted(name)) ORDER BY 1, 2").map { "\(name) \($0)" }
        }
        return lines
    }

    private func expectWhole(_ device: TestDevice, file: StaticString = #filePath, line: UInt = #line) throws {
        XCTAssertEqual(try Oracle(Self.schema).complaints(about: device), [], file: file, line: line)
        XCTAssertEqual(try device.store.verify(deep: true).differences, [], file: file, line: line)
    }

    func testStateAndRowsAreTheSameHoweverManyAreWrittenAtOnce() throws {
        let author = try device(1, writing: 16)
        try author.run(Self.rows("a", count: 70))
        try author.flush()
        let joiners = try [1_000_000, 16, 5, 1].enumerated().map { try device(10 + $0, writing: $1) }
        for joiner in joiners { try joiner.receive(author) }
        let expected = try content(joiners[0])
        XCTAssertGreaterThan(expected.count, 1000)
        for joiner in joiners.dropFirst() { XCTAssertEqual(try content(joiner), expected) }
        for joiner in joiners { try expectWhole(joiner) }
        let digests = try author.store.statePosition().digests
        for joiner in joiners { XCTAssertEqual(try joiner.store.statePosition().digests, digests) }
    }

    func testRowsThatSQLiteRefusesAmongOthersGoToTheRules() throws {
        let (first, second) = (try device(1, writing: 16), try device(2, writing: 16))
        // The same names, and so the same artists, with other keys; on each side some that the other does not have.
        try first.run(Self.rows("a", count: 40))
        second.clock.now += 1000
        try second.run(Self.rows("a", count: 40, from: 21))
        try first.flush()
        try second.flush()
        for joiner in try [1_000_000, 16, 3, 1].enumerated().map({ try device(10 + $0, writing: $1) }) {
            try joiner.receive(first, second)
            try expectWhole(joiner)
            XCTAssertEqual(try joiner.query("SELECT count(*) FROM artist"), ["60"])
        }
        try first.receive(second)
        try second.receive(first)
        try expectWhole(first)
        try expectWhole(second)
        XCTAssertEqual(try first.query("SELECT count(*) FROM artist"), ["60"])
        XCTAssertEqual(
            try first.store.statePosition().digests, try second.store.statePosition().digests)
    }

    func testRowsWhoseKeysAreTakenGetOthers() throws {
        let (first, second) = (try device(1, writing: 4), try device(2, writing: 4))
        try first.run(Self.rows("a", count: 30))
        try second.run(Self.rows("b", count: 50))
        try first.flush()
        try second.flush()
        try first.receive(second)
        try second.receive(first)
        for device in [first, second] {
            try expectWhole(device)
            XCTAssertEqual(try device.query("SELECT count(*), count(DISTINCT artist) FROM album"), ["80|80"])
        }
    }

    /// A schema may say what is to become of a row that a constraint refuses. Rows that come are all written or none.
    func testAConflictClauseOfTheSchemaLosesNoRow() throws {
        let schema = TestSchema(
            name: "clauses",
            sql: "CREATE TABLE t(id INTEGER PRIMARY KEY, u TEXT, n INTEGER NOT NULL ON CONFLICT FAIL);")
        let author = try TestDevice(1, TestSchema(name: "t", sql: "CREATE TABLE t(id INTEGER PRIMARY KEY, u TEXT, n);"))
        let rows = (1...40).map { "INSERT INTO t VALUES (\($0), 'a\($0)', \($0 % 9 == 0 ? "NULL" : "1"));" }.joined()
        try author.run("BEGIN;" + rows + "COMMIT")
        try author.flush()
        let joiner = try TestDevice(2, schema)
        joiner.store.newRowsAtOnce.withLock { $0 = 16 }
        try joiner.receive(author)
        XCTAssertEqual(try joiner.query("SELECT count(*) FROM t"), ["36"])
        XCTAssertEqual(try joiner.query("SELECT count(*), min(kind), max(kind) FROM ferry_exception"), ["4|3|3"])
    }

    func testRowsOfTypesThatATableDoesNotTakeAreHiddenAndTheOthersShown() throws {
        let rows = (1...40).map { "INSERT INTO t VALUES (\($0), \($0 % 9 == 0 ? "'text'" : "1"));" }.joined()
        for key in ["INTEGER PRIMARY KEY", "TEXT PRIMARY KEY"] {
            let author = try TestDevice(1, TestSchema(name: "t", sql: "CREATE TABLE t(id \(key), n INTEGER);"))
            try author.run("BEGIN;" + rows + "COMMIT")
            try author.flush()
            let joiner = try TestDevice(
                2, TestSchema(name: "strict", sql: "CREATE TABLE t(id \(key), n INTEGER) STRICT;"))
            joiner.store.newRowsAtOnce.withLock { $0 = 16 }
            try joiner.receive(author)
            XCTAssertEqual(try joiner.query("SELECT count(*) FROM t"), ["36"])
            XCTAssertEqual(try joiner.query("SELECT count(*), min(kind), max(kind) FROM ferry_exception"), ["4|3|3"])
            XCTAssertEqual(try joiner.store.verify(deep: true).differences, [])
        }
    }

    func testARowThatComesWithAKeyUnderWhichTheAppHasOneGetsAnother() throws {
        let author = try device(1, writing: 16)
        try author.run(Self.rows("a", count: 20))
        try author.flush()
        let joiner = try device(2, writing: 16)
        try joiner.run("INSERT INTO artist VALUES (14, 'mine')")
        try joiner.receive(author)
        try expectWhole(joiner)
        XCTAssertEqual(try joiner.query("SELECT count(*) FROM artist"), ["21"])
        XCTAssertEqual(try joiner.query("SELECT name FROM artist WHERE id = 14"), ["mine"])
    }
}
