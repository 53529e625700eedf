import GRDB
import XCTest

@testable import FerryStore

/// SQLite refuses a row as not unique, and the rules had not foreseen it: what it takes for one value is one on every device,
/// whatever came first.
final class LearnedClaimTests: XCTestCase {
    /// Two devices whose schemas differ: one has migrated.
    private func pair(
        _ first: String, _ second: String, isReversed: Bool = false, one: String, other: String
    ) throws -> (TestDevice, TestDevice) {
        let a = try TestDevice(1, TestSchema(name: "first", sql: first))
        let b = try TestDevice(2, TestSchema(name: "second", sql: second), hoursAhead: 1)
        try a.run(one)
        try b.run(other)
        try a.flush()
        try b.flush()
        if isReversed {
            try b.receive(a)
            try a.receive(b)
        } else {
            try a.receive(b)
            try b.receive(a)
        }
        return (a, b)
    }

    func testValuesThatTheColumnsTypeMakesEqualAreOneWhereItDoes() throws {
        for isReversed in [false, true] {
            let (typed, untyped) = try pair(
                "CREATE TABLE u(k TEXT PRIMARY KEY, v INTEGER UNIQUE)", "CREATE TABLE u(k TEXT PRIMARY KEY, v UNIQUE)",
                isReversed: isReversed, one: "INSERT INTO u VALUES ('a', 1)",
                other: "INSERT INTO u VALUES ('b', '1'), ('c', ' 1.0'), ('d', 'x')")
            XCTAssertEqual(try typed.query("SELECT k, v FROM u ORDER BY k"), ["a|1", "d|x"])
            XCTAssertEqual(try untyped.query("SELECT k, v FROM u ORDER BY k"), ["a|1", "b|1", "c| 1.0", "d|x"])
        }
    }

    func testRowsThatAnotherSchemaTookForOneComeApartWithTheirValues() throws {
        let (folding, exact) = try pair(
            "CREATE TABLE u(k TEXT PRIMARY KEY, v TEXT COLLATE NOCASE UNIQUE, n)",
            "CREATE TABLE u(k TEXT PRIMARY KEY, v TEXT UNIQUE, n)", one: "",
            other: "INSERT INTO u VALUES ('1', 'a', 0), ('2', 'A', 0)")
        XCTAssertEqual(try folding.query("SELECT k, lower(v) FROM u ORDER BY k"), ["1|a"])
        try exact.run("UPDATE u SET v = 'b' WHERE k = '1'")
        try exact.flush()
        try folding.receive(exact)
        XCTAssertEqual(try folding.query("SELECT k, v FROM u ORDER BY k"), ["1|b", "2|A"])
    }

    /// A collation of the app's own: letters without their accents.
    private func withCollation(_ device: TestDevice) throws {
        try device.queue.write { database in
            database.add(
                collation: DatabaseCollation("plain") { left, right in
                    left.folding(options: [.diacriticInsensitive], locale: nil)
                        .compare(right.folding(options: [.diacriticInsensitive], locale: nil))
                })
        }
    }

    private func device(_ number: Int, _ sql: String, hoursAhead: Int64 = 0) throws -> TestDevice {
        let device = try TestDevice(number, TestSchema(name: "empty", sql: ""), hoursAhead: hoursAhead)
        try withCollation(device)
        try device.run(sql)
        return device
    }

