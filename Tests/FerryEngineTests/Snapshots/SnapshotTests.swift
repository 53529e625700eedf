import FerryContainer
import FerryCore
import FerryLog
import FerryStore
import Foundation
import XCTest

@testable import FerryEngine

/// Snapshots between devices: written by one, read in by others whose logs are gone.
final class SnapshotTests: XCTestCase {
    static let schema = """
        CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL);
        CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT, artist_id INTEGER REFERENCES artist(id) ON DELETE CASCADE,
            above INTEGER REFERENCES album(id));
        CREATE TABLE tag(name TEXT PRIMARY KEY, weight REAL, note BLOB);
        CREATE TABLE album_tag(album_id INTEGER REFERENCES album(id) ON DELETE CASCADE,
            tag TEXT REFERENCES tag(name), PRIMARY KEY(album_id, tag)) WITHOUT ROWID;
        """
    static let rows = """
        SELECT a.name, b.title, u.title FROM album b LEFT JOIN artist a ON a.id = b.artist_id
        LEFT JOIN album u ON u.id = b.above ORDER BY 2, 1, 3;
        SELECT name FROM artist ORDER BY name; SELECT name, weight, hex(note) FROM tag ORDER BY name;
        SELECT b.title, t.tag FROM album_tag t JOIN album b ON b.id = t.album_id ORDER BY 1, 2;
        """

    /// Two devices whose integer keys differ, with a row that waits for its parent, joined rows and tombstones.
    func eventfulFleet() throws -> Fleet {
        let fleet = try Fleet()
        try fleet.start(
            Self.schema + """
                INSERT INTO artist VALUES (1, 'Nina'), (2, 'Tom'), (3, 'Gone');
                INSERT INTO album VALUES (1, 'Pastel Blues', 1, NULL), (2, 'Rain Dogs', 2, 1), (3, 'Lost', 3, NULL);
                INSERT INTO tag VALUES ('soul', 1.5, x'00ff'), ('night', NULL, NULL);
                INSERT INTO album_tag VALUES (1, 'soul'), (2, 'night');
                """)
        try fleet.join()
        try fleet.settle()
        // The same integers on both sides, and the same UNIQUE value.
        try fleet.shell(0, "INSERT INTO artist VALUES (4, 'Zoe'); INSERT INTO album VALUES (4, 'Four', 4, NULL);")
        try fleet.shell(
            1, "INSERT INTO artist VALUES (4, 'Ann'), (5, 'Zoe'); INSERT INTO album VALUES (4, 'Vier', 5, 2);")
        try fleet.shell(0, "DELETE FROM artist WHERE id = 3; UPDATE tag SET weight = 2 WHERE name = 'soul'")
        try fleet.shell(1, "INSERT INTO album VALUES (5, 'Waits', 3, NULL); UPDATE tag SET note = x'01'")
        try fleet.settle()
        try fleet.assertEqual(Self.rows)
        return fleet
    }

    func testTwoDevicesInStepWriteTheSameSnapshotThoughTheirIntegersDiffer() throws {
        let fleet = try eventfulFleet()
        XCTAssertNotEqual(
            try fleet.shell(0, "SELECT id, name FROM artist ORDER BY 2"),
            try fleet.shell(1, "SELECT id, name FROM artist ORDER BY 2"))
        let first = try fleet.writeSnapshot(0)
        let second = try fleet.writeSnapshot(1)
        XCTAssertTrue(first.manifest == second.manifest, "\(first.manifest.tables)\n\(second.manifest.tables)")
        XCTAssertEqual(first.name, second.name)
        XCTAssertGreaterThan(first.manifest.objects, 10)
    }

    func testADatabaseJoinsFromASnapshotAloneAsFromTheLog() throws {
        let fleet = try eventfulFleet()
        try fleet.join()
        try fleet.settle()
        let digests = try fleet.replicas[2].store.statePosition()
        let written = try fleet.writeSnapshot(1)
        try fleet.removeSegments()
        try fleet.join()
        try fleet.assertEqual(Self.rows)
        let own = try fleet.replicas[3].store.statePosition()
        XCTAssertEqual(own.digests, digests.digests)
        for (device, position) in written.vector.positions { XCTAssertEqual(own.vector[device], position) }
        XCTAssertEqual(
            try fleet.replicas[2].store.reading().hidden, try fleet.replicas[3].store.reading().hidden)
        XCTAssertEqual(try fleet.replicas[3].store.reading().hidden, 1)
        // And it goes on from there.
        try fleet.shell(0, "INSERT INTO tag VALUES ('later', 1, NULL); DELETE FROM album WHERE title = 'Four'")
        try fleet.shell(3, "UPDATE tag SET weight = 9 WHERE name = 'night'")
        try fleet.settle()
        try fleet.assertEqual(Self.rows)
    }

