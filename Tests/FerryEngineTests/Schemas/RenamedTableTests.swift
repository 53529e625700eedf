import FerryEngine
import FerrySchema
import FerryTestSupport
import XCTest

/// A table gets another name on every device at a time of its own. Its rows stay the same rows, and nothing is written.
final class RenamedTableTests: XCTestCase {
    private let rename = "ALTER TABLE item RENAME TO thing"
    private let things = "SELECT id, name FROM thing ORDER BY id"
    private let rows = "INSERT INTO item VALUES (1, 'one'), (2, 'two'), (3, 'three');"

    private let sized = """
        CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, size INTEGER);
        INSERT INTO item VALUES (1, 'one', 1), (2, 'two', 2), (3, 'three', 3);
        """

    private func makeFleet(_ schema: String? = nil) throws -> Fleet {
        try Fleet.two(schema ?? "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT); \(rows)")
    }

    func testRowsUnsentWritesAndDeletionsOutliveRenamesOnBothDevices() throws {
        for key in ["INTEGER PRIMARY KEY", "INTEGER PRIMARY KEY AUTOINCREMENT", "INT PRIMARY KEY NOT NULL"] {
            let fleet = try makeFleet("CREATE TABLE item(id \(key), name TEXT); \(rows)")
            try fleet.shell(0, "UPDATE item SET name = 'ONE' WHERE id = 1; DELETE FROM item WHERE id = 2")
            try fleet.shell(0, rename)
            try fleet.shell(1, "UPDATE item SET name = 'THREE' WHERE id = 3")
            try fleet.shell(1, rename)
            try fleet.assertSettled(things, "1|ONE\n3|THREE\n")
        }
    }

    /// The former table's triggers are gone with the table: rows alone tell which table the new one is.
    func testARenamedTableThatIsMadeAnewInTheSameMigrationKeepsItsRows() throws {
        func rebuild(_ name: String) -> String {
            """
            CREATE TABLE n(id KEY, name TEXT, more INT DEFAULT 0 CHECK (more IN (0, 1)));
            INSERT INTO n(id, name) SELECT id, name FROM \(name); DROP TABLE \(name); ALTER TABLE n RENAME TO \(name);
            """
        }
        let migrations = [rename + "; " + rebuild("thing"), rebuild("item") + rename]
        for key in ["INTEGER PRIMARY KEY", "TEXT PRIMARY KEY NOT NULL"] {
            for migration in migrations.map({ $0.replacing("KEY", with: key) }) {
                let fleet = try makeFleet("CREATE TABLE item(id \(key), name TEXT); \(rows)")
                try fleet.shell(0, "DELETE FROM item WHERE id = 2")
                try fleet.shell(1, "UPDATE item SET name = 'THREE' WHERE id = 3")
                try fleet.shell(0, "BEGIN; \(migration); COMMIT")
                _ = try fleet.replicas[0].sync()
                try fleet.shell(1, "BEGIN; \(migration); COMMIT")
                try fleet.assertSettled(things, "1|one\n3|THREE\n")
            }
        }
    }

    /// The values of the migrated device wait for the new column here, while the migration makes other ones.
    func testARenamedTableThatIsMadeAnewWithAColumnThatAnotherDeviceHasAlready() throws {
        for value in ["DEFAULT CURRENT_TIMESTAMP", "DEFAULT (random())", "DEFAULT 'plain'"] {
            let migration = """
                BEGIN; CREATE TABLE thing(id INTEGER PRIMARY KEY, name TEXT, added \(value));
                INSERT INTO thing(id, name) SELECT id, name FROM item; DROP TABLE item; COMMIT;
                """
            let fleet = try makeFleet()
            try fleet.shell(0, migration)
            try fleet.settle()
            try fleet.shell(1, "UPDATE item SET name = 'ONE' WHERE id = 1")
            try fleet.shell(1, migration)
            try fleet.settle()
            try fleet.assertEqual("SELECT id, name, added FROM thing ORDER BY id;")
            try fleet.assertSettled(things, "1|ONE\n2|two\n3|three\n")
            try fleet.join()
            try fleet.assertSettled(things, "1|ONE\n2|two\n3|three\n")
        }
    }

