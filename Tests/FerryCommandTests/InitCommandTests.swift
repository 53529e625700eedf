import XCTest

final class InitCommandTests: XCTestCase {
    func testInitPublishesAndTellsWhatTravelsWhatStaysAndTheNextStep() throws {
        let workshop = try Workshop()
        try workshop.sql("a.sqlite", Workshop.music)
        let outcome = try workshop.succeed("init", "a.sqlite", "shared", "--open", "--name", "laptop")
        XCTAssertTrue(outcome.output.contains("published 9 changes"), outcome.output)
        XCTAssertTrue(outcome.output.contains("song_genre      2   key (song_id, genre_id)"), outcome.output)
        XCTAssertTrue(outcome.output.contains("note         has no primary key"), outcome.output)
        XCTAssertTrue(outcome.output.contains("ferry join a.sqlite"), outcome.output)
        XCTAssertTrue(outcome.output.contains("ferry watch a.sqlite"), outcome.output)
        XCTAssertEqual(try workshop.files(suffix: ".segment").count, 1)
    }

    func testInitAsJSONHasFixedKeys() throws {
        let workshop = try Workshop()
        try workshop.sql("a.sqlite", Workshop.music)
        let outcome = try workshop.succeed("init", "a.sqlite", "shared", "--open", "--name", "laptop", "--json")
        XCTAssertEqual(outcome.output.split(separator: "\n").count, 1)
        XCTAssertFalse(outcome.output.contains("\\/"))
        let report = try outcome.json()
        XCTAssertEqual(
            Set(report.keys),
            [
                "device", "container", "path", "tables", "leftOut", "references", "hints", "plainReferences",
                "published",
                "rowsWithoutKey", "tablesOfTheApp",
                "durationMilliseconds", "sealed",
            ])
        XCTAssertEqual((report["published"] as? [String: Int])?["changes"], 9)
        XCTAssertEqual((report["leftOut"] as? [[String: String]])?.map { $0["name"] }, ["note"])
    }

