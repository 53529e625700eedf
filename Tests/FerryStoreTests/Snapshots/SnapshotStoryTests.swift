import FerryCore
import FerryMerge
import XCTest

@testable import FerryStore

/// What becomes of a device that starts from a snapshot, or returns to one.
final class SnapshotStoryTests: XCTestCase {
    private static let schema = TestSchema(
        name: "songs",
        sql: """
            CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
            CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT, plays INTEGER DEFAULT 0,
                artist INTEGER REFERENCES artist(id) ON DELETE CASCADE);
            CREATE TABLE cover(id INTEGER PRIMARY KEY, song INTEGER REFERENCES song(id) ON DELETE RESTRICT);
            CREATE TABLE label(name TEXT PRIMARY KEY, note TEXT);
            """)
    private static let songs =
        "SELECT s.title, s.plays, a.name FROM song s LEFT JOIN artist a ON a.id = s.artist ORDER BY 1"

    private func device(_ number: Int) throws -> TestDevice { try TestDevice(number, Self.schema) }

    private func sameSong(
        _ devices: TestDevice..., expecting rows: [String], line: UInt = #line
    ) throws {
        for device in devices { XCTAssertEqual(try device.query(Self.songs), rows, "\(device.id)", line: line) }
        for device in devices {
            XCTAssertEqual(try device.query("PRAGMA foreign_key_check"), [], line: line)
            let report = try device.store.verify(deep: true)
            XCTAssertEqual(report.differences.map(\.problem), [], line: line)
        }
    }

    /// Three devices with the same four songs; the third is away from then on.
    private func threeDevices() throws -> (TestDevice, TestDevice, TestDevice) {
        let (a, b, c) = (try device(1), try device(2), try device(3))
        try a.run(
            """
            INSERT INTO artist VALUES (1, 'Nina'), (2, 'Tom');
            INSERT INTO song VALUES (1, 'one', 1, 1), (2, 'two', 2, 1), (3, 'three', 3, 2), (4, 'four', 4, 2);
            INSERT INTO label VALUES ('x', 'old');
            """)
        for device in [a, b, c] { try device.flush() }
        for device in [a, b, c] { try device.receive(a, b, c) }
        return (a, b, c)
    }

    func testAReturningDeviceKeepsItsUnsentChangesAndLosesWhatWasDeletedAndCollected() throws {
        let (a, b, c) = try threeDevices()
        // What the others do, see and forget.
        try a.run("DELETE FROM song WHERE id IN (1, 2); UPDATE song SET plays = 30 WHERE id = 3")
        try a.flush()
        try b.receive(a)
        XCTAssertEqual(try a.collectTombstones([b]), 2)
        XCTAssertEqual(try b.collectTombstones([a]), 2)
        // What the one that is away does.
        c.clock.now += 5_000
        try c.run(
            """
            UPDATE song SET plays = 20 WHERE id = 2; UPDATE song SET title = 'THREE' WHERE id = 3;
            DELETE FROM song WHERE id = 4; INSERT INTO song VALUES (5, 'five', 5, 1);
            """)
        try c.read(a.takeSnapshot())
        // 1 is gone, 2 is back because it was written to, 3 has both changes, 4 is deleted, 5 is new.
        let rows = ["THREE|30|Tom", "five|5|Nina", "two|20|Nina"]
        try sameSong(c, expecting: rows)
        try a.receive(c)
        try b.receive(c)
        try sameSong(a, b, c, expecting: rows)
        for device in [a, b] {
            XCTAssertEqual(try device.store.statePosition().digests, try c.store.statePosition().digests)
        }
    }

    func testUnderDeleteWinsAnEditOfACollectedRowIsKeptAsAConflict() throws {
        let (a, b, c) = try threeDevices()
        try a.store.setPolicies([PolicySetting(.table("song"), PolicyWord.deleteWins)])
        try a.flush()
        try b.receive(a)
        try c.receive(a)
        try a.run("DELETE FROM song WHERE id = 2")
        try a.flush()
        try b.receive(a)
        XCTAssertGreaterThan(try a.collectTombstones([b]), 0)
        XCTAssertGreaterThan(try b.collectTombstones([a]), 0)
        c.clock.now += 5_000
        try c.run("UPDATE song SET plays = 20 WHERE id = 2")
        try c.read(a.takeSnapshot())
        let rows = ["four|4|Tom", "one|1|Nina", "three|3|Tom"]
        try sameSong(c, expecting: rows)
        let conflict = try XCTUnwrap(c.store.conflicts().first)
        XCTAssertEqual(conflict.kind, .deleted)
        try a.receive(c)
        try sameSong(a, c, expecting: rows)
        // And it can be brought back.
        _ = try c.restoreConflict(conflict.number)
        XCTAssertEqual(try c.query(Self.songs), ["four|4|Tom", "one|1|Nina", "three|3|Tom", "two|20|Nina"])
        try c.flush()
        try a.receive(c)
        try b.receive(c)
        try sameSong(a, b, c, expecting: ["four|4|Tom", "one|1|Nina", "three|3|Tom", "two|20|Nina"])
    }

