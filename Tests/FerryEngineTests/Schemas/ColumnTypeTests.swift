import FerryCore
import FerryStore
import Foundation
import XCTest

@testable import FerryEngine

/// Migrations that give a column another type, on one device after the other, with writes on both in between.
final class ColumnTypeTests: XCTestCase {
    private static let types = ["TEXT", "INTEGER", "REAL", "NUMERIC", "BLOB", "VARCHAR(20) COLLATE NOCASE", "", "TEXT"]

    private static func table(_ type: String) -> String {
        "CREATE TABLE item(id INTEGER PRIMARY KEY, size \(type), note TEXT)"
    }

    /// As Django, Rails and Room do.
    private static func rebuild(_ type: String) -> String {
        """
        PRAGMA foreign_keys = OFF; BEGIN;
        \(table(type).replacingOccurrences(of: "TABLE item", with: "TABLE new_item"));
        INSERT INTO new_item SELECT * FROM item; DROP TABLE item; ALTER TABLE new_item RENAME TO item; COMMIT;
        """
    }

    private static let values = [
        "5", "'6'", "7.0", "7.5", "'8.50'", "'a'", "x'31'", "NULL", "' 9 '", "'1e2'", "9007199254740993",
    ]
    private static let rows = "SELECT id, size, typeof(size), note FROM item ORDER BY id"

    private func assertProven(_ fleet: Fleet, _ what: String, line: UInt = #line) throws {
        for (index, replica) in fleet.replicas.enumerated() {
            XCTAssertEqual(
                try replica.verify(deep: true).differences.map { "\($0)" }, [], "\(what), device \(index)", line: line)
        }
    }

    func testWritesTravelWhileOneDeviceHasMigratedAndAllAgreeInTheEnd() throws {
        for (former, next) in zip(Self.types + Self.types, Self.types.dropFirst() + Self.types.dropFirst(3)) {
            let what = "\(former) to \(next)"
            let fleet = try Fleet()
            let first = Self.values.enumerated().map { "(\($0 + 1), \($1), 'first')" }.joined(separator: ", ")
            try fleet.start(Self.table(former) + "; INSERT INTO item VALUES \(first)")
            try fleet.join()
            // Writes that wait on both sides of the migration.
            try fleet.shell(0, "UPDATE item SET size = 17 WHERE id = 1; UPDATE item SET note = 'a' WHERE id = 2")
            try fleet.shell(1, "UPDATE item SET size = '18' WHERE id = 3; INSERT INTO item VALUES (50, 19.0, 'b')")
            try fleet.shell(0, Self.rebuild(next))
            try fleet.settle()
            try assertProven(fleet, what)
            // Insertions and updates of all kinds of values, in both directions.
            for device in 0...1 {
                let writes = Self.values.enumerated().map { place, value in
                    """
                    INSERT INTO item VALUES (\(100 * (device + 1) + place), \(value), 'new');
                    UPDATE item SET size = \(value) WHERE id = \(place + 1) AND id % 2 = \(device);
                    """
                }
                try fleet.shell(device, writes.joined(separator: "\n"))
            }
            try fleet.settle()
            try assertProven(fleet, what)
            try fleet.shell(1, "UPDATE item SET note = 'c'")
            try fleet.settle()
            try assertProven(fleet, what)
            let joined = try fleet.join()
            XCTAssertEqual(joined.waiting, [], what)
            try assertProven(fleet, what)
            try fleet.shell(1, Self.rebuild(next))
            try fleet.settle()
            try assertProven(fleet, what)
            try fleet.assertEqual(Self.rows)
            for replica in fleet.replicas {
                XCTAssertEqual(
                    Set(try replica.status().devices.map(\.standing)), [.inStep], what)
            }
        }
    }
}
