import FerryCore
import XCTest

@testable import FerryStore

/// Deletions that are forgotten once every device has seen them, and devices that have forgotten beside devices that
/// have not.
final class TombstoneTests: XCTestCase {
    private static let library = TestSchema(
        name: "library",
        sql: """
            CREATE TABLE shelf(name TEXT PRIMARY KEY NOT NULL, room TEXT);
            CREATE TABLE book(
                id INTEGER PRIMARY KEY, shelf TEXT REFERENCES shelf(name) ON DELETE RESTRICT, title TEXT);
            CREATE TABLE note(code TEXT PRIMARY KEY NOT NULL, text TEXT, plays INTEGER, rank INTEGER, tags TEXT);
            """)

    private func devices(_ count: Int, _ schema: TestSchema = library) throws -> [TestDevice] {
        try (1...count).map { try TestDevice($0, schema) }
    }

    /// All devices replay everything, and know that the others did.
    private func exchange(_ devices: [TestDevice]) throws {
        for device in devices { try device.flush() }
        for _ in 0..<2 {
            for device in devices {
                device.clock.now += 1000
                for other in devices { try device.receive(other) }
            }
        }
    }

    private func assertAlike(
        _ devices: [TestDevice], _ query: String, _ rows: [String], line: UInt = #line
    ) throws {
        let expected = try devices[0].store.statePosition()
        for device in devices {
            XCTAssertEqual(try device.query(query), rows, "device \(device.id.low)", line: line)
            let position = try device.store.statePosition()
            XCTAssertEqual(position.vector, expected.vector, "device \(device.id.low)", line: line)
            XCTAssertEqual(position.digests, expected.digests, "device \(device.id.low)", line: line)
            XCTAssertEqual(try device.store.verify(deep: true).differences, [], line: line)
        }
    }

    // MARK: What is forgotten

    func testADeletionThatEveryDeviceHasSeenIsForgotten() throws {
        let all = try devices(2)
        try all[0].run("INSERT INTO note(code, text) VALUES ('a', '1'), ('b', '2')")
        try exchange(all)
        try all[0].run("DELETE FROM note WHERE code = 'a'")
        try exchange(all)
        XCTAssertEqual(try all[0].store.tombstoneCount(), 1)
        XCTAssertEqual(try all[0].collectTombstones(all), 1)
        XCTAssertEqual(try all[0].collectTombstones(all), 0)
        XCTAssertEqual(try all.map { try $0.store.tombstoneCount() }, [0, 1])
        try assertAlike(all, "SELECT code, text FROM note", ["b|2"])
    }

    func testADeletionThatAnActiveDeviceHasNotSeenStays() throws {
        let all = try devices(3)
        try all[0].run("INSERT INTO note(code) VALUES ('a')")
        try exchange(all)
        try all[0].run("DELETE FROM note")
        try exchange([all[0], all[1]])
        XCTAssertEqual(try all[0].collectTombstones(all), 0)
        try exchange(all)
        XCTAssertEqual(try all[0].collectTombstones(all), 1)
    }

    func testADeletionByAClockFarAheadStaysUntilThatTimeHasCome() throws {
        let all = [try TestDevice(1, Self.library), try TestDevice(2, Self.library, hoursAhead: 100)]
        try all[1].run("INSERT INTO note(code) VALUES ('a')")
        try exchange(all)
        try all[1].run("DELETE FROM note")
        try exchange(all)
        XCTAssertEqual(try all[0].collectTombstones(all), 0)
        all[0].clock.now += 200 * 3_600_000
        try all[0].run("INSERT INTO note(code) VALUES ('b')")
        try exchange(all)
        XCTAssertEqual(try all[0].collectTombstones(all), 1)
    }

