import FerryCore
import XCTest

@testable import FerryStore

/// Updates that are merged the short way come to what they come to the long way.
final class FastUpdateTests: XCTestCase {
    private static let schema = TestSchema(
        name: "plain updates",
        sql: """
            CREATE TABLE maker(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
            CREATE TABLE item(
                id INTEGER PRIMARY KEY, maker INTEGER REFERENCES maker ON DELETE SET NULL, name TEXT, price REAL,
                stock INTEGER CHECK (stock < 1000));
            CREATE TABLE note(key TEXT PRIMARY KEY, body TEXT, done INTEGER);
            CREATE TABLE photo(key BLOB PRIMARY KEY, title TEXT, size INTEGER);
            CREATE TABLE place(shelf TEXT, slot INTEGER, what TEXT, PRIMARY KEY(shelf, slot)) WITHOUT ROWID;
            """)

    private static func rows(_ count: Int) -> String {
        var sql = "INSERT INTO maker VALUES (1, 'one'), (2, 'two');"
        for number in 1...count {
            let key = String(repeating: "0", count: 30) + String(number + 100).suffix(2)
            sql += """
                INSERT INTO item VALUES (\(number), \(number % 3 == 0 ? "NULL" : "\(number % 2 + 1)"), 'i\(number)', 1.5, 1);
                INSERT INTO note VALUES ('n\(number)', NULL, 0);
                INSERT INTO photo VALUES (x'\(key)', 'p', \(number));
                INSERT INTO place VALUES ('s\(number % 4)', \(number), 'x');
                """
        }
        return sql
    }

    /// Updates of most rows, of one column and of several, in runs and here and there.
    private static func updates(_ word: String, _ number: Int) -> String {
        """
        UPDATE item SET stock = \(number);
        UPDATE item SET name = '\(word)' || id, price = \(number).25 WHERE id % 5 = \(number % 5);
        UPDATE item SET maker = \(number % 2 + 1) WHERE id % 7 = 0;
        UPDATE note SET body = '\(word) and a text that is longer than what lies beside a statement' WHERE key > 'n2';
        UPDATE note SET done = \(number) WHERE key LIKE '%\(number)';
        UPDATE photo SET title = '\(word)', size = size + \(number);
        UPDATE place SET what = NULL WHERE slot % 2 = \(number % 2);
        """
    }

    /// Everything that devices agree on, and what each of them keeps of conflicts.
    private func content(_ device: TestDevice) throws -> [String] {
        var lines = try device.query("SELECT \"table\", sum, count FROM ferry_digest ORDER BY 1")
        for table in ["maker", "item", "note", "photo", "place"] {
            lines += try device.query("SELECT * FROM \(table) ORDER BY 1, 2").map { "\(table) \($0)" }
        }
        return try lines
            + device.query(
                """
                SELECT "table", hex(object), "column", kind, hex(lost_value), lost_time, hex(kept_value), kept_time
                FROM ferry_conflict ORDER BY 1, 2, 3, 6
                """)
    }

    /// Devices that read and write so many at once, the last of which goes the long way, because its app has a trigger.
    private func devices() throws -> [TestDevice] {
        let devices = try [1, 2, 16, 16].enumerated().map { number, count in
            let device = try TestDevice(number + 3, Self.schema)
            device.store.newRowsAtOnce.withLock { $0 = count }
            return device
        }
        for table in ["item", "note", "photo", "place"] {
            try devices[3].run("CREATE TRIGGER \(table)_app AFTER UPDATE ON \(table) BEGIN SELECT 1; END")
        }
        return devices
    }

    func testUpdatesComeToTheSameHoweverManyAreTakenAtOnce() throws {
        let (first, second) = try (TestDevice(1, Self.schema, rows: Self.rows(90)), TestDevice(2, Self.schema))
        let others = try devices()
        try first.flush()
        for device in [second] + others { try device.receive(first) }
        for round in 1...4 {
            try first.run(Self.updates("first", round))
            // Beside each other, and after one another; deletions of some in between.
            if round == 2 { try second.run(Self.updates("second", 7)) }
            if round == 3 { try second.run("DELETE FROM note WHERE key < 'n3'; UPDATE note SET body = 'late'") }
            try first.flush()
            try second.flush()
            for device in others { try device.receive(first, second) }
            if round.isMultiple(of: 2) {
                try first.receive(second)
                try second.receive(first)
            }
        }
        try first.receive(second)
        try second.receive(first)
        for device in others { try device.receive(first, second) }
        let expected = try content(others[3])
        for device in others.dropLast() { XCTAssertEqual(try content(device), expected) }
        XCTAssertGreaterThan(try others[0].rows("SELECT 1 FROM ferry_conflict WHERE kind = 'field'").count, 300)
        let tables = try first.query("SELECT sum, count FROM ferry_digest ORDER BY \"table\"")
        for device in [second] + others {
            XCTAssertEqual(try device.query("SELECT sum, count FROM ferry_digest ORDER BY \"table\""), tables)
            XCTAssertEqual(try device.query("PRAGMA integrity_check"), ["ok"])
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

    func testARefusedUpdateLeavesItsRowToTheRules() throws {
        let (first, second) = try (TestDevice(1, Self.schema, rows: Self.rows(20)), TestDevice(2, Self.schema))
        try first.flush()
        try second.receive(first)
        try first.run(
            """
            PRAGMA ignore_check_constraints = ON;
            UPDATE item SET stock = id * 100;
            PRAGMA ignore_check_constraints = OFF
            """)
        try first.flush()
        try second.receive(first)
        XCTAssertEqual(
            try second.query("SELECT id FROM item WHERE stock >= 100 ORDER BY id"), (1...9).map { "\($0)" })
        XCTAssertEqual(try second.query("SELECT count(*) FROM item"), ["9"])
        XCTAssertEqual(try second.query("SELECT count(*) FROM ferry_exception WHERE kind = 3"), ["11"])
    }
}