    func testWhatANewRowHoldsBackIsPublishedAgain() throws {
        let (a, b, c) = try threeDevices()
        try a.run("DELETE FROM song WHERE id = 2")
        try a.flush()
        try b.receive(a)
        XCTAssertGreaterThan(try a.collectTombstones([b]), 0)
        XCTAssertGreaterThan(try b.collectTombstones([a]), 0)
        try c.run("INSERT INTO cover VALUES (1, 2)")
        try c.read(a.takeSnapshot())
        let rows = ["four|4|Tom", "one|1|Nina", "three|3|Tom", "two|2|Nina"]
        try sameSong(c, expecting: rows)
        try a.receive(c)
        try b.receive(c)
        try sameSong(a, b, c, expecting: rows)
        XCTAssertEqual(try a.query("SELECT count(*) FROM cover"), ["1"])
    }

    func testRowsOfADeletedParentGoWithItAndAReinsertedKeyStays() throws {
        let (a, b, c) = try threeDevices()
        try a.run("DELETE FROM artist WHERE id = 2; DELETE FROM label")
        try a.flush()
        try b.receive(a)
        XCTAssertGreaterThan(try a.collectTombstones([b]), 0)
        XCTAssertGreaterThan(try b.collectTombstones([a]), 0)
        try a.run("INSERT INTO label VALUES ('x', 'new')")
        try c.run("INSERT INTO song VALUES (9, 'waits', 0, 2)")
        try c.read(a.takeSnapshot())
        try sameSong(c, expecting: ["one|1|Nina", "two|2|Nina"])
        XCTAssertEqual(try c.query("SELECT * FROM label"), ["x|new"])
        XCTAssertEqual(try c.store.reading().hidden, 1)
        try a.receive(c)
        try b.receive(a, c)
        try sameSong(a, b, c, expecting: ["one|1|Nina", "two|2|Nina"])
        XCTAssertEqual(try a.store.reading().hidden, 1)
        // The parent's key alone does not bring it back; a new parent under the child's reference would.
        XCTAssertEqual(try b.query("SELECT * FROM label"), ["x|new"])
    }

    func testAnOlderSnapshotBringsNothingBackThatWasCollectedHere() throws {
        let (a, b, c) = try threeDevices()
        let old = try b.takeSnapshot()
        try a.run("DELETE FROM song WHERE id = 2; UPDATE song SET plays = 11 WHERE id = 1")
        try a.flush()
        try b.receive(a)
        try c.receive(a)
        XCTAssertGreaterThan(try a.collectTombstones([b]), 0)
        try a.read(old)
        try sameSong(a, b, c, expecting: ["four|4|Tom", "one|11|Nina", "three|3|Tom"])
        XCTAssertEqual(try a.query("SELECT * FROM ferry_absent"), [])
    }

    /// What copies of a database said is said again at its own time, which is before what its log said last.
    func testWhatWasSaidAgainComesWithASnapshotToo() throws {
        let (a, b, c) = try threeDevices()
        let copy = try device(4)
        try copy.receive(a)
        try copy.run("INSERT INTO label VALUES ('y', 'of the copy'); UPDATE label SET note = 'new' WHERE name = 'x'")
        try copy.flush()
        a.clock.now += 5_000
        try a.run("UPDATE song SET plays = 30 WHERE id = 3")
        try a.flush()
        try c.receive(a)
        let news = copy.log
        XCTAssertGreaterThan(
            try a.store.mergeBranches(news, of: copy.id, after: LogPosition.none, encode: a.encode), 0)
        try b.receive(a)
        let snapshot = try b.takeSnapshot()
        let last = try a.store.statePosition().vector[a.id].sequence
        XCTAssertEqual(snapshot.manifest.lateChanges, [a.id: last])
        // One that has read all before that, and one that begins.
        let beginner = try device(5)
        for reader in [c, beginner] {
            try reader.read(snapshot)
            XCTAssertEqual(
                try reader.query("SELECT * FROM label ORDER BY 1"), ["x|new", "y|of the copy"], "\(reader.id)")
            XCTAssertEqual(
                try reader.store.statePosition().digests, try b.store.statePosition().digests, "\(reader.id)")
            XCTAssertEqual(try reader.store.reading().lateChanges, [a.id: last], "\(reader.id)")
        }
    }