    func testWhatADeletionThatIsNotSeenYetMayHoldBackStays() throws {
        let all = try devices(3)
        try all[0].run("INSERT INTO shelf VALUES ('s', 'x'); INSERT INTO book VALUES (1, 's', 't')")
        try exchange(all)
        // The shelf is deleted before device 2's book is known, and held back by it.
        try all[0].run("DELETE FROM book; DELETE FROM shelf")
        all[1].clock.now += 1000
        try all[1].run("INSERT INTO book VALUES (2, 's', 'new')")
        try exchange(all)
        try assertAlike(all, "SELECT name FROM shelf", ["s"])
        // Device 3 has not heard that the book is gone too, and changes it.
        try all[0].run("DELETE FROM book")
        try exchange([all[0], all[1]])
        _ = try all[0].collectTombstones(all)
        XCTAssertEqual(try all[0].query("SELECT name FROM shelf"), [])
        all[2].clock.now += 60_000
        try all[2].run("UPDATE book SET title = 'mine'")
        try exchange(all)
        try assertAlike(all, "SELECT shelf.name, title FROM shelf JOIN book ON shelf = name", ["s|mine"])
    }

    func testWhatMayBeReferredToByAValueThatItHadStays() throws {
        let schema = TestSchema(
            name: "sites",
            sql: """
                CREATE TABLE country(code TEXT PRIMARY KEY NOT NULL);
                CREATE TABLE maker(
                    id INTEGER PRIMARY KEY, site TEXT UNIQUE, name TEXT, country TEXT REFERENCES country);
                CREATE TABLE product(
                    id INTEGER PRIMARY KEY, site TEXT REFERENCES maker(site), old TEXT REFERENCES maker(name)
                        ON DELETE CASCADE);
                CREATE UNIQUE INDEX maker_name ON maker(name);
                """)
        let all = try devices(2, schema)
        try all[0].run(
            "INSERT INTO country VALUES ('fr'); INSERT INTO maker VALUES (1, 's', 'a', 'fr'), (2, NULL, 'b', 'fr')")
        try exchange(all)
        try all[0].run("DELETE FROM maker; DELETE FROM country")
        try exchange(all)
        // Only the one without a site: the other one may come back, and its country with it.
        XCTAssertEqual(try all[0].collectTombstones(all), 1)
        XCTAssertEqual(try all[0].store.tombstoneCount(), 2)
        try all[0].run("INSERT INTO maker VALUES (3, 's', 'c', NULL)")
        try exchange(all)
        // One device gives the row another site, and the other one does not know of it.
        try all[0].run("INSERT INTO product VALUES (1, 's', NULL)")
        try all[1].run("UPDATE maker SET site = 't'")
        try exchange(all)
        try assertAlike(all, "SELECT name, country FROM product JOIN maker USING (site) JOIN country", ["a|fr"])
        try all[0].run("DELETE FROM product")
        try exchange(all)
        try assertAlike(all, "SELECT name, site FROM maker", ["c|t"])
    }

    func testAConflictThatNobodyHasSettledKeepsTheRowAndASettledOneIsStillListed() throws {
        let all = try devices(2)
        try all[0].run("INSERT INTO note(code, text) VALUES ('a', '1')")
        try exchange(all)
        try all[0].run("UPDATE note SET text = '2'")
        all[1].clock.now += 1000
        try all[1].run("DELETE FROM note")
        try exchange(all)
        let conflict = try XCTUnwrap(all[0].store.conflicts().first)
        XCTAssertEqual(conflict.kind, .deleted)
        XCTAssertEqual(try all[0].collectTombstones(all), 0)
        try all[0].store.resolveConflicts([conflict.number])
        XCTAssertEqual(try all[0].collectTombstones(all), 1)
        let listed = try all[0].store.conflicts(ConflictFilter(resolution: .resolved))
        XCTAssertEqual(listed.map(\.number), [conflict.number])
        XCTAssertThrowsError(try all[0].restoreConflict(conflict.number)) {
            XCTAssertEqual(($0 as? FerryError)?.code, .restoreRefused)
        }
    }

