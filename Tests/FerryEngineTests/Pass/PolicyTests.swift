import FerryCore
import FerryStore
import XCTest

@testable import FerryEngine

/// Policies with a real container, and with writers that know nothing of Ferry.
final class PolicyTests: XCTestCase {
    private static let songs = """
        CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT, plays INTEGER NOT NULL DEFAULT 0, note TEXT);
        INSERT INTO song VALUES (1, 'One', 10, 'n');
        """

    func testWhatTheShellAddsIsCountedOnEveryDevice() throws {
        let fleet = try Fleet()
        try fleet.start(Self.songs)
        try fleet.replicas[0].setPolicies([PolicySetting(table: "song", column: "plays", .counter)])
        _ = try fleet.replicas[0].sync()
        try fleet.join()
        for index in 0...1 {
            for _ in 0..<3 { try fleet.shell(index, "UPDATE song SET plays = plays + 1;") }
        }
        try fleet.settle()
        try fleet.assertEqual("SELECT * FROM song;")
        XCTAssertEqual(try fleet.shell(1, "SELECT plays FROM song;"), "16\n")
        XCTAssertEqual(
            try fleet.replicas[1].status().policies,
            [.init(target: "column:song.plays", policy: "counter", applied: true)])
        // A device that comes later counts on.
        try fleet.join()
        XCTAssertEqual(try fleet.shell(2, "SELECT plays FROM song;"), "16\n")
        try fleet.shell(2, "UPDATE song SET plays = plays - 6;")
        try fleet.shell(0, "UPDATE song SET plays = plays + 1;")
        try fleet.settle()
        try fleet.assertEqual("SELECT * FROM song;")
        XCTAssertEqual(try fleet.shell(0, "SELECT plays FROM song;"), "11\n")
    }

    func testADeviceWithoutTheHookSaysSoAndComesToRest() throws {
        let fleet = try Fleet()
        try fleet.start(Self.songs)
        fleet.replicas[0].store.registerMergeHook("join") { older, newer in
            .text("\(older.text), \(newer.text)")
        }
        try fleet.replicas[0].setPolicies([PolicySetting(table: "song", column: "note", .hook("join"))])
        try fleet.join()
        try fleet.settle()
        try fleet.shell(0, "UPDATE song SET note = 'a';")
        try fleet.shell(1, "UPDATE song SET note = 'b';")
        try fleet.settle()
        let report = try fleet.replicas[1].sync()
        XCTAssertEqual(report.waiting.map(\.code), ["unknownPolicy"])
        XCTAssertTrue(report.waiting[0].reason.contains("hook:join"), report.waiting[0].reason)
        XCTAssertFalse(report.hasNews)
        let status = try fleet.replicas[1].status()
        XCTAssertEqual(status.policies.map(\.applied), [false])
        XCTAssertTrue(try XCTUnwrap(status.devices[0].problem).contains("hook:join"))
        XCTAssertEqual(try fleet.shell(1, "SELECT note FROM song;"), "b\n")
        // An idle pass writes nothing, or two devices would wake each other for ever.
        let version = try fleet.replicas[1].store.read { try $0.count("SELECT total_changes()") }
        _ = try fleet.replicas[1].sync()
        XCTAssertEqual(try fleet.replicas[1].store.read { try $0.count("SELECT total_changes()") }, version)
        fleet.replicas[1].store.registerMergeHook("join") { older, newer in .text("\(older.text), \(newer.text)") }
        try fleet.settle()
        try fleet.assertEqual("SELECT * FROM song;")
        let note = try fleet.shell(0, "SELECT note FROM song;")
        XCTAssertTrue(["a, b\n", "b, a\n"].contains(note), note)
    }

    func testWhatAnAppDeclaresIsSetOnceAndStaysOffWhereItWasTakenOff() throws {
        let fleet = try Fleet()
        try fleet.start(Self.songs)
        let store = fleet.replicas[0].store
        let declared = [PolicySetting(table: "song", column: "plays", .counter)]
        _ = try SyncEngine(store, policies: declared, hooks: ["join": { _, newer in newer }])
        XCTAssertEqual(try store.policies().map(\.word), ["counter"])
        XCTAssertEqual(try fleet.replicas[0].removePolicies([.column(table: "song", column: "plays")]), 1)
        _ = try SyncEngine(store, policies: declared)
        XCTAssertEqual(try store.policies(), [])
        _ = try SyncEngine(store, policies: declared + [PolicySetting(.table("song"), PolicyWord.deleteWins)])
        XCTAssertEqual(try store.policies().map(\.word), ["deleteWins"])
        XCTAssertThrowsError(try SyncEngine(store, policies: [PolicySetting(table: "song", column: "none", .max)])) {
            XCTAssertEqual(($0 as? FerryError)?.code, .invalidArgument)
        }
    }

    func testWhatWasWrittenBeforeThePolicyIsNoAddition() throws {
        let fleet = try Fleet()
        try fleet.start(Self.songs)
        try fleet.join()
        try fleet.shell(0, "UPDATE song SET plays = 20;")
        try fleet.replicas[0].setPolicies([PolicySetting(table: "song", column: "plays", .counter)])
        try fleet.settle()
        try fleet.shell(0, "UPDATE song SET plays = plays + 1;")
        try fleet.shell(1, "UPDATE song SET plays = plays + 1;")
        try fleet.settle()
        try fleet.assertEqual("SELECT * FROM song;")
        XCTAssertEqual(try fleet.shell(1, "SELECT plays FROM song;"), "22\n")
    }

    func testTheAppsOwnTriggersRunForWhatAPolicyShows() throws {
        let fleet = try Fleet()
        try fleet.start(
            Self.songs + """
                CREATE TABLE audit(id INTEGER PRIMARY KEY, plays INTEGER);
                CREATE VIRTUAL TABLE found USING fts5(title, note, content='song', content_rowid='id');
                INSERT INTO found(found) VALUES ('rebuild');
                CREATE TRIGGER song_new AFTER INSERT ON song BEGIN
                    INSERT INTO found(rowid, title, note) VALUES (NEW.id, NEW.title, NEW.note);
                END;
                CREATE TRIGGER song_found AFTER UPDATE ON song BEGIN
                    INSERT INTO found(found, rowid, title, note) VALUES ('delete', OLD.id, OLD.title, OLD.note);
                    INSERT INTO found(rowid, title, note) VALUES (NEW.id, NEW.title, NEW.note);
                END;
                CREATE TRIGGER song_audit AFTER UPDATE OF plays ON song BEGIN
                    INSERT INTO audit(plays) VALUES (NEW.plays);
                END;
                """)
        try fleet.join()
        try fleet.replicas[0].setPolicies([
            PolicySetting(table: "song", column: "plays", .counter), PolicySetting(table: "song", column: "note", .max),
        ])
        try fleet.settle()
        try fleet.shell(0, "UPDATE song SET plays = plays + 1, note = 'zebra';")
        try fleet.shell(1, "UPDATE song SET plays = plays + 1, note = 'yak';")
        try fleet.settle()
        try fleet.assertEqual("SELECT * FROM song; SELECT plays, count(*) FROM audit GROUP BY 1;")
        XCTAssertEqual(try fleet.shell(0, "SELECT plays, note FROM song;"), "12|zebra\n")
        for index in 0...1 {
            XCTAssertEqual(try fleet.shell(index, "SELECT rowid FROM found WHERE found MATCH 'zebra';"), "1\n")
            XCTAssertEqual(try fleet.shell(index, "SELECT rowid FROM found WHERE found MATCH 'yak';"), "")
        }
    }
}
