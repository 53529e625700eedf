import FerryCore
import FerryLog
import FerrySchema
import FerryTestSupport
import XCTest

@testable import FerryReferenceModel
@testable import FerryStore

/// The short way of packing deletions makes what the general path makes of the same pending changes, and takes no others.
final class BulkDeletionCaptureTests: XCTestCase {
    private static let shop = TestSchema(
        name: "shop of deletions",
        sql: """
            CREATE TABLE maker(id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE album(
                id INTEGER PRIMARY KEY, title TEXT UNIQUE, maker INTEGER REFERENCES maker ON DELETE SET NULL,
                sequel INTEGER REFERENCES album ON DELETE CASCADE);
            CREATE INDEX album_sequel ON album(sequel);
            CREATE TABLE track(
                id INTEGER PRIMARY KEY, album INTEGER REFERENCES album ON DELETE CASCADE, name TEXT, price REAL, cover BLOB);
            CREATE TABLE label(name TEXT COLLATE NOCASE PRIMARY KEY, note TEXT);
            CREATE TABLE track_label(
                track INTEGER REFERENCES track ON DELETE CASCADE, label TEXT REFERENCES label ON DELETE CASCADE,
                PRIMARY KEY(track, label)) WITHOUT ROWID;
            CREATE INDEX track_label_label ON track_label(label);
            CREATE TABLE song(id BLOB PRIMARY KEY, note ANY);
            """)
    private static let rows = """
        INSERT INTO maker VALUES (1, 'm'), (2, 'n');
        INSERT INTO album VALUES (1, 'a', 1, NULL), (7, 'b', NULL, 1), (8, 'c', 2, 7), (9, 'd', 2, NULL);
        INSERT INTO track VALUES (1, 7, 'x', 0.5, x'00'), (2, NULL, NULL, 1, NULL), (-3, 8, 'z', NULL, zeroblob(70)),
            (4, 9, 'a name that is longer than what lies beside a statement', 2, NULL);
        INSERT INTO label VALUES ('l', 'one'), ('M', NULL);
        INSERT INTO track_label VALUES (-3, 'm'), (1, 'l'), (4, 'L');
        INSERT INTO song VALUES (x'000102030405060708090a0b0c0d0e0f', 1), (x'01', 2), (NULL, 3), ('text', -0.0);
        """

    /// A device that takes the short way, and the same device without.
    private func pair(_ schema: TestSchema = shop, rows: String = rows) throws -> [TestDevice] {
        let devices = [try TestDevice(1, schema), try TestDevice(1, schema)]
        devices[1].store.fastPaths = .all.subtracting(.bulkDeletionCapture)
        for device in devices where !rows.isEmpty {
            try device.run(rows)
            try device.flush()
        }
        return devices
    }

    /// Packs on both devices, and compares what comes of it.
    /// - Returns: how many deletions the first device took the short way.
    @discardableResult
    private func pack(
        _ devices: [TestDevice], _ which: String = "", file: StaticString = #filePath, line: UInt = #line
    ) throws -> Int {
        let before = devices[0].store.fastPathCounts.taken["bulkDeletionCapture"] ?? 0
        let packed = try devices.map { device in
            let number = device.log.count
            try device.flush()
            return try device.log[number...].map {
                try SegmentEncoder.encode([$0], container: TestDevice.container, previous: nil).bytes
            }
        }
        XCTAssertEqual(packed[0], packed[1], which, file: file, line: line)
        let contents = try devices.map { try $0.content() }
        for (table, rows) in contents[1] {
            XCTAssertEqual(contents[0][table], rows, "\(which), \(table)", file: file, line: line)
        }
        XCTAssertNil(devices[1].store.fastPathCounts.taken["bulkDeletionCapture"])
        return (devices[0].store.fastPathCounts.taken["bulkDeletionCapture"] ?? 0) - before
    }

    /// Runs statements on both devices, and packs.
    private func pack(
        _ devices: [TestDevice], running sql: String, foreignKeys: Bool = true, file: StaticString = #filePath,
        line: UInt = #line
    ) throws -> Int {
        for device in devices { try device.run(sql, foreignKeys: foreignKeys) }
        return try pack(devices, sql, file: file, line: line)
    }

    // MARK: What it takes

    func testItTakesDeletionsByCascade() throws {
        XCTAssertEqual(try pack(pair(), running: "DELETE FROM album WHERE id = 1"), 7)
        XCTAssertEqual(try pack(pair(), running: "DELETE FROM album"), 10)
        XCTAssertEqual(try pack(pair(), running: "DELETE FROM track; DELETE FROM song"), 10)
        XCTAssertEqual(try pack(pair(), running: "DELETE FROM label WHERE name = 'L'"), 3)
    }

