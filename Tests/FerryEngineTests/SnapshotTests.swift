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
            try fleet.replicas[2].store.hiddenCount(), try fleet.replicas[3].store.hiddenCount())
        XCTAssertEqual(try fleet.replicas[3].store.hiddenCount(), 1)
        // And it goes on from there.
        try fleet.shell(0, "INSERT INTO tag VALUES ('later', 1, NULL); DELETE FROM album WHERE title = 'Four'")
        try fleet.shell(3, "UPDATE tag SET weight = 9 WHERE name = 'night'")
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

    /// Removes all segments of some devices, and says in their heads that their logs begin later, as collection does.
    func removeSegments(of indices: [Int]? = nil) throws {
        let container = try container()
        for index in indices ?? Array(replicas.indices) {
            let device = replicas[index].identity.device
            if var head = try container.readHead(of: device) {
                head.logStart = head.position.sequence + 1
                try container.writeHead(head)
            }
            try FileManager.default.removeItem(at: folder(index, "segments"))
        }
    }
}
