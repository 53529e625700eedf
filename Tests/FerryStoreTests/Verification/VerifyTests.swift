import CFerrySQLite
import FerryCore
import FerrySQL
import GRDB
import XCTest

@testable import FerryReferenceModel
@testable import FerryStore

/// Damage that no trigger saw, and what verification says of it.
final class VerifyTests: XCTestCase {
    private static let schema = TestSchema(
        name: "music",
        sql: """
            CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT UNIQUE, born INTEGER CHECK (born > 0));
            CREATE TABLE song(
                id INTEGER PRIMARY KEY, title TEXT, artist INTEGER REFERENCES artist(id) ON DELETE SET NULL);
            CREATE TABLE tag(name TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, colour TEXT) WITHOUT ROWID;
            CREATE TABLE song_tag(
                song INTEGER NOT NULL REFERENCES song(id) ON DELETE CASCADE,
                tag TEXT NOT NULL COLLATE NOCASE REFERENCES tag(name) ON DELETE CASCADE, PRIMARY KEY(song, tag));
            """)

    /// A device whose database shows joined, hidden, held back and cleared things beside ordinary ones.
    private func device() throws -> TestDevice {
        let (first, second) = (try TestDevice(1, Self.schema), try TestDevice(2, Self.schema))
        try first.run(
            """
            INSERT INTO artist VALUES (1, 'Miles', 1926), (2, 'Gil', 1912), (3, 'Bill', 1929);
            INSERT INTO song VALUES (1, 'So What', 1), (2, 'Nardis', 3);
            INSERT INTO tag VALUES ('Jazz', 'blue'), ('Cool', NULL);
            INSERT INTO song_tag VALUES (1, 'jazz'), (2, 'Jazz'), (1, 'Cool')
            """)
        try first.flush()
        try second.receive(first)
        try first.run("DELETE FROM tag WHERE name = 'Cool'; DELETE FROM artist WHERE id = 3")
        second.clock.now += 1000
        try second.run(
            "INSERT INTO song_tag VALUES (2, 'Cool'); INSERT INTO artist VALUES (9, 'Joe', 1)")
        try first.run("INSERT INTO artist VALUES (9, 'joe', 2), (10, 'Joe', 3)")
        try second.flush()
        try first.flush()
        try first.receive(second)
        return first
    }

    /// Writes with all triggers off, as no program does.
    private func damage(_ device: TestDevice, _ sql: String) throws {
        try device.store.writeAsFerry { connection in
            try connection.executeScript(sql)
            return ((), [])
        }
    }

    private func differences(_ device: TestDevice) throws -> [String] {
        let report = try device.store.verifyBothWays()
        XCTAssertEqual(report.differenceCount, report.differences.count)
        XCTAssertEqual(report.isSound, report.differences.isEmpty && report.foreignKeys.isEmpty)
        return report.differences.map { "\($0.table) \($0.key): \($0.kind)" }
    }

    func testASoundDatabaseIsSaidToBeSound() throws {
        let device = try device()
        let report = try device.store.verifyBothWays()
        XCTAssertEqual(report.differences, [])
        XCTAssertEqual(report.tables.first { $0.name == "artist" }?.rows, 4)
        XCTAssertEqual(report.tables.first { $0.name == "artist" }?.objects, 4)
        XCTAssertTrue(report.isSound)
    }

    func testARowThatIsGoneIsNamed() throws {
        let device = try device()
        try damage(device, "DELETE FROM tag; DELETE FROM song_tag")
        let found = try differences(device)
        XCTAssertEqual(found.count, 3)
        XCTAssertTrue(found.allSatisfy { $0.hasSuffix(": missingRow") }, "\(found)")
    }

    func testARowThatFerryWasNotToldOfIsNamed() throws {
        let device = try device()
        try damage(device, "INSERT INTO tag VALUES ('Bop', NULL)")
        XCTAssertEqual(try differences(device), ["tag Bop: unknownRow"])
    }

    func testAReferenceThatIsNotWhatItShouldBeIsNamed() throws {
        let device = try device()
        try device.run("INSERT INTO song VALUES (7, 'Blue', 1); DELETE FROM artist WHERE id = 1")
        try device.flush()
        XCTAssertEqual(try differences(device), [])
        try damage(device, "UPDATE song SET artist = 2 WHERE id = 7")
        XCTAssertEqual(try differences(device), ["song 7: value"])
    }

