import FerryContainer
import FerryCore
import FerryStore
import XCTest

@testable import FerryEngine

/// How devices stand to each other, by their heads.
final class StandingTests: XCTestCase {
    private static let schema = """
        CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
        CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT, artist INTEGER REFERENCES artist(id));
        INSERT INTO artist VALUES (1, 'Ada'), (2, 'Bo');
        """

    private func fleet() throws -> Fleet {
        let fleet = try Fleet()
        try fleet.start(Self.schema)
        try fleet.join()
        try fleet.settle()
        return fleet
    }

    private func peer(_ fleet: Fleet, _ index: Int) throws -> StatusReport.Peer {
        try XCTUnwrap(fleet.replicas[index].status().devices.first)
    }

    func testDevicesThatKnowTheSameAreInStepAndItIsProven() throws {
        let fleet = try fleet()
        for index in 0...1 {
            XCTAssertEqual(try peer(fleet, index).standing, .inStep)
            XCTAssertNil(try peer(fleet, index).differing)
        }
    }

    func testWhoHasWrittenIsAheadAndWhoHasNotReadIsBehind() throws {
        let fleet = try fleet()
        try fleet.shell(0, "INSERT INTO song VALUES (1, 'One', 1)")
        XCTAssertEqual(try peer(fleet, 0).standing, .ahead)
        XCTAssertEqual(try peer(fleet, 0).changesetsAhead, 1)
        XCTAssertEqual(try peer(fleet, 1).standing, .inStep, "nothing is published yet")
        _ = try fleet.replicas[0].sync()
        XCTAssertEqual(try peer(fleet, 0).standing, .ahead)
        XCTAssertEqual(try peer(fleet, 1).standing, .behind)
        XCTAssertEqual(try peer(fleet, 1).changesetsBehind, 1)
        try fleet.shell(1, "INSERT INTO song VALUES (1, 'Two', 2)")
        XCTAssertEqual(try peer(fleet, 1).standing, .apart)
        try fleet.settle()
        for index in 0...1 { XCTAssertEqual(try peer(fleet, index).standing, .inStep) }
    }

    func testDevicesAreInStepAfterAllKindsOfMerges() throws {
        let fleet = try fleet()
        try fleet.shell(0, "INSERT INTO artist VALUES (3, 'Cy'); INSERT INTO song VALUES (1, 'One', 3), (2, 'Two', 1)")
        try fleet.shell(1, "INSERT INTO artist VALUES (3, 'Cy'); INSERT INTO song VALUES (1, 'Uno', 3)")
        try fleet.settle()
        try fleet.shell(
            0, "UPDATE song SET title = 'x'; DELETE FROM song WHERE title = 'y'; DELETE FROM song WHERE id = 2")
        try fleet.shell(1, "UPDATE song SET artist = 2; UPDATE artist SET name = 'Di' WHERE name = 'Cy'")
        try fleet.settle()
        for index in 0...1 {
            XCTAssertEqual(try peer(fleet, index).standing, .inStep)
            let report = try fleet.replicas[index].verify(deep: true)
            XCTAssertEqual(report.differences, [])
        }
    }

    func testDatabasesThatBothHadRowsAreInStepAfterJoining() throws {
        let fleet = try Fleet()
        try fleet.start(
            """
            CREATE TABLE genre(code TEXT PRIMARY KEY, name TEXT);
            CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
            CREATE TABLE song(id INTEGER PRIMARY KEY, artist INTEGER REFERENCES artist(id), genre TEXT REFERENCES genre);
            INSERT INTO genre VALUES ('r', 'Rock'), ('j', 'Jazz');
            INSERT INTO artist VALUES (1, 'Ada'), (2, 'Bo'); INSERT INTO song VALUES (1, 1, 'r');
            """)
        try fleet.shell(0, "DELETE FROM genre WHERE code = 'j'")
        try fleet.join(
            """
            CREATE TABLE genre(code TEXT PRIMARY KEY, name TEXT);
            CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
            CREATE TABLE song(id INTEGER PRIMARY KEY, artist INTEGER REFERENCES artist(id), genre TEXT REFERENCES genre);
            INSERT INTO genre VALUES ('r', 'Rock music'), ('j', 'Jazz'), ('f', 'Folk');
            INSERT INTO artist VALUES (1, 'Bo'), (2, 'Cy'); INSERT INTO song VALUES (1, 1, 'j'), (2, 2, 'f');
            """)
        try fleet.settle()
        for index in 0...1 {
            XCTAssertEqual(try peer(fleet, index).standing, .inStep)
            XCTAssertEqual(try fleet.replicas[index].verify(deep: true).differences, [])
        }
    }

