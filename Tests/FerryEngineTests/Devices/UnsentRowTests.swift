import FerryContainer
import FerryCore
import FerryStore
import Foundation
import XCTest

@testable import FerryEngine

/// Rows that were packed and not sent, and changed since, when their database becomes a new device.
final class UnsentRowTests: XCTestCase {
    private let schema = """
        CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
        CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT, artist INTEGER REFERENCES artist ON DELETE SET NULL ON UPDATE CASCADE);
        CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT, album INTEGER REFERENCES album ON DELETE CASCADE ON UPDATE CASCADE);
        CREATE TABLE label(code TEXT PRIMARY KEY, note TEXT);
        CREATE TABLE pressing(id INTEGER PRIMARY KEY, label TEXT REFERENCES label ON DELETE SET NULL ON UPDATE CASCADE, note TEXT);
        INSERT INTO artist VALUES (1, 'Clara'), (2, 'Amy');
        INSERT INTO label VALUES ('here', 'first');
        """

    /// Rows that nobody else has.
    private let unsent = """
        INSERT INTO artist VALUES (3, 'Ethel');
        INSERT INTO album VALUES (1, 'Trio', 1), (2, 'Sonata', 3), (3, 'Mass', 3);
        INSERT INTO song VALUES (1, 'first', 1), (2, 'second', 2), (3, 'third', 2);
        INSERT INTO label VALUES ('there', 'second');
        INSERT INTO pressing VALUES (1, 'here', 'one'), (2, 'there', 'two');
        """

    private let query = """
        SELECT name FROM artist ORDER BY 1;
        SELECT title, name FROM album LEFT JOIN artist ON artist.id = artist ORDER BY 1;
        SELECT song.title, album.title FROM song LEFT JOIN album ON album.id = album ORDER BY 1;
        SELECT * FROM label ORDER BY 1;
        SELECT note, label FROM pressing ORDER BY 1;
        """

    func testRowsChangedSinceTheLastPackingAreSentWhole() throws {
        let changes = [
            "DELETE FROM artist WHERE id = 1",
            "DELETE FROM artist WHERE id = 3",
            "UPDATE artist SET id = 100 WHERE id = 3",
            "UPDATE artist SET id = 100 WHERE id = 3; DELETE FROM artist WHERE id = 100",
            "UPDATE artist SET id = 100 WHERE id = 3; INSERT INTO artist VALUES (3, 'Fanny')",
            "UPDATE artist SET id = id + 100; UPDATE artist SET id = 104 - id",
            "UPDATE album SET artist = NULL WHERE id = 2; DELETE FROM artist WHERE id = 3",
            "INSERT OR REPLACE INTO artist VALUES (50, 'Ethel')",
            "INSERT OR REPLACE INTO artist VALUES (3, 'Clara')",
            "UPDATE OR REPLACE artist SET id = 3 WHERE id = 1",
            "DELETE FROM album WHERE id = 2",
            "UPDATE album SET id = 20 WHERE id = 2; DELETE FROM album WHERE id = 20",
            "UPDATE album SET id = id + 10; INSERT INTO album VALUES (2, 'Quartet', 2)",
            "DELETE FROM song WHERE id = 2; INSERT INTO song VALUES (2, 'again', 1)",
            "UPDATE song SET id = 30 WHERE id = 2; UPDATE song SET title = 'new' WHERE id = 30",
            "UPDATE album SET artist = 2; DELETE FROM artist WHERE id = 2",
            "DELETE FROM label WHERE code = 'there'",
            "UPDATE label SET code = 'elsewhere' WHERE code = 'there'",
            "DELETE FROM label; INSERT INTO label VALUES ('there', 'third')",
        ]
        for change in changes { try check(change) }
    }

    private func check(_ change: String) throws {
        let fleet = try Fleet()
        try fleet.start(schema)
        try fleet.join()
        try fleet.settle()
        let away = fleet.folder.appendingPathComponent("away").path
        try FileManager.default.moveItem(atPath: fleet.containerPath, toPath: away)
        try fleet.shell(0, unsent)
        // Packed, and not published.
        XCTAssertThrowsError(try fleet.replicas[0].sync())
        try fleet.shell(0, "PRAGMA foreign_keys = ON; PRAGMA recursive_triggers = ON; \(change);")
        let expected = try fleet.shell(0, query)
        let copy = fleet.folder.appendingPathComponent("copy").path
        try fleet.shell(0, "VACUUM INTO '\(copy)';")
        // The original is lost.
        try fleet.replicas.removeFirst().store.close()
        try FileManager.default.moveItem(atPath: away, toPath: fleet.containerPath)
        let restored = try Replica(path: copy)
        for _ in 0..<3 {
            _ = try restored.sync()
            _ = try fleet.replicas[0].sync()
        }
        XCTAssertEqual(try fleet.shell(1, query), expected, change)
        let digests = try restored.store.statePosition().digests
        XCTAssertEqual(try fleet.replicas[0].store.statePosition().digests, digests, change)
        for replica in [restored, fleet.replicas[0]] {
            let report = try replica.verify(deep: true)
            XCTAssertTrue(report.isSound, "\(change): \(report)")
        }
    }

    /// Random numbers that are lower than all others.
    private final class LowNumbers: RandomSource {
        private let last = Locked<UInt64>(0)
        func next() -> UInt64 {
            last.withLock { last in
                last += 1
                return last
            }
        }
    }

