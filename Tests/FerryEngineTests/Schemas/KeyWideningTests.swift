import FerryCore
import FerryTestSupport
import XCTest

@testable import FerryEngine

/// A key that gets a column more, or loses one, while rows are written before Ferry looks.
final class KeyWideningTests: XCTestCase {
    private let plain = """
        CREATE TABLE word(k TEXT PRIMARY KEY NOT NULL, y TEXT); INSERT INTO word VALUES ('k1', 'b1'), ('k2', 'b2');
        """
    private let rows = "SELECT * FROM word ORDER BY 1, 2"

    /// The migrations that people write: with a default, with a value, and WITHOUT ROWID.
    private let widenings = [
        "default": """
        BEGIN; CREATE TABLE n(k TEXT NOT NULL, lang TEXT NOT NULL DEFAULT 'en', y TEXT, PRIMARY KEY(k, lang));
        INSERT INTO n(k, y) SELECT k, y FROM word; DROP TABLE word; ALTER TABLE n RENAME TO word; COMMIT;
        """,
        "value": """
        BEGIN; CREATE TABLE n(k TEXT NOT NULL, lang TEXT NOT NULL, y TEXT, PRIMARY KEY(k, lang));
        INSERT INTO n SELECT k, 'en', y FROM word; DROP TABLE word; ALTER TABLE n RENAME TO word; COMMIT;
        """,
        "without": """
        BEGIN; CREATE TABLE n(k TEXT NOT NULL, lang TEXT NOT NULL DEFAULT 'en', y TEXT, PRIMARY KEY(lang, k)) WITHOUT ROWID;
        INSERT INTO n(k, y) SELECT k, y FROM word; DROP TABLE word; ALTER TABLE n RENAME TO word; COMMIT;
        """,
    ]

    private func order(_ name: String) -> String {
        name == "without" ? "SELECT k, lang, y FROM word ORDER BY 1, 2" : rows
    }

    private func assertShown(_ fleet: Fleet, _ expected: String, _ query: String, _ story: String) throws {
        try fleet.settle()
        for device in fleet.replicas.indices {
            XCTAssertEqual(try fleet.shell(device, query), expected, "\(story), device \(device)")
        }
        try fleet.assertSoundAndInStep()
    }

    /// Nobody deleted the row of the second language, and somebody deleted the row of the former key.
    func testARowBesideADeletedOneStays() throws {
        for (name, widen) in widenings {
            let fleet = try Fleet.two(plain)
            try fleet.shell(1, "DELETE FROM word WHERE k = 'k1'")
            try fleet.shell(0, widen)
            try fleet.shell(0, "INSERT INTO word(k, lang, y) VALUES ('k1', 'de', 'eins')")
            try fleet.settle()
            try fleet.shell(1, widen)
            try assertShown(fleet, "k1|de|eins\nk2|en|b2\n", order(name), name)
        }
    }

    func testAnUpdateByTheFormerKeyReachesItsRow() throws {
        for (name, widen) in widenings {
            for isLookedAt in [false, true] {
                let fleet = try Fleet.two(plain)
                try fleet.shell(0, widen)
                // The triggers of the former generation stand from the first look to the next pass.
                if isLookedAt { _ = try fleet.replicas[0].status() }
                try fleet.shell(0, "INSERT INTO word(k, lang, y) VALUES ('k1', 'de', 'eins'), ('k3', 'en', 'b3')")
                try fleet.shell(0, "UPDATE word SET y = 'Eins' WHERE lang = 'de'")
                try fleet.shell(1, "UPDATE word SET y = 'of b' WHERE k = 'k1'")
                try fleet.settle()
                try fleet.shell(1, widen)
                try assertShown(
                    fleet, "k1|de|Eins\nk1|en|of b\nk2|en|b2\nk3|en|b3\n", order(name),
                    "\(name), looked at: \(isLookedAt)")
            }
        }
    }

    /// Between the first look and the next pass, triggers tell rows of the former key from others.
    func testRowsOfBothGenerationsAreWrittenAndDeletedBeforeThePass() throws {
        for (name, widen) in widenings {
            let fleet = try Fleet.two(plain)
            try fleet.shell(0, widen)
            _ = try fleet.replicas[0].status()
            try fleet.shell(0, "INSERT INTO word(k, lang, y) VALUES ('k1', 'de', 'eins'), ('k2', 'de', 'zwei')")
            _ = try fleet.replicas[0].status()
            try fleet.shell(
                0, "DELETE FROM word WHERE k = 'k1' AND lang = 'de'; DELETE FROM word WHERE k = 'k2' AND lang = 'en'")
            try fleet.settle()
            try fleet.shell(1, widen)
            try assertShown(fleet, "k1|en|b1\nk2|de|zwei\n", order(name), name)
        }
    }

