import FerryCore
import XCTest

@testable import FerryStore

/// Conflicts as people list, settle and revert them.
final class ConflictListTests: XCTestCase {
    private static let music = TestSchema(
        name: "music",
        sql: """
            CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE song(
                id INTEGER PRIMARY KEY, title TEXT, artist_id INTEGER REFERENCES artist ON DELETE SET NULL,
                code TEXT UNIQUE, lo INTEGER DEFAULT 1, hi INTEGER DEFAULT 10, CHECK (lo <= hi));
            CREATE TABLE part(
                id INTEGER PRIMARY KEY, song_id INTEGER NOT NULL REFERENCES song ON DELETE CASCADE, name TEXT);
            CREATE TABLE tag(name TEXT PRIMARY KEY NOT NULL, colour TEXT) WITHOUT ROWID;
            """)
    private static let rows = """
        INSERT INTO artist VALUES (1, 'Ada'), (2, 'Bo'), (3, 'Cy');
        INSERT INTO song(id, title, artist_id, code) VALUES (1, 'One', 1, 'a'), (2, 'Two', 1, 'b');
        INSERT INTO part VALUES (1, 1, 'verse');
        INSERT INTO tag VALUES ('calm', 'blue');
        """

    /// Two devices with the same rows, that part: the second one's clock is an hour ahead, so its writes win.
    private func pair(one: String, other: String) throws -> (first: TestDevice, second: TestDevice) {
        let first = try TestDevice(1, Self.music)
        let second = try TestDevice(2, Self.music, hoursAhead: 1)
        try first.run(Self.rows)
        try first.flush()
        try second.receive(first)
        second.clock.now += 1000
        first.clock.now += 1000
        try first.run(one)
        try second.run(other)
        try first.flush()
        try second.flush()
        try first.receive(second)
        try second.receive(first)
        return (first, second)
    }

    /// Each device replays what the other has.
    private func exchange(_ first: TestDevice, _ second: TestDevice) throws {
        try first.flush()
        try second.flush()
        try first.receive(second)
        try second.receive(first)
    }

    func testAConflictTellsBothWritesAndTheRow() throws {
        let (first, second) = try pair(
            one: "UPDATE song SET title = 'mine', artist_id = 2 WHERE id = 2",
            other: "UPDATE song SET title = 'theirs', artist_id = 3 WHERE id = 2")
        for device in [first, second] {
            let conflicts = try device.store.conflicts()
            XCTAssertEqual(conflicts.map(\.column), ["artist_id", "title"])
            XCTAssertEqual(conflicts.map(\.lost.value), [.integer(2), .text("mine")])
            XCTAssertEqual(conflicts.map(\.kept.value), [.integer(3), .text("theirs")])
            XCTAssertEqual(conflicts.map(\.key), [[.integer(2)], [.integer(2)]])
            XCTAssertEqual(Set(conflicts.map(\.table)), ["song"])
            XCTAssertEqual(conflicts.map(\.kind), [.field, .field])
            XCTAssertEqual(conflicts.map(\.lost.device), [first.id, first.id])
            XCTAssertEqual(conflicts.map(\.kept.device), [second.id, second.id])
            let times = try XCTUnwrap(conflicts.first)
            XCTAssertLessThan(
                try XCTUnwrap(times.lost.timeMilliseconds), try XCTUnwrap(times.kept.timeMilliseconds))
            XCTAssertEqual(times.noticedMilliseconds, device.clock.now)
        }
        XCTAssertEqual(try first.store.conflicts()[0].lost.deviceName, "device1")
    }

    func testConflictsAreFilteredAndPaged() throws {
        let (first, _) = try pair(
            one: """
                UPDATE song SET title = 'mine', code = 'c' WHERE id = 2; UPDATE song SET title = 'mine' WHERE id = 1;
                UPDATE tag SET colour = 'red';
                """,
            other: """
                UPDATE song SET title = 'theirs', code = 'd' WHERE id = 2; DELETE FROM song WHERE id = 1;
                UPDATE tag SET colour = 'green';
                """)
        let all = try first.store.conflicts()
        XCTAssertEqual(all.map(\.number), all.map(\.number).sorted(by: >))
        XCTAssertEqual(try first.store.conflictCount(), all.count)
        XCTAssertEqual(try first.store.conflicts(.init(table: "TAG")).map(\.key), [[.text("calm")]])
        XCTAssertEqual(try first.store.conflicts(.init(kind: .deleted)).map(\.key), [[.integer(1)]])
        let page = try first.store.conflicts(limit: 2)
        XCTAssertEqual(page, Array(all.prefix(2)))
        XCTAssertEqual(
            try first.store.conflicts(limit: 2, before: page.last?.number), Array(all.dropFirst(2).prefix(2)))
        XCTAssertEqual(try first.store.conflicts(after: 0), all.reversed())
        XCTAssertEqual(try first.store.conflicts(after: first.store.lastConflictNumber()), [])
        XCTAssertThrowsError(try first.store.conflicts(.init(table: "sonk"))) { error in
            XCTAssertEqual((error as? FerryError)?.code, .invalidArgument)
        }
    }

