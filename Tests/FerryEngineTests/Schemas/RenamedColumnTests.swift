import FerryCore
import FerrySchema
import FerryTestSupport
import XCTest

@testable import FerryEngine

/// A column gets another name, or a migration computes its values, on every device at a time of its own. Nobody writes
/// when a migration runs, so no write and no deletion may be lost by one.
final class RenamedColumnTests: XCTestCase {
    private let rename = "ALTER TABLE item RENAME COLUMN name TO title"
    private let titles = "SELECT id, title FROM item ORDER BY id"

    private func makeFleet(
        _ schema: String = """
        CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, size INTEGER);
        INSERT INTO item VALUES (1, 'one', 1), (2, 'two', 2), (3, 'three', 3);
        """
    ) throws -> Fleet {
        try Fleet.two(schema)
    }

    func testUnsentWritesAndDeletionsOutliveRenamesOnBothDevices() throws {
        let fleet = try makeFleet()
        try fleet.shell(0, "UPDATE item SET name = 'ONE' WHERE id = 1; DELETE FROM item WHERE id = 2")
        try fleet.shell(0, rename)
        try fleet.shell(1, rename)
        try fleet.assertSettled(titles, "1|ONE\n3|three\n")
    }

    func testAWriteThatTheOtherDeviceHasNotHeardOfOutlivesItsRename() throws {
        let fleet = try makeFleet()
        try fleet.shell(0, "UPDATE item SET name = 'ONE' WHERE id = 1")
        _ = try fleet.replicas[0].sync()
        try fleet.shell(0, rename)
        _ = try fleet.replicas[0].sync()
        try fleet.shell(0, "UPDATE item SET title = 'Two' WHERE id = 2")
        _ = try fleet.replicas[0].sync()
        // The second device was away all the time, and wrote another column.
        try fleet.shell(1, "UPDATE item SET size = 10")
        try fleet.shell(1, rename)
        try fleet.assertSettled(titles, "1|ONE\n2|Two\n3|three\n")
        XCTAssertEqual(try fleet.shell(0, "SELECT DISTINCT size FROM item"), "10\n")
    }

    func testALaterWriteUnderTheFormerNameWins() throws {
        let fleet = try makeFleet()
        try fleet.shell(0, "UPDATE item SET name = 'ONE' WHERE id = 1")
        try fleet.shell(0, rename)
        _ = try fleet.replicas[0].sync()
        try fleet.shell(1, "UPDATE item SET name = 'Uno' WHERE id = 1; INSERT INTO item VALUES (4, 'four', 4)")
        try fleet.shell(1, rename)
        try fleet.assertSettled(titles, "1|Uno\n2|two\n3|three\n4|four\n")
    }

    func testColumnsChangePlacesWithUnsentWrites() throws {
        let fleet = try makeFleet(
            "CREATE TABLE item(id INTEGER PRIMARY KEY, a, b); INSERT INTO item VALUES (1, 'a', 'b')")
        let swap = """
            ALTER TABLE item RENAME COLUMN a TO c; ALTER TABLE item RENAME COLUMN b TO a; ALTER TABLE item RENAME COLUMN c TO b;
            """
        try fleet.shell(0, "UPDATE item SET a = 'A'")
        for device in 0...1 { try fleet.shell(device, swap) }
        try fleet.assertSettled("SELECT a, b FROM item", "b|A\n")
    }

    func testAnotherColumnGetsTheFormerName() throws {
        let fleet = try makeFleet()
        try fleet.shell(0, "UPDATE item SET name = 'ONE' WHERE id = 1")
        for device in 0...1 {
            try fleet.shell(device, rename + "; ALTER TABLE item ADD COLUMN name TEXT DEFAULT 'new'")
        }
        try fleet.assertSettled(
            "SELECT id, title, name FROM item ORDER BY id", "1|ONE|new\n2|two|new\n3|three|new\n")
    }

