import FerryCore
import FerrySchema
import XCTest

@testable import FerryStore

/// References whose column is of another type than what it refers to: SQLite compares with the parent's affinity.
final class ReferenceAffinityTests: XCTestCase {
    private static let schema = TestSchema(
        name: "types",
        sql: """
            CREATE TABLE p(id INTEGER PRIMARY KEY, n TEXT);
            CREATE TABLE t(id INTEGER PRIMARY KEY, p TEXT REFERENCES p(id));
            CREATE TABLE u(id INTEGER PRIMARY KEY, p REFERENCES p(id) ON DELETE SET NULL);
            CREATE TABLE k(p TEXT REFERENCES p(id) ON DELETE CASCADE, x INTEGER, PRIMARY KEY (p, x));
            CREATE TABLE code(c TEXT PRIMARY KEY, n TEXT);
            CREATE TABLE i(id INTEGER PRIMARY KEY, c INTEGER REFERENCES code ON DELETE CASCADE);
            CREATE TABLE number(id INTEGER PRIMARY KEY, v INTEGER UNIQUE);
            CREATE TABLE w(id INTEGER PRIMARY KEY, v TEXT REFERENCES number(v));
            """)

    private func check(_ devices: [TestDevice], line: UInt = #line) throws {
        for device in devices {
            XCTAssertEqual(try device.query("PRAGMA foreign_key_check"), [], line: line)
            let report = try device.store.verify(deep: true)
            XCTAssertTrue(report.isSound, "\(report)", line: line)
            XCTAssertEqual(report.plainReferences, [], line: line)
        }
    }

    func testAReferenceOfAnotherTypeTravelsAsTheRowAndComesOutInItsOwnType() throws {
        let d = try (1...3).map { try TestDevice($0, Self.schema) }
        try d[1].run("INSERT INTO p VALUES (1, 'other')")
        try d[1].flush()
        try d[0].run(
            """
            INSERT INTO p VALUES (1, 'one'), (2, 'two');
            INSERT INTO t VALUES (1, '1'), (2, ' 2'); INSERT INTO u VALUES (1, '1'), (2, 1);
            INSERT INTO k VALUES ('1', 5);
            INSERT INTO code VALUES ('5', 'five'); INSERT INTO i VALUES (1, 5);
            INSERT INTO number VALUES (1, 7); INSERT INTO w VALUES (1, '7');
            """)
        try d[0].flush()
        try d[1].receive(d[0])
        try d[2].receive(d[1], d[0])
        try d[0].receive(d[1])
        for device in d {
            let one = try device.query("SELECT id FROM p WHERE n = 'one'")[0]
            let two = try device.query("SELECT id FROM p WHERE n = 'two'")[0]
            XCTAssertEqual(
                try device.query("SELECT typeof(p), trim(p) FROM t ORDER BY id"), ["text|\(one)", "text|\(two)"])
            XCTAssertEqual(try device.query("SELECT CAST(p AS INTEGER) FROM u"), [one, one])
            XCTAssertEqual(try device.query("SELECT typeof(p), p, x FROM k"), ["text|\(one)|5"])
            XCTAssertEqual(try device.query("SELECT typeof(c), c FROM i"), ["integer|5"])
            XCTAssertEqual(try device.query("SELECT typeof(v), v FROM w"), ["text|7"])
        }
        try check(d)
    }

    func testADeletionElsewhereConcernsReferencesOfAnotherType() throws {
        let d = try (1...2).map { try TestDevice($0, Self.schema) }
        try d[0].run("INSERT INTO p VALUES (1, 'one'), (2, 'two'); INSERT INTO code VALUES ('5', 'five'), ('6', 'six')")
        try d[0].flush()
        try d[1].receive(d[0])
        try d[0].run("DELETE FROM p; DELETE FROM code")
        try d[1].run(
            """
            INSERT INTO u VALUES (1, '1'), (2, 1); INSERT INTO k VALUES ('1', 5);
            INSERT INTO i VALUES (1, 5); INSERT INTO t VALUES (1, '2')
            """)
        try d[0].flush()
        try d[1].flush()
        try d[0].receive(d[1])
        try d[1].receive(d[0])
        for device in d {
            XCTAssertEqual(try device.query("SELECT n FROM p"), ["two"])
            XCTAssertEqual(try device.query("SELECT id, p FROM u"), ["1|NULL", "2|NULL"])
            XCTAssertEqual(try device.query("SELECT count(*) FROM k"), ["0"])
            XCTAssertEqual(try device.query("SELECT count(*) FROM i"), ["0"])
            XCTAssertEqual(try device.query("SELECT p FROM t"), ["2"])
        }
        try check(d)
    }

    func testValuesAreTakenAsSQLiteTakesThem() throws {
        let device = try TestDevice(1, TestSchema(name: "none", sql: "CREATE TABLE q(id INTEGER PRIMARY KEY)"))
        let affinities: [SchemaColumn.Affinity] = [.integer, .text, .blob, .real, .numeric]
        let values: [FieldValue] = [
            .null, .integer(5), .integer(.max), .real(1.5), .real(3), .real(1e20), .real(-0.1), .text("5"),
            .text(" 05 "),
            .text("5.0"), .text("1e3"), .text("x"), .text(""), .text("+7"), .text("0x10"), .text("nan"), .text("5 6"),
            .text("9223372036854775808"), .text(".5"), .text("1."), .blob([0x35]),
        ]
        for affinity in affinities {
            for value in values {
                try device.store.write { connection in
                    try connection.execute("DROP TABLE IF EXISTS temp.taken")
                    try connection.execute("CREATE TEMP TABLE taken(v \(affinity.type))")
                    try connection.execute("INSERT INTO temp.taken VALUES (?)", value)
                    let kept = try connection.firstValue("SELECT v FROM temp.taken") ?? .null
                    XCTAssertEqual(value.taken(by: affinity), kept, "\(value) as \(affinity)")
                }
            }
        }
    }
}