    func testARowThatIsNamedByAnUndeclaredReferenceStays() throws {
        let all = try devicesThatDeletedWhatIsNamed("id INTEGER PRIMARY KEY, a INTEGER")
        XCTAssertEqual(try all.map { try $0.collectTombstones(all) }, [0, 0])
        try all[1].run("DELETE FROM b")
        try exchange(all)
        XCTAssertEqual(try all[0].collectTombstones(all), 2)
        try assertAlike(all, "SELECT * FROM b", [])
    }

    func testARowIsKnownByWhatItNamedThoughItIsDeletedBeforeItsChangesArePacked() throws {
        let all = try devicesThatDeletedWhatIsNamed("a INTEGER, id INTEGER, PRIMARY KEY(a, id)")
        try all[1].run("DELETE FROM b")
        XCTAssertEqual(try all[1].collectTombstones(all), 0)
        try exchange(all)
        try assertAlike(all, "SELECT * FROM b", [])
        XCTAssertEqual(try all[1].collectTombstones(all), 2)
    }

    /// Two devices, on both of which a row names one that is deleted, by a reference that the schema does not declare.
    /// - Parameter columns: of the table that refers, an `id` and the reference `a` among them.
    private func devicesThatDeletedWhatIsNamed(_ columns: String) throws -> [TestDevice] {
        let schema = TestSchema(
            name: "loose", sql: "CREATE TABLE a(id INTEGER PRIMARY KEY, t); CREATE TABLE b(\(columns))",
            references: [UndeclaredReference(table: "b", column: "a", parent: "a")])
        let all = try devices(2, schema)
        try all[0].run("INSERT INTO a VALUES (5, 'x'); INSERT INTO b(id, a) VALUES (1, 5)")
        try exchange(all)
        try all[0].run("DELETE FROM a")
        try exchange(all)
        return all
    }

    // MARK: What comes again

    func testAKeyThatComesAgainIsTheSameWhetherOrNotTheDeletionIsRemembered() throws {
        for author in 0..<2 {
            let all = try devices(3)
            try all[0].store.setPolicies([
                PolicySetting(table: "note", column: "plays", .counter),
                PolicySetting(table: "note", column: "rank", .max),
                PolicySetting(table: "note", column: "tags", .set),
                PolicySetting(table: "note", column: "text", .firstWriterWins),
            ])
            try all[0].run("INSERT INTO note VALUES ('a', 'first', 5, 10, '[\"x\",\"y\"]')")
            try exchange(all)
            try all[1].run("UPDATE note SET plays = plays + 2, rank = 11, tags = '[\"x\",\"y\",\"z\"]'")
            try exchange(all)
            try all[2].run("DELETE FROM note")
            try exchange(all)
            XCTAssertEqual(try all[0].collectTombstones(all), 1)
            // By one that has forgotten the deletion, and by one that has not.
            try all[author].run("INSERT INTO note VALUES ('a', 'second', 1, 4, '[\"y\",\"w\"]')")
            try exchange(all)
            try assertAlike(
                all, "SELECT * FROM note", ["'a'|'second'|1|4|'[\"y\",\"w\"]'"].map { $0.replacing("'", with: "") })
            try all[2].run("UPDATE note SET plays = plays + 1, rank = 6")
            try exchange(all)
            try assertAlike(all, "SELECT plays, rank FROM note", ["2|6"])
        }
    }

    func testAnInsertionWithFewerColumnsBeginsTheRowAnew() throws {
        let wide = TestSchema(name: "wide", sql: "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, a, b DEFAULT 7)")
        let narrow = TestSchema(name: "narrow", sql: "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, a)")
        let all = [try TestDevice(1, wide), try TestDevice(2, wide), try TestDevice(3, narrow)]
        try all[0].run("INSERT INTO t VALUES ('x', 1, 2)")
        try exchange(all)
        try all[0].run("DELETE FROM t")
        try exchange(all)
        XCTAssertEqual(try all[0].collectTombstones(all), 1)
        try all[2].run("INSERT INTO t VALUES ('x', 3)")
        try exchange(all)
        try assertAlike([all[0], all[1]], "SELECT * FROM t", ["x|3|7"])
    }