    /// Branches leave the position in their log where it is, so that a snapshot may not reach to what they hold.
    func testASnapshotOfWhoTookInBranchesIsReadAndTellsOfNoMoreThanItCovers() throws {
        let (a, b, _) = try threeDevices()
        let (original, copy) = (try device(4), try device(4))
        for device in [original, copy] { try device.receive(a) }
        original.clock.now += 5_000
        try original.run("INSERT INTO label VALUES ('y', 'of the original')")
        try original.flush()
        try a.receive(original)
        for number in 1...3 {
            try copy.run("INSERT INTO label VALUES ('copy \(number)', 'of the copy')")
            try copy.flush()
        }
        _ = try a.store.mergeBranches(copy.log, of: copy.id, after: LogPosition.none, encode: a.encode)
        let position = try a.store.statePosition().vector[copy.id].sequence
        XCTAssertGreaterThan(try XCTUnwrap(a.store.reading().lateChanges[copy.id]), position)
        let snapshot = try a.takeSnapshot()
        XCTAssertEqual(snapshot.manifest.positions[copy.id]?.lastLate, position)
        let rows = ["copy 1", "copy 2", "copy 3", "x", "y"]
        let beginner = try device(5)
        for reader in [b, beginner] {
            try reader.read(snapshot)
            XCTAssertEqual(try reader.query("SELECT name FROM label ORDER BY 1"), rows, "\(reader.id)")
            XCTAssertEqual(
                try reader.store.statePosition().digests, try a.store.statePosition().digests, "\(reader.id)")
        }
    }

    /// One device has deleted a row and forgotten it before it hears of another one, which wrote to the row. Whether that was
    /// later than the deletion only the other one can tell, once it has replayed that (seed 70113 of the simulator).
    func testAWriteToARowThatWasForgottenHereShowsNothingUntilItsAuthorHasHeardOfTheDeletion() throws {
        for (isLater, rows) in [(false, []), (true, ["two|20|Nina"])] {
            let (a, b, _) = try threeDevices()
            try a.run("DELETE FROM song WHERE id <> 2")
            for device in [a, b] { try device.flush() }
            for device in [a, b] { try device.receive(a, b) }
            (isLater ? b : a).clock.now += 5_000
            try a.run("DELETE FROM song WHERE id = 2")
            try a.flush()
            XCTAssertGreaterThan(try a.collectTombstones([]), 0)
            try b.run("UPDATE song SET plays = 20 WHERE id = 2")
            try b.flush()
            try a.read(b.takeSnapshot())
            XCTAssertEqual(try a.query(Self.songs), [])
            try b.receive(a)
            _ = try b.store.republishRows(isLast: true, counting: [a.id], encode: b.encode)
            try a.receive(b)
            try sameSong(a, b, expecting: rows)
            // A device also tells how many rows it knows without their insertion. No device compares that.
            let left = TableDigests(name: "song", state: (0, 0)).leftToken
            let told = try [a, b].map { try $0.store.statePosition().digests.filter { $0.key != left } }
            XCTAssertEqual(told[0], told[1], "\(isLater)")
        }
    }

    func testTablesColumnsAndPoliciesThatADeviceDoesNotKnowArePassedOn() throws {
        let (a, _, _) = try threeDevices()
        try a.store.setPolicies([
            PolicySetting(.column(table: "song", column: "plays"), "counter")
        ])
        try a.flush()
        try a.run(
            """
            ALTER TABLE song ADD COLUMN mood TEXT; CREATE TABLE extra(id INTEGER PRIMARY KEY, t TEXT);
            UPDATE song SET plays = plays + 5, mood = 'blue' WHERE id = 1; INSERT INTO extra VALUES (1, 'kept');
            """)
        try a.flush()
        let d = try device(4)
        try d.read(a.takeSnapshot())
        XCTAssertEqual(try d.query("SELECT plays FROM song WHERE title = 'one'"), ["6"])
        // From there to a device that has them.
        let again = try d.takeSnapshot()
        let e = try TestDevice(
            5,
            TestSchema(
                name: "newer",
                sql: Self.schema.sql
                    + "ALTER TABLE song ADD COLUMN mood TEXT; CREATE TABLE extra(id INTEGER PRIMARY KEY, t TEXT);"))
        try e.read(again)
        XCTAssertEqual(try e.query("SELECT title, plays, mood FROM song WHERE mood IS NOT NULL"), ["one|6|blue"])
        XCTAssertEqual(try e.query("SELECT * FROM extra"), ["1|kept"])
        // Additions before and after the snapshot add up.
        try d.run("UPDATE song SET plays = plays + 10 WHERE title = 'one'")
        try d.flush()
        try e.run("UPDATE song SET plays = plays + 100 WHERE title = 'one'")
        try e.flush()
        try a.receive(d, e)
        try d.receive(e)
        try e.receive(d)
        for device in [a, d, e] {
            XCTAssertEqual(try device.query("SELECT plays FROM song WHERE title = 'one'"), ["116"])
        }
    }