    func testARowDeletedBeforeTheRenameComesBackWhole() throws {
        let fleet = try makeFleet(
            """
            CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, size INTEGER);
            CREATE TABLE part(id INTEGER PRIMARY KEY, item INTEGER NOT NULL REFERENCES item(id));
            INSERT INTO item VALUES (1, 'one', 1), (2, 'two', 2);
            """)
        try fleet.shell(0, "DELETE FROM item WHERE id = 1")
        try fleet.shell(1, "INSERT INTO part VALUES (1, 1)")
        for device in 0...1 { try fleet.shell(device, rename) }
        try fleet.assertSettled("SELECT id, title, size FROM item ORDER BY id", "1|one|1\n2|two|2\n")
    }

    func testAForeignKeyGetsAnotherName() throws {
        let fleet = try makeFleet(
            """
            CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT, artist INTEGER REFERENCES artist(id) ON DELETE SET NULL);
            INSERT INTO artist VALUES (1, 'a'), (2, 'b'); INSERT INTO album VALUES (1, 'x', 1), (2, 'y', 1);
            """)
        try fleet.shell(0, "UPDATE album SET artist = 2 WHERE id = 1")
        for device in 0...1 { try fleet.shell(device, "ALTER TABLE album RENAME COLUMN artist TO performer") }
        try fleet.assertSettled("SELECT id, performer FROM album ORDER BY id", "1|2\n2|1\n")
        try fleet.shell(1, "DELETE FROM artist WHERE id = 2")
        try fleet.assertSettled("SELECT id, performer FROM album ORDER BY id", "1|\n2|1\n")
    }

    func testAUniqueColumnOfManyGetsAnotherName() throws {
        let columns = (0..<40).map { "c\($0) INTEGER DEFAULT 0" }.joined(separator: ", ")
        let fleet = try makeFleet(
            "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT UNIQUE, \(columns)); "
                + "INSERT INTO item(id, name) VALUES (1, 'one'), (2, 'two')")
        // The present number of the column is in another mask of the pending change than its former number.
        try fleet.shell(0, "UPDATE item SET name = 'ONE', c1 = 5, c39 = 6 WHERE id = 1")
        for device in 0...1 { try fleet.shell(device, rename) }
        try fleet.assertSettled("SELECT id, title, c1, c39 FROM item ORDER BY id", "1|ONE|5|6\n2|two|0|0\n")
    }

    /// The devices have lost the former values, and a device that joins must not find them in the container.
    func testAJoiningDeviceShowsTheDefaultsOfAColumnThatIsMadeAgain() throws {
        let fleet = try makeFleet()
        for device in 0...1 { try fleet.shell(device, rename) }
        try fleet.settle()
        try fleet.shell(0, "UPDATE item SET title = 'TWO' WHERE id = 2")
        for replica in fleet.replicas { try replica.store.alter("ALTER TABLE item DROP COLUMN size") }
        try fleet.settle()
        try fleet.shell(0, "INSERT INTO item(title) VALUES ('four')")
        try fleet.settle()
        for device in 0...1 {
            try fleet.shell(
                device,
                "ALTER TABLE item ADD COLUMN name TEXT DEFAULT 'new'; ALTER TABLE item ADD COLUMN size INTEGER DEFAULT 0"
            )
        }
        try fleet.settle()
        try fleet.join()
        try fleet.assertSettled(
            "SELECT id, title, name, size FROM item ORDER BY id",
            "1|one|new|0\n2|TWO|new|0\n3|three|new|0\n4|four|new|0\n")
    }

