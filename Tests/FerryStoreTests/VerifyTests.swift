import FerryCore
import XCTest

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
        let report = try device.store.verify(deep: true)
        XCTAssertEqual(report.differenceCount, report.differences.count)
        XCTAssertEqual(report.isSound, report.differences.isEmpty && report.foreignKeys.isEmpty)
        return report.differences.map { "\($0.table) \($0.key): \($0.kind)" }
    }

    func testASoundDatabaseIsSaidToBeSound() throws {
        let device = try device()
        let report = try device.store.verify(deep: true)
        XCTAssertEqual(report.differences, [])
        XCTAssertEqual(report.tables.first { $0.name == "artist" }?.rows, 4)
        XCTAssertEqual(report.tables.first { $0.name == "artist" }?.objects, 6)
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
        XCTAssertEqual(try device.store.verify(deep: true).differences.map(\.table), ["song"])
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
        let found = try device.store.verify(deep: true).differences
        XCTAssertEqual(found.map(\.kind), [.mark])
        XCTAssertTrue(found[0].problem.contains("although another row shows it"), found[0].problem)
    }

    func testAValueThatIsNowhereIsNamed() throws {
        let device = try device()
        try damage(device, "UPDATE ferry_object_1 SET kept = NULL WHERE shown = 4")
        let kinds = Set(try device.store.verify(deep: true).differences.map(\.kind))
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
        XCTAssertThrowsError(try device.store.verify(deep: true)) { error in
            XCTAssertEqual((error as? FerryError)?.code, .busy)
        }
        XCTAssertTrue(try device.store.verify().isSound)
        try device.flush()
        XCTAssertEqual(try differences(device), [])
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