    /// The ID follows from the whole key, so the log tells a part that has its default.
    func testADeviceThatJoinsBetweenTheMigrationsIsSound() throws {
        for (name, widen) in widenings {
            let fleet = try Fleet.two(plain)
            // Device 1 tells its schema before device 0 does: whoever joins takes the newest one.
            try fleet.shell(1, "INSERT INTO word VALUES ('ka', 'b')")
            try fleet.settle()
            try fleet.shell(1, "INSERT INTO word VALUES ('kb', 'b')")
            try fleet.shell(0, widen)
            try fleet.settle()
            try fleet.join()
            try fleet.shell(1, widen)
            try fleet.shell(1, "INSERT INTO word(k, lang, y) VALUES ('k2', 'de', 'zwei')")
            try assertShown(fleet, "k1|en|b1\nk2|de|zwei\nk2|en|b2\nka|en|b\nkb|en|b\n", order(name), name)
        }
    }

    /// A migration to a narrower key leaves rows out. Nobody deleted the rows that have the key from then on.
    func testARowLeftOutByANarrowerKeyTakesNoOtherAlong() throws {
        let narrow = """
            BEGIN; CREATE TABLE n(k TEXT PRIMARY KEY NOT NULL, lang TEXT, y TEXT);
            INSERT OR IGNORE INTO n(k, lang, y) SELECT k, lang, y FROM word ORDER BY %;
            DROP TABLE word; ALTER TABLE n RENAME TO word; COMMIT;
            """
        for order in ["rowid", "rowid DESC"] {
            let fleet = try Fleet.two(
                """
                CREATE TABLE word(k TEXT NOT NULL, lang TEXT NOT NULL DEFAULT 'en', y TEXT, PRIMARY KEY(k, lang));
                INSERT INTO word VALUES ('k1', 'en', 'b1'), ('k2', 'en', 'b2');
                """)
            let migration = narrow.replacing("%", with: order)
            try fleet.shell(0, migration)
            _ = try fleet.replicas[0].sync()
            try fleet.shell(1, "INSERT INTO word VALUES ('k1', 'de', 'eins')")
            try fleet.settle()
            try fleet.shell(1, migration)
            try fleet.settle()
            for device in 0...1 {
                XCTAssertEqual(try fleet.shell(device, "SELECT k FROM word ORDER BY 1"), "k1\nk2\n", order)
            }
            try fleet.assertSoundAndInStep()
        }
    }

    /// The state has the spelling of the row, although pending changes mention another one that SQLite calls equal.
    func testAKeyThatIsSpelledOtherwiseAfterARebuild() throws {
        let fleet = try Fleet.two("CREATE TABLE word(k TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, y)")
        try fleet.shell(0, "INSERT INTO word VALUES ('B', 1), ('z', 1); DELETE FROM word WHERE k = 'B'")
        try fleet.shell(
            0,
            """
            BEGIN; CREATE TABLE n(k TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, y); INSERT INTO n SELECT * FROM word;
            DROP TABLE word; ALTER TABLE n RENAME TO word; COMMIT; INSERT OR REPLACE INTO word VALUES ('b', 2);
            """)
        try assertShown(fleet, "b|2\nz|1\n", rows, "other spelling")
    }

    /// Two versions of an app make a table: one device compares its key under NOCASE.
    func testAKeyThatOneDeviceComparesUnderNOCASE() throws {
        let fleet = try Fleet.two("CREATE TABLE other(id INTEGER PRIMARY KEY)")
        try fleet.shell(0, "CREATE TABLE word(k TEXT PRIMARY KEY, y); INSERT INTO word VALUES ('b', 1)")
        try fleet.shell(
            1, "CREATE TABLE word(k TEXT PRIMARY KEY COLLATE NOCASE, y); INSERT INTO word VALUES ('B', 'c')")
        _ = try fleet.replicas[0].sync()
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(0, rows), try fleet.shell(1, rows))
        try fleet.assertSoundAndInStep()
    }
}
