import FerryCore
import GRDB
import XCTest

@testable import FerryStore

/// A schema uses a collation or a function of the app's own, and a process that syncs has neither.
final class MissingFunctionTests: XCTestCase {
    private static let sql = """
        CREATE TABLE "t 1"(k TEXT PRIMARY KEY, v TEXT COLLATE plain UNIQUE);
        CREATE TABLE g(k TEXT PRIMARY KEY, v TEXT); CREATE UNIQUE INDEX i ON g(folded(v));
        CREATE TABLE o(k TEXT PRIMARY KEY, v)
        """

    private func equip(_ device: TestDevice) throws {
        try device.queue.write { database in
            database.add(
                collation: DatabaseCollation("plain") { left, right in
                    left.lowercased().compare(right.lowercased())
                })
            database.add(
                function: DatabaseFunction("folded", argumentCount: 1, pure: true) { values in
                    String.fromDatabaseValue(values[0])?.lowercased()
                })
        }
    }

    private func device(_ number: Int) throws -> TestDevice {
        let device = try TestDevice(number, TestSchema(name: "empty", sql: ""), hoursAhead: Int64(number))
        try equip(device)
        try device.run(Self.sql)
        try device.flush()
        return device
    }

    /// What a connection has not, it lacks as another process does.
    private func strip(_ device: TestDevice) throws {
        try device.queue.write { database in
            database.remove(collation: DatabaseCollation("plain") { _, _ in .orderedSame })
            database.remove(function: DatabaseFunction("folded", argumentCount: 1) { _ in nil })
        }
    }

    func testChangesOfTheTableWaitForTheAppAndEverythingElseGoesOn() throws {
        for (table, other) in [("\"t 1\"", "g"), ("g", "\"t 1\"")] {
            let (a, b, third) = (try device(1), try device(2), try device(3))
            try strip(b)
            try a.run("INSERT INTO \(table) VALUES ('1', 'Rock')")
            try a.flush()
            try third.run("INSERT INTO o VALUES ('o', 1)")
            try third.flush()
            let refused = try b.receive(a).refused
            XCTAssertEqual(refused[a.id]?.code, .missingFunction)
            XCTAssertTrue(refused[a.id]?.message.contains("Sync from the app") ?? false)
            XCTAssertEqual(try b.receive(third).refused.count, 0)
            XCTAssertEqual(try b.query("SELECT k FROM o"), ["o"])
            // What the app writes is packed all the same.
            try equip(b)
            try b.run("INSERT INTO \(table) VALUES ('2', 'rock'); INSERT INTO \(other) VALUES ('3', 'x')")
            try strip(b)
            try b.flush()
            try a.receive(b)
            XCTAssertEqual(try a.query("SELECT k, v FROM \(table)"), ["1|rock"])
            try equip(b)
            XCTAssertEqual(try b.receive(a).refused.count, 0)
            XCTAssertEqual(try b.query("SELECT k, v FROM \(table)"), ["1|rock"])
            XCTAssertEqual(try a.query("SELECT k, v FROM \(other)"), ["3|x"])
        }
    }
}