    func testAnEmptyTableThatIsRenamedAndMadeAnewGoesOn() throws {
        let fleet = try makeFleet("CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT)")
        let rebuild = "CREATE TABLE n(id INTEGER PRIMARY KEY, name TEXT CHECK (name <> '')); DROP TABLE item; "
        let migration = rebuild + "ALTER TABLE n RENAME TO thing"
        // One device skips a version, and the other one had a look between the two migrations.
        try fleet.shell(1, rebuild + "ALTER TABLE n RENAME TO item")
        _ = try fleet.replicas[1].sync()
        try fleet.shell(1, rename)
        _ = try fleet.replicas[1].sync()
        try fleet.shell(0, migration)
        _ = try fleet.replicas[0].sync()
        try fleet.shell(0, "INSERT INTO thing VALUES (1, 'here')")
        try fleet.shell(1, "INSERT INTO thing VALUES (2, 'there')")
        try fleet.assertSettled("SELECT name FROM thing ORDER BY name", "here\nthere\n")
    }

    /// The migration changes the values of most rows. The keys tell, and under integer keys a row that is as before.
    func testARenamedTableThatIsMadeAnewWithOtherValuesIsTheTable() throws {
        for key in ["TEXT PRIMARY KEY NOT NULL", "INTEGER PRIMARY KEY"] {
            for skips in [false, true] {
                let fleet = try makeFleet(
                    """
                    CREATE TABLE item(id \(key), name TEXT, size INTEGER);
                    INSERT INTO item VALUES (1, 'one', 1), (2, 'two', NULL), (3, 'three', NULL);
                    """)
                let rebuild = """
                    BEGIN; CREATE TABLE n(id \(key), name TEXT, size INTEGER NOT NULL DEFAULT 0);
                    INSERT INTO n SELECT id, name, coalesce(size, 0) FROM thing; DROP TABLE thing; ALTER TABLE n RENAME TO thing; COMMIT;
                    """
                try fleet.shell(0, rename + "; " + rebuild)
                // A person writes before Ferry looks.
                try fleet.shell(0, "UPDATE thing SET name = 'TWO' WHERE id = 2")
                _ = try fleet.replicas[0].sync()
                _ = try fleet.replicas[1].sync()
                try fleet.shell(1, rename)
                if !skips { _ = try fleet.replicas[1].sync() }
                try fleet.shell(1, rebuild)
                try fleet.assertSettled("SELECT id, name, size FROM thing ORDER BY id", "1|one|1\n2|TWO|0\n3|three|0\n")
            }
        }
    }

    /// The first row comes before Ferry looks.
    func testAnEmptyTableThatIsRenamedAndMadeAnewTakesItsFirstRow() throws {
        let fleet = try makeFleet("CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT)")
        let migration = "DROP TABLE item; CREATE TABLE thing(id INTEGER PRIMARY KEY, name TEXT CHECK (name <> ''));"
        try fleet.shell(0, migration + "INSERT INTO thing VALUES (1, 'here')")
        _ = try fleet.replicas[0].sync()
        try fleet.shell(1, rename + "; INSERT INTO thing VALUES (1, 'there')")
        try fleet.assertSettled("SELECT name FROM thing ORDER BY name", "here\nthere\n")
    }

    /// A column that is gone leaves no checksum to compare.
    func testARenamedTableThatIsMadeAnewWithoutAColumnGoesOn() throws {
        let rebuild = """
            CREATE TABLE n(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO n SELECT id, name FROM thing; DROP TABLE thing;
            ALTER TABLE n RENAME TO thing
            """
        let fleet = try makeFleet(sized)
        // One device skips a version.
        try fleet.shell(1, "BEGIN; \(rename); \(rebuild); COMMIT")
        try fleet.settle()
        try fleet.shell(0, rename)
        try fleet.settle()
        try fleet.shell(0, "BEGIN; \(rebuild); COMMIT")
        try fleet.settle()
        try fleet.shell(1, "INSERT INTO thing VALUES (4, 'four'); UPDATE thing SET name = 'TWO' WHERE id = 2")
        try fleet.assertSettled(things, "1|one\n2|TWO\n3|three\n4|four\n")
    }