    func testAValueThatWasChangedUnnoticedIsNamed() throws {
        let device = try device()
        try damage(device, "UPDATE song SET title = 'Other' WHERE id = 2; UPDATE artist SET born = 5 WHERE id = 2")
        XCTAssertEqual(try differences(device), ["artist 2: check", "song 2: check"])
    }

    func testAKeptValueThatWasChangedUnnoticedIsNamed() throws {
        let device = try device()
        try damage(
            device,
            "UPDATE ferry_object_1 SET kept = CAST(replace(CAST(kept AS TEXT), 'Joe', 'Jim') AS BLOB) WHERE shown = 4")
        let found = try differences(device)
        XCTAssertTrue(found.contains { $0.hasSuffix(": check") }, "\(found)")
    }

    func testADigestThatIsNotThatOfItsObjectsIsNamed() throws {
        let device = try device()
        try damage(device, "UPDATE ferry_digest SET count = count + 1 WHERE \"table\" = 2")
        XCTAssertEqual(try device.store.verifyBothWays().differences.map(\.table), ["song"])
    }

    func testARowOfADeletedObjectIsNamed() throws {
        let device = try device()
        try device.run("DELETE FROM tag WHERE name = 'Jazz'")
        try device.flush()
        try damage(
            device,
            """
            INSERT INTO tag VALUES ('Jazz', NULL);
            UPDATE ferry_object_3 SET shown = 9, k0 = 'Jazz'
            WHERE shown = 24 AND instr(kept, CAST('Jazz' AS BLOB))
            """)
        XCTAssertEqual(try differences(device), ["tag Jazz: needlessRow", "tag Jazz: mark"])
    }

    func testAWrongMarkIsNamed() throws {
        let device = try device()
        try damage(device, "UPDATE ferry_object_1 SET shown = 2 WHERE k0 = 2")
        XCTAssertEqual(try differences(device), ["artist 2: mark"])
        try damage(device, "UPDATE ferry_object_1 SET shown = 1 WHERE k0 = 2; DELETE FROM ferry_joined")
        let found = try device.store.verifyBothWays().differences
        XCTAssertEqual(found.map(\.kind), [.mark])
        XCTAssertTrue(found[0].problem.contains("although another row shows it"), found[0].problem)
    }

    func testAValueThatIsNowhereIsNamed() throws {
        let device = try device()
        try damage(device, "UPDATE ferry_object_1 SET kept = NULL WHERE shown = 4")
        let kinds = Set(try device.store.verifyBothWays().differences.map(\.kind))
        XCTAssertTrue(kinds.contains(.lostValue), "\(kinds)")
    }

    func testAForeignKeyThatLeadsNowhereIsFoundWithoutLookingDeep() throws {
        let device = try device()
        try damage(device, "UPDATE song SET artist = 77 WHERE id = 1")
        let report = try device.store.verify()
        XCTAssertEqual(report.foreignKeys, [.init(table: "song", rowID: 1, parent: "artist")])
        XCTAssertFalse(report.deep)
        XCTAssertFalse(report.isSound)
    }

    func testChangesThatWaitAreNoDamage() throws {
        let device = try device()
        try device.run("UPDATE song SET title = 'x'")
        XCTAssertThrowsError(try device.store.verifyBothWays()) { error in
            XCTAssertEqual((error as? FerryError)?.code, .busy)
        }
        XCTAssertTrue(try device.store.verify().isSound)
        try device.flush()
        XCTAssertEqual(try differences(device), [])
    }

    // MARK: What SQLite says, and not the code that is checked

    /// Makes one object of two, as code would that took their values for equal: the second has no row, and is said to be one with
    /// the first, with all checks and sums as they are then.
    private func forgeJoin(_ device: TestDevice, _ table: String, _ first: String, _ second: String) throws {
        try device.store.writeAsFerry { connection in
            let number = try connection.count(
                "SELECT number FROM ferry_table WHERE name = ?", .text(Array(table.utf8)[...]))
            func object(_ name: String) throws -> FieldValue {
                try connection.firstValue(
                    "SELECT object FROM ferry_object_\(number) WHERE k0 = (SELECT id FROM \"\(table)\" WHERE name = ?)",
                    .text(Array(name.utf8)[...])) ?? .null
            }
            let (one, other) = (try object(first), try object(second))
            try connection.execute("DELETE FROM \"\(table)\" WHERE name = ?", .text(Array(second.utf8)[...]))
            try connection.execute("UPDATE ferry_object_\(number) SET shown = 2 WHERE object = ?", one)
            try connection.execute(
                "UPDATE ferry_object_\(number) SET shown = 4, k0 = NULL, kept = (SELECT kept FROM ferry_object_\(number) "
                    + "WHERE object = ?2) WHERE object = ?1", other, one)
            try connection.execute(
                "INSERT INTO ferry_joined(\"table\", object, representative, alias) VALUES (?, ?, ?, 0)",
                .integer(Int64(number)), other, one)
            return ((), [])
        }
    }