    func testAValueThatAnInsertionOfAnOlderSchemaDidNotKnowIsKeptAsAConflict() throws {
        let wide = TestSchema(name: "wide", sql: "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, a, b DEFAULT 7)")
        let narrow = TestSchema(name: "narrow", sql: "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, a)")
        let all = [try TestDevice(1, wide), try TestDevice(2, narrow)]
        try all[0].run("INSERT INTO t VALUES ('x', 1, 2)")
        try exchange(all)
        try all[0].run("UPDATE t SET b = 3")
        all[1].clock.now += 1000
        try all[1].run("DELETE FROM t; INSERT INTO t VALUES ('x', 4)")
        try exchange(all)
        try assertAlike([all[0]], "SELECT * FROM t", ["x|4|7"])
        XCTAssertTrue(try all[0].store.conflicts().contains { $0.column == "b" && $0.lost.value == .integer(3) })
    }

    // MARK: Rows that are held back

    /// Devices on which a shelf is deleted and held back by a book that device 2 put on it; on device 3 the book is
    /// deleted already, and nobody else has heard of that.
    private func heldBack() throws -> [TestDevice] {
        let all = try devices(3)
        try all[0].run("INSERT INTO shelf VALUES ('s', 'x')")
        try exchange(all)
        try all[0].run("DELETE FROM shelf")
        all[1].clock.now += 1000
        try all[1].run("INSERT INTO book VALUES (2, 's', 'new')")
        try exchange(all)
        return all
    }

    func testAWriteToARowThatIsHeldBackSaysAllOfIt() throws {
        let all = try heldBack()
        try all[1].run("UPDATE shelf SET room = 'y'")
        try all[1].flush()
        let operations = try XCTUnwrap(all[1].log.last?.tables.first { $0.name == "shelf" })
        XCTAssertEqual(operations.operations.map(\.kind), [.insert])
        XCTAssertEqual(
            operations.values(of: operations.operations[0]).map(\.text),
            ["'s'", "'y'"].map { $0.replacing("'", with: "") })
        try exchange(all)
        try all[1].run("DELETE FROM book")
        try exchange(all)
        try assertAlike(all, "SELECT * FROM shelf", ["s|y"])
    }

    func testANewReferenceToARowThatIsHeldBackBringsItBackForGood() throws {
        let all = try heldBack()
        try all[1].run("INSERT INTO book VALUES (3, 's', 'newer'); DELETE FROM book WHERE id = 2")
        try all[1].flush()
        let operations = try XCTUnwrap(all[1].log.last?.tables.first { $0.name == "shelf" })
        XCTAssertEqual(operations.operations.map(\.kind), [.insert])
        try exchange(all)
        try assertAlike(all, "SELECT name, room FROM shelf", ["s|x"])
        XCTAssertEqual(try all[0].query("SELECT * FROM ferry_exception"), [])
    }

    func testWritesElsewhereSayNothingOfRowsThatAreHeldBack() throws {
        let all = try heldBack()
        try all[1].run("UPDATE book SET title = 'other'; INSERT INTO shelf VALUES ('t', 'z')")
        try all[1].flush()
        let operations = try XCTUnwrap(all[1].log.last?.tables.first { $0.name == "shelf" })
        XCTAssertEqual(operations.operations.count, 1)
        try all[1].run("DELETE FROM book")
        try exchange(all)
        try assertAlike(all, "SELECT name FROM shelf", ["t"])
    }

    // MARK: Contexts