    func testAResolvedConflictIsKeptAndNotCounted() throws {
        let (first, _) = try pair(
            one: "UPDATE song SET title = 'mine'", other: "UPDATE song SET title = 'theirs'")
        let numbers = try first.store.conflicts().map(\.number)
        XCTAssertEqual(try first.store.status().conflicts, 2)
        XCTAssertEqual(try first.store.resolveConflicts([numbers[0]]), 1)
        XCTAssertEqual(try first.store.resolveConflicts([numbers[0]]), 0)
        XCTAssertEqual(try first.store.status().conflicts, 1)
        XCTAssertEqual(try first.store.conflicts().map(\.number), [numbers[1]])
        XCTAssertEqual(try first.store.conflicts(.init(resolution: .resolved)).map(\.number), [numbers[0]])
        XCTAssertEqual(try first.store.conflicts(.init(resolution: .any)).count, 2)
        XCTAssertThrowsError(try first.store.resolveConflicts([numbers[1], 99])) { error in
            XCTAssertEqual((error as? FerryError)?.code, .nothingFound)
        }
        XCTAssertEqual(try first.store.status().conflicts, 1)
    }

    // MARK: Restoring

    func testALostValueComesBackAndTravels() throws {
        let (first, second) = try pair(
            one: "UPDATE song SET title = 'mine', artist_id = 2 WHERE id = 2",
            other: "UPDATE song SET title = 'theirs', artist_id = 3 WHERE id = 2")
        for conflict in try first.store.conflicts() {
            let row = try first.restoreConflict(conflict.number)
            XCTAssertEqual(row.action, .updated)
            XCTAssertEqual(row.columns, [conflict.column])
            XCTAssertEqual(row.key, [.integer(2)])
        }
        XCTAssertEqual(try first.store.conflicts(), [])
        try exchange(first, second)
        for device in [first, second] {
            XCTAssertEqual(try device.query("SELECT title, artist_id FROM song WHERE id = 2"), ["mine|2"])
            XCTAssertEqual(try device.query("SELECT count(*) FROM ferry_conflict"), ["2"])
        }
    }

    func testADeletedRowComesBackAsItselfWithItsLostChange() throws {
        let (first, second) = try pair(
            one: "UPDATE song SET title = 'mine' WHERE id = 1; INSERT INTO part VALUES (2, 1, 'chorus')",
            other: "DELETE FROM song WHERE id = 1")
        XCTAssertEqual(try second.query("SELECT count(*) FROM part"), ["0"])
        let object = try XCTUnwrap(second.store.conflicts(.init(table: "song")).first)
        XCTAssertEqual(object.kind, .deleted)
        let row = try second.restoreConflict(object.number)
        XCTAssertEqual(row.action, .inserted)
        XCTAssertEqual(row.key, [.integer(1)])
        try exchange(first, second)
        for device in [first, second] {
            XCTAssertEqual(try device.query("SELECT id, title, artist_id FROM song WHERE id = 1"), ["1|mine|1"])
            // The part that waited for this very song is back with it; the one deleted by cascade is not.
            XCTAssertEqual(try device.query("SELECT song_id, name FROM part"), ["1|chorus"])
            XCTAssertEqual(try device.store.reading().hidden, 0)
        }
        XCTAssertEqual(
            try first.store.findRows(table: "song", key: ["1"]).map(\.object), [object.object])
    }

    func testARowWhoseIntegerIsTakenComesBackUnderAnother() throws {
        let (first, second) = try pair(
            one: "UPDATE artist SET name = 'mine' WHERE id = 3",
            other: "DELETE FROM artist WHERE id = 3; INSERT INTO artist VALUES (3, 'New')")
        let conflict = try XCTUnwrap(second.store.conflicts(.init(kind: .deleted)).first)
        let row = try second.restoreConflict(conflict.number)
        XCTAssertEqual(row.key, [.integer(4)])
        try exchange(first, second)
        for device in [first, second] {
            XCTAssertEqual(try device.query("SELECT name FROM artist ORDER BY name"), ["Ada", "Bo", "New", "mine"])
        }
    }

