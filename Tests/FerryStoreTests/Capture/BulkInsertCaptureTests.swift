import FerryCore
import FerryLog
import FerrySchema
import FerryTestSupport
import XCTest

@testable import FerryReferenceModel
@testable import FerryStore

/// The short way of packing insertions makes what the model makes of the same notes, and takes no others.
final class BulkInsertCaptureTests: XCTestCase {
    private static let shop = TestSchema(
        name: "shop",
        sql: """
            CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT UNIQUE, next INTEGER REFERENCES album);
            CREATE TABLE track(
                id INTEGER PRIMARY KEY, album INTEGER REFERENCES album DEFERRABLE INITIALLY DEFERRED, name TEXT, price REAL);
            CREATE TABLE label(name TEXT PRIMARY KEY, cover BLOB);
            CREATE TABLE track_label(
                track INTEGER REFERENCES track ON DELETE CASCADE, label TEXT REFERENCES label,
                PRIMARY KEY(track, label)) WITHOUT ROWID;
            CREATE TABLE song(id BLOB PRIMARY KEY, note ANY);
            """)

    // MARK: What it takes

    /// Whether the notes that are pending are taken the short way; they stay.
    private func isTaken(_ device: TestDevice) throws -> Bool {
        struct RolledBack: Error { var isTaken: Bool }
        do {
            return try device.store.transaction { session -> Bool in
                let access = session.access
                var clock = try access.hybridClock()
                let end = try access.connection.count("SELECT max(sequence) FROM ferry_pending")
                let outcome = try ChangeCapture(access).consumeInsertions(
                    CaptureHistory.mintedPrefix(access), through: Int64(end), &clock, maximumBytes: .max)
                throw RolledBack(isTaken: outcome != nil)
            }
        } catch let error as RolledBack {
            return error.isTaken
        }
    }

    /// Whether statements are taken the short way, after others that were packed before.
    private func isTaken(_ statements: String, after earlier: String = "", foreignKeys: Bool = true) throws -> Bool {
        let device = try TestDevice(1, Self.shop)
        if !earlier.isEmpty { try device.run(earlier) }
        try device.flush()
        try device.run(statements, foreignKeys: foreignKeys)
        return try isTaken(device)
    }

    func testItTakesNewRowsAndWhatTheyReferTo() throws {
        let rows = """
            INSERT INTO album VALUES (1, 'a', NULL), (7, 'b', 1), (8, 'c', 8);
            INSERT INTO track VALUES (1, 7, 'x', 0.5), (2, NULL, NULL, 1), (-3, 8, 'z', NULL);
            INSERT INTO label VALUES ('l', x'00'), ('m', NULL);
            INSERT INTO track_label VALUES (-3, 'm'), (1, 'l');
            INSERT INTO song VALUES (x'000102030405060708090a0b0c0d0e0f', 1), (x'01', 2);
            """
        XCTAssertTrue(try isTaken(rows))
        XCTAssertTrue(
            try isTaken(
                "INSERT INTO track VALUES (9, 7, 'y', 1); INSERT INTO track_label VALUES (9, 'l'), (2, 'm')",
                after: rows))
    }

    func testItTakesATransactionThatInsertsChildrenFirst() throws {
        XCTAssertTrue(
            try isTaken("BEGIN; INSERT INTO track VALUES (1, 7, 'x', 1); INSERT INTO album(id) VALUES (7); COMMIT"))
    }

    func testItLeavesOtherNotesToTheModel() throws {
        let row = "INSERT INTO album VALUES (1, 'a', NULL);"
        XCTAssertFalse(try isTaken(row + "UPDATE album SET title = 'b'"))
        XCTAssertFalse(try isTaken(row + "DELETE FROM album"))
        XCTAssertFalse(try isTaken("INSERT OR REPLACE INTO album VALUES (2, 'a', NULL)", after: row), "displaces a row")
        XCTAssertFalse(try isTaken("INSERT OR REPLACE INTO album VALUES (1, 'b', NULL)", after: row), "replaces a row")
        XCTAssertFalse(try isTaken(row + "INSERT OR REPLACE INTO album VALUES (1, 'b', NULL)"), "replaces a new row")
    }

    func testItLeavesObjectsThatAreKnownToTheModel() throws {
        let song = "INSERT INTO song VALUES (x'01', 1);"
        XCTAssertFalse(try isTaken(song + song.replacing("INSERT", with: "REPLACE")), "twice in one flush")
        let device = try TestDevice(1, Self.shop)
        try device.run(song)
        try device.flush()
        try device.run("DELETE FROM song")
        try device.flush()
        try device.run(song)
        XCTAssertFalse(try isTaken(device), "deleted before")
    }

    func testItLeavesReferencesWithoutATargetToTheModel() throws {
        XCTAssertFalse(try isTaken("INSERT INTO track VALUES (1, 7, 'x', 1)", foreignKeys: false))
        XCTAssertFalse(try isTaken("INSERT INTO track_label VALUES (1, 'l')", foreignKeys: false))
        XCTAssertFalse(
            try isTaken(
                "INSERT INTO track(id) VALUES (1); INSERT INTO track_label VALUES (1, 'l')", foreignKeys: false))
        // A key that is reserved.
        let device = try TestDevice(1, Self.shop)
        try device.run("INSERT INTO track VALUES (1, 7, 'x', 1)", foreignKeys: false)
        try device.flush()
        try device.run("INSERT INTO album(id) VALUES (7)")
        XCTAssertFalse(try isTaken(device), "takes a reserved key")
    }