    func testARenamedTableThatIsMadeAnewWithAnotherTypeGoesOn() throws {
        let migration = """
            BEGIN; \(rename); CREATE TABLE n(id INTEGER PRIMARY KEY, name TEXT, size TEXT); INSERT INTO n SELECT * FROM thing;
            DROP TABLE thing; ALTER TABLE n RENAME TO thing; COMMIT
            """
        let fleet = try makeFleet(sized)
        try fleet.shell(1, migration)
        _ = try fleet.replicas[1].sync()
        try fleet.shell(1, "UPDATE thing SET size = '20' WHERE id = 2")
        _ = try fleet.replicas[1].sync()
        try fleet.shell(0, migration)
        try fleet.assertSettled("SELECT * FROM thing ORDER BY id", "1|one|1\n2|two|20\n3|three|3\n")
    }

    func testARenamedTableThatIsMadeAnewWhileAllRowsWaitGoesOn() throws {
        let migration = """
            BEGIN; \(rename); CREATE TABLE n(id INTEGER PRIMARY KEY, name TEXT, made TEXT);
            INSERT INTO n SELECT *, '2026' FROM thing; DROP TABLE thing; ALTER TABLE n RENAME TO thing; COMMIT
            """
        for first in [0, 1] {
            let fleet = try makeFleet()
            try fleet.shell(0, "UPDATE item SET name = upper(name)")
            for device in [first, 1 - first] {
                try fleet.shell(device, migration)
                _ = try fleet.replicas[device].sync()
            }
            try fleet.assertSettled(things, "1|ONE\n2|TWO\n3|THREE\n")
        }
    }

    /// Both tables travelled. The second table takes the name of the first one, and its rows stay its rows.
    func testATableTakesTheNameOfADroppedOne() throws {
        let take = "BEGIN; DROP TABLE item; ALTER TABLE item_2 RENAME TO item; COMMIT"
        let contents = [
            "INSERT INTO item_2 VALUES (1, 'eins', 1), (2, 'zwei', 2)", "INSERT INTO item_2 SELECT *, 0 FROM item",
            "INSERT INTO item_2 SELECT *, 0 FROM item; INSERT INTO item_2 VALUES (4, 'four', 4)",
        ]
        for content in contents {
            let fleet = try makeFleet(
                """
                CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT); \(rows)
                CREATE TABLE item_2(id INTEGER PRIMARY KEY, name TEXT, size INT); \(content);
                """)
            let count = try fleet.shell(0, "SELECT count(*) FROM item_2")
            try fleet.shell(0, take)
            try fleet.settle()
            try fleet.shell(1, "UPDATE item_2 SET name = 'TWO' WHERE id = 2")
            try fleet.settle()
            try fleet.shell(1, take)
            try fleet.settle()
            try fleet.shell(0, "UPDATE item SET size = 9 WHERE id = 1")
            try fleet.settle()
            for device in 0...1 {
                XCTAssertEqual(try fleet.shell(device, "SELECT count(*) FROM item"), count, content)
                XCTAssertEqual(try fleet.shell(device, "SELECT name FROM item WHERE id = 2"), "TWO\n", content)
                XCTAssertEqual(try fleet.shell(device, "SELECT size FROM item WHERE id = 1"), "9\n", content)
            }
            try fleet.assertSoundAndInStep()
        }
    }

    func testATableWithOtherRowsIsAnotherTable() throws {
        let fleet = try makeFleet()
        let migration = """
            DROP TABLE item; CREATE TABLE thing(id INTEGER PRIMARY KEY, name TEXT);
            INSERT INTO thing VALUES (1, 'other'), (2, 'rows');
            """
        try fleet.shell(0, migration)
        _ = try fleet.replicas[0].sync()
        XCTAssertEqual(try fleet.replicas[0].store.tableNames().local, [:])
        XCTAssertEqual(try fleet.shell(1, "SELECT count(*) FROM item"), "3\n")
    }

