import FerryCore
import FerryTestSupport
import XCTest

@testable import FerryStore

/// Writes that no trigger saw, to rows that are not simply shown: retained, unified, displaced, or made and deleted since the last look.
final class UnseenAnomalyTests: XCTestCase {
    private func settle(_ devices: [TestDevice]) throws {
        for _ in 0..<3 {
            for device in devices {
                device.clock.now += 1000
                try device.flush()
                for other in devices where other.id != device.id { try device.receive(other) }
            }
        }
    }

    private func assertShown(
        _ expected: [String], _ sql: String, _ devices: [TestDevice], file: StaticString = #filePath, line: UInt = #line
    ) throws {
        for device in devices {
            let name = "device \(device.id.low)"
            XCTAssertEqual(try device.query(sql), expected, name, file: file, line: line)
            XCTAssertEqual(try device.store.verify(deep: true).differences, [], name, file: file, line: line)
        }
        XCTAssertEqual(Set(try devices.map { try $0.store.statePosition().digests }).count, 1, file: file, line: line)
    }

    private func heldBack() throws -> [TestDevice] {
        let schema = TestSchema(
            name: "shelves",
            sql: """
                CREATE TABLE shelf(id INTEGER PRIMARY KEY, name TEXT, room TEXT);
                CREATE TABLE book(id INTEGER PRIMARY KEY, shelf INTEGER REFERENCES shelf(id));
                """)
        let devices = try (1...2).map { try TestDevice($0, schema) }
        try devices[0].run("INSERT INTO shelf VALUES (1, 'history', 'hall')")
        try settle(devices)
        try devices[0].run("DELETE FROM shelf")
        try devices[1].run("INSERT INTO book SELECT 1, id FROM shelf")
        try settle(devices)
        for device in devices {
            XCTAssertEqual(try device.query("SELECT kind FROM ferry_exception"), ["\(AnomalyKind.heldBack.rawValue)"])
        }
        return devices
    }

    func testAWriteToARetainedRowTravels() throws {
        let devices = try heldBack()
        try devices[0].rebuild("shelf")
        try devices[0].run("UPDATE shelf SET name = 'travel'")
        try settle(devices)
        try assertShown(["travel|hall"], "SELECT name, room FROM shelf", devices)
    }

    func testARebuildAloneBringsBackNoRetainedRow() throws {
        let devices = try heldBack()
        try devices[0].rebuild("shelf")
        try devices[0].flush()
        XCTAssertEqual(devices[0].log.last?.operationCount, 0)
        try devices[1].run("DELETE FROM book")
        try settle(devices)
        try assertShown([], "SELECT name FROM shelf", devices)
    }

    /// A migration that drops a column leaves nothing to compare a retained row with: nobody wrote the row as far as anybody can tell.
    func testADroppedColumnBringsBackNoRetainedRow() throws {
        let devices = try heldBack()
        try devices[0].run(
            """
            BEGIN; CREATE TABLE other(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO other SELECT id, name FROM shelf;
            DROP TABLE shelf; ALTER TABLE other RENAME TO shelf; COMMIT
            """, foreignKeys: false)
        try devices[0].flush()
        try devices[1].run("DELETE FROM book")
        try settle(devices)
        XCTAssertEqual(try devices.map { try $0.query("SELECT name FROM shelf") }, [[], []])
    }

    func testAWriteToAUnifiedRowWithPendingChangesTravels() throws {
        let schema = TestSchema(
            name: "names", sql: "CREATE TABLE t(id INTEGER PRIMARY KEY, u TEXT UNIQUE, n INTEGER, m INTEGER);")
        for first in 0...1 {
            let devices = try (1...2).map { try TestDevice($0, schema) }
            try devices[first].run("INSERT INTO t VALUES (1, 'a', 1, 1)")
            devices[1 - first].clock.now += 500
            try devices[1 - first].run("INSERT INTO t VALUES (1, 'a', 2, 2)")
            try settle(devices)
            for device in devices {
                // The trigger sees a write of a column that stays as it was.
                try device.run("UPDATE t SET m = m")
                try device.rebuild("t")
                try device.run("UPDATE t SET n = n + 10")
                try settle(devices)
            }
            try assertShown(["a|22|2"], "SELECT u, n, m FROM t", devices)
        }
    }

    func testARowMadeAndDeletedSinceTheLastLookIsGone() throws {
        let schema = TestSchema(
            name: "tags",
            sql: """
                CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT);
                CREATE TABLE song_tag(song INTEGER NOT NULL, tag INTEGER NOT NULL, PRIMARY KEY (song, tag));
                """, references: [UndeclaredReference(table: "song_tag", column: "tag", parent: "tag")])
        let devices = try (1...2).map { try TestDevice($0, schema) }
        try devices[0].run("INSERT INTO tag VALUES (1, 'new'); INSERT INTO song_tag VALUES (7, 1)")
        try devices[0].rebuild("tag")
        try devices[0].run("DELETE FROM tag")
        try devices[0].flush()
        XCTAssertEqual(try devices[0].store.verify(deep: true).differences, [])
        XCTAssertEqual(try devices[0].query("SELECT * FROM song_tag"), ["7|1"])
        try settle(devices)
        XCTAssertEqual(try devices[1].query("SELECT * FROM tag"), [])
        XCTAssertEqual(try devices[1].store.verify(deep: true).differences, [])
    }

    func testARowThatWasDisplacedBeforeARebuildKeepsItsValues() throws {
        let schema = TestSchema(name: "names", sql: "CREATE TABLE t(id INTEGER PRIMARY KEY, u TEXT UNIQUE, n INTEGER);")
        let devices = try (1...2).map { try TestDevice($0, schema) }
        try devices[0].run("INSERT INTO t VALUES (1, 'a', 1)")
        try settle(devices)
        try devices[0].run("INSERT OR REPLACE INTO t VALUES (2, 'a', 5)")
        try devices[0].rebuild("t")
        try devices[0].flush()
        // A later write that did not know of the deletion brings the row back, under another value.
        devices[1].clock.now += 60_000
        try devices[1].run("UPDATE t SET u = 'b'")
        try devices[1].flush()
        try devices[0].receive(devices[1])
        try devices[1].receive(devices[0])
        try assertShown(["a|5", "b|1"], "SELECT u, n FROM t ORDER BY u", devices)
    }

    func testAnOlderInsertionDoesNotStandForLostValues() throws {
        let schema = TestSchema(name: "words", sql: "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, n INTEGER);")
        let devices = try (1...3).map { try TestDevice($0, schema) }
        try devices[2].run("INSERT INTO t VALUES ('a', 3)")
        try devices[2].flush()
        devices[1].clock.now += 1000
        try devices[1].run("INSERT INTO t VALUES ('a', 2), ('b', 2)")
        try devices[1].flush()
        try devices[0].receive(devices[1])
        try devices[0].rebuild("t")
        try devices[0].run("DELETE FROM t WHERE k = 'a'")
        devices[0].clock.now += 2000
        try devices[0].flush()
        try devices[0].receive(devices[2])
        XCTAssertEqual(try devices[0].store.verify(deep: true).differences, [])
        try settle(devices)
        try assertShown(["b|2"], "SELECT k, n FROM t", devices)
    }
}
