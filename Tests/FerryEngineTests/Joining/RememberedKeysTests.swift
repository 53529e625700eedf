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

    /// The file beside the database proves which rows are the container's: nobody has to say so.
    func testTheFileIsEnough() throws {
        for rows in JoinOptions.Rows.allCases {
            let fleet = try fleet()
            _ = try fleet.replicas[1].leave()
            fleet.replicas.removeLast()
            try fleet.shell(
                1, "UPDATE album SET title = 'B2' WHERE title = 'B'; INSERT INTO album(title) VALUES ('new')")
            let report = try fleet.join(options: JoinOptions(rows: rows))
            XCTAssertEqual(report.knownKeys, 4, "\(rows)")
            XCTAssertEqual(report.matchingKeys, 0, "\(rows)")
            try fleet.settle()
            let albums = rows == .merge ? "A\nB\nnew\n" : rows == .mine ? "A\nB2\nnew\n" : "A\nB\n"
            for device in 0...1 {
                XCTAssertEqual(
                    try fleet.shell(device, "SELECT title FROM album ORDER BY 1"), albums, "\(rows) \(device)")
                XCTAssertEqual(try fleet.shell(device, "SELECT count(*) FROM song"), "2\n", "\(rows) \(device)")
            }
            try fleet.assertSound()
        }
    }

    /// A migration between leaving and joining: the columns that are left prove the rows.
    func testTheFileIsEnoughAfterARenamedColumn() throws {
        let fleet = try fleet()
        let renames = "ALTER TABLE song RENAME COLUMN title TO name; ALTER TABLE album RENAME COLUMN title TO name;"
        _ = try fleet.replicas[1].leave()
        fleet.replicas.removeLast()
        for device in 0...1 { try fleet.shell(device, renames) }
        _ = try fleet.replicas[0].sync()
        XCTAssertEqual(try fleet.join().knownKeys, 4)
        try fleet.settle()
        for device in 0...1 {
            XCTAssertEqual(try fleet.shell(device, "SELECT name FROM song ORDER BY 1"), "of A\nof B\n")
        }
        try fleet.assertSound()
    }

    /// An app switches its sync off, and on again.
    func testAnAppThatLeavesAndOpensAgainHasEachRowOnce() async throws {
        let fleet = try fleet()
        let store = fleet.replicas[1].store
        _ = try fleet.replicas[1].leave()
        fleet.replicas.removeLast()
        let opened = try await Replica.open(store, containerPath: fleet.containerPath, device: NewDevice(name: "again"))
        fleet.replicas.append(opened.replica)
        try fleet.settle()
        for device in 0...1 { XCTAssertEqual(try fleet.shell(device, titles), "of A|A\nof B|B\n") }
        XCTAssertFalse(FileManager.default.fileExists(atPath: keysFile(fleet)))
        try fleet.assertSound()
    }

    /// The app made its database anew in the place of the one that left: other rows under the same integers are other rows.
    func testTheFileSaysNothingOfAnotherDatabase() throws {
        let fleet = try fleet()
        _ = try fleet.replicas[1].leave()
        let replica = fleet.replicas.removeLast()
        try replica.store.close()
        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: fleet.databasePath(1) + suffix)
        }
        let report = try fleet.join(
            """
            CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT);
            CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT, album INTEGER REFERENCES album(id));
            INSERT INTO album VALUES (1, 'C');
            """)
        XCTAssertNil(report.knownKeys)
        XCTAssertEqual(report.matchingKeys, 1)
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(0, "SELECT title FROM album ORDER BY 1"), "A\nB\nC\n")
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

    /// Rows inserted after leaving, by both databases under the same integer.
    func testNewRowsUnderOneIntegerAreTwoRows() throws {
        for rows in JoinOptions.Rows.allCases {
            let fleet = try Fleet.two(
                """
                CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT);
                CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT, album INTEGER REFERENCES album(id));
                CREATE TABLE label(name TEXT PRIMARY KEY NOT NULL, place TEXT);
                CREATE TABLE empty(id INTEGER PRIMARY KEY, x TEXT);
                INSERT INTO album VALUES (1, 'both');
                """)
            try fleet.settle()
            XCTAssertEqual(try fleet.replicas[1].leave().rememberedKeys, 1)
            fleet.replicas.removeLast()
            for (device, name) in [(0, "A"), (1, "B")] {
                try fleet.shell(
                    device,
                    """
                    INSERT INTO album(title) VALUES ('\(name)');
                    INSERT INTO song(title, album) SELECT 'of \(name)', max(id) FROM album;
                    INSERT INTO label VALUES ('one', '\(name)');
                    INSERT INTO empty(x) VALUES ('\(name)');
                    """)
            }
            _ = try fleet.replicas[0].sync()
            let report = try fleet.join(options: JoinOptions(rows: rows, match: .keys))
            XCTAssertNil(report.assumedKeys)
            try fleet.settle()
            // Rows of this database alone go under `theirs`.
            let (songs, albums, empty) =
                rows == .theirs
                ? ("of A|A\n", "A\nboth\n", "A\n") : ("of A|A\nof B|B\n", "A\nB\nboth\n", "A\nB\n")
            for device in 0...1 {
                XCTAssertEqual(try fleet.shell(device, titles), songs, "\(rows)")
                XCTAssertEqual(try fleet.shell(device, "SELECT title FROM album ORDER BY 1"), albums, "\(rows)")
                XCTAssertEqual(try fleet.shell(device, "SELECT x FROM empty ORDER BY 1"), empty, "\(rows)")
                // Equal texts are the same key, whenever the rows were inserted.
                XCTAssertEqual(
                    try fleet.shell(device, "SELECT * FROM label"), rows == .mine ? "one|B\n" : "one|A\n", "\(rows)")
            }
            try fleet.assertSound()
        }
    }

    /// The container's devices have deleted a row meanwhile, and SQLite has given its integer to a new row there.
    func testAnIntegerThatTheContainerReusedMeansTheFormerRow() throws {
        for rows in JoinOptions.Rows.allCases {
            let fleet = try fleet()
            try fleet.shell(0, "INSERT INTO album VALUES (7, 'old')")
            try fleet.settle()
            _ = try fleet.replicas[1].leave()
            fleet.replicas.removeLast()
            try fleet.shell(0, "DELETE FROM album WHERE id = 7")
            _ = try fleet.replicas[0].sync()
            try fleet.shell(0, "INSERT INTO album VALUES (7, 'new')")
            try fleet.shell(1, "INSERT INTO song(title, album) VALUES ('of old', 7)")
            _ = try fleet.replicas[0].sync()
            try fleet.join(options: JoinOptions(rows: rows, match: .keys))
            try fleet.settle()
            for device in 0...1 {
                XCTAssertEqual(
                    try fleet.shell(device, "SELECT title FROM album ORDER BY 1"),
                    rows == .theirs ? "A\nB\nnew\n" : "A\nB\nnew\nold\n", "\(rows)")
                if rows != .theirs {
                    XCTAssertEqual(try fleet.shell(device, titles), "of A|A\nof B|B\nof old|old\n", "\(rows)")
                }
            }
            try fleet.assertSound()
        }
    }

    /// The last writes before leaving were not packed: a row deleted then is gone, and a row under a new integer is the same row.
    func testUnpackedWritesBeforeLeavingCount() throws {
        let fleet = try fleet()
        try fleet.shell(
            1,
            """
            BEGIN;
            PRAGMA defer_foreign_keys = ON;
            UPDATE album SET id = 20 WHERE title = 'B';
            UPDATE song SET album = 20 WHERE title = 'of B';
            INSERT INTO album VALUES (21, 'unsent');
            COMMIT;
            """)
        XCTAssertEqual(try fleet.replicas[1].leave().rememberedKeys, 5)
        fleet.replicas.removeLast()
        try fleet.shell(0, "INSERT INTO album VALUES (20, 'A20'), (21, 'A21')")
        _ = try fleet.replicas[0].sync()
        try fleet.join(options: JoinOptions(match: .keys))
        try fleet.settle()
        for device in 0...1 {
            XCTAssertEqual(
                try fleet.shell(device, "SELECT title FROM album ORDER BY 1"), "A\nA20\nA21\nB\nunsent\n")
        }
        try fleet.assertSound()
    }

    /// Without the file the integers alone tell, and the report says for how many rows.
    func testWithoutTheFileEqualIntegersAreOneRow() throws {
        let fleet = try fleet()
        _ = try fleet.replicas[1].leave()
        fleet.replicas.removeLast()
        try FileManager.default.removeItem(atPath: keysFile(fleet))
        for (device, name) in [(0, "A"), (1, "B")] {
            try fleet.shell(device, "INSERT INTO album VALUES (9, 'late \(name)')")
        }
        _ = try fleet.replicas[0].sync()
        let report = try fleet.join(options: JoinOptions(match: .keys))
        XCTAssertGreaterThan(report.assumedKeys ?? 0, 0)
        try fleet.settle()
        for device in 0...1 {
            XCTAssertEqual(try fleet.shell(device, "SELECT title FROM album WHERE title LIKE 'late%'"), "late A\n")
        }
    }

    /// A row of two objects stays one row under a value of the joining database, whose further object that database never showed.
    func testAUnifiedRowStaysOneRow() throws {
        for rows in JoinOptions.Rows.allCases {
            for leaver in 0...1 {
                let fleet = try Fleet.two("CREATE TABLE tag(id INTEGER PRIMARY KEY, n TEXT UNIQUE, v TEXT)")
                for device in 0...1 { try fleet.shell(device, "INSERT INTO tag(n, v) VALUES ('same', '\(device)')") }
                try fleet.settle()
                let shown = try fleet.shell(0, "SELECT n, v FROM tag")
                let other = 1 - leaver
                _ = try fleet.replicas[leaver].leave()
                try fleet.shell(other, "UPDATE tag SET n = 'samer', v = 'later'")
                let stays = fleet.replicas[other]
                _ = try stays.sync()
                let (again, report) = try ReplicaSetup().join(
                    databasePath: fleet.databasePath(leaver), containerPath: fleet.containerPath, name: "again",
                    options: JoinOptions(rows: rows, match: .keys))
                let joined = try XCTUnwrap(again)
                if rows == .mine { XCTAssertEqual(report.conflicts, 2, "\(leaver)") }
                for _ in 0..<3 {
                    for replica in [stays, joined] { _ = try replica.sync() }
                }
                for device in 0...1 {
                    XCTAssertEqual(
                        try fleet.shell(device, "SELECT n, v FROM tag"), rows == .mine ? shown : "samer|later\n",
                        "\(rows), \(leaver)")
                }
                XCTAssertEqual(try stays.status().tablesApart, [])
                XCTAssertEqual(try joined.verify(deep: true).differences, [])
            }
        }
    }

    /// Without integer keys there is nothing to remember, and no file.
    func testADatabaseWithoutIntegerKeysLeavesNoFile() throws {
        let fleet = try Fleet.two("CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, x); INSERT INTO t VALUES (1, 'a')")
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

    func testRememberedKeysStandForAllRowsOfATable() throws {
        let container = ContainerID(high: 1, low: 1)
        func object(_ low: UInt64) -> ObjectID { ObjectID(high: 1, low: low) }
        var keys = RememberedKeys(container: container)
        var table = RememberedKeys.Table()
        for (key, id) in [(Int64.min, 9), (-3, 5), (1, 2), (2, 3), (3, 4), (4, 9), (Int64.max, 10)] as [(Int64, UInt64)]
        {
            table.append(key, object(id))
        }
        XCTAssertEqual(table.runs.map(\.count), [1, 1, 3, 1, 1])
        keys.tables = ["t": table, "none": RememberedKeys.Table()]
        XCTAssertEqual(keys.count, 7)
        keys = try JSONDecoder().decode(RememberedKeys.self, from: JSONEncoder().encode(keys))
        let others: [FieldValue: ObjectID] = [.integer(1): object(1), .integer(5): object(3)]
        let applied = keys.applied(to: ["t": others, "none": others, "unknown": others])
        XCTAssertEqual(applied["unknown"], others)
        XCTAssertEqual(applied["none"], [:])
        XCTAssertEqual(
            applied["t"],
            [
                .integer(.min): object(9), .integer(-3): object(5), .integer(1): object(2), .integer(2): object(3),
                .integer(3): object(4), .integer(4): object(9), .integer(.max): object(10),
            ])
    }

    func testDamagedRunsAreRefused() throws {
        let hex = ObjectID(high: 1, low: 1).hex
        for text in [
            "", "1 1", "1 0 \(hex)", "1 -1 \(hex)", "x 1 \(hex)", "1 1 12", "9223372036854775807 2 \(hex)",
            "1 9223372036854775807 \(hex)",
        ] {
            let json = Data("{\"container\":\"c\",\"tables\":{\"t\":{\"runs\":[\"\(text)\"]}}}".utf8)
            XCTAssertThrowsError(try JSONDecoder().decode(RememberedKeys.self, from: json), text)
        }
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
