import FerryCore
import FerryStore
import XCTest

@testable import FerryEngine

/// Two devices that have replayed the same prove that they show the same rows, or say that they do not: by the digests of what is
/// not shown as written, and by what their schemas say of a table.
final class RowDigestTests: XCTestCase {
    private static let song = "CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT, length INTEGER);"

    /// A container with two devices that have these schemas.
    private func fleet(_ first: String, _ second: String) throws -> Fleet {
        let fleet = try Fleet()
        try fleet.start(first)
        try fleet.join(second)
        try fleet.settle()
        return fleet
    }

    private func peers(_ fleet: Fleet) throws -> [StatusReport.Peer] {
        try fleet.replicas.map { try XCTUnwrap($0.status().devices.first) }
    }

    private func digests(_ fleet: Fleet, _ index: Int) throws -> [TableDigests] {
        try fleet.replicas[index].store.reading().tables.filter { !isFerryName($0.name) }
    }

    /// Both devices say that they show other rows, and that the reason may be their schemas.
    private func assertOtherRows(
        _ fleet: Fleet, of tables: [String] = ["song"], schemas: [String]? = ["song"], line: UInt = #line
    ) throws {
        for peer in try peers(fleet) {
            XCTAssertEqual(peer.standing, .differs, line: line)
            XCTAssertEqual(peer.differing, tables, line: line)
            XCTAssertEqual(peer.differingRows, tables, line: line)
            XCTAssertEqual(peer.differingSchemas, schemas, line: line)
        }
    }

    private func assertInStep(_ fleet: Fleet, line: UInt = #line) throws {
        for peer in try peers(fleet) {
            XCTAssertEqual(peer.standing, .inStep, line: line)
            XCTAssertNil(peer.differing, line: line)
        }
        let all = try fleet.replicas.map { try $0.store.statePosition().digests }
        XCTAssertEqual(Set(all).count, 1, line: line)
        for replica in fleet.replicas { XCTAssertTrue(try replica.verify(deep: true).isSound, line: line) }
    }

    // MARK: Rows that the schema refuses

    func testARowWrittenPastACheckIsToldAndMended() throws {
        let fleet = try fleet("CREATE TABLE song(id INTEGER PRIMARY KEY, length INTEGER CHECK (length > 0));", "")
        try assertInStep(fleet)
        try fleet.shell(0, "PRAGMA ignore_check_constraints = ON; INSERT INTO song VALUES (1, 1), (2, -5);")
        try fleet.settle()
        XCTAssertEqual(
            try fleet.shell(0, "SELECT count(*) FROM song"), "2\n", "nothing is taken out of the app's table")
        XCTAssertEqual(try fleet.shell(1, "SELECT count(*) FROM song"), "1\n")
        try assertOtherRows(fleet, schemas: nil)
        XCTAssertEqual(try fleet.replicas[0].verify(deep: true).remedies, [.mend])
        try fleet.shell(0, "UPDATE song SET length = 5 WHERE id = 2")
        try fleet.settle()
        try assertInStep(fleet)
        XCTAssertEqual(try fleet.shell(1, "SELECT length FROM song WHERE id = 2"), "5\n")
    }

    // MARK: Schemas that differ