    func testAColumnWithAnUndeclaredReferenceGetsAnotherName() throws {
        for key in ["PRIMARY KEY(note, tag)", "UNIQUE(note, tag)"] {
            let fleet = try Fleet()
            try fleet.start(
                """
                CREATE TABLE note(id INTEGER PRIMARY KEY, v TEXT);
                CREATE TABLE link(n INTEGER\(key.hasPrefix("U") ? " PRIMARY KEY" : ""), note INT, tag TEXT, \(key));
                INSERT INTO note VALUES (1, 'n'); INSERT INTO link(note, tag) VALUES (1, 'old');
                """, selection: TableSelection(references: [.init(table: "link", column: "note", parent: "note")]))
            try fleet.join()
            for device in 0...1 { try fleet.shell(device, "ALTER TABLE link RENAME COLUMN note TO note_id") }
            try fleet.settle()
            try fleet.join()
            for device in 0...2 {
                try fleet.shell(
                    device,
                    "INSERT INTO note VALUES (2, 'by \(device)'); INSERT INTO link(note_id, tag) VALUES (2, 'of \(device)')"
                )
            }
            try fleet.assertSettled(
                "SELECT v, tag FROM link JOIN note ON note.id = note_id ORDER BY tag",
                "by 0|of 0\nby 1|of 1\nby 2|of 2\nn|old\n")
        }
    }

    func testAColumnOfADeclaredIdentityGetsAnotherName() throws {
        let fleet = try Fleet()
        try fleet.start(
            "CREATE TABLE genre(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO genre VALUES (1, 'rock')",
            selection: TableSelection(declaredIdentities: ["genre": ["name"]]))
        try fleet.join()
        for device in 0...1 { try fleet.shell(device, "ALTER TABLE genre RENAME COLUMN name TO label") }
        try fleet.settle()
        try fleet.shell(0, "INSERT INTO genre(label) VALUES ('jazz'); ALTER TABLE genre RENAME COLUMN label TO title")
        try fleet.shell(1, "INSERT INTO genre(label) VALUES ('folk'), ('jazz')")
        try fleet.settle()
        try fleet.join()
        try fleet.shell(1, "ALTER TABLE genre RENAME COLUMN label TO title; INSERT INTO genre(title) VALUES ('soul')")
        try fleet.shell(2, "INSERT INTO genre(title) VALUES ('soul')")
        try fleet.assertSettled(
            "SELECT title FROM genre ORDER BY title", "folk\njazz\nrock\nsoul\n")
        try fleet.shell(0, "ALTER TABLE genre RENAME TO kind")
        try fleet.replicas[0].store.alter("ALTER TABLE kind DROP COLUMN title")
        try fleet.settle()
        try fleet.join()
        XCTAssertEqual(try fleet.shell(3, "SELECT count(*) FROM kind"), "4\n")
    }

    func testAColumnIsRenamedTwiceBetweenTwoSyncs() throws {
        let fleet = try makeFleet()
        try fleet.shell(0, "UPDATE item SET name = 'ONE' WHERE id = 1")
        try fleet.shell(
            0, "ALTER TABLE item RENAME COLUMN name TO label; ALTER TABLE item RENAME COLUMN label TO title")
        try fleet.shell(1, "ALTER TABLE item RENAME COLUMN name TO label")
        _ = try fleet.replicas[1].sync()
        try fleet.shell(1, "ALTER TABLE item RENAME COLUMN label TO title")
        try fleet.assertSettled(titles, "1|ONE\n2|two\n3|three\n")
    }

    /// Rails, Room and older versions of Django make the table anew.
    func testATableMadeAnewWithAnotherNameOfAColumnLosesNoWrite() throws {
        let fleet = try makeFleet()
        let rebuild = """
            CREATE TABLE new_item(id INTEGER PRIMARY KEY, title TEXT, size INTEGER);
            INSERT INTO new_item SELECT id, name, size FROM item; DROP TABLE item; ALTER TABLE new_item RENAME TO item;
            """
        try fleet.shell(0, "UPDATE item SET name = 'ONE' WHERE id = 1; DELETE FROM item WHERE id = 2")
        _ = try fleet.replicas[0].sync()
        for device in 0...1 { try fleet.shell(device, rebuild) }
        try fleet.assertSettled(titles, "1|ONE\n3|three\n")
    }