    func testDevicesWhoseTriggersWriteRowsThatTravelAreInStep() throws {
        let fleet = try Fleet()
        try fleet.start(
            """
            CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT, songs INTEGER DEFAULT 0, note TEXT);
            CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT, artist INTEGER REFERENCES artist(id));
            CREATE TRIGGER count_songs AFTER INSERT ON song BEGIN
            UPDATE artist SET songs = songs + 1, note = NEW.title WHERE id = NEW.artist; END;
            CREATE TRIGGER note_titles AFTER UPDATE ON song BEGIN
            UPDATE artist SET note = NEW.title WHERE id = NEW.artist; END;
            INSERT INTO artist(id, name) VALUES (1, 'Ada'), (2, 'Bo');
            """)
        try fleet.join()
        try fleet.settle()
        try fleet.shell(0, "INSERT INTO song VALUES (1, 'One', 1), (2, 'Two', 2); UPDATE artist SET name = 'Eve'")
        try fleet.shell(1, "INSERT INTO song VALUES (1, 'Uno', 1); UPDATE artist SET note = 'x' WHERE id = 2")
        try fleet.settle()
        try fleet.shell(1, "UPDATE song SET title = title || '!'; DELETE FROM song WHERE id = 2")
        try fleet.shell(0, "UPDATE artist SET name = 'Fay', note = 'y' WHERE id = 1")
        try fleet.settle()
        for index in 0...1 {
            XCTAssertEqual(try peer(fleet, index).standing, .inStep)
            XCTAssertEqual(try fleet.replicas[index].verify(deep: true).differences, [])
        }
    }

    func testAChangeBehindFerrysBackIsToldByVerify() throws {
        let fleet = try fleet()
        try fleet.shell(1, "CREATE TABLE saved AS SELECT sql FROM sqlite_schema WHERE type = 'trigger'")
        for trigger in try fleet.shell(
            1, "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'artist'"
        )
        .split(separator: "\n") { try fleet.shell(1, "DROP TRIGGER \(trigger)") }
        try fleet.shell(1, "UPDATE artist SET name = 'Eve' WHERE id = 2")
        let report = try fleet.replicas[1].store.verify(deep: true)
        XCTAssertEqual(report.differences.map(\.kind), [.check])
        XCTAssertEqual(report.differences.map(\.key), ["2"])
    }

    func testDevicesThatKnowTheSameAndDifferAreNamedWithTheTables() throws {
        let fleet = try fleet()
        try fleet.replicas[1].store.write {
            try $0.execute("UPDATE ferry_digest SET sum = sum + 1 WHERE \"table\" = 1")
        }
        _ = try fleet.replicas[1].sync()
        let peer = try peer(fleet, 0)
        XCTAssertEqual(peer.standing, .differs)
        XCTAssertEqual(peer.differing, ["artist"])
        let report = try fleet.replicas[1].verify(deep: true)
        XCTAssertEqual(report.differences.map(\.kind), [.digest])
        XCTAssertEqual(report.differences.map(\.table), ["artist"])
    }

    func testTablesWithOtherColumnsAreNotComparedAndAreAgainOnceTheyAreTheSame() throws {
        let fleet = try fleet()
        try fleet.shell(0, "ALTER TABLE artist ADD COLUMN born INTEGER; UPDATE artist SET born = 1")
        try fleet.settle()
        for index in 0...1 {
            XCTAssertEqual(try peer(fleet, index).standing, .unproven)
            XCTAssertEqual(try peer(fleet, index).differingSchemas, ["artist"])
            XCTAssertNil(try peer(fleet, index).differing)
        }
        try fleet.shell(1, "ALTER TABLE artist ADD COLUMN born INTEGER")
        try fleet.settle()
        XCTAssertEqual(try digests(fleet, 0), try digests(fleet, 1))
        let rebuilding = """
            CREATE TABLE made(id INTEGER PRIMARY KEY, name TEXT UNIQUE); INSERT INTO made SELECT id, name FROM artist;
            DROP TABLE artist; ALTER TABLE made RENAME TO artist;
            """
        try fleet.shell(0, rebuilding, foreignKeys: false)
        try fleet.shell(1, rebuilding, foreignKeys: false)
        try fleet.settle()
        try fleet.shell(0, "UPDATE artist SET name = 'x' WHERE id = 1")
        try fleet.settle()
        XCTAssertEqual(try digests(fleet, 0), try digests(fleet, 1))
        for index in 0...1 { XCTAssertTrue(try fleet.replicas[index].verify(deep: true).isSound) }
    }

    private func digests(_ fleet: Fleet, _ index: Int) throws -> [UInt32: UInt64] {
        try fleet.replicas[index].store.statePosition().digests
    }

    func testAHeadWithoutDigestsProvesNothing() throws {
        let device = DeviceID(high: 1, low: 2)
        var vector = VersionVector()
        vector.advance(device, to: LogPosition(sequence: 3, time: .zero))
        var head = Head(
            container: ContainerID(high: 1, low: 1), device: device, deviceName: "",
            position: LogPosition(sequence: 3, time: .zero), writtenMilliseconds: 0, softwareVersion: "")
        let song = TableDigests(name: "song", state: (1, 2), shape: 7)
        let label = TableDigests(name: "label", state: (5, 6), shape: 8)
        XCTAssertEqual(PeerStanding(vector, [song], hasNotes: false, head).kind, .unproven)
        head.digests = [1: 2]
        XCTAssertEqual(
            PeerStanding(vector, [song], hasNotes: false, head).kind, .unproven, "an earlier Ferry tells no rows")
        head.digests = TableDigests.published([song])
        XCTAssertEqual(PeerStanding(vector, [song, label], hasNotes: false, head).kind, .inStep)
        head.digests = [1: 3, 5: 6]
        XCTAssertEqual(PeerStanding(vector, [song, label], hasNotes: false, head).tables.differing, ["song"])
        XCTAssertEqual(PeerStanding(vector, [song, label], hasNotes: false, head).kind, .differs)
        XCTAssertEqual(PeerStanding(vector, [song], hasNotes: true, head).kind, .ahead)
    }
}