    func testARevivedRowIsDeletedAgain() throws {
        let (first, second) = try pair(
            one: "DELETE FROM song WHERE id = 1", other: "UPDATE song SET title = 'theirs' WHERE id = 1")
        let conflict = try XCTUnwrap(first.store.conflicts(.init(table: "song", kind: .revived)).first)
        XCTAssertEqual(try first.restoreConflict(conflict.number).action, .deleted)
        try exchange(first, second)
        for device in [first, second] { XCTAssertEqual(try device.query("SELECT id FROM song"), ["2"]) }
    }

    func testARestoredRowStaysRestored() throws {
        let (first, second) = try pair(
            one: "UPDATE tag SET colour = 'red'", other: "DELETE FROM tag WHERE name = 'calm'")
        let conflict = try XCTUnwrap(first.store.conflicts().first)
        _ = try first.restoreConflict(conflict.number)
        for _ in 0..<3 { try exchange(first, second) }
        let third = try TestDevice(3, Self.music)
        try third.receive(second, first)
        for device in [first, second, third] {
            XCTAssertEqual(try device.query("SELECT * FROM tag"), ["calm|red"])
        }
    }

    func testLocalChangesThatAreNotPackedAreNotMistakenForTheRow() throws {
        let (first, second) = try pair(
            one: "UPDATE artist SET name = 'mine' WHERE id = 3", other: "UPDATE artist SET name = 'theirs' WHERE id = 3"
        )
        let conflict = try XCTUnwrap(second.store.conflicts().first)
        try second.run("DELETE FROM artist WHERE id = 3; INSERT INTO artist VALUES (3, 'Another')")
        assertRefused(try second.restoreConflict(conflict.number), "is deleted")
        XCTAssertEqual(try second.query("SELECT name FROM artist WHERE id = 3"), ["Another"])
        XCTAssertEqual(try second.store.conflicts().count, 1)
        try exchange(first, second)
        XCTAssertEqual(try first.query("SELECT name FROM artist WHERE id = 3"), ["Another"])
    }

    func testAReferenceToARowThatIsGoneIsLeftOutWhereTheSchemaAllows() throws {
        let (_, second) = try pair(
            one: "UPDATE song SET title = 'mine' WHERE id = 1",
            other: "DELETE FROM song WHERE id = 1; DELETE FROM artist WHERE id = 1")
        let conflict = try XCTUnwrap(second.store.conflicts(.init(table: "song")).first)
        let row = try second.restoreConflict(conflict.number)
        XCTAssertEqual(row.withoutReference, ["artist_id"])
        XCTAssertEqual(try second.query("SELECT title, artist_id FROM song WHERE id = 1"), ["mine|NULL"])
    }

    // MARK: Refusals

    private func assertRefused(
        _ body: @autoclosure () throws -> RestoredRow, _ words: String, file: StaticString = #filePath,
        line: UInt = #line
    ) {
        XCTAssertThrowsError(try body(), file: file, line: line) { error in
            let error = error as? FerryError
            XCTAssertEqual(error?.code, .restoreRefused, "\(String(describing: error))", file: file, line: line)
            XCTAssertTrue(error?.message.contains(words) ?? false, error?.message ?? "", file: file, line: line)
        }
    }

    func testAValueThatIsTakenByNowIsRefused() throws {
        let (first, _) = try pair(
            one: "UPDATE song SET code = 'x' WHERE id = 2", other: "UPDATE song SET code = 'y' WHERE id = 2")
        try first.run("INSERT INTO song(id, title, code) VALUES (7, 'Seven', 'x')")
        let conflict = try XCTUnwrap(first.store.conflicts().first)
        assertRefused(try first.restoreConflict(conflict.number), "UNIQUE constraint failed")
        XCTAssertEqual(try first.query("SELECT code FROM song WHERE id = 2"), ["y"])
        XCTAssertEqual(try first.store.conflicts().map(\.number), [conflict.number])
        // Nothing is left of the attempt: the next one succeeds once there is room.
        try first.run("DELETE FROM song WHERE id = 7")
        XCTAssertEqual(try first.restoreConflict(conflict.number).action, .updated)
    }