    /// Opens a device's database elsewhere, as a device whose ID is the lowest.
    private func openCopy(of index: Int, _ fleet: Fleet, _ change: String = "") throws -> Replica {
        let copy = fleet.folder.appendingPathComponent("copy\(fleet.replicas.count)").path
        try fleet.shell(index, "VACUUM INTO '\(copy)';")
        if !change.isEmpty {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = ["sqlite3", "-bail", copy, change]
            try process.run()
            process.waitUntilExit()
            XCTAssertEqual(process.terminationStatus, 0)
        }
        var environment = ReplicaEnvironment.live
        environment.random = LowNumbers()
        return try Replica(Store(path: copy), environment: environment)
    }

    private func assertInStep(
        _ replicas: [Replica], _ table: String, file: StaticString = #filePath, line: UInt = #line
    ) throws {
        for _ in 0..<3 { for replica in replicas { _ = try replica.sync() } }
        let rows = try replicas.map { replica in
            try replica.store.read { try $0.rows("SELECT * FROM \(table) ORDER BY 1").map { $0.map(\.text) } }
        }
        let digests = try replicas.map { try $0.store.statePosition().digests }
        for index in replicas.indices.dropFirst() {
            XCTAssertEqual(rows[index], rows[0], file: file, line: line)
            XCTAssertEqual(digests[index], digests[0], file: file, line: line)
            XCTAssertEqual(try replicas[index].verify(deep: true).differences, [], file: file, line: line)
        }
    }

    func testRowsBroughtAlongAreTheSameAfterANewIDOfTheirDevice() throws {
        // An earlier Ferry did not remember where such rows are in the log: they are sent again.
        for forgets in ["", "DELETE FROM ferry_meta WHERE name = 'lastOldRows'"] {
            let fleet = try Fleet()
            let script = "CREATE TABLE label(code TEXT PRIMARY KEY, note TEXT);"
            try fleet.start(script)
            try fleet.join(script + "INSERT INTO label VALUES ('brought', 'by 1');")
            try fleet.settle()
            let away = fleet.folder.appendingPathComponent("away").path
            try FileManager.default.moveItem(atPath: fleet.containerPath, toPath: away)
            try fleet.shell(1, "INSERT INTO label VALUES ('unsent', 'by 1');")
            XCTAssertThrowsError(try fleet.replicas[1].sync())
            let copy = try openCopy(of: 1, fleet, forgets)
            // The original is lost.
            try fleet.replicas.removeLast().store.close()
            try FileManager.default.moveItem(atPath: away, toPath: fleet.containerPath)
            XCTAssertEqual(try copy.sync().renewed?.sentAgain, forgets.isEmpty ? 1 : 2)
            try assertInStep(fleet.replicas + [copy], "label")
        }
    }

    func testRowsOfAnUnknownTimeAreSentWhateverTheLogsTime() throws {
        let fleet = try Fleet.two(schema)
        try fleet.settle()
        let away = fleet.folder.appendingPathComponent("away").path
        try FileManager.default.moveItem(atPath: fleet.containerPath, toPath: away)
        try fleet.shell(
            0, "CREATE TABLE late(code TEXT PRIMARY KEY, note TEXT); INSERT INTO late VALUES ('one', 'first');")
        XCTAssertThrowsError(try fleet.replicas[0].sync())
        let copy = try openCopy(of: 0, fleet)
        // The original is lost.
        try fleet.replicas.removeFirst().store.close()
        try FileManager.default.moveItem(atPath: away, toPath: fleet.containerPath)
        try fleet.shell(1, "CREATE TABLE late(code TEXT PRIMARY KEY, note TEXT);")
        try assertInStep([copy, fleet.replicas[0]], "late")
        XCTAssertEqual(try fleet.shell(1, "SELECT * FROM late"), "one|first\n")
    }

    /// A migration computed a value, which is as old as the row. So the time of the sent log says nothing of the value.
    func testAValueThatAMigrationComputedIsSentWhateverTheLogsTime() throws {
        let script =
            "CREATE TABLE label(code TEXT PRIMARY KEY, note TEXT); INSERT INTO label VALUES ('one', 'first'), ('two', 'second');"
        let fleet = try Fleet.two(script)
        try fleet.shell(0, "INSERT INTO label VALUES ('three', 'third')")
        try fleet.settle()
        let away = fleet.folder.appendingPathComponent("away").path
        try FileManager.default.moveItem(atPath: fleet.containerPath, toPath: away)
        try fleet.shell(
            0,
            """
            CREATE TABLE n(code TEXT PRIMARY KEY, note TEXT); INSERT INTO n SELECT code, note FROM label; DROP TABLE label;
            ALTER TABLE n RENAME TO label; UPDATE label SET note = upper(note) WHERE code <> 'two';
            """)
        XCTAssertThrowsError(try fleet.replicas[0].sync())
        let copy = try openCopy(of: 0, fleet)
        // The original is lost.
        try fleet.replicas.removeFirst().store.close()
        try FileManager.default.moveItem(atPath: away, toPath: fleet.containerPath)
        try assertInStep([copy, fleet.replicas[0]], "label")
        XCTAssertEqual(try fleet.shell(1, "SELECT note FROM label ORDER BY 1"), "FIRST\nTHIRD\nsecond\n")
    }
}