    /// The second device migrates days later, and knows nothing of what was written on the first since.
    func testAValueThatAMigrationComputesOverwritesNoLaterWrite() throws {
        let fleet = try makeFleet()
        let migration = "ALTER TABLE item ADD COLUMN full TEXT; UPDATE item SET full = name || ' ' || size"
        try fleet.shell(0, migration)
        _ = try fleet.replicas[0].sync()
        try fleet.shell(0, "UPDATE item SET full = 'edited' WHERE id = 1")
        _ = try fleet.replicas[0].sync()
        try fleet.shell(1, migration)
        try fleet.assertSettled("SELECT id, full FROM item ORDER BY id", "1|edited\n2|two 2\n3|three 3\n")
    }

    // MARK: Names that another column had

    private static let swap = """
        BEGIN; ALTER TABLE item RENAME COLUMN a TO c; ALTER TABLE item RENAME COLUMN b TO a;
        ALTER TABLE item RENAME COLUMN c TO b; COMMIT
        """
    private let reuse = """
        BEGIN; ALTER TABLE item RENAME COLUMN name TO title; ALTER TABLE item ADD COLUMN name TEXT DEFAULT 'new'; COMMIT
        """

    func testDevicesUnderBothNamesGoOnTogether() throws {
        let fleet = try makeFleet()
        try fleet.shell(0, rename)
        XCTAssertEqual(try fleet.replicas[0].sync().published.changes, 0)
        try fleet.shell(0, "UPDATE item SET title = 'ONE' WHERE id = 1; INSERT INTO item VALUES (4, 'four', 4)")
        try fleet.shell(1, "UPDATE item SET name = 'TWO' WHERE id = 2; DELETE FROM item WHERE id = 3")
        try fleet.settle()
        let expected = "1|ONE\n2|TWO\n4|four\n"
        XCTAssertEqual(try fleet.shell(0, titles), expected)
        XCTAssertEqual(try fleet.shell(1, "SELECT id, name FROM item ORDER BY id"), expected)
        try fleet.assertSoundAndInStep()
        try fleet.shell(1, rename + "; UPDATE item SET title = 'Four' WHERE id = 4")
        try fleet.join()
        try fleet.assertSettled(titles, "1|ONE\n2|TWO\n4|Four\n")
    }