    func testObjectsThatAreOneThoughSQLiteTellsThemApartAreNamed() throws {
        let schema = TestSchema(
            name: "names", sql: "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT UNIQUE, n INTEGER)")
        let device = try TestDevice(1, schema)
        try device.run("INSERT INTO t(name) VALUES ('Rock'), ('rock')")
        try device.flush()
        XCTAssertEqual(try differences(device), [])
        try forgeJoin(device, "t", "Rock", "rock")
        let found = try device.store.verifyBothWays().differences
        XCTAssertTrue(
            found.contains { $0.kind == .mark && $0.problem.contains("although it should be shown") }, "\(found)")
    }

    func testAnIDThatIsNotThatOfTheKeyIsNamed() throws {
        let schema = TestSchema(
            name: "keys",
            sql: """
                CREATE TABLE a(k TEXT PRIMARY KEY COLLATE NOCASE); CREATE TABLE b(k PRIMARY KEY COLLATE RTRIM);
                CREATE TABLE c(k REAL, l TEXT, PRIMARY KEY(k, l)); CREATE TABLE d(k BLOB PRIMARY KEY);
                CREATE TABLE e(k TEXT PRIMARY KEY); CREATE TABLE f(k REFERENCES e(k), n, PRIMARY KEY(k, n))
                """)
        let device = try TestDevice(1, schema)
        try device.run(
            """
            INSERT INTO a VALUES ('Rock'), ('É'), ('é'), ('x' || char(0) || 'Y');
            INSERT INTO b VALUES ('rock  '), (7), (7.5), (x'01'); INSERT INTO c VALUES (1, 'x'), (1.5, 'X'), (-0.0, '');
            INSERT INTO d VALUES (x'00112233445566778899aabbccddeeff'), ('text'), (1);
            INSERT INTO e VALUES ('00112233-4455-6677-8899-aabbccddeeff'), ('00112233-4455-6677-8899-AABBCCDDEEFF');
            INSERT INTO f SELECT k, 1 FROM e
            """)
        try device.flush()
        XCTAssertEqual(try differences(device), [])
        // As a device would that takes é for É: both have one ID, and nothing else tells.
        let number = try device.query("SELECT number FROM ferry_table WHERE name = 'a'")[0]
        try damage(device, "UPDATE ferry_object_\(number) SET object = randomblob(16) WHERE k0 = 'Rock'")
        let found = try device.store.verifyBothWays()
        XCTAssertTrue(found.differences.contains { $0.key == "Rock" && $0.kind == .identity }, "\(found.differences)")
        XCTAssertTrue(found.remedies.contains(.rejoin))
    }

    func testValuesAreTakenAsAColumnInSQLiteTakesThem() throws {
        let connection = try Scratch()
        let equality = try ModelEquality(connection.connection)
        let values: [FieldValue] = [
            .integer(1), .real(1), .real(1.5), .real(1e22), .real(9.1e18), .text(Array("1".utf8)[...]),
            .text(Array(" 1.50 ".utf8)[...]), .text(Array("0x10".utf8)[...]), .text(Array("1e3".utf8)[...]),
            .text(Array("9223372036854775808".utf8)[...]), .text(Array("abc".utf8)[...]), .text([]), .blob([0x31]),
            .null,
        ]
        for type in ["", "INT", "TEXT", "REAL", "NUMERIC", "BLOB", "VARCHAR(10)", "FLOATING POINT", "DECIMAL(10, 2)"] {
            try connection.connection.executeScript("CREATE TABLE \"as \(type)\"(value \(type))")
            let column = ModelSchema.Column(name: "value", type: type, collation: "BINARY", isNotNull: false)
            for value in values {
                try connection.connection.execute("INSERT INTO \"as \(type)\" VALUES (?)", value)
                let taken = try connection.connection.rows(
                    "SELECT value FROM \"as \(type)\" ORDER BY rowid DESC LIMIT 1")[0][0]
                XCTAssertEqual(equality.kept(value, in: column), taken, "\(value) as \(type)")
            }
        }
        XCTAssertNil(equality.failure)
    }

