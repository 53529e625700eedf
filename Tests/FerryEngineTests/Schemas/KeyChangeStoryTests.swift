import FerryCore
import FerryStore
import XCTest

@testable import FerryEngine

/// Tables that get another primary key, on one device after the other (Docs/Merging.md, "Tables that get another primary key").
final class KeyChangeStoryTests: XCTestCase {
    private let artists = """
        CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT NOT NULL, note TEXT);
        CREATE TABLE other(id INTEGER PRIMARY KEY, value TEXT);
        INSERT INTO artist VALUES (1, 'Abba', ''), (2, 'Blur', ''), (3, 'Cure', '');
        """
    private let byName = """
        CREATE TABLE new_artist(id INTEGER, name TEXT NOT NULL PRIMARY KEY, note TEXT);
        INSERT INTO new_artist SELECT id, name, note FROM artist; DROP TABLE artist;
        ALTER TABLE new_artist RENAME TO artist;
        """
    private let byID = """
        CREATE TABLE new_artist(id INTEGER PRIMARY KEY, name TEXT NOT NULL, note TEXT);
        INSERT INTO new_artist SELECT id, name, note FROM artist; DROP TABLE artist;
        ALTER TABLE new_artist RENAME TO artist;
        """
    private let byNameAndNote = """
        CREATE TABLE new_artist(id INTEGER, name TEXT NOT NULL, note TEXT NOT NULL, PRIMARY KEY(name, note));
        INSERT INTO new_artist SELECT id, name, note FROM artist; DROP TABLE artist;
        ALTER TABLE new_artist RENAME TO artist;
        """
    private let rows = "SELECT name, note FROM artist ORDER BY name"

    private func fleet(_ sql: String) throws -> Fleet {
        let fleet = try Fleet()
        try fleet.start(sql)
        try fleet.join()
        try fleet.settle()
        return fleet
    }

    /// A table is dropped and filled anew by another key, and then by the former one: what the app wrote last is shown, and
    /// what it left out does not come back.
    func testATableThatIsFilledAnewByAnotherKeyAndBackShowsWhatTheAppWroteLast() throws {
        let kinds = [
            "integer": "CREATE TABLE thing(id INTEGER PRIMARY KEY, name TEXT NOT NULL, note)",
            "unique": "CREATE TABLE thing(id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, note)",
            "column": "CREATE TABLE thing(id INT PRIMARY KEY, name TEXT NOT NULL, note)",
            "name": "CREATE TABLE thing(id INTEGER, name TEXT PRIMARY KEY NOT NULL, note)",
            "compound": "CREATE TABLE thing(id INTEGER, name TEXT, note, PRIMARY KEY(id, name))",
        ]
        let first = "INSERT INTO thing VALUES (1, 'a', 'x'), (2, 'b', 'x'), (3, 'c', 'x');"
        let second = "INSERT INTO thing VALUES (1, 'a', 'x'), (20, 'b', 'x'), (4, 'd', 'x');"
        let third = "INSERT INTO thing VALUES (1, 'a', 'y'), (2, 'b', 'x'), (5, 'e', 'x');"
        let rows = "SELECT * FROM thing ORDER BY name, id"
        for (name, one) in kinds.sorted(by: { $0.key < $1.key }) {
            for (otherName, other) in kinds.sorted(by: { $0.key < $1.key }) where name != otherName {
                for isSentBetween in [true, false] {
                    let story = "\(name), \(otherName), \(name), sent between: \(isSentBetween)"
                    let fleet = try fleet("\(one); \(first)")
                    try fleet.shell(0, "BEGIN; DROP TABLE thing; \(other); \(second) COMMIT;")
                    if isSentBetween {
                        try fleet.settle()
                        XCTAssertEqual(try fleet.shell(0, rows), "1|a|x\n20|b|x\n4|d|x\n", story)
                    }
                    try fleet.shell(0, "BEGIN; DROP TABLE thing; \(one); \(third) COMMIT;")
                    try fleet.settle()
                    XCTAssertEqual(try fleet.shell(0, rows), "1|a|y\n2|b|x\n5|e|x\n", story)
                    XCTAssertEqual(
                        try fleet.shell(1, "SELECT name, note FROM thing ORDER BY name"), "a|y\nb|x\ne|x\n", story)
                    try fleet.assertSoundAndInStep()
                }
            }
        }
    }

