import FerryCore
import FerrySchema
import FerryTestSupport
import XCTest

@testable import FerryReferenceModel
@testable import FerryStore

/// Deletions that are merged the short way come to what they come to the long way.
final class FastDeletionTests: XCTestCase {
    private static let schema = TestSchema(
        name: "plain deletions",
        sql: """
            CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT UNIQUE, sequel INTEGER REFERENCES album ON DELETE CASCADE);
            CREATE TABLE track(
                id INTEGER PRIMARY KEY, album INTEGER REFERENCES album ON DELETE CASCADE, name TEXT, price REAL, cover BLOB);
            CREATE TABLE label(name TEXT PRIMARY KEY, note TEXT);
            CREATE TABLE track_label(
                track INTEGER REFERENCES track ON DELETE CASCADE, label TEXT REFERENCES label ON DELETE CASCADE,
                PRIMARY KEY(track, label)) WITHOUT ROWID;
            CREATE INDEX track_label_label ON track_label(label);
            CREATE TABLE song(id BLOB PRIMARY KEY, note ANY);
            CREATE TABLE owner(id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE thing(id INTEGER PRIMARY KEY, owner INTEGER NOT NULL REFERENCES owner);
            """)
    private static let rows = """
        WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 40)
        INSERT INTO album SELECT i, 'album ' || i, nullif(i / 2, 0) FROM n;
        WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 90)
        INSERT INTO track SELECT i, 1 + i % 40, iif(i % 4, 'track ' || i, NULL), i / 4.0, zeroblob(i % 60) FROM n;
        INSERT INTO label VALUES ('x', 'note'), ('y', NULL), ('z', '');
        INSERT INTO track_label SELECT id, substr('xyz', 1 + id % 3, 1) FROM track;
        WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 30)
        INSERT INTO song SELECT CAST(printf('%016d', i * 7) AS BLOB), i FROM n;
        INSERT INTO owner VALUES (1, 'a'), (2, 'b');
        INSERT INTO thing VALUES (1, 1);
        """

    /// A device with its rows, a device that takes the short way, and the same device without.
    private func devices(_ schema: TestSchema, rows: String) throws -> (author: TestDevice, pair: [TestDevice]) {
        let author = try TestDevice(1, schema)
        if !rows.isEmpty { try author.run(rows) }
        let pair = [try TestDevice(2, schema), try TestDevice(2, schema)]
        pair[1].store.fastPaths = .all.subtracting(.fastDeletions)
        try author.flush()
        for device in pair { try device.receive(author) }
        return (author, pair)
    }

    /// Has both devices replay what the author wrote, and compares what comes of it.
    /// - Returns: how many deletions the first device took the short way.
    @discardableResult
    private func replay(
        _ author: TestDevice, _ pair: [TestDevice], _ which: String = "", file: StaticString = #filePath,
        line: UInt = #line
    ) throws -> Int {
        let before = pair[0].store.fastPathCounts.taken["fastDeletions"] ?? 0
        try author.flush()
        for device in pair { try device.receive(author) }
        let contents = try pair.map { try $0.content() }
        for (table, rows) in contents[1] {
            XCTAssertEqual(contents[0][table], rows, "\(which), \(table)", file: file, line: line)
        }
        XCTAssertNil(pair[1].store.fastPathCounts.taken["fastDeletions"])
        return (pair[0].store.fastPathCounts.taken["fastDeletions"] ?? 0) - before
    }

    func testDeletionsOfPlainRowsAreTaken() throws {
        let (author, pair) = try devices(Self.schema, rows: Self.rows)
        try author.run("UPDATE track SET price = 1 WHERE id % 5 = 0; UPDATE song SET note = 'n' WHERE note > 20")
        try replay(author, pair)
        try author.run("DELETE FROM album WHERE id IN (3, 20); DELETE FROM song WHERE note IN (1, 2, 25, 'n')")
        let count = author.log.count
        let taken = try replay(author, pair)
        // An album goes before its sequel, so the rules decide about the album.
        let albums = 8
        XCTAssertEqual(taken + albums, author.log[count...].reduce(0) { $0 + $1.operationCount })
        XCTAssertTrue(try pair[0].store.verify(deep: true).isSound)
    }