    func testALongOneSidedHistoryLeavesFewContextsAndConflictsAreToldExactly() throws {
        let all = try devices(3)
        try all[0].run("INSERT INTO note(code, text) VALUES ('a', '0')")
        try exchange(all)
        for round in 1...60 {
            try all[0].run("UPDATE note SET text = '\(round)'")
            try all[0].flush()
            try all[1].receive(all[0])
            try all[1].run("UPDATE note SET plays = \(round)")
            try all[1].flush()
            try all[0].receive(all[1])
        }
        for device in all.prefix(2) {
            let rows = try XCTUnwrap(device.query("SELECT count(*) FROM ferry_context").first.flatMap(Int.init))
            XCTAssertLessThan(rows, 12, "device \(device.id.low)")
        }
        // Device 3 hears of it in pieces, the later writer first: nothing of it was concurrent.
        while !all[2].news(from: all[1]).isEmpty { try all[2].pass(all[2].news(from: all[1], limit: 7)) }
        while !all[2].news(from: all[0]).isEmpty { try all[2].pass(all[2].news(from: all[0], limit: 7)) }
        XCTAssertEqual(try all[2].store.conflicts().count, 0)
        XCTAssertEqual(try all[2].query("SELECT text, plays FROM note"), ["60|60"])
        // What is concurrent is told still, whoever comes first.
        try all[0].run("UPDATE note SET text = 'mine'")
        all[1].clock.now += 1000
        try all[1].run("UPDATE note SET text = 'yours'")
        try all[0].flush()
        try all[1].flush()
        try all[2].receive(all[1])
        try all[2].receive(all[0])
        XCTAssertEqual(try all[2].store.conflicts().map(\.lost.value), [.text(Array("mine".utf8)[...])])
    }

    // MARK: What is written again

    /// The first device forgets a deletion, and writes the insertion of a lost branch again. The deletion's author still
    /// knows the deletion.
    func testADeletionIsRepeatedWhereADeviceInsertsTheForgottenRowAgain() throws {
        let all = try devices(3)
        try all[2].run("INSERT INTO note(code, text) VALUES ('a', '1'), ('b', '2')")
        try exchange(all)
        try all[1].run("DELETE FROM note WHERE code = 'a'")
        try exchange(all)
        XCTAssertEqual(try all[0].collectTombstones(all), 1)
        _ = try all[0].store.mergeBranches(all[2].log, of: all[2].id, after: .none, encode: all[0].encode)
        XCTAssertEqual(try all[0].query("SELECT count(*) FROM note"), ["2"])
        let sent = all[1].log.count
        try all[1].receive(all[0])
        XCTAssertEqual(all[1].log.count, sent + 1)
        try exchange(all)
        try assertAlike(all, "SELECT code, text FROM note ORDER BY 1", ["b|2"])
    }

    /// A device deletes a row and forgets the deletion, while nobody counts a device that inserted the same row before. The insertion
    /// of the second device lost to the first device's later one.
    func testADeletionIsRepeatedBehindAnInsertionUnknownToTheAuthor() throws {
        let all = try devices(2)
        try all[1].run("INSERT INTO note(code, text) VALUES ('a', 'second')")
        try all[1].flush()
        all[0].clock.now += 60_000
        try all[0].run("INSERT INTO note(code, text) VALUES ('a', 'first')")
        try all[0].flush()
        try all[0].run("DELETE FROM note")
        try all[0].flush()
        XCTAssertEqual(try all[0].collectTombstones([all[0]]), 1)
        all[1].clock.now += 120_000
        try all[1].receive(all[0])
        try exchange(all)
        try assertAlike(all, "SELECT code, text FROM note ORDER BY 1", [])
    }

    /// The insertion is known to the author of the deletion: nothing is written again.
    func testNothingIsRepeatedWhereTheAuthorKnewTheInsertion() throws {
        let all = try devices(2)
        try all[1].run("INSERT INTO note(code, text) VALUES ('a', '1')")
        try exchange(all)
        try all[0].run("DELETE FROM note")
        try exchange(all)
        XCTAssertEqual(all.map { $0.log.map(\.operationCount).reduce(0, +) }, [1, 1])
        try assertAlike(all, "SELECT code, text FROM note ORDER BY 1", [])
    }
}