    func testAValueThatBreaksACheckIsRefused() throws {
        let (first, _) = try pair(
            one: "UPDATE song SET lo = 9 WHERE id = 2", other: "UPDATE song SET lo = 2 WHERE id = 2")
        try first.run("UPDATE song SET hi = 5 WHERE id = 2")
        let conflict = try XCTUnwrap(first.store.conflicts().first)
        assertRefused(try first.restoreConflict(conflict.number), "CHECK constraint failed")
    }

    func testAColumnOrTableThatIsGoneIsRefused() throws {
        let (first, _) = try pair(
            one: "UPDATE song SET title = 'mine' WHERE id = 2; UPDATE tag SET colour = 'red'",
            other: "UPDATE song SET title = 'theirs' WHERE id = 2; UPDATE tag SET colour = 'green'")
        let song = try XCTUnwrap(first.store.conflicts(.init(table: "song")).first)
        let tag = try XCTUnwrap(first.store.conflicts(.init(table: "tag")).first)
        try first.run(
            """
            CREATE TABLE song2(id INTEGER PRIMARY KEY, code TEXT); INSERT INTO song2 SELECT id, code FROM song;
            DROP TABLE song; ALTER TABLE song2 RENAME TO song; DROP TABLE tag;
            """, foreignKeys: false)
        assertRefused(try first.restoreConflict(song.number), "no column title")
        assertRefused(try first.restoreConflict(tag.number), "no table tag")
        XCTAssertEqual(try first.store.conflicts().count, 2)
    }

    func testARowThatIsThereAgainIsNotInsertedTwice() throws {
        let (first, second) = try pair(
            one: "UPDATE tag SET colour = 'red'", other: "DELETE FROM tag WHERE name = 'calm'")
        try first.run("INSERT INTO tag VALUES ('calm', 'white')")
        try exchange(first, second)
        let conflict = try XCTUnwrap(first.store.conflicts().first)
        assertRefused(try first.restoreConflict(conflict.number), "is there again")
        XCTAssertThrowsError(try first.restoreConflict(99)) { error in
            XCTAssertEqual((error as? FerryError)?.code, .nothingFound)
        }
    }

    func testAParentThatHoldsChildrenBackIsNotDeletedAgain() throws {
        let schema = TestSchema(
            name: "restrict",
            sql: """
                CREATE TABLE parent(id INTEGER PRIMARY KEY, name TEXT);
                CREATE TABLE child(
                    id INTEGER PRIMARY KEY, parent INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
                """)
        let first = try TestDevice(1, schema)
        let second = try TestDevice(2, schema, hoursAhead: 1)
        try first.run("INSERT INTO parent VALUES (1, 'p')")
        try first.flush()
        try second.receive(first)
        second.clock.now += 1000
        try first.run("DELETE FROM parent")
        try second.run("UPDATE parent SET name = 'q'; INSERT INTO child VALUES (1, 1)")
        try exchange(first, second)
        let conflict = try XCTUnwrap(first.store.conflicts(.init(kind: .revived)).first)
        assertRefused(try first.restoreConflict(conflict.number), "FOREIGN KEY")
        XCTAssertEqual(try first.query("SELECT name FROM parent"), ["q"])
        XCTAssertEqual(try first.query("PRAGMA foreign_keys"), ["1"])
    }

    // MARK: Joined rows

    func testWhatAJoinedRowDoesNotShowComesBackToTheRow() throws {
        let (first, second) = try pair(
            one: "INSERT INTO song(id, title, code) VALUES (7, 'Seven', 'x')",
            other: "INSERT INTO song(id, title, code) VALUES (8, 'Eight', 'x')")
        XCTAssertEqual(try first.query("SELECT id, title FROM song WHERE code = 'x'"), ["7|Eight"])
        let hidden = try XCTUnwrap(first.store.hiddenRows().first)
        XCTAssertEqual(hidden.kind, .joined)
        XCTAssertEqual(hidden.key, [.integer(8)])
        XCTAssertTrue(hidden.reason.hasSuffix("(7)"), hidden.reason)
        XCTAssertEqual(
            try first.store.findRows(table: "song", key: ["8"]).map(\.presence), [.joined(key: [.integer(7)])])
        let conflict = try XCTUnwrap(first.store.conflicts(.init(kind: .joined)).first { $0.column == "title" })
        XCTAssertEqual(conflict.lost.value, .text("Seven"))
        XCTAssertEqual(conflict.key, [.integer(7)])
        let row = try first.restoreConflict(conflict.number)
        XCTAssertEqual(row.key, [.integer(7)])
        try exchange(first, second)
        for device in [first, second] {
            XCTAssertEqual(try device.query("SELECT id, title FROM song WHERE code = 'x'"), ["7|Seven"])
        }
    }