    /// Rows that went along with a dropped table stay away, whichever key the table has when it is back.
    func testADroppedTableThatIsMadeAnewByAFormerKeyDoesNotShowItsFormerRows() throws {
        let fleet = try fleet("CREATE TABLE other(id INTEGER PRIMARY KEY)")
        try fleet.shell(0, "CREATE TABLE thing(a PRIMARY KEY, b); INSERT INTO thing VALUES (1, 2);")
        try fleet.settle()
        try fleet.shell(
            0, "DROP TABLE thing; CREATE TABLE thing(a INTEGER PRIMARY KEY); INSERT INTO thing VALUES (10), (11);")
        try fleet.settle()
        try fleet.shell(0, "DELETE FROM thing; DROP TABLE thing;")
        try fleet.settle()
        try fleet.shell(0, "CREATE TABLE thing(a PRIMARY KEY, b)")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(0, "SELECT * FROM thing"), "")
        try fleet.shell(0, "INSERT INTO thing VALUES ('x', 'y')")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(0, "SELECT * FROM thing"), "x|y\n")
        XCTAssertEqual(try fleet.replicas[0].verify(deep: true).differences, [])
    }

    func testWhatIsWrittenByTheNewKeyWaitsAndWhatIsWrittenByTheFormerOnePassesOver() throws {
        let fleet = try fleet(artists)
        try fleet.shell(0, byName)
        try fleet.settle()
        try fleet.shell(
            0, "INSERT INTO artist VALUES (NULL, 'Devo', 'by name'); UPDATE artist SET note = 'a' WHERE id = 1")
        try fleet.shell(1, "INSERT INTO artist VALUES (9, 'Elbow', 'by id'); DELETE FROM artist WHERE id = 2")
        try fleet.shell(1, "INSERT INTO other(value) VALUES ('goes on')")
        try fleet.settle()
        // What the other one writes by the former key passes over; what it does not know yet waits there.
        XCTAssertEqual(try fleet.shell(0, rows), "Abba|a\nCure|\nDevo|by name\nElbow|by id\n")
        XCTAssertEqual(try fleet.shell(1, rows), "Abba|\nCure|\nElbow|by id\n")
        XCTAssertEqual(try fleet.shell(0, "SELECT value FROM other"), "goes on\n")
        for index in 0...1 {
            let report = try fleet.replicas[index].sync()
            XCTAssertEqual(report.waiting, [])
            let apart = try XCTUnwrap(report.tablesApart?.first)
            XCTAssertEqual(apart.table, "artist")
            XCTAssertEqual(apart.devices, ["device\(1 - index)"])
            XCTAssertEqual(apart.here, index == 0 ? "key (name)" : "integer key")
            XCTAssertEqual(apart.there, index == 0 ? "integer key" : "key (name)")
            XCTAssertEqual(try fleet.replicas[index].status().tablesApart, [apart])
            XCTAssertTrue(
                try fleet.replicas[index].examine().findings.contains { $0.problem == apart.problem })
            // Nobody says that the devices differ.
            XCTAssertEqual(try fleet.replicas[index].status().devices.compactMap(\.differing), [])
            XCTAssertEqual(try fleet.replicas[index].status().devices.map(\.standing), [.unproven])
        }
        try fleet.shell(1, byName)
        try fleet.settle()
        try fleet.assertEqual(rows)
        XCTAssertEqual(try fleet.shell(0, rows), "Abba|a\nCure|\nDevo|by name\nElbow|by id\n")
        try fleet.assertSoundAndInStep()
    }

    func testWhatSomebodyWroteLaterWinsInWhicheverGeneration() throws {
        let fleet = try fleet(artists)
        try fleet.shell(0, byName)
        try fleet.settle()
        try fleet.shell(1, "UPDATE artist SET note = 'first, by id' WHERE id = 1")
        try fleet.settle()
        try fleet.shell(0, "UPDATE artist SET note = 'then, by name' WHERE id = 1")
        try fleet.shell(0, "UPDATE artist SET note = 'first, by name' WHERE id = 2")
        try fleet.settle()
        try fleet.shell(1, "UPDATE artist SET note = 'then, by id' WHERE id = 2")
        try fleet.shell(1, byName)
        try fleet.settle()
        try fleet.assertEqual(rows)
        XCTAssertEqual(try fleet.shell(1, rows), "Abba|then, by name\nBlur|then, by id\nCure|\n")
        try fleet.assertSoundAndInStep()
    }

    func testADeletedRowStaysDeleted() throws {
        let fleet = try fleet(artists)
        try fleet.shell(0, "DELETE FROM artist WHERE id = 1;" + byName + "DELETE FROM artist WHERE id = 2;")
        _ = try fleet.replicas[0].sync()
        try fleet.shell(1, "DELETE FROM artist WHERE id = 3;" + byName)
        try fleet.settle()
        try fleet.assertEqual(rows)
        XCTAssertEqual(try fleet.shell(0, rows), "")
        // And one that is deleted on the device that waits.
        let second = try self.fleet(artists)
        try second.shell(0, byName)
        try second.settle()
        try second.shell(1, "DELETE FROM artist WHERE id = 3")
        try second.settle()
        try second.shell(1, byName)
        try second.settle()
        XCTAssertEqual(try second.shell(0, rows), "Abba|\nBlur|\n")
        try second.assertEqual(rows)
        try second.assertSoundAndInStep()
    }

    func testTwoDevicesThatMigrateTheSameRowsSendThemOnceAndAreInStep() throws {
        let fleet = try fleet(artists)
        try fleet.shell(0, byName)
        try fleet.shell(1, byName)
        XCTAssertEqual(try fleet.replicas[0].sync().published.changes, 3)
        XCTAssertEqual(try fleet.replicas[1].sync().conflicts, 0)
        try fleet.settle()
        try fleet.assertEqual("SELECT * FROM artist ORDER BY name")
        try fleet.assertSoundAndInStep()
        // Who migrates after having heard of it has nothing to add.
        try fleet.join()
        let third = try self.fleet(artists)
        try third.shell(0, byName)
        try third.settle()
        try third.shell(1, byName)
        XCTAssertEqual(try third.replicas[1].sync().published.changes, 0)
        try third.settle()
        try third.assertSoundAndInStep()
    }

    func testADeviceThatGoesBackFindsItsRowsAsTheOtherLeftThem() throws {
        let fleet = try fleet(artists)
        try fleet.shell(0, byName)
        try fleet.settle()
        try fleet.shell(0, "UPDATE artist SET note = 'by name' WHERE id = 1; INSERT INTO artist VALUES (4, 'Devo', '')")
        try fleet.shell(1, "UPDATE artist SET note = 'by id' WHERE id = 2; INSERT INTO artist VALUES (5, 'Elbow', '')")
        try fleet.shell(1, "DELETE FROM artist WHERE id = 3")
        try fleet.settle()
        try fleet.shell(0, byID)
        try fleet.settle()
        try fleet.assertEqual(rows)
        XCTAssertEqual(try fleet.shell(0, rows), "Abba|by name\nBlur|by id\nDevo|\nElbow|\n")
        try fleet.assertEqual("SELECT * FROM artist ORDER BY id")
        try fleet.assertSoundAndInStep()
    }

    func testDevicesThatMigrateInDifferentDirectionsMeetInTheEnd() throws {
        let fleet = try fleet(artists)
        try fleet.shell(0, byName)
        try fleet.shell(1, byNameAndNote)
        try fleet.settle()
        try fleet.shell(0, "INSERT INTO artist VALUES (4, 'Devo', ''); DELETE FROM artist WHERE name = 'Abba'")
        try fleet.shell(1, "INSERT INTO artist VALUES (5, 'Elbow', ''); DELETE FROM artist WHERE name = 'Blur'")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(0, rows), "Blur|\nCure|\nDevo|\n")
        XCTAssertEqual(try fleet.shell(1, rows), "Abba|\nCure|\nElbow|\n")
        try fleet.shell(1, byName)
        try fleet.settle()
        try fleet.assertEqual(rows)
        XCTAssertEqual(try fleet.shell(0, rows), "Cure|\nDevo|\nElbow|\n")
        try fleet.assertSoundAndInStep()
    }

    func testAThirdDeviceJoinsAtAnyTime() throws {
        let fleet = try fleet(artists)
        try fleet.shell(0, byName)
        try fleet.settle()
        try fleet.shell(1, "INSERT INTO artist VALUES (5, 'Elbow', '')")
        try fleet.settle()
        // It gets the newest schema.
        try fleet.join()
        XCTAssertEqual(try fleet.shell(2, rows), "Abba|\nBlur|\nCure|\nElbow|\n")
        // One that brings the former schema waits on its own.
        try fleet.join("CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT NOT NULL, note TEXT)")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(3, rows), "Abba|\nBlur|\nCure|\nElbow|\n")
        for index in [1, 3] { try fleet.shell(index, byName) }
        try fleet.settle()
        try fleet.assertEqual(rows)
        XCTAssertEqual(try fleet.shell(2, rows), "Abba|\nBlur|\nCure|\nElbow|\n")
        try fleet.assertSoundAndInStep()
    }

    func testADeviceWithAnotherKeyFromTheBeginningStopsNobody() throws {
        let fleet = try fleet(artists)
        try fleet.join(
            "CREATE TABLE artist(name TEXT PRIMARY KEY NOT NULL, note TEXT); INSERT INTO artist VALUES ('Devo', 'own')")
        try fleet.settle()
        try fleet.shell(0, "INSERT INTO other(value) VALUES ('a')")
        try fleet.shell(
            2,
            "CREATE TABLE IF NOT EXISTS other(id INTEGER PRIMARY KEY, value TEXT); INSERT INTO other(value) VALUES ('c')"
        )
        try fleet.settle()
        for index in 0...2 {
            XCTAssertEqual(try fleet.shell(index, "SELECT value FROM other ORDER BY 1"), "a\nc\n")
            XCTAssertEqual(try fleet.replicas[index].sync().waiting, [])
        }
        XCTAssertEqual(try fleet.shell(2, rows), "Devo|own\n")
        for index in 0...1 { try fleet.shell(index, byName) }
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(2, rows), "Abba|\nBlur|\nCure|\nDevo|own\n")
        for index in 0...1 { XCTAssertEqual(try fleet.shell(index, rows), try fleet.shell(2, rows)) }
    }

    /// The container's devices have their integers in `id`, and the joining database has its own in `no`.
    func testADatabaseThatJoinsWithItsIntegersInAnotherColumnStopsNobody() throws {
        let all = "SELECT id, no, name FROM thing ORDER BY no"
        let fleet = try fleet(
            """
            CREATE TABLE thing(id INTEGER PRIMARY KEY, no INTEGER, name TEXT);
            CREATE TABLE other(id INTEGER PRIMARY KEY, value TEXT);
            INSERT INTO thing VALUES (1, 11, 'a'), (2, 12, 'b');
            """)
        try fleet.join(
            """
            CREATE TABLE thing(id INTEGER, no INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE other(id INTEGER PRIMARY KEY, value TEXT);
            INSERT INTO thing VALUES (3, 13, 'c');
            """)
        try fleet.settle()
        try fleet.shell(0, "INSERT INTO other(value) VALUES ('a')")
        try fleet.shell(2, "INSERT INTO other(value) VALUES ('c'); INSERT INTO thing VALUES (4, 14, 'd')")
        try fleet.settle()
        for index in 0...2 {
            XCTAssertEqual(try fleet.shell(index, "SELECT value FROM other ORDER BY 1"), "a\nc\n")
            XCTAssertEqual(try fleet.replicas[index].sync().waiting, [])
        }
        for index in 0...1 { XCTAssertEqual(try fleet.shell(index, all), "1|11|a\n2|12|b\n") }
        XCTAssertEqual(try fleet.shell(2, all), "3|13|c\n4|14|d\n")
        XCTAssertEqual(try fleet.replicas[2].status().tablesApart.map(\.table), ["thing"])
        for index in 0...1 {
            try fleet.shell(
                index,
                """
                CREATE TABLE new_thing(id INTEGER, no INTEGER PRIMARY KEY, name TEXT);
                INSERT INTO new_thing SELECT id, no, name FROM thing; DROP TABLE thing;
                ALTER TABLE new_thing RENAME TO thing;
                """)
        }
        try fleet.settle()
        for index in 0...2 { XCTAssertEqual(try fleet.shell(index, all), "1|11|a\n2|12|b\n3|13|c\n4|14|d\n") }
        try fleet.assertSoundAndInStep()
    }

    func testReferencesFollowTheKeyThatTheyReferTo() throws {
        let fleet = try fleet(
            artists + "CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT, artist INTEGER REFERENCES artist(id));"
                + "INSERT INTO album VALUES (1, 'Arrival', 1), (2, 'Parklife', 2);")
        let migration = """
            PRAGMA foreign_keys = OFF; BEGIN;
            CREATE TABLE new_album(id INTEGER PRIMARY KEY, title TEXT, artist TEXT REFERENCES artist(name));
            INSERT INTO new_album SELECT album.id, title, artist.name FROM album LEFT JOIN artist ON artist.id = artist;
            \(byName) DROP TABLE album; ALTER TABLE new_album RENAME TO album; COMMIT;
            """
        try fleet.shell(0, migration)
        try fleet.settle()
        try fleet.shell(
            0, "INSERT INTO artist VALUES (NULL, 'Devo', ''); INSERT INTO album VALUES (3, 'Freedom', 'Devo')")
        try fleet.shell(1, "INSERT INTO album VALUES (4, 'Wish', 3); UPDATE album SET title = 'ARRIVAL' WHERE id = 1")
        try fleet.settle()
        // Nobody's rows vanish meanwhile; a reference that only the other one can tell is empty.
        let albumsThere = "SELECT title, artist FROM album ORDER BY title"
        XCTAssertEqual(try fleet.shell(0, albumsThere), "ARRIVAL|Abba\nFreedom|Devo\nParklife|Blur\nWish|\n")
        XCTAssertEqual(try fleet.shell(1, albumsThere), "ARRIVAL|1\nFreedom|\nParklife|2\nWish|3\n")
        try fleet.shell(1, migration)
        try fleet.settle()
        let albums = "SELECT title, artist FROM album ORDER BY title"
        try fleet.assertEqual(albums)
        XCTAssertEqual(try fleet.shell(0, albums), "ARRIVAL|Abba\nFreedom|Devo\nParklife|Blur\nWish|Cure\n")
        try fleet.join()
        try fleet.settle()
        try fleet.assertEqual(albums)
        try fleet.assertSoundAndInStep()
        // And back to integers.
        let back = """
            PRAGMA foreign_keys = OFF; BEGIN;
            CREATE TABLE aside(id INTEGER PRIMARY KEY, name TEXT NOT NULL, note TEXT);
            INSERT INTO aside(name, note) SELECT name, note FROM artist ORDER BY name;
            CREATE TABLE new_album(id INTEGER PRIMARY KEY, title TEXT, artist INTEGER REFERENCES artist(id));
            INSERT INTO new_album SELECT album.id, title, aside.id FROM album LEFT JOIN aside ON aside.name = artist;
            DROP TABLE artist; ALTER TABLE aside RENAME TO artist;
            DROP TABLE album; ALTER TABLE new_album RENAME TO album; COMMIT;
            """
        try fleet.shell(2, "UPDATE album SET artist = 'Cure' WHERE title = 'Freedom'")
        for index in 0...2 {
            try fleet.shell(index, back)
            _ = try fleet.replicas[index].sync()
        }
        try fleet.settle()
        let joined = "SELECT title, name FROM album JOIN artist ON artist.id = artist ORDER BY title"
        try fleet.assertEqual(joined)
        XCTAssertEqual(try fleet.shell(0, joined), "ARRIVAL|Abba\nFreedom|Cure\nParklife|Blur\nWish|Cure\n")
        try fleet.assertSoundAndInStep()
    }

    func testATableThatHasNoKeyForAWhileGoesOnWithTheNextOne() throws {
        let keyless = """
            CREATE TABLE new_artist(id INTEGER, name TEXT NOT NULL, note TEXT);
            INSERT INTO new_artist SELECT id, name, note FROM artist; DROP TABLE artist;
            ALTER TABLE new_artist RENAME TO artist;
            """
        for next in [byID, byName] {
            let fleet = try fleet(artists)
            try fleet.shell(0, "UPDATE artist SET note = 'before' WHERE id = 1;" + keyless)
            try fleet.settle()
            XCTAssertEqual(try fleet.replicas[0].status().leftOut.map(\.name), ["artist"])
            try fleet.shell(0, "DELETE FROM artist WHERE id = 2; INSERT INTO artist VALUES (7, 'Gorillaz', '')")
            try fleet.shell(
                1, "UPDATE artist SET note = 'by id' WHERE id = 3; INSERT INTO artist VALUES (5, 'Elbow', '')")
            try fleet.settle()
            try fleet.shell(0, next)
            try fleet.settle()
            try fleet.shell(1, next)
            try fleet.settle()
            try fleet.assertEqual(rows)
            XCTAssertEqual(
                try fleet.shell(0, rows), "Abba|before\nCure|by id\nElbow|\nGorillaz|\n", next)
            try fleet.assertSoundAndInStep()
        }
    }

    func testADatabaseThatLeavesInTheMidstOfAMigrationKeepsItsOwnIndexesOnly() throws {
        let fleet = try fleet(artists)
        try fleet.shell(0, byName)
        // A write of Ferry's that packs nothing takes the migration up.
        try fleet.replicas[0].setPolicies([PolicySetting(table: "other", column: "value", .firstWriterWins)])
        _ = try fleet.replicas[0].leave()
        XCTAssertEqual(try fleet.shell(0, "SELECT name FROM sqlite_schema WHERE name LIKE 'ferry%'"), "")
    }

    func testHiddenRowsPassOverToo() throws {
        let fleet = try fleet(
            artists + "CREATE TABLE label(id INTEGER PRIMARY KEY, name TEXT);"
                + "CREATE TABLE deal(id INTEGER PRIMARY KEY, code TEXT NOT NULL, label INTEGER REFERENCES label ON DELETE CASCADE);"
                + "INSERT INTO label VALUES (1, 'Rough');")
        // A row that refers to one that another device deletes at the same time is hidden there.
        try fleet.shell(0, "DELETE FROM label")
        _ = try fleet.replicas[0].sync()
        try fleet.shell(1, "INSERT INTO deal VALUES (1, 'x', 1)")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(0, "SELECT count(*) FROM deal"), "0\n")
        XCTAssertEqual(try fleet.replicas[0].status().hidden, 1)
        let migration = """
            PRAGMA foreign_keys = OFF; BEGIN;
            CREATE TABLE new_deal(id INTEGER, code TEXT NOT NULL PRIMARY KEY, label INTEGER REFERENCES label ON DELETE CASCADE);
            INSERT INTO new_deal SELECT * FROM deal; DROP TABLE deal; ALTER TABLE new_deal RENAME TO deal; COMMIT;
            """
        for index in 0...1 { try fleet.shell(index, migration) }
        try fleet.settle()
        XCTAssertEqual(try fleet.replicas.map { try $0.status().hidden }, [1, 1])
        try fleet.assertSoundAndInStep()
    }

    func testAKeyColumnThatIsRenamedIsTheSameKey() throws {
        for isKnown in [true, false] {
            let fleet = try fleet(
                "CREATE TABLE p(id TEXT PRIMARY KEY, x TEXT); INSERT INTO p VALUES ('1', 'X'), ('2', 'Y')")
            try fleet.shell(0, "UPDATE p SET x = 'before' WHERE id = '1'; INSERT INTO p VALUES ('3', 'Z')")
            try fleet.shell(0, "ALTER TABLE p RENAME COLUMN id TO pid; UPDATE p SET x = 'a' WHERE pid = '3'")
            try fleet.shell(0, "DELETE FROM p WHERE pid = '2'")
            if isKnown { try fleet.settle() }
            try fleet.shell(1, "UPDATE p SET x = 'b' WHERE id = '1'; INSERT INTO p VALUES ('9', 'n')")
            try fleet.shell(1, "ALTER TABLE p RENAME COLUMN id TO pid")
            try fleet.settle()
            try fleet.assertEqual("SELECT * FROM p ORDER BY pid")
            XCTAssertEqual(try fleet.shell(0, "SELECT * FROM p ORDER BY pid"), "1|b\n3|a\n9|n\n")
            try fleet.join()
            try fleet.settle()
            try fleet.assertEqual("SELECT * FROM p ORDER BY pid")
            try fleet.assertSoundAndInStep()
        }
    }

    func testTablesApartAreToldBeforeFerryHasWritten() throws {
        let fleet = try fleet(artists)
        try fleet.shell(0, byNameAndNote + "INSERT INTO artist VALUES (7, 'Gorillaz', '')")
        // Nothing was packed yet: reports read the database as it is.
        XCTAssertEqual(try fleet.replicas[0].status().tables.map(\.name), ["artist", "other"])
        XCTAssertTrue(try fleet.replicas[0].examine().isHealthy)
        try fleet.shell(1, byNameAndNote)
        try fleet.settle()
        try fleet.assertEqual(rows)
        try fleet.assertSoundAndInStep()
    }

    func testSnapshotsHoldAllGenerations() throws {
        let fleet = try fleet(artists)
        try fleet.shell(0, byName)
        try fleet.settle()
        try fleet.shell(1, "INSERT INTO artist VALUES (5, 'Elbow', ''); DELETE FROM artist WHERE id = 2")
        try fleet.settle()
        XCTAssertEqual(try fleet.writeSnapshot(0).manifest.tables.map(\.name), ["artist", "artist"])
        try fleet.removeSegments()
        try fleet.join()
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(2, rows), "Abba|\nCure|\nElbow|\n")
        try fleet.shell(1, byName)
        try fleet.settle()
        try fleet.assertEqual(rows)
        XCTAssertEqual(try fleet.shell(2, rows), "Abba|\nCure|\nElbow|\n")
        try fleet.assertSoundAndInStep()
    }

    func testCountersGoOnCounting() throws {
        let fleet = try fleet(
            "CREATE TABLE plays(id INTEGER PRIMARY KEY, song TEXT NOT NULL, n INTEGER NOT NULL DEFAULT 0); INSERT INTO plays VALUES (1, 's', 1)"
        )
        try fleet.replicas[0].setPolicies([PolicySetting(table: "plays", column: "n", .counter)])
        try fleet.settle()
        try fleet.shell(0, "UPDATE plays SET n = n + 10")
        try fleet.shell(1, "UPDATE plays SET n = n + 100")
        let migration = """
            CREATE TABLE new_plays(id INTEGER, song TEXT NOT NULL PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0);
            INSERT INTO new_plays SELECT * FROM plays; DROP TABLE plays; ALTER TABLE new_plays RENAME TO plays;
            """
        for index in 0...1 { try fleet.shell(index, migration + "UPDATE plays SET n = n + 1000") }
        try fleet.settle()
        try fleet.assertEqual("SELECT song, n FROM plays")
        XCTAssertEqual(try fleet.shell(0, "SELECT n FROM plays"), "2111\n")
        try fleet.assertSoundAndInStep()
    }
}
