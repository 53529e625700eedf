import FerryCore
import FerryStore
import XCTest

@testable import FerryEngine

/// What the logs hold of one row, and rows made what they were.
final class RowHistoryTests: XCTestCase {
    private static let music = """
        CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE song(
            id INTEGER PRIMARY KEY, title TEXT, artist_id INTEGER REFERENCES artist ON DELETE CASCADE, code TEXT UNIQUE);
        CREATE TABLE song_tag(
            song_id INTEGER REFERENCES song ON DELETE CASCADE, tag TEXT, PRIMARY KEY(song_id, tag)) WITHOUT ROWID;
        INSERT INTO artist VALUES (1, 'Ada'), (2, 'Bo');
        INSERT INTO song VALUES (1, 'One', 1, 'a');
        INSERT INTO song_tag VALUES (1, 'calm');
        """

    private func fleet() throws -> Fleet {
        let fleet = try Fleet()
        try fleet.start(Self.music)
        try fleet.join()
        return fleet
    }

    /// The time of a row's last change on a device.
    private func lastTime(_ replica: Replica, _ table: String, _ key: String...) throws -> Int64 {
        try XCTUnwrap(replica.history(table: table, key: key).rows.first?.changes.last?.timeMilliseconds)
    }

    func testAHistoryTellsWhatEveryDeviceDid() throws {
        let fleet = try fleet()
        try fleet.shell(0, "UPDATE song SET title = 'Uno' WHERE id = 1")
        try fleet.settle()
        try fleet.shell(1, "UPDATE song SET artist_id = 2 WHERE id = 1")
        try fleet.settle()
        try fleet.shell(1, "DELETE FROM song WHERE id = 1")
        try fleet.settle()
        for replica in fleet.replicas {
            let histories = try replica.history(table: "SONG", key: ["1"])
            XCTAssertEqual(histories.gaps, [])
            XCTAssertEqual(histories.unpacked, 0)
            let history = try XCTUnwrap(histories.rows.first)
            XCTAssertEqual(histories.rows.count, 1)
            XCTAssertEqual(history.row.presence, .deleted)
            XCTAssertEqual(history.changes.map(\.kind), [.insert, .update, .update, .delete])
            XCTAssertEqual(history.changes.map(\.deviceName), ["device0", "device0", "device1", "device1"])
            XCTAssertEqual(history.changes[1].values, [NamedValue(column: "title", value: .text("Uno"))])
            XCTAssertEqual(history.changes[2].values, [NamedValue(column: "artist_id", value: .integer(2))])
            XCTAssertEqual(
                history.changes[0].values.first { $0.column == "artist_id" }?.value, .integer(1))
            let times = history.changes.compactMap(\.timeMilliseconds)
            XCTAssertEqual(times, times.sorted())
            XCTAssertEqual(times.count, 4)
        }
        XCTAssertEqual(
            try fleet.replicas[1].history(table: "song_tag", key: ["1", "calm"]).rows.first?.changes.map(\.kind),
            [.insert, .delete])
    }

    func testWhatWaitsToBePublishedIsPartOfTheHistory() throws {
        let fleet = try fleet()
        try fleet.shell(0, "UPDATE song SET title = 'Uno'")
        // The folder is away, so that the change is packed and waits.
        let away = fleet.folder.appendingPathComponent("away").path
        try FileManager.default.moveItem(atPath: fleet.containerPath, toPath: away)
        XCTAssertThrowsError(try fleet.replicas[0].sync())
        XCTAssertThrowsError(try fleet.replicas[0].history(table: "song", key: ["1"])) { error in
            XCTAssertEqual((error as? FerryError)?.code, .containerMissing)
        }
        try FileManager.default.moveItem(atPath: away, toPath: fleet.containerPath)
        let changes = try fleet.replicas[0].history(table: "song", key: ["1"]).rows[0].changes
        XCTAssertEqual(changes.map(\.kind), [.insert, .update])
        try fleet.shell(0, "UPDATE song SET title = 'Eins'")
        let histories = try fleet.replicas[0].history(table: "song", key: ["1"])
        XCTAssertEqual(histories.rows[0].changes.count, 2)
        XCTAssertEqual(histories.unpacked, 1)
        try fleet.settle()
        XCTAssertEqual(try fleet.replicas[0].history(table: "song", key: ["1"]).rows[0].changes.count, 3)
    }