    func testAnInterruptedLoadTellsNoDigestsGoesOnAndMeetsWhatWasWrittenMeanwhile() throws {
        let (a, _, _) = try threeDevices()
        let snapshot = try a.takeSnapshot(pieces: 3)
        let d = try device(4)
        XCTAssertFalse(try d.read(snapshot, chunksAtATime: 1, limit: 3))
        XCTAssertEqual(try d.store.statePosition().digests, [:])
        XCTAssertNil(try d.store.statePosition().vector.positions[a.id])
        XCTAssertNotNil(try d.store.snapshotUnderWay())
        XCTAssertThrowsError(try d.takeSnapshot()) { XCTAssertEqual(($0 as? FerryError)?.code, .busy) }
        // `label` is the container's own key; what is written to it now meets what is still to come.
        try d.run("INSERT OR REPLACE INTO label VALUES ('x', 'mine'), ('y', 'mine too')")
        XCTAssertTrue(try d.read(snapshot, chunksAtATime: 1))
        XCTAssertNil(try d.store.snapshotUnderWay())
        XCTAssertEqual(try d.store.statePosition().vector[a.id], try a.store.statePosition().vector[a.id])
        try sameSong(a, d, expecting: ["four|4|Tom", "one|1|Nina", "three|3|Tom", "two|2|Nina"])
        try d.flush()
        try a.receive(d)
        XCTAssertEqual(try a.query("SELECT * FROM label ORDER BY 1"), ["x|mine", "y|mine too"])
        XCTAssertEqual(try d.query("SELECT * FROM label ORDER BY 1"), ["x|mine", "y|mine too"])
    }

    func testAnAbandonedLoadLeavesWhatIsTrueAndTheLogBringsTheRest() throws {
        let (a, _, _) = try threeDevices()
        let d = try device(4)
        XCTAssertFalse(try d.read(a.takeSnapshot(pieces: 3), chunksAtATime: 1, limit: 4))
        try d.store.abandonSnapshot()
        XCTAssertNil(try d.store.snapshotUnderWay())
        try d.receive(a)
        try sameSong(a, d, expecting: ["four|4|Tom", "one|1|Nina", "three|3|Tom", "two|2|Nina"])
        XCTAssertEqual(try d.store.statePosition().digests, try a.store.statePosition().digests)
    }

    func testASnapshotWaitsForChangesThatAreNotPackedOrNotPublished() throws {
        let a = try device(1)
        try a.run("INSERT INTO label VALUES ('x', 'old')")
        func refused(line: UInt = #line) {
            XCTAssertThrowsError(
                try a.store.readSnapshot { _ in .init(checksum: Checksum(high: 0, low: 0), bytes: 0, objects: 0) },
                line: line
            ) { XCTAssertEqual(($0 as? FerryError)?.code, .busy, line: line) }
        }
        refused()
        try a.flush()
        refused()
        XCTAssertNoThrow(try a.takeSnapshot())
    }

    func testAForgedChunkIsRefusedAndNothingOfItIsMerged() throws {
        let (a, _, _) = try threeDevices()
        let snapshot = try a.takeSnapshot()
        let labels = try XCTUnwrap(snapshot.chunks.values.first { $0.table == "label" })
        func refused(_ code: FerryError.Code, line: UInt = #line, _ change: (inout SnapshotChunk) -> Void) throws {
            let d = try device(4)
            try d.store.beginSnapshot(snapshot.manifest, checksum: Checksum(high: 1, low: 1), of: a.id)
            var forged = labels
            change(&forged)
            XCTAssertThrowsError(
                try d.store.mergeSnapshot([labels, forged], of: snapshot.manifest, encode: d.encode), line: line
            ) { XCTAssertEqual(($0 as? FerryError)?.code, code, line: line) }
            XCTAssertEqual(try d.query("SELECT * FROM label"), [], line: line)
            XCTAssertEqual(try d.query("SELECT * FROM ferry_absent"), [], line: line)
        }
        func register(_ bytes: [UInt8]) -> (inout SnapshotChunk) -> Void {
            { chunk in
                chunk.columns.append(.init(name: "note", isRegister: true))
                chunk.shapes = [[chunk.columns.count - 1]]
                chunk.objects = [
                    .init(
                        id: ObjectID(high: 1, low: 1), inserted: labels.objects[0].inserted, deleted: nil, key: nil,
                        shape: 0, firstCell: 0)
                ]
                chunk.cells = [.init(stamp: labels.cells[0].stamp, content: .blob(bytes[...]))]
            }
        }
        try refused(.damagedFile, register([]))
        try refused(.damagedFile, register([1, 2, 3]))
        // A part of a kind that is not known.
        try refused(.formatTooNew, register([0, 0, 1, 200, 0]))
        try refused(.damagedFile) { $0.table = "ferry_meta" }
        try refused(.damagedFile) { $0.identity = .key(["name", "NAME"]) }
    }
}
