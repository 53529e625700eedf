import FerryEngine
import FerryTestSupport
import XCTest

/// A migration takes a foreign key away or changes it, and the column stays (Django's `db_constraint=False`, Rails'
/// `remove_foreign_key`). The column goes on meaning the same rows, whatever integers they have on a device.
final class RemovedForeignKeyTests: XCTestCase {
    private static let schema = """
        CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT, artist INTEGER REFERENCES artist(id));
        INSERT INTO artist(name) VALUES ('first');
        """
    private static func rebuild(_ column: String) -> String {
        """
        PRAGMA foreign_keys = OFF; BEGIN; CREATE TABLE new_song(id INTEGER PRIMARY KEY, title TEXT, \(column));
        INSERT INTO new_song SELECT * FROM song; DROP TABLE song; ALTER TABLE new_song RENAME TO song; COMMIT;
        """
    }
    private static let removal = rebuild("artist INTEGER")
    private static let songs = "SELECT title, name FROM song LEFT JOIN artist ON artist.id = song.artist ORDER BY title"

    /// Two devices with the integers 2 and 3 for two artists, the other way round.
    private func crossed() throws -> Fleet {
        let fleet = try Fleet.two(Self.schema)
        for (device, name) in [(0, "Amy"), (1, "Ethel")] {
            try fleet.shell(
                device,
                "INSERT INTO artist(name) VALUES ('\(name)'); INSERT INTO song(title, artist) VALUES ('by \(name)', 2)")
        }
        try fleet.settle()
        XCTAssertNotEqual(
            try fleet.shell(0, "SELECT id FROM artist WHERE name = 'Amy'"),
            try fleet.shell(1, "SELECT id FROM artist WHERE name = 'Amy'"), "the keys must differ for this test")
        return fleet
    }

    func testAColumnThatLostItsForeignKeyMeansTheSameRows() throws {
        let fleet = try crossed()
        try fleet.shell(0, Self.removal)
        _ = try fleet.replicas[0].sync()
        try fleet.shell(1, Self.removal)
        try fleet.assertSettled(Self.songs, "by Amy|Amy\nby Ethel|Ethel\n")
        try fleet.shell(
            1,
            "INSERT INTO song(title, artist) SELECT 'new', id FROM artist WHERE name = 'Ethel'; UPDATE song SET title = title || '!'"
        )
        try fleet.assertSettled(Self.songs, "by Amy!|Amy\nby Ethel!|Ethel\nnew!|Ethel\n")
        try fleet.join()
        try fleet.assertSettled(Self.songs, "by Amy!|Amy\nby Ethel!|Ethel\nnew!|Ethel\n")
    }

    func testADeviceThatMigratesLaterUnderstandsTheOther() throws {
        let fleet = try crossed()
        try fleet.shell(0, Self.removal)
        try fleet.shell(0, "INSERT INTO song(title, artist) SELECT 'new', id FROM artist WHERE name = 'Ethel'")
        try fleet.shell(
            1, "UPDATE song SET artist = (SELECT id FROM artist WHERE name = 'Amy') WHERE title = 'by Ethel'")
        try fleet.settle()
        for device in 0...1 {
            XCTAssertEqual(try fleet.shell(device, Self.songs), "by Amy|Amy\nby Ethel|Amy\nnew|Ethel\n")
        }
        try fleet.shell(1, Self.removal)
        try fleet.assertSettled(Self.songs, "by Amy|Amy\nby Ethel|Amy\nnew|Ethel\n")
        // Nothing checks the column any more: a song of nobody stays as it is.
        try fleet.shell(0, "DELETE FROM artist WHERE name = 'Ethel'")
        try fleet.settle()
        for device in 0...1 { XCTAssertEqual(try fleet.shell(device, "SELECT count(*) FROM song"), "3\n") }
        try fleet.assertSoundAndInStep()
    }

    func testTheForeignKeyComesBack() throws {
        let fleet = try crossed()
        for device in 0...1 { try fleet.shell(device, Self.removal) }
        try fleet.settle()
        for device in 0...1 {
            try fleet.shell(device, Self.rebuild("artist INTEGER REFERENCES artist(id) ON DELETE CASCADE"))
        }
        try fleet.assertSettled(Self.songs, "by Amy|Amy\nby Ethel|Ethel\n")
        try fleet.shell(0, "PRAGMA foreign_keys = ON; DELETE FROM artist WHERE name = 'Ethel'")
        try fleet.assertSettled(Self.songs, "by Amy|Amy\n")
    }

    // MARK: Rows held back

    /// A child of one device holds back a parent that the other device deleted, until the rule of the foreign key is another.
    private func heldBack(_ column: String, migratesLater: Bool, _ expected: String) throws {
        let fleet = try Fleet.two(
            """
            CREATE TABLE p(k TEXT PRIMARY KEY); CREATE TABLE song(id TEXT PRIMARY KEY, title TEXT, p TEXT REFERENCES p(k));
            INSERT INTO p VALUES ('p1'), ('p2');
            """)
        let migration = Self.rebuild(column).replacingOccurrences(
            of: "new_song(id INTEGER", with: "new_song(id TEXT")
        try fleet.settle()
        try fleet.shell(1, "INSERT INTO song VALUES ('s', 'of b', 'p2')")
        if migratesLater { try fleet.shell(0, migration) }
        try fleet.shell(0, "DELETE FROM p WHERE k = 'p2'")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(1, "SELECT count(*) FROM p"), "2\n", "the child holds its parent back")
        if !migratesLater { try fleet.shell(0, migration) }
        try fleet.shell(1, migration)
        try fleet.settle()
        try fleet.assertSettled("SELECT k FROM p; SELECT id, p FROM song;", expected)
        try fleet.join()
        try fleet.assertSettled("SELECT k FROM p; SELECT id, p FROM song;", expected)
    }

    func testParentsHeldBackAreDecidedAnewUnderAnotherRule() throws {
        for migratesLater in [false, true] {
            try heldBack("p TEXT REFERENCES p(k) ON DELETE CASCADE", migratesLater: migratesLater, "p1\n")
            try heldBack("p TEXT REFERENCES p(k) ON DELETE SET NULL", migratesLater: migratesLater, "p1\ns|\n")
            try heldBack("p TEXT", migratesLater: migratesLater, "p1\ns|p2\n")
        }
    }

    // MARK: Defaults of new columns

    /// A row is deleted behind the migration and before Ferry looks, and comes back by a later write of another device.
    func testARowThatComesBackHasTheDefaultOfANewColumn() throws {
        for constraint in ["", "NOT NULL"] {
            let fleet = try Fleet.two(
                "CREATE TABLE note(k TEXT PRIMARY KEY, t); INSERT INTO note VALUES ('n1', 'x'), ('n2', 'y')")
            let migration = """
                ALTER TABLE note ADD COLUMN n \(constraint) DEFAULT 'q'; ALTER TABLE note ADD COLUMN i INTEGER DEFAULT '7';
                """
            try fleet.shell(0, migration + "DELETE FROM note WHERE k = 'n2'")
            try fleet.shell(1, "UPDATE note SET t = 'late' WHERE k = 'n2'")
            try fleet.settle()
            try fleet.shell(1, migration)
            try fleet.assertSettled(
                "SELECT *, typeof(i) FROM note ORDER BY k", "n1|x|q|7|integer\nn2|late|q|7|integer\n")
        }
    }
}
