import FerryCore
import FerryStore
import Foundation
import XCTest

@testable import FerryEngine

/// A rebuild that drops a column hides which rows were written since. Rows that nobody wrote overwrite nothing.
final class DroppedColumnRebuildTests: XCTestCase {
    private let plain = """
        CREATE TABLE p(id INTEGER PRIMARY KEY, tag TEXT, title TEXT, n INT); INSERT INTO p VALUES (1, 'x', 'tx', 1), (2, 'y', 'ty', 2);
        CREATE TABLE s(k TEXT PRIMARY KEY);
        """
    private let rebuild = """
        BEGIN; CREATE TABLE q(id INTEGER PRIMARY KEY, tag TEXT, n INT); INSERT INTO q SELECT id, tag, n FROM p;
        DROP TABLE p; ALTER TABLE q RENAME TO p; COMMIT;
        """
    private let rows = "SELECT id, tag, n FROM p ORDER BY id"

    /// Of two values of one time the device's ID decides, so each story is told with several pairs of devices.
    private func play(sendsFirst: Bool = true, _ body: (Fleet) throws -> Void) throws {
        for _ in 0..<6 {
            let fleet = try Fleet.two(plain)
            if sendsFirst { try fleet.shell(1, "INSERT INTO s VALUES ('n')") }
            try fleet.settle()
            try body(fleet)
        }
    }

    private func assertRows(_ fleet: Fleet, _ expected: String, line: UInt = #line) throws {
        for device in fleet.replicas.indices { XCTAssertEqual(try fleet.shell(device, rows), expected, line: line) }
        try fleet.assertSoundAndInStep(line: line)
    }

    func testAnUpdateBeforeTheNextLookWinsOverUnchangedValues() throws {
        for sendsFirst in [true, false] {
            try play(sendsFirst: sendsFirst) { fleet in
                try fleet.shell(1, rebuild + "UPDATE p SET n = 216 WHERE id = 1;")
                _ = try fleet.replicas[1].sync()
                try fleet.shell(0, rebuild)
                // The device with the lost value sends the value in the pass that sees the loss.
                for device in [0, 1, 0] { _ = try fleet.replicas[device].sync() }
                try assertRows(fleet, "1|x|216\n2|y|2\n")
            }
        }
    }

    func testAnUpdateAfterTheNextLookLeavesNoConflict() throws {
        try play { fleet in
            try fleet.shell(1, rebuild)
            _ = try fleet.replicas[1].sync()
            try fleet.shell(1, "UPDATE p SET n = 216 WHERE id = 1")
            _ = try fleet.replicas[1].sync()
            try fleet.shell(0, rebuild)
            try fleet.settle()
            try assertRows(fleet, "1|x|216\n2|y|2\n")
            for replica in fleet.replicas { XCTAssertEqual(try replica.store.conflictCount(), 0) }
        }
    }

    func testRowsThatNobodyWroteLeaveNoConflict() throws {
        try play { fleet in
            for device in [1, 0] {
                try fleet.shell(device, rebuild)
                _ = try fleet.replicas[device].sync()
            }
            try fleet.settle()
            try assertRows(fleet, "1|x|1\n2|y|2\n")
            for replica in fleet.replicas { XCTAssertEqual(try replica.store.conflictCount(), 0) }
        }
    }

    /// Only the key is left: no column shows what was written.
    func testARebuildMayDropTheLastColumnBesideTheKey() throws {
        let link = """
            CREATE TABLE link(a INTEGER NOT NULL, b INTEGER NOT NULL, w REAL DEFAULT 1.5, PRIMARY KEY(a, b));
            INSERT INTO link VALUES (1, 2, 2.5), (1, 3, 3.5);
            """
        let rebuild = """
            BEGIN; CREATE TABLE q(a INTEGER NOT NULL, b INTEGER NOT NULL, PRIMARY KEY(a, b));
            INSERT INTO q SELECT a, b FROM link; DROP TABLE link; ALTER TABLE q RENAME TO link; COMMIT;
            """
        let fleet = try Fleet.two(link)
        try fleet.settle()
        try fleet.shell(1, rebuild + "DELETE FROM link WHERE b = 3; INSERT INTO link VALUES (1, 4);")
        _ = try fleet.replicas[1].sync()
        try fleet.shell(0, "UPDATE link SET w = 9 WHERE b = 2; INSERT INTO link VALUES (1, 5, 5.5);")
        _ = try fleet.replicas[0].sync()
        try fleet.shell(0, rebuild)
        try fleet.settle()
        for device in 0...1 {
            XCTAssertEqual(try fleet.shell(device, "SELECT * FROM link ORDER BY 1, 2"), "1|2\n1|4\n1|5\n")
        }
        try fleet.assertSoundAndInStep()
    }

    /// An old log has lost its beginning to a snapshot.
    func testTheFormerValueIsFoundInASnapshot() throws {
        for _ in 0..<4 {
            var retention = RetentionSettings()
            retention.snapshotMinimumBytes = 1
            retention.firstSnapshotChangesPerRow = 0
            let home = try MemoryHome(retention: retention)
            home.schema = ["CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, title TEXT, n INT)"]
            try home.addDevice()
            try home.addDevice()
            try home.write(0, "INSERT INTO item VALUES (1, 'x', 'tx', 1)")
            try home.flush(0, 20)
            for device in [0, 1, 0] { _ = try home.replicas[device].sync() }
            try home.write(1, "INSERT INTO item(name) VALUES ('of b')")
            for device in [1, 0, 1] { _ = try home.replicas[device].sync() }
            for _ in 0..<3 {
                home.clock.advance(days: 1)
                for device in [0, 1] {
                    _ = try home.replicas[device].sync()
                    _ = try home.replicas[device].compact()
                }
            }
            XCTAssertGreaterThan(try home.replicas[0].store.reading().logStart, 1)
            let rebuild = [
                "CREATE TABLE q(id INTEGER PRIMARY KEY, name TEXT, n INT)",
                "INSERT INTO q SELECT id, name, n FROM item", "DROP TABLE item",
                "ALTER TABLE q RENAME TO item",
            ]
            func migrate(_ device: Int, _ then: [String]) throws {
                try home.replicas[device].store.write { connection in
                    for statement in rebuild + then { try connection.execute(statement) }
                }
                _ = try home.replicas[device].sync()
            }
            try migrate(1, ["UPDATE item SET n = 216 WHERE id = 1"])
            try migrate(0, [])
            for device in [1, 0, 1] { _ = try home.replicas[device].sync() }
            for device in [0, 1] {
                let shown = try home.replicas[device].store.read { try $0.rows("SELECT n FROM item WHERE id = 1") }
                XCTAssertEqual(shown, [[.integer(216)]])
            }
        }
    }
}
