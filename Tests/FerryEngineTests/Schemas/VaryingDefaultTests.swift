import FerryEngine
import FerrySchema
import FerryTestSupport
import XCTest

/// A migration adds a column whose default differs from device to device. Rows of a device without the column show one value everywhere.
final class VaryingDefaultTests: XCTestCase {
    private let query = "SELECT id, name, more FROM item ORDER BY id;"

    private func migration(_ value: String) -> String {
        """
        BEGIN; CREATE TABLE n(id INTEGER PRIMARY KEY, name TEXT, more DEFAULT \(value));
        INSERT INTO n(id, name) SELECT id, name FROM item; DROP TABLE item; ALTER TABLE n RENAME TO item; COMMIT;
        """
    }

    private func makeFleet() throws -> Fleet {
        let fleet = try Fleet.two(
            "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO item VALUES (1, 'old');")
        try fleet.join()
        try fleet.settle()
        return fleet
    }

    func testRowsOfADeviceWithoutTheColumnShowOneValueOnAllOthers() throws {
        for value in ["(random())", "(strftime('%f', 'now'))", "CURRENT_TIMESTAMP", "(lower(hex(randomblob(4))))"] {
            let fleet = try makeFleet()
            for device in [0, 2] {
                try fleet.shell(device, migration(value))
                _ = try fleet.replicas[device].sync()
            }
            try fleet.shell(1, "INSERT INTO item(name) VALUES ('of a device without the column');")
            try fleet.settle()
            XCTAssertEqual(try fleet.shell(0, query), try fleet.shell(2, query), value)
            try fleet.shell(1, migration(value))
            try fleet.settle()
            try fleet.assertEqual(query)
            for replica in fleet.replicas { XCTAssertTrue(try replica.verify(deep: true).isSound, value) }
        }
    }

    /// A column may store its default in another form than the schema's text.
    func testADefaultOfAnotherFormIsSentByNobody() throws {
        let columns = [
            "REAL DEFAULT 0", "INTEGER NOT NULL DEFAULT '0'", "TEXT DEFAULT 5", "NUMERIC DEFAULT 5.0",
            "DECIMAL(10, 2) DEFAULT '1.50'",
            "BOOLEAN DEFAULT 'false'", "REAL DEFAULT -1",
        ]
        for column in columns {
            for isRebuilt in [false, true] {
                let fleet = try Fleet.two(
                    "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO item VALUES (1, 'one'), (2, 'two');"
                )
                let migration =
                    isRebuilt
                    ? """
                    BEGIN; CREATE TABLE n(id INTEGER PRIMARY KEY, name TEXT, more \(column));
                    INSERT INTO n(id, name) SELECT id, name FROM item; DROP TABLE item; ALTER TABLE n RENAME TO item; COMMIT
                    """ : "ALTER TABLE item ADD COLUMN more \(column)"
                for device in 0...1 {
                    try fleet.shell(device, migration)
                    XCTAssertEqual(
                        try fleet.replicas[device].sync().published.changes, 0, "\(column), rebuilt: \(isRebuilt)")
                }
                try fleet.settle()
                try fleet.shell(0, "INSERT INTO item(name) VALUES ('three'); UPDATE item SET more = 9 WHERE id = 1")
                try fleet.settle()
                try fleet.assertEqual(query)
                try fleet.assertSoundAndInStep()
            }
        }
    }

    /// A constant default is no write: a migration of the other device sends nothing.
    func testAConstantDefaultIsSentByNobody() throws {
        let fleet = try makeFleet()
        for device in [0, 1, 2] {
            try fleet.shell(device, migration("'constant'"))
            XCTAssertEqual(try fleet.replicas[device].sync().published.changes, 0)
        }
        try fleet.settle()
        try fleet.assertEqual(query)
    }

    func testWhichDefaultsAreConstant() {
        for text in ["1", "'text'", "NULL", "(1 + 2)", "x'00'", "(upper('a'))"] {
            XCTAssertTrue(DefaultText.isConstant(text), text)
        }
        for text in [
            "CURRENT_TIMESTAMP", "current_date", "(datetime('now'))", "(unixepoch())", "(random())", "(an_apps_own())",
        ] { XCTAssertFalse(DefaultText.isConstant(text), text) }
    }
}
