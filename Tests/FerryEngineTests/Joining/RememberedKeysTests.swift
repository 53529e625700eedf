import FerryCore
import FerryStore
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryEngine

/// A database that leaves its container and joins again, where devices gave rows different integers.
final class RememberedKeysTests: XCTestCase {
    private let titles = "SELECT song.title, album.title FROM song JOIN album ON album.id = song.album ORDER BY 1"

    private func fleet() throws -> Fleet {
        let fleet = try Fleet.two(
            """
            CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT);
            CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT, album INTEGER REFERENCES album(id));
            """)
        for (device, name) in [(0, "A"), (1, "B")] {
            try fleet.shell(
                device,
                "INSERT INTO album(title) VALUES ('\(name)'); INSERT INTO song(title, album) VALUES ('of \(name)', 1);")
        }
        try fleet.settle()
        return fleet
    }

    private func keysFile(_ fleet: Fleet) -> String { fleet.databasePath(1) + "-ferry-keys" }

    func testRowsAreTheSameAfterLeavingAndJoiningAgain() throws {
        for rows in JoinOptions.Rows.allCases {
            let fleet = try fleet()
            let report = try fleet.replicas[1].leave()
            XCTAssertGreaterThan(report.rememberedKeys ?? 0, 0)
            XCTAssertTrue(FileManager.default.fileExists(atPath: keysFile(fleet)))
            // A trial takes nothing away.
            fleet.replicas.removeLast()
            let options = JoinOptions(rows: rows, match: .keys)
            _ = try ReplicaSetup().join(
                databasePath: fleet.databasePath(1), containerPath: fleet.containerPath, name: "again",
                options: options,
                isDryRun: true)
            XCTAssertTrue(FileManager.default.fileExists(atPath: keysFile(fleet)))
            try fleet.join(options: options)
            XCTAssertFalse(FileManager.default.fileExists(atPath: keysFile(fleet)))
            try fleet.settle()
            for device in 0...1 {
                XCTAssertEqual(try fleet.shell(device, titles), "of A|A\nof B|B\n", "\(rows)")
                XCTAssertEqual(try fleet.shell(device, "SELECT count(*) FROM album"), "2\n", "\(rows)")
            }
            // The device that left stays in the list of devices.
            try fleet.assertSound()
        }
    }

    /// What was written while the database belonged to no container comes along, and a row that was never sent is a row of its own.
    func testWritesInBetweenComeAlong() throws {
        let fleet = try fleet()
        try fleet.shell(1, "INSERT INTO album(title) VALUES ('unsent')")
        _ = try fleet.replicas[1].leave()
        fleet.replicas.removeLast()
        try fleet.shell(0, "INSERT INTO album(title) VALUES ('meanwhile')")
        _ = try fleet.replicas[0].sync()
        try fleet.shell(1, "UPDATE album SET title = 'B2' WHERE title = 'B'")
        try fleet.join(options: JoinOptions(rows: .mine, match: .keys))
        try fleet.settle()
        for device in 0...1 {
            XCTAssertEqual(
                try fleet.shell(device, "SELECT title FROM album ORDER BY 1"), "A\nB2\nmeanwhile\nunsent\n")
            XCTAssertEqual(try fleet.shell(device, titles), "of A|A\nof B|B2\n")
        }
        try fleet.assertSound()
    }

    /// Without integers that differ there is nothing to remember, and no file.
    func testADatabaseWithPlainKeysLeavesNoFile() throws {
        let fleet = try Fleet.two("CREATE TABLE t(id INTEGER PRIMARY KEY, x); INSERT INTO t VALUES (1, 'a')")
        try fleet.settle()
        XCTAssertNil(try fleet.replicas[1].leave().rememberedKeys)
        XCTAssertFalse(FileManager.default.fileExists(atPath: keysFile(fleet)))
    }

    func testADamagedFileIsNamed() throws {
        let fleet = try fleet()
        _ = try fleet.replicas[1].leave()
        fleet.replicas.removeLast()
        try "{".write(toFile: keysFile(fleet), atomically: false, encoding: .utf8)
        XCTAssertThrowsError(try fleet.join(options: JoinOptions(match: .keys))) { error in
            XCTAssertEqual((error as? FerryError)?.code, .damagedFile)
        }
    }

    func testRememberedKeysTakeTheirObjectsFromOtherKeys() {
        let container = ContainerID(high: 1, low: 1)
        let (first, second, third) = (
            ObjectID(high: 1, low: 1), ObjectID(high: 1, low: 2), ObjectID(high: 1, low: 3)
        )
        var keys = RememberedKeys(container: container)
        var table = RememberedKeys.Table()
        (table.objects, table.own) = (["1": second.hex], [3])
        keys.tables["t"] = table
        let applied = keys.applied(to: ["t": [.integer(1): first, .integer(2): second, .integer(3): third]])
        XCTAssertEqual(applied, ["t": [.integer(1): second]])
    }
}

/// `ferry import` into a database that came back from a backup.
final class ImportIntoBackupTests: XCTestCase {
    func testAnOlderDatabaseIsToldApart() throws {
        for exporter in 0...1 {
            let fleet = try Fleet.two("CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, x)")
            try fleet.shell(1, "INSERT INTO t VALUES ('1', 'old')")
            try fleet.settle()
            try fleet.shell(1, "PRAGMA wal_checkpoint(TRUNCATE)")
            let backup = fleet.databasePath(1) + "-backup"
            try fleet.replicas[1].store.copy(to: backup)
            try fleet.shell(1, "INSERT INTO t VALUES ('2', 'new')")
            try fleet.settle()
            let file = fleet.containerPath + ".ferry"
            _ = try fleet.replicas[exporter].exportSnapshot(to: file)
            let restored = try Replica(path: backup)
            let aside = fleet.containerPath + "-aside"
            try FileManager.default.moveItem(atPath: fleet.containerPath, toPath: aside)
            XCTAssertThrowsError(try restored.importSnapshot(from: file)) { error in
                XCTAssertEqual((error as? FerryError)?.code, .olderState)
            }
            try FileManager.default.moveItem(atPath: aside, toPath: fleet.containerPath)
            _ = try restored.importSnapshot(from: file)
            XCTAssertEqual(try restored.store.status().tables.first { $0.name == "t" }?.objects, 2)
        }
    }
}