    // MARK: What only an app has

    private static let appSchema = """
        CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT COLLATE plain UNIQUE);
        CREATE TABLE g(k TEXT PRIMARY KEY, v TEXT); CREATE UNIQUE INDEX i ON g(folded(v));
        CREATE TABLE c(k TEXT PRIMARY KEY, t INTEGER NOT NULL REFERENCES t(id) ON DELETE CASCADE);
        CREATE TABLE r(k TEXT PRIMARY KEY, name TEXT REFERENCES t(name));
        CREATE TABLE o(k TEXT PRIMARY KEY, v)
        """

    private func equip(_ device: TestDevice) throws {
        try device.queue.write { database in
            database.add(
                collation: DatabaseCollation("plain") { left, right in left.lowercased().compare(right.lowercased()) })
            database.add(
                function: DatabaseFunction("folded", argumentCount: 1, pure: true) { values in
                    String.fromDatabaseValue(values[0])?.lowercased()
                })
        }
    }

    private func strip(_ device: TestDevice) throws {
        try device.queue.write { database in
            database.remove(collation: DatabaseCollation("plain") { _, _ in .orderedSame })
            database.remove(function: DatabaseFunction("folded", argumentCount: 1) { _ in nil })
        }
    }

    /// Two devices have entered the same values in other letters.
    private func appDevice() throws -> TestDevice {
        let devices = try (1...2).map { number in
            let device = try TestDevice(number, TestSchema(name: "empty", sql: ""), hoursAhead: Int64(number))
            try equip(device)
            try device.run(Self.appSchema)
            return device
        }
        for (device, word) in zip(devices, ["Rock", "rock"]) {
            try device.run(
                """
                INSERT INTO t(name) VALUES ('\(word)'), ('only \(word)'); INSERT INTO g VALUES ('\(word)', '\(word)');
                INSERT INTO c VALUES ('\(word)', 1); INSERT INTO r VALUES ('\(word)', '\(word)');
                INSERT INTO o VALUES ('\(word)', 1)
                """)
            try device.flush()
        }
        try devices[0].run("INSERT INTO t VALUES (9, 'alone')")
        try devices[0].flush()
        try devices[0].receive(devices[1])
        return devices[0]
    }

    private func appTables(_ report: VerificationReport) -> Set<String> {
        Set(report.tables.map(\.name).filter { !$0.hasPrefix("ferry_") })
    }

    func testTheAppsOwnCollationsAndFunctionsAreAskedWhereTheyAre() throws {
        let device = try appDevice()
        let report = try device.store.verifyBothWays()
        XCTAssertEqual(report.differences, [])
        XCTAssertEqual(report.unchecked, [])
        XCTAssertTrue(report.isSound)
        XCTAssertEqual(appTables(report), ["t", "g", "c", "r", "o"])
        // Only by the app's collation two of them are one.
        try damage(device, "DELETE FROM ferry_joined")
        XCTAssertEqual(Set(try device.store.verifyBothWays().differences.map(\.table)), ["t", "g"])
    }

    func testACollationOfAnAppsUnderABuiltInNameIsAsked() throws {
        let (capital, small) = (FieldValue.text(Array("É".utf8)[...]), FieldValue.text(Array("é".utf8)[...]))
        let queue = try DatabaseQueue()
        func areOne() throws -> Bool {
            try queue.write { database in
                let connection = SQLConnection(try XCTUnwrap(database.sqliteConnection))
                defer { connection.finalizeStatements() }
                let scratch = try ScratchDatabase(ModelSchema(tables: []), borrowing: connection)
                let forms = [capital, small].map { scratch.equality.form($0, "NOCASE") }
                XCTAssertNil(scratch.failure)
                return forms[0] == forms[1]
            }
        }
        XCTAssertFalse(try areOne())
        try queue.write { database in
            database.add(
                collation: DatabaseCollation("NOCASE") { left, right in left.lowercased().compare(right.lowercased()) })
        }
        XCTAssertTrue(try areOne())
    }