    func testValuesThatACollationOfTheAppsOwnTakesForEqualAreOneInEveryOrder() throws {
        for schema in [
            "CREATE TABLE u(k TEXT PRIMARY KEY, v TEXT COLLATE plain UNIQUE, n)",
            "CREATE TABLE u(k TEXT PRIMARY KEY, v TEXT, n); CREATE UNIQUE INDEX i ON u(v COLLATE Plain)",
            "CREATE TABLE u(k INTEGER PRIMARY KEY, v TEXT COLLATE plain UNIQUE, n)",
        ] {
            for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
                let devices = try (0..<3).map { try device($0 + 1, schema, hoursAhead: Int64($0)) }
                for (place, name) in ["Müller", "Muller", "Mûller"].enumerated() {
                    try devices[place].run("INSERT INTO u VALUES ('\(place + 1)', '\(name)', \(place))")
                    try devices[place].flush()
                }
                for place in order {
                    for other in order where other != place { try devices[place].receive(devices[other]) }
                }
                for device in devices {
                    XCTAssertEqual(try device.query("SELECT v, n FROM u"), ["Mûller|2"], "\(schema) \(order)")
                }
                // What is written to the row is written to all of them, and another value frees the name.
                try devices[1].run("UPDATE u SET v = 'Meier'")
                try devices[1].flush()
                for place in [0, 2] { try devices[place].receive(devices[1]) }
                for device in devices { XCTAssertEqual(try device.query("SELECT v FROM u"), ["Meier"]) }
            }
        }
    }

    func testAKeyUnderACollationOfTheAppsOwnIsOneKey() throws {
        for clause in ["", " WITHOUT ROWID"] {
            for isReversed in [false, true] {
                let schema = "CREATE TABLE u(k TEXT COLLATE plain PRIMARY KEY, n)\(clause)"
                let (a, b) = (try device(1, schema), try device(2, schema, hoursAhead: 1))
                try a.run("INSERT INTO u VALUES ('Müller', 1), ('x', 1)")
                try b.run("INSERT INTO u VALUES ('Muller', 2)")
                try a.flush()
                try b.flush()
                for (to, from) in isReversed ? [(b, a), (a, b)] : [(a, b), (b, a)] { try to.receive(from) }
                for device in [a, b] {
                    XCTAssertEqual(try device.query("SELECT k, n FROM u ORDER BY k"), ["Müller|2", "x|1"])
                }
                try a.run("INSERT OR REPLACE INTO u VALUES ('Mûller', 3)")
                try a.flush()
                try b.receive(a)
                for device in [a, b] {
                    XCTAssertEqual(try device.query("SELECT k, n FROM u ORDER BY k"), ["Mûller|3", "x|1"])
                }
            }
        }
    }

    func testTwoDeclaredIdentitiesUnderOneTextKeyAreOneRow() throws {
        let schema = TestSchema(
            name: "declared", sql: "CREATE TABLE u(k TEXT PRIMARY KEY, name TEXT, n)", declared: ["u": ["name"]])
        for isReversed in [false, true] {
            let (a, b) = (try TestDevice(1, schema), try TestDevice(2, schema, hoursAhead: 1))
            let third = try TestDevice(3, schema)
            try a.run("INSERT INTO u VALUES ('key', 'one', 1)")
            try b.run("INSERT INTO u VALUES ('key', 'other', 2)")
            try a.flush()
            try b.flush()
            for (to, from) in isReversed ? [(b, a), (a, b)] : [(a, b), (b, a)] { try to.receive(from) }
            try third.receive(isReversed ? b : a)
            try third.receive(isReversed ? a : b)
            for device in [a, b, third] {
                XCTAssertEqual(try device.query("SELECT * FROM u"), ["key|other|2"])
                let report = try device.store.verify(deep: true)
                XCTAssertTrue(report.isSound, "\(report.differences)")
            }
        }
    }

    func testUnderHideLoserTheOldestKeepsWhatSQLiteTakesForEqual() throws {
        let schema = "CREATE TABLE u(k TEXT PRIMARY KEY, v TEXT COLLATE plain UNIQUE)"
        for isReversed in [false, true] {
            let (a, b) = (try device(1, schema), try device(2, schema, hoursAhead: 1))
            for device in [a, b] {
                try device.run("INSERT OR IGNORE INTO ferry_policy VALUES ('index:u(v)', 'hideLoser')")
                try device.flush()
            }
            try a.receive(b)
            try b.receive(a)
            try a.run("INSERT INTO u VALUES ('1', 'Müller')")
            try b.run("INSERT INTO u VALUES ('2', 'Muller')")
            try a.flush()
            try b.flush()
            for (to, from) in isReversed ? [(b, a), (a, b)] : [(a, b), (b, a)] { try to.receive(from) }
            for device in [a, b] { XCTAssertEqual(try device.query("SELECT k, v FROM u"), ["1|Müller"]) }
            try a.run("UPDATE u SET v = 'Meier'")
            try a.flush()
            try b.receive(a)
            for device in [a, b] {
                XCTAssertEqual(try device.query("SELECT k, v FROM u ORDER BY k"), ["1|Meier", "2|Muller"])
            }
        }
    }
}
