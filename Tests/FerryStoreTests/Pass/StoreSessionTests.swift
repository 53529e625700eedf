import FerryCore
import XCTest

@testable import FerryStore

/// Whatever writes to a tracked store settles what its transaction owes: digests, clock, key-value log and local tables.
final class StoreSessionTests: XCTestCase {
    private static let schema = TestSchema(
        name: "obligations",
        sql: """
            CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
            CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT, artist INTEGER REFERENCES artist(id) ON DELETE CASCADE);
            CREATE TABLE label(name TEXT PRIMARY KEY, note TEXT);
            CREATE TABLE play(song INTEGER REFERENCES song(id) ON DELETE CASCADE,
                label TEXT REFERENCES label(name) ON DELETE SET NULL);
            """)
    private static let rows = """
        INSERT INTO artist VALUES (1, 'Nina'), (2, 'Tom');
        INSERT INTO song VALUES (1, 'one', 1), (2, 'two', 1), (3, 'three', 2);
        INSERT INTO label VALUES ('x', 'old'), ('y', 'old');
        INSERT INTO ferry_kv_value VALUES ('key', 'a'), ('other', 'a');
        """

    private func devices() throws -> (TestDevice, TestDevice) {
        let (a, b) = try (TestDevice(1, Self.schema), TestDevice(2, Self.schema))
        try a.run(Self.rows)
        try a.flush()
        try b.receive(a)
        try a.receive(b)
        for device in [a, b] { try device.run("INSERT INTO play VALUES (1, 'x'), (2, 'y'), (3, 'x')") }
        return (a, b)
    }

    func testASchemaIsReadOnceForReadersAndWriters() throws {
        let (device, _) = try devices()
        // As a process that has just opened the database.
        let store = Store(owning: device.queue, clock: device.clock)
        let read = try store.readAccess { $0.registry }
        let written = try store.transaction { $0.access.registry }
        XCTAssertFalse(read.tables.isEmpty)
        for (number, table) in read.tables { XCTAssertTrue(written.tables[number] === table, table.name) }
    }

    // MARK: What is asserted

    private func values(_ device: TestDevice) throws -> [FieldValue: FieldValue] {
        Dictionary(
            uniqueKeysWithValues: try device.rows("SELECT key, value FROM ferry_kv_value").map { ($0[0], $0[1]) })
    }

    /// Runs what writes to a device, and asserts that nothing is left unsaved.
    private func assertSaved<Result>(
        _ device: TestDevice, line: UInt = #line, _ body: () throws -> Result
    ) throws -> Result {
        let revision = try device.store.read { try $0.keyValueRevision() }
        let before = try values(device)
        let result = try body()
        XCTAssertEqual(device.store.kept?.access?.obligations.unsettled ?? [], [], line: line)
        try device.store.readAccess { access in
            for table in access.registry.tables.values {
                let number = FieldValue.integer(Int64(table.id))
                let stored = try access.connection.rows(
                    "SELECT sum, count, shown, exceptions FROM ferry_digest WHERE \"table\" = ?", number)[0]
                let objects = try sum(access, "SELECT \"check\" FROM \(table.objectTable) WHERE \"check\" <> 0")
                let shown = try sum(access, "SELECT \"check\" FROM ferry_exception WHERE \"table\" = \(table.id)")
                XCTAssertEqual(stored, objects + shown, table.name, line: line)
            }
            let newest = try access.versionVector()[access.device].time
            XCTAssertGreaterThanOrEqual(try access.hybridClock().now, newest.isKnown ? newest : .zero, line: line)
        }
        XCTAssertEqual(try device.query("PRAGMA foreign_key_check"), [], line: line)
        let changes = try device.store.read { try $0.keyValueChanges(after: revision).map(\.name.name) }
        let after = try values(device)
        for key in Set(before.keys).union(after.keys) where before[key] != after[key] {
            XCTAssertTrue(changes.contains(key.text), "\(key.text) changed, and nobody is told", line: line)
        }
        return result
    }