    func testARowWithoutAKeyStaysBehind() throws {
        let device = try TestDevice(1, Self.shop)
        try device.run("INSERT INTO song VALUES (NULL, 1), (x'02', 2)")
        XCTAssertTrue(try isTaken(device))
        let outcome = try device.flush()
        XCTAssertEqual(outcome.rowsWithoutKey, 1)
        XCTAssertEqual(outcome.packed, 1)
    }

    // MARK: What it makes

    func testItMakesWhatTheModelMakes() throws {
        var taken = 0
        for seed in Seeds(defaultCount: 60).all {
            let schemas = TestSchema.all + [Self.shop]
            let schema =
                seed % 3 == 0 ? schemas[Int(seed / 3) % schemas.count] : RandomSchema.schema(seed: seed)
            taken += try compare(schema, seed)
        }
        XCTAssertGreaterThan(taken, 10)
    }

    /// Gives two devices the same statements, one of them a note besides that says nothing and that insertions alone do not
    /// leave.
    /// - Returns: how many flushes the first took the short way.
    private func compare(_ schema: TestSchema, _ seed: UInt64) throws -> Int {
        let (short, long) = (try TestDevice(1, schema), try TestDevice(1, schema))
        var statements = RandomStatements(schema: try OracleSchema(schema), chance: Chance(seed: seed))
        var taken = 0
        for _ in 0..<24 {
            for _ in 0..<statements.chance.below(4) {
                let statement = try statements.statement(for: short)
                let foreignKeys = !statements.chance.oneIn(12)
                for device in [short, long] { device.runTolerating([statement], foreignKeys: foreignKeys) }
            }
            if try short.query("SELECT 1 FROM ferry_pending LIMIT 1").isEmpty { continue }
            if try packsAlike(short, long, "seed \(seed)") { taken += 1 }
        }
        return taken
    }

    /// Packs what two devices have noted alike, one of them the long way, and compares what comes of it.
    /// - Returns: whether the first went the short way.
    private func packsAlike(_ short: TestDevice, _ long: TestDevice, _ which: String) throws -> Bool {
        // On both, because it asks for random numbers.
        let isTaken = try [short, long].map(isTaken).contains(true)
        try long.run(
            """
            INSERT INTO ferry_pending("table", event, mask, k0)
            SELECT "table", \(PendingEvent.update.rawValue), 0, 1 FROM ferry_pending LIMIT 1
            """)
        let packed = try [short, long].map { device in
            try device.flush()
            let changeset = try XCTUnwrap(device.log.last)
            return try SegmentEncoder.encode([changeset], container: TestDevice.container, previous: nil).bytes
        }
        XCTAssertEqual(packed[0], packed[1], which)
        let tables = try short.query(
            """
            SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'ferry/_%' ESCAPE '/'
                AND name NOT IN ('ferry_meta', 'ferry_pending') ORDER BY name
            """
        ).map { $0.trimmingCharacters(in: ["'"]) }
        for table in tables {
            XCTAssertEqual(
                try short.query("SELECT * FROM \(table)"), try long.query("SELECT * FROM \(table)"),
                "\(which), \(table)")
        }
        return isTaken
    }

    /// Rows under keys of their own are read in the order of their insertion, where that is the table's, and searched for
    /// where it is not.
    func testRowsAreReadInWhateverOrderTheyWereInserted() throws {
        var chance = Chance(seed: 11)
        func id() -> String { "x'" + (0..<16).map { _ in String(format: "%02x", chance.below(256)) }.joined() + "'" }
        var statements: [String] = []
        func add(_ rowID: String, _ note: String) {
            statements.append("INSERT INTO song(rowid, id, note) VALUES (\(rowID), \(id()), \(note))")
        }
        for number in 0..<40 { add("NULL", "'note \(number)'") }
        for number in 0..<20 { add("\(1000 - number)", "\(number)") }
        for number in 0..<20 {
            add("NULL", ["''", "x''", "NULL", "-0.0", "zeroblob(5000)", "printf('%.6000c', 'a')"][number % 6])
            statements.append("INSERT INTO label VALUES ('l\(number)', x'0\(number % 10)')")
        }
        // The largest rowid, and one before it: nothing comes after it.
        add("9223372036854775806", "1")
        add("9223372036854775807", "2")
        for number in 0..<20 { add("\(2000 + number * 2)", "'gap'") }
        statements.append("INSERT INTO song VALUES ('a text', 1), (12, 2), (0.5, 3), (x'', 4)")
        let (short, long) = (try TestDevice(1, Self.shop), try TestDevice(1, Self.shop))
        for device in [short, long] { for statement in statements { try device.run(statement) } }
        XCTAssertTrue(try packsAlike(short, long, "all"))
    }
}