    func testAGapInALogIsTold() throws {
        let fleet = try fleet()
        for title in ["Uno", "Eins", "Un"] {
            try fleet.shell(0, "UPDATE song SET title = '\(title)'")
            try fleet.settle()
        }
        let segments = try FileManager.default.subpathsOfDirectory(atPath: fleet.containerPath)
            .filter { $0.hasSuffix(".segment") && $0.contains(fleet.replicas[0].identity.device.hex) }.sorted()
        XCTAssertEqual(segments.count, 4)
        let container = URL(fileURLWithPath: fleet.containerPath)
        try FileManager.default.removeItem(at: container.appendingPathComponent(segments[1]))
        try Data("damaged".utf8).write(to: container.appendingPathComponent(segments[3]))
        let histories = try fleet.replicas[1].history(table: "song", key: ["1"])
        XCTAssertEqual(histories.rows[0].changes.map(\.kind), [.insert, .update])
        XCTAssertEqual(histories.rows[0].changes.last?.values.first?.value, .text("Eins"))
        XCTAssertEqual(histories.gaps.map(\.device), ["device0"])
        // Before the insertion nothing is known for certain now.
        XCTAssertThrowsError(
            try fleet.replicas[1].restoreRow(table: "song", key: ["1"], at: 1000, options: .allowsDeletion)
        ) { error in
            XCTAssertEqual((error as? FerryError)?.code, .restoreRefused)
            let message = (error as? FerryError)?.message ?? ""
            let since = histories.rows[0].changes[0].timeMilliseconds.map(ISO8601.text) ?? "?"
            XCTAssertTrue(message.contains("do not reach back that far") && message.contains(since), message)
        }
    }

    func testTimesAreToldToTheMillisecond() {
        XCTAssertEqual(ISO8601.text(1_772_374_000_007), "2026-03-01T14:06:40.007Z")
        XCTAssertEqual(ISO8601.text(0), "1970-01-01T00:00:00.000Z")
    }

    // MARK: Restoring

    func testARowGetsItsFormerValuesAndTheyTravel() throws {
        let fleet = try fleet()
        try fleet.shell(0, "UPDATE song SET title = 'Uno'")
        try fleet.settle()
        let then = try lastTime(fleet.replicas[0], "song", "1")
        try fleet.shell(1, "UPDATE song SET title = 'Eins', artist_id = 2, code = 'z'")
        try fleet.settle()
        XCTAssertGreaterThan(try lastTime(fleet.replicas[0], "song", "1"), then)
        let tried = try fleet.replicas[0].restoreRow(table: "song", key: ["1"], at: then, options: .isDryRun).row
        XCTAssertEqual(tried.columns, ["title", "artist_id", "code"])
        XCTAssertEqual(try fleet.shell(0, "SELECT * FROM song"), "1|Eins|2|z\n")
        XCTAssertFalse(try fleet.replicas[0].store.needsPass())
        let restored = try fleet.replicas[0].restoreRow(table: "song", key: ["1"], at: then)
        XCTAssertEqual(restored.row, tried)
        XCTAssertEqual(restored.gaps, [])
        try fleet.settle()
        try fleet.assertEqual("SELECT * FROM song")
        XCTAssertEqual(try fleet.shell(1, "SELECT * FROM song"), "1|Uno|1|a\n")
        XCTAssertEqual(
            try fleet.replicas[0].restoreRow(table: "song", key: ["1"], at: then).row.action, .unchanged)
    }

    func testADeletedRowComesBackAsItself() throws {
        let fleet = try fleet()
        let then = try lastTime(fleet.replicas[0], "song_tag", "1", "calm")
        let object = try fleet.replicas[0].store.findRows(table: "song", key: ["1"])[0].object
        try fleet.shell(1, "DELETE FROM song")
        try fleet.settle()
        let restored = try fleet.replicas[1].restoreRow(table: "song", key: ["1"], at: then).row
        XCTAssertEqual(restored.action, .inserted)
        XCTAssertEqual(
            try fleet.replicas[1].restoreRow(table: "song_tag", key: ["1", "calm"], at: then).row.action, .inserted)
        for _ in 0..<2 { try fleet.settle() }
        try fleet.assertEqual("SELECT * FROM song, song_tag")
        XCTAssertEqual(try fleet.shell(0, "SELECT * FROM song, song_tag"), "1|One|1|a|1|calm\n")
        XCTAssertEqual(try fleet.replicas[0].store.findRows(table: "song", key: ["1"]).map(\.object), [object])
    }