    func testAUniqueIndexOnOneSideAloneMakesRowsOneThereAndItIsTold() throws {
        let fleet = try fleet(Self.song, Self.song + "CREATE UNIQUE INDEX \"by title\" ON song(title);")
        try assertInStep(fleet, unlessSchemas: ["song"])
        try fleet.shell(0, "INSERT INTO song VALUES (1, 'One', 1), (2, 'One', 2)")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(0, "SELECT count(*) FROM song"), "2\n")
        XCTAssertEqual(try fleet.shell(1, "SELECT count(*) FROM song"), "1\n")
        try assertOtherRows(fleet)
        // Where nothing claims the same value any more, nothing tells the rows apart.
        try fleet.shell(0, "UPDATE song SET title = 'Two' WHERE length = 2")
        try fleet.settle()
        try assertInStep(fleet, unlessSchemas: ["song"])
        try fleet.shell(0, "UPDATE song SET title = 'One' WHERE length = 2")
        try fleet.settle()
        try assertOtherRows(fleet)
    }

    func testACheckOnOneSideAloneHidesRowsThereAndItIsTold() throws {
        let checked = "CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT, length INTEGER CHECK (length < 100));"
        let fleet = try fleet(Self.song, checked)
        try fleet.shell(0, "INSERT INTO song VALUES (1, 'One', 500), (2, 'Two', 50)")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(1, "SELECT title FROM song"), "Two\n")
        try assertOtherRows(fleet)
        try fleet.shell(0, "DELETE FROM song WHERE id = 1")
        try fleet.settle()
        try assertInStep(fleet, unlessSchemas: ["song"])
    }

    /// A foreign key on one side alone: what its column holds means something else there, so nothing is proven.
    func testAForeignKeyOnOneSideAloneProvesNothing() throws {
        let artist = "CREATE TABLE artist(code TEXT PRIMARY KEY, name TEXT);"
        let fleet = try fleet(
            artist + "CREATE TABLE song(id INTEGER PRIMARY KEY, artist TEXT);",
            artist + "CREATE TABLE song(id INTEGER PRIMARY KEY, artist TEXT REFERENCES artist ON DELETE CASCADE);")
        for peer in try peers(fleet) {
            XCTAssertEqual(peer.standing, .unproven)
            XCTAssertEqual(peer.differingSchemas, ["song"])
        }
        try fleet.shell(0, "INSERT INTO song VALUES (1, 'nobody')")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(1, "SELECT count(*) FROM song"), "0\n")
        try assertOtherRows(fleet)
    }

    func testAnotherDefaultOnEachSideProvesNothing() throws {
        let fleet = try fleet(Self.song, Self.song)
        try fleet.shell(0, "INSERT INTO song VALUES (1, 'One', 1)")
        try fleet.settle()
        try fleet.shell(0, "ALTER TABLE song ADD COLUMN mood TEXT DEFAULT 'calm'")
        try fleet.shell(1, "ALTER TABLE song ADD COLUMN mood TEXT DEFAULT 'wild'")
        try fleet.settle()
        XCTAssertNotEqual(try fleet.shell(0, "SELECT mood FROM song"), try fleet.shell(1, "SELECT mood FROM song"))
        for peer in try peers(fleet) {
            XCTAssertEqual(peer.standing, .unproven)
            XCTAssertEqual(peer.differingSchemas, ["song"])
            XCTAssertNil(peer.differing)
        }
    }

    func testOneSchemaInAnotherSpellingIsTheSame() throws {
        let fleet = try fleet(
            """
            CREATE TABLE label("the code" TEXT PRIMARY KEY COLLATE NOCASE);
            CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT NOT NULL DEFAULT 'x' COLLATE NOCASE UNIQUE, length INT DEFAULT 1,
                label TEXT REFERENCES label("the code") ON DELETE SET NULL, CHECK (length > 0));
            CREATE UNIQUE INDEX a ON song(length + 1) WHERE title <> 'none';
            """,
            """
            create table Label([THE CODE] text collate nocase, primary key ("the code"));
            create table Song(id integer primary key,
                label text references Label on delete set null, -- who sells it
                Title text collate nocase default 'x' not null, length int default (1) check( /* long */ "length">0 ));
            create unique index t on song(title); create unique index "b c" on song((length+1)) where title<>'none';
            """)
        XCTAssertEqual(try digests(fleet, 0).map(\.shape).count, 2)
        for index in 0...1 {
            XCTAssertEqual(Set(try digests(fleet, index).map(\.shape)), Set(try digests(fleet, 1 - index).map(\.shape)))
        }
        try assertInStep(fleet)
    }

    // MARK: One schema

    private static let library = """
        CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT UNIQUE, note TEXT);
        CREATE TABLE "the album"(artist INTEGER NOT NULL REFERENCES artist, title TEXT, year INTEGER,
            PRIMARY KEY(artist, title)) WITHOUT ROWID;
        CREATE TABLE song(id INTEGER PRIMARY KEY, artist INTEGER REFERENCES artist ON DELETE SET NULL,
            held INTEGER REFERENCES artist ON DELETE RESTRICT, part INTEGER REFERENCES artist ON DELETE CASCADE,
            low INTEGER, high INTEGER, CHECK (low <= high));
        INSERT INTO artist(id, name) VALUES (1, 'Ada'), (2, 'Bo'), (3, 'Cy'), (4, 'Di');
        INSERT INTO song(id, artist, low, high) VALUES (1, 1, 1, 10);
        """

    /// Rows that are joined, hidden, held back and cleared, told on both sides by the same digests, in whatever order they came.
    func testWhatIsNotShownAsWrittenIsTheSameOnDevicesThatShowTheSame() throws {
        for isReversed in [false, true] {
            let fleet = try Fleet()
            try fleet.start(Self.library)
            try fleet.join()
            try fleet.join()
            try fleet.settle()
            XCTAssertTrue(try digests(fleet, 0).allSatisfy { $0.rows == nil }, "all is shown as written")
            try fleet.shell(
                0, "INSERT INTO artist(name, note) VALUES ('Eve', 'a'); INSERT INTO \"the album\" VALUES (5, 'x', 1)")
            try fleet.shell(
                0, "DELETE FROM artist WHERE id = 2; DELETE FROM artist WHERE id = 3; DELETE FROM artist WHERE id = 4")
            try fleet.shell(0, "UPDATE song SET low = 9 WHERE id = 1")
            try fleet.shell(
                1, "INSERT INTO artist(name, note) VALUES ('Eve', 'b'); INSERT INTO \"the album\" VALUES (5, 'x', 2)")
            try fleet.shell(
                1,
                "INSERT INTO song(id, artist, held, part) VALUES (2, 2, NULL, NULL), (3, NULL, 3, NULL), (4, NULL, NULL, 4)"
            )
            try fleet.shell(1, "UPDATE song SET high = 5 WHERE id = 1")
            for index in isReversed ? [1, 0, 2] : [0, 1, 2] { _ = try fleet.replicas[index].sync() }
            try fleet.settle()
            let kinds = try fleet.shell(2, "SELECT DISTINCT kind FROM ferry_exception ORDER BY 1")
            XCTAssertEqual(kinds, "1\n3\n4\n5\n6\n7\n")
            for index in 0..<3 {
                XCTAssertEqual(try digests(fleet, index).filter { $0.rows != nil }.count, 3)
                XCTAssertEqual(try fleet.replicas[index].status().devices.map(\.standing), [.inStep, .inStep])
                XCTAssertEqual(
                    try fleet.replicas[index].store.statePosition().digests,
                    try fleet.replicas[0].store.statePosition().digests)
                XCTAssertTrue(try fleet.replicas[index].verify(deep: true).isSound)
            }
            // And once nothing of it is left.
            try fleet.shell(
                2, "DELETE FROM song; UPDATE artist SET name = id; DELETE FROM \"the album\"; DELETE FROM artist")
            try fleet.settle()
            for index in 0..<3 { XCTAssertNil(try digests(fleet, index).first { $0.name == "artist" }?.rows) }
        }
    }

    func testAColumnThatGoesCountsNoMoreForRowsThatShowSeveral() throws {
        let fleet = try fleet(Self.library, Self.library.replacing("INSERT", with: "-- INSERT"))
        for (index, note) in ["a", "b"].enumerated() {
            try fleet.shell(index, "INSERT INTO artist(name, note) VALUES ('Eve', '\(note)')")
        }
        try fleet.settle()
        try assertInStep(fleet)
        let before = try digests(fleet, 0).first { $0.name == "artist" }?.rows
        XCTAssertNotNil(before)
        let rebuilding = """
            CREATE TABLE made(id INTEGER PRIMARY KEY, name TEXT UNIQUE); INSERT INTO made SELECT id, name FROM artist;
            DROP TABLE artist; ALTER TABLE made RENAME TO artist;
            """
        for index in 0...1 { try fleet.shell(index, rebuilding, foreignKeys: false) }
        try fleet.settle()
        try assertInStep(fleet)
        XCTAssertNotEqual(try digests(fleet, 0).first { $0.name == "artist" }?.rows, before)
    }

    /// Where an index is computed of integer keys, which differ from device to device, rows may differ
    /// (Docs/Rules.md, "Indexes on integer keys"): that is said.
    func testRowsThatDifferByAnIndexOnIntegerKeysAreToldAsThat() throws {
        let schema = """
            CREATE TABLE setting(id INTEGER PRIMARY KEY, name TEXT);
            CREATE UNIQUE INDEX by_name ON setting(name) WHERE id > 1000;
            """
        let fleet = try fleet(schema, schema)
        try fleet.shell(0, "INSERT INTO setting VALUES (2000, 'other'), (2001, 'size')")
        try fleet.shell(1, "INSERT INTO setting VALUES (1, 'x'), (2000, 'size')")
        try fleet.shell(0, "INSERT INTO setting VALUES (1, 'y')")
        try fleet.settle()
        let counts = try (0...1).map { try fleet.shell($0, "SELECT count(*) FROM setting") }
        let standings = try peers(fleet)
        if counts[0] == counts[1] {
            XCTAssertEqual(standings.map(\.standing), [.inStep, .inStep])
        } else {
            for peer in standings {
                XCTAssertEqual(peer.standing, .differs)
                XCTAssertEqual(peer.differingByKeys, ["setting"])
                XCTAssertNil(peer.differingSchemas)
            }
        }
    }

    func testADigestOfRowsThatIsNotThatOfItsRowsIsNamed() throws {
        let fleet = try fleet(Self.song, Self.song)
        try fleet.replicas[1].store.write {
            try $0.execute("UPDATE ferry_digest SET shown = 5, exceptions = 1 WHERE \"table\" = 1")
        }
        _ = try fleet.replicas[1].sync()
        try assertOtherRows(fleet, schemas: nil)
        let report = try fleet.replicas[1].verify(deep: true)
        XCTAssertEqual(report.differences.map(\.kind), [.digest])
    }

    private func assertInStep(_ fleet: Fleet, unlessSchemas schemas: [String], line: UInt = #line) throws {
        for peer in try peers(fleet) {
            XCTAssertEqual(peer.standing, .inStep, "only what the schema refuses differs, of \(schemas)", line: line)
            XCTAssertNil(peer.differing, line: line)
        }
    }
}