    // MARK: Writing

    func testAWriterGoesOnWhereItWasInterruptedAndWritesWhatIsNewOnly() throws {
        let fleet = try Fleet()
        try fleet.start(
            Self.schema + """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000)
                INSERT INTO tag SELECT printf('tag %d', i), i, hex(i * 7919) FROM n;
                """)
        let first = try fleet.writeSnapshot(0)
        XCTAssertGreaterThan(first.manifest.tables[0].chunks.count, 3)
        XCTAssertEqual(first.bytesWritten, first.bytes)
        // What an interruption leaves behind: some chunks and no manifest.
        let folder = fleet.folder(0, "snapshots")
        let gone = first.manifest.tables[0].chunks[1]
        try FileManager.default.removeItem(at: folder.appendingPathComponent(first.name.fileName))
        try FileManager.default.removeItem(at: folder.appendingPathComponent("\(gone.checksum.hex).chunk"))
        XCTAssertNil(try SnapshotCatalog(fleet.container()).best())
        let again = try fleet.writeSnapshot(0)
        XCTAssertEqual(again.name, first.name)
        XCTAssertEqual(again.bytesWritten, gone.bytes + again.bytes - again.manifest.chunkBytes)
        // One row changes one chunk.
        try fleet.shell(0, "UPDATE tag SET weight = -1 WHERE name = 'tag 777'; DELETE FROM tag WHERE name = 'tag 99'")
        try fleet.settle()
        let next = try fleet.writeSnapshot(0)
        let former = Set(first.manifest.tables[0].chunks)
        let new = next.manifest.tables[0].chunks.filter { !former.contains($0) }
        XCTAssertLessThanOrEqual(new.count, 2)
        XCTAssertGreaterThanOrEqual(new.count, 1)
        XCTAssertEqual(
            next.bytesWritten, new.reduce(0) { $0 + $1.bytes } + next.bytes - next.manifest.chunkBytes)
        let best = try XCTUnwrap(SnapshotCatalog(fleet.container()).best())
        XCTAssertEqual(best.name, next.name)
        XCTAssertEqual(best.manifest, next.manifest)
    }

    func testASnapshotOfADatabaseThatIsBeingWrittenToIsConsistent() throws {
        let fleet = try Fleet()
        try fleet.start(
            "PRAGMA journal_mode = WAL;" + Self.schema + "INSERT INTO tag VALUES ('a', 1, NULL), ('b', 1, NULL);")
        let replica = fleet.replicas[0]
        var values: [FieldValue] = []
        _ = try replica.store.readSnapshot { chunk in
            // While it is read the app goes on, and nobody waits.
            try fleet.shell(
                0,
                "PRAGMA busy_timeout = 0; UPDATE tag SET weight = weight + 1; INSERT INTO artist VALUES (NULL, 'New')")
            if chunk.table == "tag" { values = chunk.cells.filter { $0.content.tag == 2 }.map(\.content) }
            XCTAssertNotEqual(chunk.table, "artist")
            return .init(checksum: Checksum(high: 0, low: 0), bytes: 0, objects: chunk.objects.count)
        }
        XCTAssertEqual(values, [.real(1), .real(1)])
        XCTAssertThrowsError(try fleet.writeSnapshot(0)) { XCTAssertEqual(($0 as? FerryError)?.code, .busy) }
        _ = try replica.sync()
        XCTAssertNoThrow(try fleet.writeSnapshot(0))
    }

    // MARK: Damage

    func testADamagedSnapshotIsPassedOverForAnOlderOneAndTheLog() throws {
        let fleet = try eventfulFleet()
        let older = try fleet.writeSnapshot(0)
        try fleet.shell(1, "INSERT INTO artist VALUES (20, 'Later'); UPDATE tag SET weight = 77 WHERE name = 'soul'")
        try fleet.settle()
        let newer = try fleet.writeSnapshot(1)
        XCTAssertEqual(try SnapshotCatalog(fleet.container()).best()?.name, newer.name)
        let file = fleet.folder(1, "snapshots").appendingPathComponent(
            try XCTUnwrap(newer.manifest.tables.first { $0.name == "tag" }).chunks[0].checksum.hex + ".chunk")
        var bytes = try Data(contentsOf: file)
        bytes[60] ^= 1
        try bytes.write(to: file)
        XCTAssertEqual(try SnapshotCatalog(fleet.container()).best()?.name, older.name)
        try fleet.join()
        try fleet.settle()
        try fleet.assertEqual(Self.rows)
        XCTAssertNil(try fleet.replicas[2].store.snapshotUnderWay())
    }