    func testDeletionsBesideOtherChangesComeToTheSame() throws {
        let (author, pair) = try devices(Self.schema, rows: Self.rows)
        try author.run(
            """
            UPDATE album SET title = 'new ' || title WHERE id % 3 = 0; DELETE FROM album WHERE id % 7 = 0;
            UPDATE song SET note = -note; DELETE FROM song WHERE note % 4 = 0;
            INSERT INTO song VALUES (x'ff', 1); INSERT INTO album VALUES (90, 'album 7', NULL);
            DELETE FROM label WHERE name = 'y'; INSERT INTO label VALUES ('y', 'again');
            """)
        XCTAssertGreaterThan(try replay(author, pair), 10)
        try author.run(
            "DELETE FROM label; DELETE FROM track WHERE id > 50; INSERT INTO track(id, name) VALUES (60, 'x')")
        XCTAssertGreaterThan(try replay(author, pair), 10)
    }

    func testConflictsAndReferringRowsAreLeftToTheGeneralPath() throws {
        let (author, pair) = try devices(Self.schema, rows: Self.rows)
        for device in pair {
            device.clock.now += 50
            try device.run(
                """
                UPDATE track SET price = 77 WHERE id < 10; UPDATE label SET note = 'mine';
                INSERT INTO thing VALUES (5, 2); INSERT INTO track VALUES (200, 3, 'mine', 1, NULL);
                """)
            try device.flush()
        }
        author.clock.now += 100
        try author.run(
            "DELETE FROM track WHERE id < 20; DELETE FROM label; DELETE FROM owner WHERE id = 2; DELETE FROM album")
        let taken = try replay(author, pair)
        XCTAssertGreaterThan(taken, 10)
        let counts = pair[0].store.fastPathCounts
        XCTAssertGreaterThan(counts.declined["fastDeletions"]?["conflict"] ?? 0, 0)
        XCTAssertEqual(try pair[0].query("SELECT count(*) FROM owner"), ["2"])
        // An owner is retained now, so the rules look at each deletion of an owner or a thing.
        try author.run("DELETE FROM thing WHERE id = 1; DELETE FROM song")
        try replay(author, pair)
        XCTAssertGreaterThan(pair[0].store.fastPathCounts.declined["fastDeletions"]?["anomalies"] ?? 0, 0)
    }

    func testRandomHistoriesComeToTheSame() throws {
        var taken = 0
        for seed in Seeds(defaultCount: 40).all {
            let schemas = TestSchema.all + [Self.schema]
            let schema = seed % 3 == 0 ? schemas[Int(seed / 3) % schemas.count] : RandomSchema.schema(seed: seed)
            let (author, pair) = try devices(schema, rows: "")
            var statements = RandomStatements(schema: try OracleSchema(schema), chance: Chance(seed: seed))
            for round in 0..<20 {
                for _ in 0..<statements.chance.below(6) {
                    let sql =
                        try statements.chance.oneIn(2)
                        ? statements.deletion(for: author) : statements.statement(for: author)
                    author.runTolerating([sql], foreignKeys: !statements.chance.oneIn(20))
                }
                if statements.chance.oneIn(3) {
                    let sql = try statements.statement(for: pair[0])
                    for device in pair { device.runTolerating([sql], foreignKeys: true) }
                    for device in pair { try device.flush() }
                    if statements.chance.oneIn(2) { try author.receive(pair[0]) }
                }
                author.clock.now += 10
                for device in pair { device.clock.now += 10 }
                if statements.chance.oneIn(2) { taken += try replay(author, pair, "seed \(seed), round \(round)") }
            }
            taken += try replay(author, pair, "seed \(seed)")
            XCTAssertTrue(try pair[0].store.verify(deep: true).isSound, "seed \(seed)")
        }
        XCTAssertGreaterThan(taken, 20)
    }
}