    private func sum(_ access: StoreAccess, _ sql: String) throws -> [FieldValue] {
        var (sum, count) = (Int64(0), Int64(0))
        try access.connection.forEachRow(sql) {
            sum &+= $0.integer(0)
            count += $0.integer(0) == 0 ? 0 : 1
        }
        return [.integer(sum), .integer(count)]
    }

    private func objects(_ device: TestDevice, _ table: String, _ keys: FieldValue...) throws -> Set<ObjectID> {
        Set(try device.store.objectIDs(of: keys.map { [$0] }, in: table).compactMap { $0 })
    }

    // MARK: Entry points

    func testAPassThatPacksAndReplays() throws {
        let (a, b) = try devices()
        try a.run(
            """
            UPDATE song SET title = 'ONE' WHERE id = 1; DELETE FROM song WHERE id = 2; DELETE FROM label WHERE name = 'y';
            """)
        // What an app writes to the key-value store it notes by itself.
        _ = try a.store.write { connection in
            try connection.execute("UPDATE ferry_kv_value SET value = 'b' WHERE key = 'key'")
        }
        b.clock.now += 10
        try b.run("UPDATE song SET title = 'uno' WHERE id = 1; INSERT INTO artist VALUES (3, 'Ann')")
        _ = try assertSaved(a) { try a.flush() }
        _ = try assertSaved(b) { try b.receive(a) }
        _ = try assertSaved(a) { try a.receive(b) }
        XCTAssertEqual(try b.query("SELECT song, label FROM play ORDER BY 1"), ["1|x", "3|x"])
    }

    func testWritesThatNoTriggerSaw() throws {
        let (a, _) = try devices()
        try a.store.writeAsFerry { connection in
            (try connection.execute("UPDATE song SET title = 'unseen' WHERE id = 3"), ["song"])
        }
        let found = try assertSaved(a) { try a.store.takeUnseenWrites(encode: a.encode) }
        XCTAssertEqual(found.map(\.table), ["song"])
    }

    func testAConflictAndARowThatAreRestored() throws {
        let (a, b) = try devices()
        let song = try objects(a, "song", .integer(3))
        try a.run("UPDATE song SET title = 'early' WHERE id = 3")
        try a.flush()
        b.clock.now += 1000
        try b.run("UPDATE song SET title = 'late' WHERE id = 3")
        try b.flush()
        _ = try assertSaved(a) { try a.receive(b) }
        let conflict = try XCTUnwrap(try a.store.conflicts().first)
        _ = try assertSaved(a) { try a.restoreConflict(conflict.number) }
        let object = try XCTUnwrap(song.first)
        let target = RowTarget.values(["title": .text("tried")])
        _ = try assertSaved(a) {
            try a.store.restoreRow(object, table: "song", to: target, isDryRun: true, encode: a.encode)
        }
        XCTAssertEqual(try a.query("SELECT title FROM song WHERE id = 3"), ["early"])
        _ = try assertSaved(a) { try a.restoreRow(object, table: "song", to: .absent) }
        XCTAssertEqual(try a.query("SELECT song FROM play ORDER BY 1"), ["1", "2"])
    }

    func testOldRowsThatAreAdoptedWrittenAgainAndRemoved() throws {
        let (a, b) = try devices()
        _ = try assertSaved(a) { try a.store.adopt([:]) }
        _ = try assertSaved(a) { try a.store.setOldTime(.unknown) }
        let revived: ObjectSets = [
            "song": try objects(a, "song", .integer(1), .integer(2)),
            "ferry_kv_value": try objects(a, "ferry_kv_value", .text("key")),
        ]
        let kept: ObjectSets = ["label": try objects(a, "label", .text("x"))]
        b.clock.now += 1000
        try b.run("DELETE FROM song WHERE id < 3; DELETE FROM ferry_kv_value WHERE key = 'key'")
        try b.flush()
        _ = try assertSaved(a) { try a.receive(b) }
        XCTAssertEqual(try a.query("SELECT count(*) FROM song"), ["1"])
        let count = try assertSaved(a) {
            try a.store.rewritePreexistingRows(a.log[0].tables, revived: revived, renewed: kept, encode: a.encode)
        }
        XCTAssertEqual(count, 4)
        XCTAssertEqual(try a.query("SELECT count(*) FROM song"), ["3"])
        XCTAssertEqual(try a.query("SELECT value FROM ferry_kv_value WHERE key = 'key'"), ["a"])
        let gone = revived
        XCTAssertEqual(try assertSaved(a) { try a.store.removePreexistingRows(gone, encode: a.encode) }, 3)
        XCTAssertEqual(try a.query("SELECT count(*) FROM song"), ["1"])
        try assertSaved(a) { try a.store.rewriteOutbox { entry, _, _, _ in entry } }
    }