    /// Each device swaps at a time of its own, and writes before and after.
    func testTwoColumnsChangeNamesDeviceAfterDevice() throws {
        let fleet = try makeFleet(
            "CREATE TABLE item(id INTEGER PRIMARY KEY, a, b); INSERT INTO item VALUES (1, 'a1', 'b1'), (2, 'a2', 'b2')")
        try fleet.join()
        try fleet.shell(0, Self.swap)
        try fleet.shell(1, "UPDATE item SET a = 'A1' WHERE id = 1")
        try fleet.shell(2, "UPDATE item SET b = 'B2' WHERE id = 2")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(0, "SELECT a, b FROM item"), "b1|A1\nB2|a2\n")
        XCTAssertEqual(try fleet.shell(1, "SELECT a, b FROM item"), "A1|b1\na2|B2\n")
        try fleet.shell(
            0, "UPDATE item SET a = 'b from 0' WHERE id = 1; INSERT INTO item(id, a, b) VALUES (3, 'b3', 'a3')")
        try fleet.shell(1, "UPDATE item SET a = 'a from 1' WHERE id = 2")
        try fleet.shell(1, Self.swap)
        try fleet.shell(1, "UPDATE item SET b = 'a again' WHERE id = 1")
        try fleet.settle()
        try fleet.join()
        try fleet.shell(3, "INSERT INTO item(id, a, b) VALUES (4, 'b4', 'a4')")
        try fleet.settle()
        XCTAssertEqual(
            try fleet.shell(2, "SELECT a, b FROM item ORDER BY id"), "a again|b from 0\na from 1|B2\na3|b3\na4|b4\n")
        try fleet.assertSoundAndInStep()
        try fleet.shell(2, "UPDATE item SET a = 'A4' WHERE id = 4")
        try fleet.shell(2, Self.swap)
        try fleet.assertSettled(
            "SELECT a, b FROM item ORDER BY id", "b from 0|a again\nB2|a from 1\nb3|a3\nb4|A4\n")
    }

    func testAFormerNameIsUsedAgainDeviceAfterDevice() throws {
        let fleet = try makeFleet()
        try fleet.join()
        try fleet.shell(0, reuse)
        try fleet.shell(0, "UPDATE item SET name = 'other' WHERE id = 3")
        try fleet.shell(1, "UPDATE item SET name = 'ONE' WHERE id = 1")
        try fleet.settle()
        try fleet.shell(1, "UPDATE item SET name = 'TWO' WHERE id = 2; INSERT INTO item VALUES (4, 'four', 4)")
        try fleet.shell(1, reuse)
        try fleet.shell(1, "UPDATE item SET name = 'mine' WHERE id = 4")
        try fleet.settle()
        try fleet.join()
        try fleet.shell(3, "INSERT INTO item VALUES (5, 'five', 5, 'by 3')")
        try fleet.settle()
        XCTAssertEqual(
            try fleet.shell(2, "SELECT id, name FROM item ORDER BY id"), "1|ONE\n2|TWO\n3|three\n4|four\n5|five\n")
        try fleet.shell(2, "UPDATE item SET name = 'Five' WHERE id = 5")
        try fleet.shell(2, reuse)
        try fleet.assertSettled(
            "SELECT id, title, name FROM item ORDER BY id",
            "1|ONE|new\n2|TWO|new\n3|three|other\n4|four|mine\n5|Five|by 3\n")
    }

    func testANameIsUsedAThirdTimeBetweenTwoLooksOfOneDevice() throws {
        let again = """
            ALTER TABLE item RENAME COLUMN name TO other; ALTER TABLE item ADD COLUMN name TEXT DEFAULT 'third'
            """
        for isHeardBefore in [true, false] {
            let fleet = try makeFleet()
            try fleet.shell(0, reuse)
            if isHeardBefore { try fleet.settle() } else { _ = try fleet.replicas[0].sync() }
            try fleet.shell(0, again)
            try fleet.shell(0, "UPDATE item SET name = 'n', other = 'o', title = 't' WHERE id = 1")
            try fleet.shell(0, "INSERT INTO item(id, title, other, name) VALUES (4, 'tt', 'oo', 'nn')")
            if isHeardBefore { try fleet.settle() } else { _ = try fleet.replicas[0].sync() }
            try fleet.shell(1, "UPDATE item SET name = 'TWO' WHERE id = 2")
            try fleet.shell(1, reuse + ";" + again)
            try fleet.shell(1, "UPDATE item SET name = 'm', other = 'p' WHERE id = 3")
            try fleet.shell(1, "INSERT INTO item(id, title, other, name) VALUES (5, 'TT', 'OO', 'NN')")
            try fleet.assertSettled(
                "SELECT id, title, other, name FROM item ORDER BY id",
                "1|t|o|n\n2|TWO|new|third\n3|three|p|m\n4|tt|oo|nn\n5|TT|OO|NN\n")
        }
    }

    /// One device renames, and the other makes the table anew: nothing tells it that the column is the same.
    func testARenameAndATableMadeAnewMeet() throws {
        let rebuild = """
            CREATE TABLE new_item(id INTEGER PRIMARY KEY, title TEXT, size INTEGER);
            INSERT INTO new_item SELECT id, name, size FROM item; DROP TABLE item; ALTER TABLE new_item RENAME TO item;
            """
        for isRebuiltFirst in [true, false] {
            let fleet = try makeFleet()
            try fleet.shell(0, "UPDATE item SET name = 'ONE' WHERE id = 1")
            try fleet.shell(1, "UPDATE item SET name = 'TWO' WHERE id = 2")
            try fleet.shell(isRebuiltFirst ? 1 : 0, isRebuiltFirst ? rebuild : rename)
            if isRebuiltFirst { _ = try fleet.replicas[1].sync() } else { try fleet.settle() }
            try fleet.shell(isRebuiltFirst ? 0 : 1, isRebuiltFirst ? rename : rebuild)
            try fleet.shell(0, "UPDATE item SET title = 'Three' WHERE id = 3")
            try fleet.shell(1, "INSERT INTO item VALUES (4, 'four', 4)")
            try fleet.assertSettled(titles, "1|ONE\n2|TWO\n3|Three\n4|four\n")
            try fleet.join()
            try fleet.shell(2, "UPDATE item SET title = 'vier' WHERE id = 4")
            try fleet.shell(1, "UPDATE item SET title = 'eins' WHERE id = 1")
            try fleet.assertSettled(titles, "1|eins\n2|TWO\n3|Three\n4|vier\n")
        }
    }

    private let remake = """
        CREATE TABLE new_item(id INTEGER PRIMARY KEY, title TEXT, name TEXT DEFAULT 'new', size INTEGER);
        INSERT INTO new_item(id, title, size) SELECT id, name, size FROM item;
        DROP TABLE item; ALTER TABLE new_item RENAME TO item;
        """

    /// Values prove which column is which.
    func testATableMadeAnewInWhichAFormerNameHasAnotherColumn() throws {
        let fleet = try makeFleet()
        try fleet.join()
        try fleet.shell(0, "UPDATE item SET name = 'ONE' WHERE id = 1")
        _ = try fleet.replicas[0].sync()
        try fleet.shell(0, remake)
        try fleet.shell(1, "UPDATE item SET name = 'TWO' WHERE id = 2")
        try fleet.settle()
        XCTAssertEqual(
            try fleet.shell(0, "SELECT id, title, name FROM item ORDER BY id"), "1|ONE|new\n2|TWO|new\n3|three|new\n")
        XCTAssertEqual(try fleet.shell(1, "SELECT id, name FROM item ORDER BY id"), "1|ONE\n2|TWO\n3|three\n")
        try fleet.shell(0, "UPDATE item SET name = 'other' WHERE id = 3; INSERT INTO item VALUES (4, 'four', 'x', 4)")
        // A write that is not sent yet when the table is made anew.
        try fleet.shell(1, "UPDATE item SET name = 'Three' WHERE id = 3")
        try fleet.shell(1, remake)
        try fleet.settle()
        try fleet.shell(2, remake)
        try fleet.assertSettled(
            "SELECT id, title, name FROM item ORDER BY id", "1|ONE|new\n2|TWO|new\n3|Three|other\n4|four|x\n")
        try fleet.join()
        try fleet.shell(3, "INSERT INTO item VALUES (5, 'five', 'y', 5)")
        try fleet.assertSettled("SELECT title, name FROM item WHERE id > 3 ORDER BY id", "four|x\nfive|y\n")
    }

    /// One device has rows that prove the names, and another device has none when it makes the table anew.
    func testAnEmptyTableMadeAnewFollowsTheDeviceWithRows() throws {
        let fleet = try makeFleet("CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, size INTEGER)")
        try fleet.shell(0, "INSERT INTO item VALUES (1, 'one', 1), (2, 'two', 2)")
        _ = try fleet.replicas[0].sync()
        try fleet.shell(0, remake)
        try fleet.shell(1, remake + "INSERT INTO item VALUES (3, 'three', 'x', 3)")
        try fleet.assertSettled(
            "SELECT id, title, name, size FROM item ORDER BY id", "1|one|new|1\n2|two|new|2\n3|three|x|3\n")
    }

    func testADatabaseWithRowsJoinsUnderEitherName() throws {
        for (name, isReused) in [("name", false), ("title", false), ("name", true), ("title", true)] {
            let fleet = try makeFleet()
            try fleet.shell(0, isReused ? reuse : rename)
            try fleet.settle()
            let more = isReused && name == "title" ? ", name TEXT DEFAULT 'new'" : ""
            try fleet.join(
                "CREATE TABLE item(id INTEGER PRIMARY KEY, \(name) TEXT, size INTEGER\(more)); "
                    + "INSERT INTO item(id, \(name)) VALUES (9, 'nine')")
            try fleet.settle()
            if name == "name" { try fleet.shell(2, isReused ? reuse : rename) }
            try fleet.shell(1, isReused ? reuse : rename)
            try fleet.assertSettled(titles, "1|one\n2|two\n3|three\n9|nine\n")
            if isReused { try fleet.assertSettled("SELECT DISTINCT name FROM item", "new\n") }
        }
    }

    func testAPolicyStaysWithItsColumn() throws {
        let fleet = try makeFleet(
            "CREATE TABLE item(id INTEGER PRIMARY KEY, likes INTEGER, n INTEGER); INSERT INTO item VALUES (1, 10, 1)")
        try fleet.replicas[0].setPolicies([PolicySetting(table: "item", column: "likes", .counter)])
        try fleet.settle()
        let migration = """
            BEGIN; ALTER TABLE item RENAME COLUMN likes TO hearts; ALTER TABLE item RENAME COLUMN n TO likes; COMMIT
            """
        try fleet.shell(0, "UPDATE item SET likes = likes + 1")
        try fleet.shell(0, migration)
        try fleet.shell(1, "UPDATE item SET likes = likes + 5")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(0, "SELECT hearts, likes FROM item"), "16|1\n")
        try fleet.shell(0, "UPDATE item SET hearts = hearts + 100, likes = 2")
        try fleet.shell(1, "UPDATE item SET likes = likes + 1000")
        try fleet.shell(1, migration)
        try fleet.shell(1, "UPDATE item SET hearts = hearts + 10000")
        try fleet.assertSettled("SELECT hearts, likes FROM item", "11116|2\n")
        XCTAssertEqual(try fleet.replicas[1].policies().map(\.target), ["column:item.hearts"])
        try fleet.join()
        try fleet.shell(2, "UPDATE item SET hearts = hearts + 3")
        try fleet.shell(1, "UPDATE item SET hearts = hearts + 4")
        try fleet.assertSettled("SELECT hearts, likes FROM item", "11123|2\n")
        try fleet.replicas[1].setPolicies([PolicySetting(table: "item", column: "likes", .max)])
        try fleet.settle()
        XCTAssertEqual(try fleet.replicas[2].policies().map(\.target), ["column:item.hearts", "column:item.likes"])
    }

    func testFerryAlterRenamesAColumnWithoutTriggers() throws {
        let fleet = try makeFleet()
        try fleet.shell(0, "UPDATE item SET name = 'ONE' WHERE id = 1")
        try fleet.replicas[0].store.alter(rename)
        try fleet.shell(1, "UPDATE item SET name = 'TWO' WHERE id = 2")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(0, titles), "1|ONE\n2|TWO\n3|three\n")
        try fleet.shell(1, rename)
        try fleet.assertSettled(titles, "1|ONE\n2|TWO\n3|three\n")
    }

    func testReportsNameTheColumnAsTheDatabaseDoes() throws {
        let fleet = try makeFleet()
        try fleet.shell(0, rename)
        try fleet.shell(0, "UPDATE item SET title = 'ONE' WHERE id = 1")
        try fleet.shell(1, "UPDATE item SET name = 'Uno' WHERE id = 1")
        try fleet.settle()
        let replica = fleet.replicas[0]
        XCTAssertEqual(try replica.store.conflicts(.init(), limit: 10).map(\.column), ["title"])
        XCTAssertEqual(try fleet.replicas[1].store.conflicts(.init(), limit: 10).map(\.column), ["name"])
        XCTAssertTrue(try replica.log().contains { $0.columns == ["title"] })
        XCTAssertFalse(try replica.log().contains { $0.columns.contains("name") })
        let changes = try XCTUnwrap(replica.history(table: "item", key: ["1"]).rows.first).changes
        XCTAssertEqual(changes.last?.values.map(\.column), ["title"])
        try replica.restoreConflict(try XCTUnwrap(replica.store.conflicts(.init(), limit: 1).first).number)
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(0, titles), try fleet.shell(1, "SELECT id, name FROM item ORDER BY id"))
    }

    func testAForeignKeyAndAUniqueIndexUnderBothNames() throws {
        let fleet = try makeFleet(
            """
            CREATE TABLE artist(id INTEGER PRIMARY KEY, code TEXT UNIQUE);
            CREATE TABLE album(id INTEGER PRIMARY KEY, artist INTEGER REFERENCES artist(id) ON DELETE SET NULL,
                code TEXT REFERENCES artist(code) ON UPDATE CASCADE, n INTEGER, UNIQUE(artist, n));
            INSERT INTO artist VALUES (1, 'a'), (2, 'b'); INSERT INTO album VALUES (1, 1, 'a', 1), (2, 2, 'b', 1);
            """)
        let migration = """
            BEGIN; ALTER TABLE album RENAME COLUMN artist TO performer; ALTER TABLE album RENAME COLUMN code TO artist;
            ALTER TABLE artist RENAME COLUMN code TO sign; COMMIT
            """
        try fleet.shell(0, migration)
        try fleet.shell(1, "UPDATE album SET artist = 2, n = 2 WHERE id = 1; UPDATE artist SET code = 'A' WHERE id = 1")
        try fleet.settle()
        XCTAssertEqual(
            try fleet.shell(0, "SELECT id, performer, artist, n FROM album ORDER BY id"), "1|2|A|2\n2|2|b|1\n")
        try fleet.shell(0, "INSERT INTO album VALUES (10, 1, 'b', 7); DELETE FROM artist WHERE id = 9")
        try fleet.shell(1, "INSERT INTO album VALUES (11, 1, 'A', 7)")
        try fleet.settle()
        try fleet.assertSoundAndInStep()
        XCTAssertEqual(try fleet.shell(0, "SELECT count(*) FROM album"), "3\n")
        try fleet.shell(1, migration)
        try fleet.settle()
        try fleet.join()
        try fleet.settle()
        try fleet.assertEqual("SELECT performer, artist, n FROM album ORDER BY n, performer")
        try fleet.assertSoundAndInStep()
    }

    func testASnapshotHasTheNames() throws {
        let fleet = try makeFleet()
        try fleet.shell(0, reuse)
        try fleet.shell(0, "UPDATE item SET name = 'other' WHERE id = 3")
        try fleet.settle()
        try fleet.shell(1, "UPDATE item SET name = 'TWO' WHERE id = 2")
        try fleet.settle()
        let rows = "SELECT id, title, name FROM item ORDER BY id"
        let expected = "1|one|new\n2|TWO|new\n3|three|other\n"
        // The second device has the former schema, and hands on the values of the column that it lacks.
        for device in 0...1 {
            let file = fleet.folder.appendingPathComponent("file\(device).ferry").path
            _ = try fleet.replicas[device].exportSnapshot(to: file)
            let path = fleet.databasePath(fleet.replicas.count)
            let replica = try ReplicaSetup().importDatabase(
                at: path, from: file, containerPath: fleet.containerPath, name: "from \(device)"
            ).replica
            fleet.replicas.append(try XCTUnwrap(replica))
            XCTAssertEqual(try fleet.shell(2 + device, rows), expected)
        }
        try fleet.shell(1, reuse)
        try fleet.shell(3, "INSERT INTO item VALUES (4, 'four', 4, 'x')")
        try fleet.assertSettled(rows, expected + "4|four|x\n")
    }
}