    func testDevicesUnderBothNamesGoOnTogether() throws {
        let fleet = try makeFleet()
        try fleet.shell(0, rename)
        try fleet.settle()
        try fleet.shell(0, "INSERT INTO thing VALUES (10, 'ten'); DELETE FROM thing WHERE id = 2")
        try fleet.shell(1, "UPDATE item SET name = 'ONE' WHERE id = 1; INSERT INTO item VALUES (20, 'twenty')")
        try fleet.settle()
        let expected = "1|ONE\n3|three\n10|ten\n20|twenty\n"
        XCTAssertEqual(try fleet.shell(0, things), expected)
        XCTAssertEqual(try fleet.shell(1, "SELECT id, name FROM item ORDER BY id"), expected)
        try fleet.assertSoundAndInStep()
        try fleet.shell(1, "UPDATE item SET name = 'TEN' WHERE id = 10")
        try fleet.shell(1, rename)
        try fleet.assertSettled(things, "1|ONE\n3|three\n10|TEN\n20|twenty\n")
    }

    func testADeviceThatJoinsGetsThePresentName() throws {
        let fleet = try makeFleet()
        try fleet.shell(0, rename)
        try fleet.shell(0, "DELETE FROM thing WHERE id = 1")
        _ = try fleet.replicas[0].sync()
        try fleet.join()
        try fleet.shell(1, rename)
        try fleet.shell(2, "UPDATE thing SET name = 'drei' WHERE id = 3; INSERT INTO thing VALUES (4, 'vier')")
        try fleet.assertSettled(things, "2|two\n3|drei\n4|vier\n")
    }

    func testADatabaseWithRowsJoinsUnderEitherName() throws {
        for name in ["item", "thing"] {
            let fleet = try makeFleet()
            try fleet.shell(0, rename)
            _ = try fleet.replicas[0].sync()
            try fleet.join(
                "CREATE TABLE \(name)(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO \(name) VALUES (9, 'nine')")
            try fleet.shell(1, rename)
            if name == "item" { try fleet.shell(2, rename) }
            try fleet.settle()
            try fleet.assertSettled(things, "1|one\n2|two\n3|three\n9|nine\n")
        }
    }

    func testForeignKeysFollowTheirParent() throws {
        let fleet = try makeFleet(
            """
            CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT UNIQUE, above INTEGER REFERENCES item(id) ON DELETE SET NULL);
            CREATE TABLE part(id INTEGER PRIMARY KEY, item INTEGER NOT NULL REFERENCES item(id) ON DELETE CASCADE, n INTEGER);
            CREATE TABLE note(text TEXT, name TEXT REFERENCES item(name) ON UPDATE CASCADE);
            CREATE TRIGGER bump AFTER INSERT ON part BEGIN UPDATE item SET name = name || '+' WHERE id = NEW.item; END;
            INSERT INTO item VALUES (1, 'one', NULL), (2, 'two', 1), (3, 'three', 1);
            INSERT INTO part VALUES (1, 1, 5), (2, 2, 5), (3, 3, 5);
            """)
        try fleet.settle()
        try fleet.shell(0, rename)
        try fleet.shell(0, "INSERT INTO part VALUES (4, 2, 6); DELETE FROM thing WHERE id = 3")
        try fleet.shell(1, "INSERT INTO part VALUES (5, 1, 7); UPDATE part SET item = 1 WHERE id = 2")
        try fleet.settle()
        try fleet.assertSoundAndInStep()
        let parts = "SELECT id, item, n FROM part ORDER BY id"
        XCTAssertEqual(try fleet.shell(0, parts), "1|1|5\n2|1|5\n4|2|6\n5|1|7\n")
        XCTAssertEqual(try fleet.shell(1, parts), "1|1|5\n2|1|5\n4|2|6\n5|1|7\n")
        try fleet.shell(1, rename)
        try fleet.assertSettled("SELECT id, name, above FROM thing ORDER BY id", "1|one++|\n2|two++|1\n")
        try fleet.shell(1, "PRAGMA foreign_keys = ON; DELETE FROM thing WHERE id = 1")
        try fleet.assertSettled("SELECT t.id, t.above, p.id FROM thing t JOIN part p ON p.item = t.id", "2||4\n")
    }