    func testADeviceThatBecomesAnotherAndTakesInBranches() throws {
        let (a, b) = try devices()
        try a.run(
            "UPDATE song SET title = 'unsent' WHERE id = 1; UPDATE ferry_kv_value SET value = 'c' WHERE key = 'key'")
        try a.flush()
        let known = try XCTUnwrap(a.log.first)
        var published = PublishedLog(
            position: LogPosition(sequence: 1, time: known.time), checksum: nil, isForked: true)
        // Another copy went on from there, too.
        let copy = try TestDevice(1, Self.schema)
        try copy.run(Self.rows)
        try copy.flush()
        copy.clock.now += 1000
        try copy.run("UPDATE label SET note = 'copy'; UPDATE ferry_kv_value SET value = 'd' WHERE key = 'other'")
        try copy.flush()
        let branch = Array(copy.log.dropFirst())
        published.branches = branch
        let fingerprint = StoreFingerprint(machine: nil, path: nil, file: nil)
        _ = try assertSaved(a) {
            try a.store.becomeNewDevice(
                DeviceID(high: 0xd, low: 99), published: published, fingerprint: fingerprint,
                encode: a.encode)
        }
        XCTAssertEqual(try a.query("SELECT note FROM label WHERE name = 'x'"), ["copy"])
        _ = try assertSaved(b) {
            try b.store.mergeBranches(branch, of: b.id == copy.id ? a.id : copy.id, after: .none, encode: b.encode)
        }
        XCTAssertEqual(try b.query("SELECT note FROM label WHERE name = 'x'"), ["copy"])
    }

    func testTombstonesKeptRowsAndSnapshots() throws {
        let (a, b) = try devices()
        let c = try TestDevice(4, Self.schema)
        try c.receive(a)
        try a.run("DELETE FROM song WHERE id = 1; DELETE FROM ferry_kv_value WHERE key = 'other'")
        try a.flush()
        _ = try assertSaved(b) { try b.receive(a) }
        XCTAssertGreaterThan(try assertSaved(a) { try a.collectTombstones([b]) }, 0)
        c.clock.now += 5000
        try c.run("UPDATE song SET title = 'kept' WHERE id = 1; INSERT INTO play VALUES (2, 'x')")
        _ = try assertSaved(c) { try c.read(a.takeSnapshot()) }
        _ = try assertSaved(c) { try c.store.republishRows(isLast: true, counting: [a.id], encode: c.encode) }
        _ = try assertSaved(a) { try a.receive(c) }
    }

    func testPoliciesThatAreSetAndTakenUp() throws {
        let (a, b) = try devices()
        try a.store.setPolicies([PolicySetting(.column(table: "song", column: "title"), "max")])
        _ = try assertSaved(a) { try a.flush() }
        _ = try assertSaved(b) { try b.receive(a) }
        try b.run("UPDATE song SET title = 'aaa' WHERE id = 1")
        _ = try assertSaved(b) { try b.flush() }
        _ = try assertSaved(a) { try a.receive(b) }
        XCTAssertEqual(try a.store.statePosition().digests, try b.store.statePosition().digests)
    }

    // MARK: What a session refuses

    func testATransactionThatIsToStageNothingStagesNothing() throws {
        let (a, _) = try devices()
        try a.run("UPDATE song SET title = 'new'")
        XCTAssertThrowsError(try a.store.transaction { try $0.pack() }) {
            XCTAssertEqual(($0 as? FerryError)?.code, .internalInconsistency)
        }
        XCTAssertTrue(try a.store.needsPass())
    }
}