    func testAReferenceToAJoinedRowComesBackAsTheRowThatShowsIt() throws {
        let schema = TestSchema(
            name: "joined parent",
            sql: """
                CREATE TABLE maker(id INTEGER PRIMARY KEY, code TEXT UNIQUE);
                CREATE TABLE thing(id INTEGER PRIMARY KEY, maker INTEGER NOT NULL REFERENCES maker, name TEXT);
                """)
        let first = try TestDevice(1, schema)
        let second = try TestDevice(2, schema, hoursAhead: 1)
        try first.run("INSERT INTO maker VALUES (1, 'x')")
        try second.run("INSERT INTO maker VALUES (2, 'x'); INSERT INTO thing VALUES (7, 2, 'lamp')")
        try second.flush()
        try second.run("DELETE FROM thing")
        try exchange(first, second)
        let lamp = try second.store.findRows(table: "thing", key: ["7"])[0].object
        let maker = try second.store.findRows(table: "maker", key: ["2"])[0]
        XCTAssertEqual(maker.presence, .joined(key: [.integer(1)]))
        _ = try first.restoreRow(
            lamp, table: "thing", to: .values(["maker": .reference(maker.object), "name": .text("lamp")]))
        try exchange(first, second)
        for device in [first, second] { XCTAssertEqual(try device.query("SELECT * FROM thing"), ["7|1|lamp"]) }
    }

    func testATriggerThatIgnoresTheRowIsTold() throws {
        let schema = TestSchema(
            name: "ignoring",
            sql: """
                CREATE TABLE item(name TEXT PRIMARY KEY NOT NULL, n) WITHOUT ROWID;
                CREATE TRIGGER item_guard BEFORE INSERT ON item WHEN new.n > 5 BEGIN SELECT raise(IGNORE); END;
                """)
        let device = try TestDevice(1, schema)
        try device.run("INSERT INTO item VALUES ('a', 1); UPDATE item SET n = 9; ")
        try device.flush()
        let object = try device.store.findRows(table: "item", key: ["a"])[0].object
        try device.run("DELETE FROM item")
        try device.flush()
        assertRefused(
            try device.restoreRow(object, table: "item", to: .values(["name": .text("a"), "n": .integer(9)])), "trigger"
        )
    }

    func testARowThatIsJoinedToAnotherIsNotRestoredByItself() throws {
        let (first, _) = try pair(
            one: "INSERT INTO song(id, title, code) VALUES (7, 'Seven', 'x')",
            other: "INSERT INTO song(id, title, code) VALUES (8, 'Eight', 'x')")
        let member = try first.store.findRows(table: "song", key: ["8"])[0].object
        for target in [RowTarget.absent, .values(["title": .text("Acht")])] {
            assertRefused(
                try first.restoreRow(member, table: "song", to: target), "one with an older one"
            )
        }
    }

    // MARK: Hidden rows

    func testAHiddenRowIsListedWithItsValuesAndReason() throws {
        let (first, second) = try pair(
            one: "UPDATE song SET lo = 9 WHERE id = 2; INSERT INTO part VALUES (5, 1, 'bridge')",
            other: "UPDATE song SET hi = 2 WHERE id = 2; DELETE FROM song WHERE id = 1")
        for device in [first, second] {
            let hidden = try device.store.hiddenRows()
            XCTAssertEqual(hidden.map(\.table), ["song", "part"])
            XCTAssertEqual(hidden.map(\.kind), [.refused, .waiting])
            XCTAssertEqual(hidden.map(\.key), [[.integer(2)], [.integer(5)]])
            XCTAssertTrue(hidden[0].reason.contains("CHECK"), hidden[0].reason)
            XCTAssertEqual(hidden[0].values.first { $0.column == "lo" }?.value, .integer(9))
            XCTAssertEqual(hidden[0].values.first { $0.column == "hi" }?.value, .integer(2))
            XCTAssertEqual(
                hidden[1].values,
                [NamedValue(column: "song_id", value: .integer(1)), NamedValue(column: "name", value: .text("bridge"))])
            XCTAssertEqual(try device.store.hiddenRows(table: "part").map(\.table), ["part"])
            XCTAssertEqual(try device.store.hiddenRowCount(table: "part"), 1)
            XCTAssertEqual(try device.store.hiddenRows(limit: 1).count, 1)
        }
    }
}
