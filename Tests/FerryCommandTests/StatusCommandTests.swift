import XCTest

final class StatusCommandTests: XCTestCase {
    func testADatabaseOfAnEarlierFerryIsToLeaveAndJoinAgain() throws {
        let workshop = try Workshop()
        try workshop.begin()
        try workshop.sql("a.sqlite", "UPDATE ferry_meta SET value = 1 WHERE name = 'version'")
        try workshop.fail("sync", "a.sqlite", status: 65, code: "storeTooOld", mentioning: "ferry leave")
        try workshop.fail("status", "a.sqlite", status: 65, code: "storeTooOld", mentioning: "ferry leave")
        try workshop.succeed("leave", "a.sqlite")
        try workshop.join("a.sqlite", "--match", "keys")
    }

    func testStatusAsJSONHasFixedKeys() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'x'")
        try workshop.sql("b.sqlite", "UPDATE genre SET name = 'y' WHERE id = 1")
        try workshop.succeed("sync", "b.sqlite")
        let report = try workshop.succeed("status", "a.sqlite", "--json").json()
        XCTAssertEqual((report["device"] as? [String: String])?["name"], "laptop")
        let container = try XCTUnwrap(report["container"] as? [String: Any])
        XCTAssertTrue((container["path"] as? String)?.hasSuffix("/shared") ?? false)
        XCTAssertEqual(container["reachable"] as? Bool, true)
        XCTAssertNotNil(container["id"] as? String)
        let tables = try XCTUnwrap(report["tables"] as? [[String: Any]])
        XCTAssertEqual(tables.map { $0["name"] as? String }, ["artist", "genre", "song", "song_genre"])
        XCTAssertEqual(tables.map { $0["objects"] as? Int }, [2, 2, 3, 2])
        XCTAssertEqual(tables.map { $0["isHere"] as? Bool }, [true, true, true, true])
        XCTAssertEqual(tables.last?["identity"] as? String, "key (song_id, genre_id)")
        XCTAssertEqual((report["leftOut"] as? [[String: String]])?.map { $0["name"] }, ["note"])
        let devices = try XCTUnwrap(report["devices"] as? [[String: Any]])
        XCTAssertEqual(devices.map { $0["name"] as? String }, ["phone"])
        XCTAssertEqual(devices.map { $0["behind"] as? Int }, [1])
        XCTAssertEqual(report["unpublished"] as? Int, 2)
        XCTAssertEqual(report["hidden"] as? Int, 0)
        XCTAssertEqual(report["conflicts"] as? Int, 0)
    }

    func testStatusChangesNothing() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'x'")
        let database = try Data(contentsOf: workshop.folder.appendingPathComponent("a.sqlite"))
        try workshop.succeed("status", "a.sqlite")
        XCTAssertEqual(try Data(contentsOf: workshop.folder.appendingPathComponent("a.sqlite")), database)
    }

    func testStatusTellsWhatWaitsAndWhatStays() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        XCTAssertTrue(try workshop.succeed("status", "a.sqlite").output.hasPrefix("Everything is in step."))
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'x' WHERE id = 1")
        let output = try workshop.succeed("status", "a.sqlite").output
        XCTAssertTrue(output.hasPrefix("1 change waits to be published.\n"), output)
        XCTAssertTrue(output.contains("note         has no primary key"), output)
        XCTAssertTrue(output.contains("phone "), output)
    }

    func testStatusTellsTablesThatOnlyOtherDevicesHaveFromThoseThatTravelHere() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        try workshop.sql("a.sqlite", "CREATE TABLE tag(name TEXT PRIMARY KEY); INSERT INTO tag VALUES ('new');")
        try workshop.sql("b.sqlite", "DROP TABLE song_genre; CREATE TABLE song_genre(song_id, genre_id);")
        for database in ["a.sqlite", "b.sqlite", "a.sqlite"] { try workshop.succeed("sync", database) }
        let tables = try XCTUnwrap(
            try workshop.succeed("status", "b.sqlite", "--json").json()["tables"] as? [[String: Any]])
        XCTAssertEqual(
            tables.filter { $0["isHere"] as? Bool == false }.map { $0["name"] as? String }, ["song_genre", "tag"])
        let lines = try workshop.succeed("status", "b.sqlite").output.split(separator: "\n").map(String.init)
        XCTAssertEqual(lines.filter { $0.hasPrefix("  tag ") }.count, 1, "\(lines)")
        XCTAssertTrue(lines.contains { $0.hasPrefix("  tag ") && $0.contains("only other devices") }, "\(lines)")
        XCTAssertEqual(lines.filter { $0.hasPrefix("  song_genre ") }.count, 1, "\(lines)")
        XCTAssertTrue(lines.contains { $0.hasPrefix("  song_genre ") && $0.contains("no primary key") }, "\(lines)")
    }

    func testStatusTellsOfRowsThatStayAndReferToNothing() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        try workshop.sql("b.sqlite", "CREATE TABLE pin(artist INTEGER REFERENCES artist(id))")
        try workshop.sql("b.sqlite", "INSERT INTO pin SELECT max(id) FROM artist")
        try workshop.sql("a.sqlite", "DELETE FROM artist WHERE id = (SELECT max(id) FROM artist)")
        try workshop.succeed("sync", "a.sqlite")
        try workshop.succeed("sync", "b.sqlite")
        let output = try workshop.succeed("status", "b.sqlite").output
        let line = output.split(separator: "\n").first { $0.hasPrefix("  pin") && $0.contains("kept") }
        let reason = "refers to a row of artist that another device deleted, or that is hidden"
        XCTAssertTrue(line?.hasSuffix(reason) ?? false, output)
        try workshop.sql("b.sqlite", "DELETE FROM pin")
        XCTAssertFalse(try workshop.succeed("status", "b.sqlite").output.contains(reason))
    }

    func testStatusSaysWhoHasNotReadAllOfIt() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'x' WHERE id = 1")
        try workshop.succeed("sync", "a.sqlite")
        let output = try workshop.succeed("status", "a.sqlite").output
        XCTAssertTrue(
            output.hasPrefix("Everything is sent and received here; phone has not read all of it yet.\n"), output)
        XCTAssertTrue(output.contains("lacks 1 set of changes"), output)
        XCTAssertTrue(try workshop.succeed("status", "b.sqlite").output.contains("Run ferry sync b.sqlite"))
        try workshop.succeed("sync", "b.sqlite")
        XCTAssertTrue(try workshop.succeed("status", "a.sqlite").output.hasPrefix("Everything is in step.\n"))
    }

    func testAnOutageForgetsNoDevice() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        for _ in 0..<2 { for name in ["a.sqlite", "b.sqlite"] { try workshop.succeed("sync", name) } }
        try FileManager.default.moveItem(atPath: workshop.path("shared"), toPath: workshop.path("away"))
        for verb in ["status", "devices"] {
            let output = try workshop.succeed(verb, "a.sqlite").output
            let line = try XCTUnwrap(output.split(separator: "\n").last { $0.hasPrefix("  phone") }, output)
            XCTAssertTrue(line.contains("just now") && !line.contains("never"), output)
            // Nobody knows by now how far the phone has read.
            XCTAssertFalse(line.contains(" 1 "), output)
        }
    }

    func testStatusSendsNobodyToASyncThatCannotHelp() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'x' WHERE id = 1")
        try workshop.succeed("sync", "a.sqlite")
        let segment = try XCTUnwrap(
            workshop.files(suffix: ".segment").first { $0.lastPathComponent.hasPrefix("000000000002") })
        let whole = try Data(contentsOf: segment)
        try workshop.change(segment) { $0.removeLast(7) }
        let late = try workshop.succeed("status", "b.sqlite").output
        XCTAssertTrue(late.contains("1 set of changes is still to come."), late)
        XCTAssertFalse(late.contains("Run ferry"), late)
        try whole.write(to: segment)
        try workshop.change(segment) { $0[$0.count - 20] ^= 1 }
        let damaged = try workshop.succeed("status", "b.sqlite").output
        XCTAssertTrue(damaged.contains("Run ferry doctor b.sqlite to see what to do."), damaged)
        XCTAssertFalse(damaged.contains("ferry sync"), damaged)
        let outcome = try workshop.ferry("sync", "b.sqlite")
        XCTAssertEqual(outcome.status, 65)
        XCTAssertTrue(outcome.errors.contains("`ferry doctor b.sqlite` says what to do."), outcome.errors)
    }

    func testStatusTellsWhatIsHiddenAndWhy() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        try workshop.sql("a.sqlite", "DELETE FROM song WHERE id = 1")
        try workshop.sql("b.sqlite", "INSERT INTO song_genre VALUES (1, 2)")
        for database in ["a.sqlite", "b.sqlite", "a.sqlite", "b.sqlite"] { try workshop.succeed("sync", database) }
        XCTAssertEqual(try workshop.sql("a.sqlite", "SELECT count(*) FROM song_genre WHERE song_id = 1"), "0\n")
        let report = try workshop.succeed("status", "a.sqlite", "--json").json()
        let exceptions = try XCTUnwrap(report["exceptions"] as? [[String: Any]])
        XCTAssertEqual(exceptions.map { $0["kind"] as? String }, ["waiting"])
        XCTAssertEqual(report["hidden"] as? Int, 1)
        XCTAssertEqual(exceptions.map { $0["reason"] as? String }, ["song_id refers to a row that is not there"])
        XCTAssertEqual(exceptions.map { $0["columns"] as? [String] }, [["song_id"]])
        // Nothing for people lies in the table.
        XCTAssertEqual(try workshop.sql("a.sqlite", "SELECT reason FROM ferry_exception"), "[\"song_id\"]\n")
    }

    func testStatusWorksWhileTheContainerIsAway() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        try FileManager.default.removeItem(atPath: workshop.path("shared"))
        let outcome = try workshop.succeed("status", "a.sqlite")
        XCTAssertTrue(outcome.output.hasPrefix("The container is not reachable."), outcome.output)
        let container = try workshop.succeed("status", "a.sqlite", "--json").json()["container"] as? [String: Any]
        XCTAssertEqual(container?["reachable"] as? Bool, false)
        XCTAssertNotNil(container?["problem"] as? String)
    }

    func testATableThatWasMadeAnewIsNotCalledInStep() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        try workshop.succeed("sync", "b.sqlite")
        XCTAssertTrue(try workshop.succeed("status", "a.sqlite").output.contains("Everything is in step."))
        // What leaves the triggers alone is noted, and nothing is said of.
        try workshop.sql("a.sqlite", "VACUUM; CREATE INDEX by_name ON artist(name)")
        XCTAssertTrue(try workshop.succeed("status", "a.sqlite").output.contains("Everything is in step."))
        try workshop.sql(
            "a.sqlite",
            """
            PRAGMA foreign_keys = OFF; BEGIN; CREATE TABLE n(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
            INSERT INTO n SELECT * FROM artist; DROP TABLE artist; ALTER TABLE n RENAME TO artist; COMMIT;
            CREATE TABLE fresh(k TEXT PRIMARY KEY); UPDATE artist SET name = 'x' WHERE id = 1; DELETE FROM artist WHERE id = 2;
            """)
        let report = try workshop.succeed("status", "a.sqlite", "--json").json()
        XCTAssertEqual(report["unseenTables"] as? [String], ["artist", "fresh"])
        XCTAssertEqual((report["devices"] as? [[String: Any]])?.map { $0["standing"] as? String }, ["unproven"])
        let output = try workshop.succeed("status", "a.sqlite").output
        XCTAssertFalse(output.contains("in step"), output)
        XCTAssertTrue(output.contains("artist and fresh were made anew since the last sync."), output)
        XCTAssertTrue(output.contains("ferry sync a.sqlite"), output)
        for database in ["a.sqlite", "b.sqlite", "a.sqlite"] { try workshop.succeed("sync", database) }
        XCTAssertEqual(
            try workshop.succeed("status", "a.sqlite", "--json").json()["unseenTables"] as? [String], [])
        XCTAssertEqual(try workshop.sql("b.sqlite", "SELECT * FROM artist"), "1|x\n")
    }
}