    func testItTakesRowsThatWereWrittenSinceTheirInsertion() throws {
        let devices = try pair()
        XCTAssertEqual(
            try pack(devices, running: "UPDATE track SET price = 9, name = 'y'; UPDATE album SET sequel = NULL"), 0)
        XCTAssertEqual(try pack(devices, running: "DELETE FROM album WHERE id <> 1; DELETE FROM label"), 11)
    }

    func testItTakesRowsThatCameAgain() throws {
        let devices = try pair()
        let again = "INSERT INTO label VALUES ('l', 'again'); INSERT INTO song VALUES (x'01', 5)"
        XCTAssertEqual(try pack(devices, running: "DELETE FROM label; DELETE FROM song WHERE id = x'01'"), 6)
        XCTAssertEqual(try pack(devices, running: again), 0)
        XCTAssertEqual(try pack(devices, running: "DELETE FROM label; DELETE FROM song WHERE id = x'01'"), 2)
    }

    func testARowWithoutAKeyStaysBehind() throws {
        XCTAssertEqual(try pack(pair(), running: "DELETE FROM song WHERE id IS NULL OR id = 'text'"), 1)
    }

    func testADeletionIsLaterThanALaterWrite() throws {
        let devices = try pair()
        let other = try TestDevice(2, Self.shop, hoursAhead: 3)
        try other.receive(devices[0])
        try other.run("UPDATE track SET price = price + 1; UPDATE label SET note = 'late'")
        try other.flush()
        for device in devices { try device.receive(other) }
        XCTAssertEqual(try pack(devices, running: "DELETE FROM label; DELETE FROM track"), 9)
        try other.receive(devices[0])
        XCTAssertEqual(try other.query("SELECT (SELECT count(*) FROM track) + (SELECT count(*) FROM label)"), ["0"])
    }

    // MARK: What it leaves to the general path

    func testItLeavesOtherChangesToTheGeneralPath() throws {
        XCTAssertEqual(try pack(pair(), running: "DELETE FROM maker"), 0, "SET NULL updates albums")
        XCTAssertEqual(try pack(pair(), running: "DELETE FROM song; INSERT INTO song VALUES (x'01', 3)"), 0)
        XCTAssertEqual(try pack(pair(), running: "DELETE FROM song WHERE id = x'01'; UPDATE label SET note = 1"), 0)
        XCTAssertEqual(try pack(pair(), running: "INSERT OR REPLACE INTO album VALUES (20, 'a', NULL, NULL)"), 0)
    }

    func testItLeavesRowsWithReferringRowsToTheGeneralPath() throws {
        for table in ["album", "track", "label"] {
            let devices = try pair()
            // The broken foreign key becomes a plain reference, and the same changes are packed again.
            _ = try pack(devices, running: "DELETE FROM \(table)", foreignKeys: false)
            XCTAssertEqual(
                devices[0].store.fastPathCounts.declined["bulkDeletionCapture"]?["referringRows"], 1, table)
        }
    }

    func testItLeavesWhatStandsBesideAnomaliesToTheGeneralPath() throws {
        let devices = try pair()
        let other = try TestDevice(2, Self.shop)
        try other.receive(devices[0])
        try other.run("INSERT INTO album VALUES (30, 'same', NULL, NULL); DELETE FROM maker WHERE id = 1")
        for device in devices { try device.run("INSERT INTO album VALUES (31, 'same', NULL, NULL)") }
        try other.flush()
        for device in devices {
            try device.flush()
            try device.receive(other)
        }
        XCTAssertEqual(try pack(devices, running: "DELETE FROM album WHERE title = 'same'"), 0)
        XCTAssertEqual(devices[0].store.fastPathCounts.declined["bulkDeletionCapture"]?["anomalies"], 1)
    }

    // MARK: What it makes

    func testItMakesWhatTheGeneralPathMakes() throws {
        var taken = 0
        for seed in Seeds(defaultCount: 60).all {
            let schemas = TestSchema.all + [Self.shop]
            let schema = seed % 3 == 0 ? schemas[Int(seed / 3) % schemas.count] : RandomSchema.schema(seed: seed)
            let devices = try pair(schema, rows: "")
            var statements = RandomStatements(schema: try OracleSchema(schema), chance: Chance(seed: seed))
            for _ in 0..<24 {
                let areDeletions = statements.chance.oneIn(2)
                for _ in 0..<statements.chance.below(5) {
                    let sql =
                        try areDeletions ? statements.deletion(for: devices[0]) : statements.statement(for: devices[0])
                    let foreignKeys = !statements.chance.oneIn(12)
                    for device in devices { device.runTolerating([sql], foreignKeys: foreignKeys) }
                }
                taken += try pack(devices, "seed \(seed)")
            }
            XCTAssertTrue(try devices[0].store.verify(deep: true).isSound, "seed \(seed)")
        }
        XCTAssertGreaterThan(taken, 100)
    }
}