    func testTablesForWhichSomethingIsMissingAreNamedAndAllOthersAreCompared() throws {
        let device = try appDevice()
        try strip(device)
        let report = try device.store.verifyBothWays()
        XCTAssertEqual(report.differences, [])
        XCTAssertEqual(report.foreignKeys, [])
        XCTAssertEqual(Set(report.unchecked.map(\.table)), ["t", "g", "r"])
        XCTAssertTrue(report.unchecked.contains { $0.reason.contains("plain") })
        XCTAssertTrue(report.unchecked.contains { $0.reason.contains("folded") })
        XCTAssertEqual(appTables(report), ["c", "o"])
        XCTAssertFalse(report.isSound, "not everything was looked at")
        XCTAssertFalse(report.hasFindings)
        XCTAssertEqual(report.remedies, [.checkInApp])
        try equip(device)
        try damage(
            device,
            "DELETE FROM c WHERE k = 'rock'; UPDATE o SET v = 2 WHERE k = 'Rock'; UPDATE t SET name = 'x' WHERE id = 9")
        try strip(device)
        let found = try device.store.verifyBothWays()
        XCTAssertEqual(
            Set(found.differences.map { "\($0.table) \($0.kind)" }), ["c missingRow", "o check", "t check"])
        XCTAssertTrue(found.hasFindings)
        XCTAssertEqual(found.remedies, [.take, .checkInApp])
    }

    func testARowThatWasWrittenPastACheckIsToBeMended() throws {
        let device = try TestDevice(
            1, TestSchema(name: "check", sql: "CREATE TABLE t(id INTEGER PRIMARY KEY, x CHECK (x > 0))"))
        try device.run(
            "PRAGMA ignore_check_constraints = ON; INSERT INTO t VALUES (1, 1), (2, -5); PRAGMA ignore_check_constraints = OFF"
        )
        try device.flush()
        let report = try device.store.verifyBothWays()
        XCTAssertEqual(Set(report.differences.map { "\($0.key) \($0.kind)" }), ["2 needlessRow", "2 mark"])
        XCTAssertEqual(report.remedies, [.mend])
        try device.run("UPDATE t SET x = 5 WHERE id = 2")
        try device.flush()
        XCTAssertTrue(try device.store.verifyBothWays().isSound)
    }

    func testWhatToDoFitsWhatWasFound() throws {
        let device = try device()
        try damage(device, "UPDATE song SET title = 'Other' WHERE id = 2")
        XCTAssertEqual(try device.store.verifyBothWays().remedies, [.take])
        try damage(device, "UPDATE ferry_digest SET count = count + 1 WHERE \"table\" = 2")
        XCTAssertEqual(try device.store.verifyBothWays().remedies, [.take, .rejoin])
        try damage(device, "UPDATE song SET artist = 77 WHERE id = 1")
        XCTAssertEqual(try device.store.verify().remedies, [.sync])
    }

    func testColumnsAndTablesThatAreNotHereAreNoDamage() throws {
        let wide = TestSchema(
            name: "wide",
            sql: "CREATE TABLE t(id TEXT PRIMARY KEY, a, b DEFAULT 7); CREATE TABLE u(id TEXT PRIMARY KEY)")
        let narrow = TestSchema(name: "narrow", sql: "CREATE TABLE t(id TEXT PRIMARY KEY, a)")
        let (first, second) = (try TestDevice(1, wide), try TestDevice(2, narrow))
        try first.run("INSERT INTO t VALUES ('x', 1, 2); INSERT INTO u VALUES ('y')")
        try second.run("INSERT INTO t VALUES ('z', 3)")
        try first.flush()
        try second.flush()
        try first.receive(second)
        try second.receive(first)
        XCTAssertEqual(try differences(first), [])
        XCTAssertEqual(try differences(second), [])
    }
}

/// A database in memory.
private final class Scratch {
    private let handle: OpaquePointer
    let connection: SQLConnection

    init() throws {
        var opened: OpaquePointer?
        XCTAssertEqual(sqlite3_open(":memory:", &opened), SQLITE_OK)
        handle = try XCTUnwrap(opened)
        connection = SQLConnection(handle)
    }

    deinit {
        connection.finalizeStatements()
        sqlite3_close_v2(handle)
    }
}