    func testWhereNoSnapshotBridgesALogThatBeginsLaterTheDeviceWaitsAndSaysSo() throws {
        let fleet = try eventfulFleet()
        try fleet.join()
        try fleet.settle()
        try fleet.shell(0, "INSERT INTO tag VALUES ('unseen', 1, NULL)")
        _ = try fleet.replicas[0].sync()
        _ = try fleet.replicas[1].sync()
        try fleet.removeSegments(of: [0, 1])
        try fleet.shell(2, "INSERT INTO tag VALUES ('mine', 1, NULL)")
        let report = try fleet.replicas[2].sync()
        XCTAssertEqual(report.waiting.map(\.code), ["logCollected"])
        XCTAssertEqual(report.waiting.map(\.device), ["device0"])
        XCTAssertFalse(report.waiting[0].isDamage)
        XCTAssertTrue(report.waiting[0].reason.contains("snapshot"), report.waiting[0].reason)
        // What it has to say goes out all the same.
        _ = try fleet.replicas[0].sync()
        XCTAssertEqual(try fleet.shell(0, "SELECT count(*) FROM tag WHERE name = 'mine'"), "1\n")
        // A damaged one does not help, and is named.
        let written = try fleet.writeSnapshot(0)
        try fleet.tellLogStart(of: 0, 4)
        let chunk = try XCTUnwrap(written.manifest.tables.last).chunks[0]
        let file = fleet.folder(0, "snapshots").appendingPathComponent("\(chunk.checksum.hex).chunk")
        let whole = try Data(contentsOf: file)
        try whole.prefix(70).write(to: file)
        let second = try fleet.replicas[2].sync()
        XCTAssertEqual(second.waiting.map(\.code), ["damagedFile"])
        XCTAssertTrue(second.waiting[0].reason.contains(chunk.checksum.hex), second.waiting[0].reason)
        // Once it is whole the device goes on.
        try whole.write(to: file)
        XCTAssertEqual(try fleet.replicas[2].sync().waiting, [])
        try fleet.settle()
        try fleet.assertEqual(Self.rows)
    }

    func testASnapshotBridgesADamagedSegment() throws {
        let fleet = try eventfulFleet()
        try fleet.join()
        try fleet.settle()
        try fleet.shell(0, "INSERT INTO tag VALUES ('lost', 1, NULL)")
        _ = try fleet.replicas[0].sync()
        _ = try fleet.replicas[1].sync()
        let segments = fleet.folder(0, "segments")
        let newest = try XCTUnwrap(FileManager.default.contentsOfDirectory(atPath: segments.path).max())
        let file = segments.appendingPathComponent(newest)
        var bytes = try Data(contentsOf: file)
        bytes[bytes.count - 30] ^= 1
        try bytes.write(to: file)
        XCTAssertEqual(try fleet.replicas[2].sync().waiting.map(\.code), ["damagedFile"])
        try fleet.writeSnapshot(1)
        XCTAssertEqual(try fleet.replicas[2].sync().waiting, [])
        XCTAssertEqual(try fleet.shell(2, "SELECT count(*) FROM tag WHERE name = 'lost'"), "1\n")
        try fleet.shell(0, "INSERT INTO tag VALUES ('after', 1, NULL)")
        try fleet.settle()
        try fleet.assertEqual(Self.rows)
    }

    // MARK: Returning