    func testInitRefusesAFolderThatHoldsAContainer() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        try workshop.sql("c.sqlite", Workshop.music)
        let before = try workshop.rows("c.sqlite")
        try workshop.fail("init", "c.sqlite", "shared", "--open", status: 73, code: "containerExists")
        XCTAssertEqual(try workshop.rows("c.sqlite"), before)
        XCTAssertEqual(
            try workshop.sql("c.sqlite", "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'ferry%'"), "0\n")
    }

    func testInitRefusesADatabaseThatBelongsToAContainer() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        try workshop.fail(
            "init", "a.sqlite", "other", "--open", status: 73, code: "alreadyTracked",
            mentioning: "Run `ferry leave` first")
        XCTAssertFalse(FileManager.default.fileExists(atPath: workshop.path("other")))
    }

    func testASecondInitSaysWhatIsLeftToDo() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        try workshop.fail(
            "init", "a.sqlite", "shared", "--open", status: 73, code: "alreadyTracked",
            mentioning: "`ferry status` tells")
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'x'")
        try workshop.fail(
            "init", "a.sqlite", "shared", "--open", status: 73, code: "alreadyTracked",
            mentioning: "2 changes wait to be published: run `ferry sync`")
    }

    /// Wherever the first attempt is killed, the next one makes the container, or says what is left to do.
    func testAnInterruptedInitIsBegunAgain() throws {
        let workshop = try Workshop()
        let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
        for delay in [20, 60, 150, 400, 800] {
            let name = "a\(delay).sqlite"
            try workshop.sql(
                name, "CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT); \(rows) INSERT INTO t SELECT i, 'text' FROM n")
            let arguments = ["init", name, "shared\(delay)", "--open"]
            let process = workshop.process([Workshop.binary] + arguments)
            process.standardOutput = FileHandle.nullDevice
            process.standardError = FileHandle.nullDevice
            try process.run()
            usleep(UInt32(delay) * 1000)
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
            let again = try workshop.run([Workshop.binary] + arguments)
            if again.status != 0 {
                XCTAssertEqual(again.status, 73, again.errors)
                XCTAssertTrue(
                    again.errors.contains("ferry sync") || again.errors.contains("ferry status"), again.errors)
            }
            let status = try workshop.succeed("sync", name, "--json").json()
            XCTAssertNil(status["error"])
            let objects = try XCTUnwrap(
                try workshop.succeed("status", name, "--json").json()["tables"] as? [[String: Any]])
            XCTAssertEqual(objects.map { $0["objects"] as? Int }, [20_000])
            XCTAssertEqual(try workshop.succeed("status", name, "--json").json()["unpublished"] as? Int, 0)
        }
    }

    func testInitRefusesAFolderWithoutAParent() throws {
        let workshop = try Workshop()
        try workshop.sql("a.sqlite", Workshop.music)
        try workshop.fail("init", "a.sqlite", "nowhere/shared", "--open", status: 69, code: "containerMissing")
    }

    func testInitRefusesADatabaseInsideTheContainer() throws {
        let workshop = try Workshop()
        try FileManager.default.createDirectory(atPath: workshop.path("shared"), withIntermediateDirectories: false)
        try workshop.sql("shared/a.sqlite", Workshop.music)
        try workshop.fail("init", "shared/a.sqlite", "shared", "--open", status: 64, code: "invalidArgument")
    }

    func testOnlySelectedTablesTravel() throws {
        let workshop = try Workshop()
        try workshop.sql("a.sqlite", Workshop.music)
        let report = try workshop.succeed(
            "init", "a.sqlite", "shared", "--open", "--tables", "artist, genre", "--identity", "genre=name", "--json"
        ).json()
        let tables = try XCTUnwrap(report["tables"] as? [[String: Any]])
        XCTAssertEqual(tables.map { $0["name"] as? String }, ["artist", "genre"])
        XCTAssertEqual(tables.map { $0["identity"] as? String }, ["integer key", "declared (name)"])
    }

    func testExceptedTablesStay() throws {
        let workshop = try Workshop()
        try workshop.sql("a.sqlite", Workshop.music)
        let report = try workshop.succeed("init", "a.sqlite", "shared", "--open", "--except", "song", "--json").json()
        let leftOut = try XCTUnwrap(report["leftOut"] as? [[String: String]])
        XCTAssertEqual(
            Dictionary(uniqueKeysWithValues: leftOut.map { ($0["name"] ?? "", $0["reason"] ?? "") }),
            [
                "song": "excepted", "song_genre": "refers to song, which does not travel",
                "note": "has no primary key, so its rows cannot be told apart",
            ])
    }

    func testAMisspeltTableIsTold() throws {
        let workshop = try Workshop()
        try workshop.sql("a.sqlite", Workshop.music)
        try workshop.fail(
            "init", "a.sqlite", "shared", "--open", "--tables", "sonk", status: 64, code: "invalidArgument",
            mentioning: "sonk")
        XCTAssertFalse(FileManager.default.fileExists(atPath: workshop.path("shared")))
    }

    func testAnIdentityWithoutColumnsIsWrongUsage() throws {
        let workshop = try Workshop()
        try workshop.sql("a.sqlite", Workshop.music)
        let outcome = try workshop.ferry("init", "a.sqlite", "shared", "--open", "--identity", "genre")
        XCTAssertEqual(outcome.status, 64)
        XCTAssertTrue(outcome.errors.contains("table=col,col"), outcome.errors)
    }

    private static let loose = """
        CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT); CREATE TABLE label(name TEXT PRIMARY KEY);
        CREATE TABLE track(id INTEGER PRIMARY KEY, album_id INTEGER, label TEXT);
        INSERT INTO album VALUES (1, 'Blue'), (2, 'Red'); INSERT INTO track VALUES (1, 2, 'x'), (2, 0, 'x');
        """

    func testInitNamesColumnsThatLookLikeReferencesWithTheOptionToAdd() throws {
        let workshop = try Workshop()
        try workshop.sql("a.sqlite", Self.loose)
        let outcome = try workshop.succeed("init", "a.sqlite", "shared", "--open")
        XCTAssertTrue(outcome.output.contains("  --reference track.album_id=album\n"), outcome.output)
        try workshop.sql("b.sqlite", Self.loose)
        let report = try workshop.succeed("init", "b.sqlite", "other", "--open", "--json").json()
        XCTAssertEqual(
            report["hints"] as? [[String: String]], [["table": "track", "column": "album_id", "parent": "album"]])
    }

    func testAReferenceThatIsNamedFollowsOnEveryDevice() throws {
        let workshop = try Workshop()
        try workshop.sql("a.sqlite", Self.loose)
        let outcome = try workshop.succeed(
            "init", "a.sqlite", "shared", "--open", "--reference", "track.album_id=album", "--reference",
            "track.label=label")
        XCTAssertFalse(outcome.output.contains("look like references"), outcome.output)
        XCTAssertTrue(outcome.output.contains("the values of track.label travel as they are"), outcome.output)
        try workshop.sql("b.sqlite", Self.loose + "UPDATE album SET title = 'other ' || title;")
        try workshop.succeed("join", "b.sqlite", "shared")
        try workshop.succeed("sync", "a.sqlite")
        let query = "SELECT title FROM track LEFT JOIN album ON album.id = album_id ORDER BY 1"
        XCTAssertEqual(try workshop.sql("a.sqlite", query), "\n\nRed\nother Red\n")
        XCTAssertEqual(try workshop.sql("b.sqlite", query), "\n\nRed\nother Red\n")
        XCTAssertEqual(try workshop.sql("b.sqlite", "SELECT count(*) FROM track WHERE album_id = 0"), "2\n")
    }

    func testInitRefusesAReferenceThatCannotBeAndMakesNothing() throws {
        let workshop = try Workshop()
        try workshop.sql("a.sqlite", Self.loose)
        try workshop.fail(
            "init", "a.sqlite", "shared", "--open", "--reference", "track.album=album", status: 64,
            code: "invalidArgument",
            mentioning: "no such column")
        try workshop.fail(
            "init", "a.sqlite", "shared", "--open", "--reference", "track.label=album", status: 64,
            code: "invalidArgument",
            mentioning: "keeps text")
        XCTAssertEqual(
            try workshop.ferry("init", "a.sqlite", "shared", "--open", "--reference", "album_id=album").status, 64)
        XCTAssertFalse(FileManager.default.fileExists(atPath: workshop.path("shared")))
    }

    func testATableWithMoreColumnsThanCanTravelStaysAndTheOthersTravel() throws {
        let workshop = try Workshop()
        let columns = (1..<2000).map { "c\($0)" }.joined(separator: ", ")
        try workshop.sql(
            "a.sqlite", "CREATE TABLE wide(k TEXT PRIMARY KEY, \(columns)); CREATE TABLE t(k TEXT PRIMARY KEY)")
        let report = try workshop.succeed("init", "a.sqlite", "shared", "--open", "--json").json()
        XCTAssertEqual((report["tables"] as? [[String: Any]])?.map { $0["name"] as? String }, ["t"])
        XCTAssertEqual(
            (report["leftOut"] as? [[String: String]]), [["name": "wide", "reason": "has more than 1900 columns"]])
        try workshop.sql("a.sqlite", "INSERT INTO wide(k) VALUES ('a'); INSERT INTO t VALUES ('a')")
        try workshop.succeed("sync", "a.sqlite")
    }
}
