import FerryCore
import XCTest

@testable import FerryStore

/// Every fast path gives the result of the general path, can be switched off, and is counted.
final class FastPathTests: XCTestCase {
    private static let schema = TestSchema(
        name: "paths",
        sql: """
            CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
            CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT, plays INTEGER,
                artist INTEGER REFERENCES artist(id) ON DELETE CASCADE);
            CREATE TABLE label(name TEXT PRIMARY KEY, note TEXT);
            """)
    private static let tables = ["artist", "song", "label"]
    private static let shown = """
        SELECT title, plays, name FROM song LEFT JOIN artist ON artist.id = song.artist ORDER BY 1, 2, 3
        """

    private func device(_ number: Int, _ paths: FastPaths) throws -> TestDevice {
        let device = try TestDevice(number, Self.schema)
        device.store.fastPaths = paths
        return device
    }

    /// An import, updates of one column and of references, conflicts, deletions, and a device that starts from a snapshot.
    private func story(_ paths: FastPaths) throws -> (devices: [TestDevice], summary: [[String]]) {
        let (a, b, c) = try (device(1, paths), device(2, paths), device(4, paths))
        try a.run(
            """
            WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 60)
            INSERT INTO artist SELECT i, 'artist ' || i FROM n WHERE i <= 20;
            WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 60)
            INSERT INTO song SELECT i, 'song ' || i, 0, 1 + i % 20 FROM n;
            INSERT INTO label VALUES ('x', 'old'), ('y', 'old'), ('z', 'old');
            """)
        try a.flush()
        try b.receive(a)
        try a.run("DELETE FROM artist WHERE id = 4; DELETE FROM label WHERE name = 'z'")
        try a.flush()
        try b.receive(a)
        a.clock.now += 1000
        b.clock.now += 2000
        try a.run("UPDATE song SET plays = id; UPDATE label SET note = 'a'; DELETE FROM artist WHERE id = 3")
        try b.run(
            """
            UPDATE song SET plays = -id WHERE id % 3 = 0; UPDATE song SET artist = 2 WHERE id = 7;
            INSERT INTO artist VALUES (30, 'artist new'); INSERT INTO song VALUES (90, 'new', 1, 30);
            DELETE FROM label WHERE name = 'y';
            """)
        try a.flush()
        try b.flush()
        try a.receive(b)
        try b.receive(a)
        try c.read(a.takeSnapshot())
        let devices = [a, b, c]
        for device in devices { XCTAssertTrue(try device.store.verify(deep: true).isSound) }
        let summary = try devices.map { device in
            var lines = try device.query(Self.shown) + device.query("SELECT name, note FROM label ORDER BY 1")
            lines += try device.query("SELECT \"table\", sum, count, shown, exceptions FROM ferry_digest ORDER BY 1")
            lines += try device.query(
                "SELECT kind, \"column\", hex(lost_value), hex(kept_value) FROM ferry_conflict ORDER BY 1, 2, 3, 4")
            return lines
        }
        return (devices, summary)
    }

    func testEachPathAloneAndNoneGiveTheResultOfAll() throws {
        let expected = try story(.all).summary
        XCTAssertEqual(expected[0].filter { $0.hasPrefix("song") }.count, 54)
        let alone = FastPaths.named.map(\.path)
        for paths in [.none] + alone + alone.map({ FastPaths.all.subtracting($0) }) {
            let (devices, summary) = try story(paths)
            XCTAssertEqual(summary, expected, "\(paths)")
            for device in devices {
                XCTAssertEqual(try device.store.verify(deep: true).differences.map(\.problem), [], "\(paths)")
            }
        }
    }

    func testEveryPathIsTakenAndCountedWhereAllAreOn() throws {
        var counts = FastPathCounts()
        for device in try story(.all).devices { counts.add(device.store.fastPathCounts) }
        for (_, name) in FastPaths.named {
            XCTAssertGreaterThan(counts.taken[name] ?? 0, 0, "\(name): \(counts.declined[name] ?? [:])")
        }
        XCTAssertEqual(counts.declined["bulkInsertCapture"]?["otherEvents"], 3)
    }

    func testNoPathIsTakenWhereNoneIsOnAndTheReasonIsSaid() throws {
        var counts = FastPathCounts()
        for device in try story(.none).devices { counts.add(device.store.fastPathCounts) }
        XCTAssertEqual(counts.taken, [:])
        for (_, name) in FastPaths.named { XCTAssertGreaterThan(counts.declined[name]?["off"] ?? 0, 0, name) }
    }

    func testAPathThatDeclinesAfterItWroteLeavesNothing() throws {
        let a = try device(1, .all)
        try a.run("INSERT INTO label VALUES ('x', 'old'); INSERT INTO artist VALUES (1, 'Nina')")
        try a.flush()
        try a.run("DELETE FROM label WHERE name = 'x'")
        try a.flush()
        // The state knows the key. The writer notices this at the state's write, after the artist is written.
        try a.run("INSERT INTO artist VALUES (2, 'Tom'); INSERT INTO label VALUES ('x', 'again')")
        let outcome = try a.flush()
        XCTAssertEqual(outcome.packed, 2)
        XCTAssertEqual(a.store.fastPathCounts.declined["bulkInsertCapture"]?["known"], 1)
        XCTAssertEqual(try a.store.verify(deep: true).differences.map(\.problem), [])
        XCTAssertEqual(try a.query("SELECT note FROM label"), ["again"])
    }
}