    func testADeviceThatWasAwayWhileItsPeersLogsWereCollectedReturns() throws {
        let fleet = try eventfulFleet()
        try fleet.shell(0, "INSERT INTO tag VALUES ('doomed', 1, x'aa'), ('doomed too', 1, x'bb')")
        try fleet.join()
        try fleet.settle()
        try fleet.shell(
            0,
            "DELETE FROM tag WHERE name LIKE 'doomed%'; DELETE FROM album WHERE title = 'Vier';"
                + "UPDATE artist SET name = 'Tom W.' WHERE name = 'Tom'; INSERT INTO tag VALUES ('new', 3, NULL); INSERT INTO album VALUES (50, 'Alice', 2, 1)"
        )
        _ = try fleet.replicas[0].sync()
        _ = try fleet.replicas[1].sync()
        try fleet.shell(1, "UPDATE tag SET weight = 4 WHERE name = 'new'")
        _ = try fleet.replicas[1].sync()
        _ = try fleet.replicas[0].sync()
        // All that the two know of what they deleted is forgotten.
        for index in 0..<2 {
            let store = fleet.replicas[index].store
            XCTAssertGreaterThan(try store.collectTombstones(stable: store.versionVector()), 2)
        }
        try fleet.writeSnapshot(1)
        try fleet.removeSegments(of: [0, 1])
        try fleet.shell(
            2,
            "UPDATE tag SET weight = 5 WHERE name = 'doomed'; INSERT INTO artist VALUES (70, 'Away'); UPDATE tag SET weight = 12 WHERE name = 'night';"
                + "DELETE FROM album_tag WHERE tag = 'night'; UPDATE album SET title = 'Rain' WHERE title = 'Rain Dogs'"
        )
        let report = try fleet.replicas[2].sync()
        XCTAssertEqual(report.waiting, [])
        try fleet.settle()
        try fleet.assertEqual(Self.rows)
        XCTAssertEqual(
            try fleet.shell(0, "SELECT weight FROM tag WHERE name IN ('new', 'night') ORDER BY 1"), "4.0\n12.0\n")
        // What it wrote to is back whole; what it did not is gone.
        XCTAssertEqual(
            try fleet.shell(1, "SELECT name, weight, hex(note) FROM tag WHERE name LIKE 'doomed%'"), "doomed|5.0|AA\n")
        XCTAssertEqual(try fleet.shell(2, "SELECT count(*) FROM album WHERE title IN ('Vier', 'Rain Dogs')"), "0\n")
        for replica in fleet.replicas {
            XCTAssertEqual(
                try replica.store.statePosition().digests, try fleet.replicas[0].store.statePosition().digests)
        }
    }

    func testADatabaseWithRowsJoinsFromASnapshotAsFromTheLog() throws {
        let fleet = try eventfulFleet()
        let own =
            Self.schema + """
                INSERT INTO artist VALUES (1, 'Nina'), (2, 'Only here'), (9, 'Zoe');
                INSERT INTO album VALUES (1, 'Mine', 9, NULL), (4, 'Also mine', 1, 1);
                INSERT INTO tag VALUES ('soul', 1.5, NULL), ('own', 8, NULL);
                """
        try fleet.shell(9, own)
        func rehearsals() throws -> [JoinReport] {
            try [
                JoinOptions(), JoinOptions(rows: .theirs), JoinOptions(rows: .mine), JoinOptions(match: .keys),
            ].map { options in
                try Replica.join(
                    databasePath: fleet.databasePath(9), containerPath: fleet.containerPath, name: "x",
                    options: options, isDryRun: true
                ).report
            }
        }
        let fromLog = try rehearsals()
        try fleet.writeSnapshot(0)
        try fleet.removeSegments()
        let fromSnapshot = try rehearsals()
        for (log, snapshot) in zip(fromLog, fromSnapshot) {
            XCTAssertEqual(log.compared, snapshot.compared)
            XCTAssertEqual(log.matchingKeys, snapshot.matchingKeys)
            XCTAssertEqual(log.removed, snapshot.removed)
            XCTAssertEqual(log.hidden, snapshot.hidden)
            XCTAssertEqual(log.tables, snapshot.tables)
            // What the container's rows were before is not known any more: their values now count as written without
            // knowledge of this database's.
            XCTAssertLessThanOrEqual(log.conflicts, snapshot.conflicts)
        }
        try fleet.join(own)
        try fleet.settle()
        try fleet.assertEqual(Self.rows)
    }
}

extension Fleet {
    func container() throws -> Container { try Container.open(at: containerPath) }

    /// Writes a snapshot of a device's.
    @discardableResult
    func writeSnapshot(_ index: Int) throws -> WrittenSnapshot {
        let replica = replicas[index]
        return try SnapshotWriter(container: container(), store: replica.store, identity: replica.identity).write()
    }

    /// The folder of a device's files of one kind.
    func folder(_ index: Int, _ kind: String) -> URL {
        URL(fileURLWithPath: containerPath).appendingPathComponent("devices")
            .appendingPathComponent(replicas[index].identity.device.hex).appendingPathComponent(kind)
    }

    /// Says in a device's head where its log begins, as collection does.
    func tellLogStart(of index: Int, _ start: UInt64) throws {
        let container = try container()
        var head = try XCTUnwrap(container.readHead(of: replicas[index].identity.device))
        head.logStart = start
        try container.writeHead(head)
    }

    /// Removes all segments of some devices, and says in their heads that their logs begin later, as collection does.
    func removeSegments(of indices: [Int]? = nil) throws {
        let container = try container()
        for index in indices ?? Array(replicas.indices) {
            if let head = try container.readHead(of: replicas[index].identity.device) {
                try tellLogStart(of: index, head.position.sequence + 1)
            }
            try FileManager.default.removeItem(at: folder(index, "segments"))
        }
    }
}