    func testUniqueRowsMadeUnderBothNamesAreOne() throws {
        let fleet = try makeFleet("CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT UNIQUE COLLATE NOCASE)")
        try fleet.shell(0, rename)
        try fleet.shell(0, "INSERT INTO thing(name) VALUES ('Rock')")
        try fleet.shell(1, "INSERT INTO item(name) VALUES ('rock'), ('Jazz')")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(0, "SELECT count(*) FROM thing"), "2\n")
        XCTAssertEqual(try fleet.shell(1, "SELECT count(*) FROM item"), "2\n")
        try fleet.assertSoundAndInStep()
    }

    func testATableGetsItsFormerNameBack() throws {
        let fleet = try makeFleet()
        try fleet.shell(0, rename)
        try fleet.settle()
        try fleet.shell(0, "UPDATE thing SET name = 'ONE' WHERE id = 1; ALTER TABLE thing RENAME TO item")
        try fleet.shell(1, "DELETE FROM item WHERE id = 2")
        try fleet.assertSettled("SELECT id, name FROM item ORDER BY id", "1|ONE\n3|three\n")
    }

    func testATableIsRenamedTwiceAndTheOtherDeviceGoesBothStepsLater() throws {
        let fleet = try makeFleet()
        try fleet.shell(0, rename)
        _ = try fleet.replicas[0].sync()
        try fleet.shell(0, "ALTER TABLE thing RENAME TO object; UPDATE object SET name = 'ONE' WHERE id = 1")
        try fleet.settle()
        try fleet.shell(
            1, "DELETE FROM item WHERE id = 3; ALTER TABLE item RENAME TO thing; ALTER TABLE thing RENAME TO object")
        try fleet.assertSettled("SELECT id, name FROM object ORDER BY id", "1|ONE\n2|two\n")
    }

    func testLetterCaseAndNamesThatNeedQuotes() throws {
        let fleet = try makeFleet(
            "CREATE TABLE \"the item\"(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO \"the item\" VALUES (1, 'one')")
        try fleet.shell(
            0, "ALTER TABLE \"the item\" RENAME TO \"The \"\"Item\"\"\"; UPDATE \"The \"\"Item\"\"\" SET name = 'ONE'")
        try fleet.shell(
            1, "ALTER TABLE \"the item\" RENAME TO \"THE THING\"; INSERT INTO \"the thing\" VALUES (2, 'two')")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(0, "SELECT * FROM \"The \"\"Item\"\"\""), "1|ONE\n2|two\n")
        XCTAssertEqual(try fleet.shell(1, "SELECT * FROM \"the thing\""), "1|ONE\n2|two\n")
        try fleet.assertSoundAndInStep()
    }

    /// A table is moved away and made anew, and Ferry looks in between: what `ferry watch` sees of a script without a
    /// transaction.
    func testATableThatIsMadeAnewInThePlaceOfTheRenamedOneIsTheTable() throws {
        let steps = [
            "ALTER TABLE item RENAME TO old_item",
            "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, size INTEGER DEFAULT 0); INSERT INTO item(id, name) SELECT id, name FROM old_item",
            "DROP TABLE old_item",
        ]
        let fleet = try makeFleet()
        try fleet.shell(0, "UPDATE item SET name = 'ONE' WHERE id = 1; DELETE FROM item WHERE id = 2")
        for step in steps {
            try fleet.shell(0, step)
            _ = try fleet.replicas[0].sync()
        }
        try fleet.shell(1, steps.joined(separator: "; "))
        try fleet.assertSettled("SELECT id, name, size FROM item ORDER BY id", "1|ONE|0\n3|three|0\n")
    }

    func testAnotherTableGetsTheFormerName() throws {
        let fleet = try makeFleet()
        let next = "CREATE TABLE item(id INTEGER PRIMARY KEY, colour TEXT)"
        for device in 0...1 { try fleet.shell(device, rename) }
        try fleet.settle()
        try fleet.shell(0, next + "; INSERT INTO item VALUES (1, 'red')")
        try fleet.settle()
        try fleet.shell(1, "UPDATE thing SET name = 'ONE' WHERE id = 1; INSERT INTO thing VALUES (4, 'four')")
        try fleet.settle()
        try fleet.shell(1, next)
        try fleet.assertSettled(things, "1|ONE\n2|two\n3|three\n4|four\n")
        try fleet.assertSettled("SELECT * FROM item", "1|red\n")
        try fleet.join()
        try fleet.shell(2, "INSERT INTO item VALUES (2, 'blue'); DELETE FROM thing WHERE id > 1")
        try fleet.assertSettled("SELECT * FROM item", "1|red\n2|blue\n")
        try fleet.assertSettled(things, "1|ONE\n")
    }

    func testNamesMoveAlongDeviceAfterDevice() throws {
        let fleet = try makeFleet(
            """
            CREATE TABLE today(id INTEGER PRIMARY KEY, v TEXT); CREATE TABLE yesterday(id INTEGER PRIMARY KEY, v TEXT);
            INSERT INTO today VALUES (1, 'T1'), (2, 'T2'); INSERT INTO yesterday VALUES (1, 'Y1');
            """)
        let along = "BEGIN; ALTER TABLE yesterday RENAME TO older; ALTER TABLE today RENAME TO yesterday; COMMIT"
        try fleet.shell(0, along)
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(1, "SELECT * FROM today"), "1|T1\n2|T2\n")
        try fleet.shell(1, "UPDATE today SET v = 'T' WHERE id = 1")
        try fleet.shell(1, along)
        try fleet.assertSettled("SELECT * FROM yesterday; SELECT * FROM older", "1|T\n2|T2\n1|Y1\n")
    }

    func testTwoTablesChangeNamesDeviceAfterDevice() throws {
        let fleet = try makeFleet(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY, v TEXT); CREATE TABLE q(id INTEGER PRIMARY KEY, v TEXT);
            INSERT INTO p VALUES (1, 'was p'); INSERT INTO q VALUES (1, 'was q');
            """)
        let swap = "BEGIN; ALTER TABLE p RENAME TO x; ALTER TABLE q RENAME TO p; ALTER TABLE x RENAME TO q; COMMIT"
        for device in 0...1 {
            try fleet.shell(device, swap)
            try fleet.settle()
        }
        try fleet.assertSettled("SELECT v FROM p; SELECT v FROM q", "was q\nwas p\n")
    }

    func testAnExceptedTableStaysHereUnderAnotherName() throws {
        let fleet = try Fleet()
        try fleet.start(
            "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT); CREATE TABLE secret(id INTEGER PRIMARY KEY, word TEXT)",
            selection: TableSelection(except: ["secret"]))
        try fleet.join()
        try fleet.shell(0, "INSERT INTO secret VALUES (1, 'x'); ALTER TABLE secret RENAME TO secrets")
        try fleet.settle()
        try fleet.shell(0, "VACUUM; ALTER TABLE secrets RENAME TO words; ALTER TABLE words ADD COLUMN more")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(1, "SELECT count(*) FROM ferry_table WHERE name IN ('secrets', 'words')"), "0\n")
        XCTAssertEqual(try fleet.replicas[0].status().leftOut.map(\.name), ["words"])
    }

    func testFerryAlterRenamesWithoutTriggers() throws {
        let fleet = try makeFleet()
        try fleet.shell(0, "UPDATE item SET name = 'ONE' WHERE id = 1")
        for replica in fleet.replicas { try replica.store.alter(rename) }
        try fleet.shell(1, "DELETE FROM thing WHERE id = 2")
        try fleet.assertSettled(things, "1|ONE\n3|three\n")
    }

    func testReportsNameTheTableAsTheDatabaseDoes() throws {
        let fleet = try makeFleet()
        try fleet.shell(0, rename)
        try fleet.shell(0, "UPDATE thing SET name = 'ONE' WHERE id = 1")
        try fleet.shell(1, "UPDATE item SET name = 'Uno' WHERE id = 1")
        try fleet.settle()
        let replica = fleet.replicas[0]
        XCTAssertEqual(try replica.store.conflicts(.init(), limit: 10).map(\.table), ["thing"])
        XCTAssertEqual(Set(try replica.log(table: "thing").map(\.table)), ["thing"])
        XCTAssertEqual(try replica.history(table: "thing", key: ["1"]).rows.map(\.row.table), ["thing"])
        XCTAssertEqual(Set(try fleet.replicas[1].log(table: "item").map(\.table)), ["item"])
        XCTAssertTrue(try replica.status().tables.contains { $0.name == "thing" })
    }
}