    func testARowThatWasNotThereIsDeletedOnlyWhereThatIsAllowed() throws {
        let fleet = try fleet()
        let then = try lastTime(fleet.replicas[0], "song", "1")
        try fleet.shell(1, "INSERT INTO song VALUES (5, 'Five', 1, 'e')")
        try fleet.settle()
        XCTAssertGreaterThan(try lastTime(fleet.replicas[0], "song", "5"), then)
        XCTAssertThrowsError(try fleet.replicas[0].restoreRow(table: "song", key: ["5"], at: then)) { error in
            XCTAssertEqual((error as? FerryError)?.code, .restoreRefused)
            XCTAssertTrue((error as? FerryError)?.message.contains("--allow-delete") ?? false)
        }
        XCTAssertEqual(
            try fleet.replicas[0].restoreRow(table: "song", key: ["5"], at: then, options: .allowsDeletion).row.action,
            .deleted)
        try fleet.settle()
        try fleet.assertEqual("SELECT * FROM song")
        XCTAssertEqual(try fleet.shell(1, "SELECT count(*) FROM song"), "1\n")
    }

    func testSeveralRowsThatHadAKeyAreToldApart() throws {
        let fleet = try fleet()
        let then = try lastTime(fleet.replicas[0], "song", "1")
        try fleet.shell(0, "DELETE FROM song; INSERT INTO song(id, title) VALUES (1, 'Other')")
        try fleet.settle()
        try fleet.shell(0, "DELETE FROM song")
        try fleet.settle()
        let found = try fleet.replicas[1].history(table: "song", key: ["1"]).rows
        XCTAssertEqual(found.count, 2)
        let first = try XCTUnwrap(found.first { $0.changes.first?.timeMilliseconds == then })
        XCTAssertThrowsError(try fleet.replicas[1].restoreRow(table: "song", key: ["1"], at: then)) { error in
            XCTAssertEqual((error as? FerryError)?.code, .invalidArgument)
            XCTAssertTrue((error as? FerryError)?.message.contains(first.row.object.description) ?? false)
        }
        _ = try fleet.replicas[1].restoreRow(table: "song", key: ["1"], at: then, object: first.row.object)
        try fleet.settle()
        try fleet.assertEqual("SELECT * FROM song")
        XCTAssertEqual(try fleet.shell(0, "SELECT title FROM song"), "One\n")
    }

    func testWhatTheSchemaRefusesIsRefusedAndChangesNothing() throws {
        let fleet = try fleet()
        let then = try lastTime(fleet.replicas[0], "song", "1")
        try fleet.shell(0, "UPDATE song SET code = 'b'; INSERT INTO song VALUES (2, 'Two', 1, 'a');")
        try fleet.settle()
        XCTAssertThrowsError(try fleet.replicas[0].restoreRow(table: "song", key: ["1"], at: then)) { error in
            XCTAssertEqual((error as? FerryError)?.code, .restoreRefused)
            XCTAssertTrue((error as? FerryError)?.message.contains("UNIQUE") ?? false)
        }
        try fleet.shell(0, "DELETE FROM artist WHERE id = 1")
        XCTAssertThrowsError(try fleet.replicas[0].restoreRow(table: "song", key: ["1"], at: then)) { error in
            XCTAssertEqual((error as? FerryError)?.code, .restoreRefused)
            XCTAssertTrue((error as? FerryError)?.message.contains("artist_id refers to") ?? false)
        }
        try fleet.settle()
        try fleet.assertEqual("SELECT * FROM song")
        XCTAssertEqual(try fleet.shell(0, "SELECT count(*) FROM song"), "0\n")
    }

    func testAHiddenRowIsShownAgainWithValuesThatTheSchemaTakes() throws {
        let fleet = try Fleet()
        try fleet.start(
            """
            CREATE TABLE span(id INTEGER PRIMARY KEY, lo INTEGER, hi INTEGER, CHECK (lo <= hi));
            INSERT INTO span VALUES (1, 1, 10);
            """)
        try fleet.join()
        let then = try lastTime(fleet.replicas[0], "span", "1")
        try fleet.shell(0, "UPDATE span SET lo = 9")
        try fleet.shell(1, "UPDATE span SET hi = 2")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(0, "SELECT count(*) FROM span"), "0\n")
        XCTAssertEqual(try fleet.replicas[0].restoreRow(table: "span", key: ["1"], at: then).row.action, .inserted)
        try fleet.settle()
        try fleet.assertEqual("SELECT * FROM span")
        XCTAssertEqual(try fleet.shell(1, "SELECT * FROM span"), "1|1|10\n")
        XCTAssertEqual(try fleet.replicas.map { try $0.status().hidden }, [0, 0])
    }
}
