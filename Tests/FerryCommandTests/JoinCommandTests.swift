import XCTest

final class JoinCommandTests: XCTestCase {
    func testJoinMakesTheDatabase() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        let outcome = try workshop.succeed("join", "b.sqlite", "shared", "--name", "phone")
        XCTAssertTrue(
            outcome.output.contains("Made the tables artist, genre, song, song_genre and note."), outcome.output)
        let query = "SELECT * FROM song ORDER BY id; SELECT * FROM song_genre; PRAGMA foreign_key_check;"
        XCTAssertEqual(try workshop.sql("b.sqlite", query), try workshop.sql("a.sqlite", query))
    }

    func testJoinMergesWhereBothHaveRows() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        try workshop.sql(
            "b.sqlite",
            Workshop.music + "DELETE FROM song_genre; DELETE FROM song; DELETE FROM genre;"
                + "DELETE FROM artist; INSERT INTO artist VALUES (1, 'Cy');")
        let report = try workshop.succeed("join", "b.sqlite", "shared", "--json").json()
        XCTAssertEqual((report["published"] as? [String: Int])?["changes"], 1)
        XCTAssertEqual((report["replayed"] as? [String: Int])?["changes"], 9)
        try workshop.succeed("sync", "a.sqlite")
        let query = "SELECT name FROM artist ORDER BY name"
        XCTAssertEqual(try workshop.sql("a.sqlite", query), "Ada\nBo\nCy\n")
        XCTAssertEqual(try workshop.sql("b.sqlite", query), "Ada\nBo\nCy\n")
    }

    func testADryRunCountsAndChangesNothing() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        try workshop.sql("b.sqlite", Workshop.music)
        let database = try Data(contentsOf: workshop.folder.appendingPathComponent("b.sqlite"))
        let files = try workshop.files(suffix: "")
        let outcome = try workshop.succeed("join", "b.sqlite", "shared", "--dry-run")
        XCTAssertTrue(outcome.output.hasPrefix("Nothing was changed."), outcome.output)
        let report = try workshop.succeed("join", "b.sqlite", "shared", "--dry-run", "--json").json()
        XCTAssertEqual(report["dryRun"] as? Bool, true)
        XCTAssertEqual((report["replayed"] as? [String: Int])?["changes"], 9)
        XCTAssertEqual(try Data(contentsOf: workshop.folder.appendingPathComponent("b.sqlite")), database)
        XCTAssertEqual(try workshop.files(suffix: ""), files)
    }

    func testADryRunMakesNoDatabase() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        try workshop.succeed("join", "b.sqlite", "shared", "--dry-run")
        XCTAssertFalse(FileManager.default.fileExists(atPath: workshop.path("b.sqlite")))
    }

    func testJoinRefusesWhatIsNoContainer() throws {
        let workshop = try Workshop()
        try workshop.fail("join", "b.sqlite", "nowhere", status: 69, code: "containerMissing")
        try FileManager.default.createDirectory(atPath: workshop.path("empty"), withIntermediateDirectories: false)
        try workshop.fail("join", "b.sqlite", "empty", status: 69, code: "containerEmpty")
        XCTAssertFalse(FileManager.default.fileExists(atPath: workshop.path("b.sqlite")))
    }

    func testJoinRefusesADatabaseThatBelongsToAContainer() throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        try workshop.fail("join", "b.sqlite", "shared", status: 73, code: "alreadyTracked")
    }

    func testJoinRefusesADatabaseInsideTheContainerAndMakesNone() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        try workshop.fail("join", "shared/b.sqlite", "shared", status: 64, code: "invalidArgument")
        XCTAssertFalse(FileManager.default.fileExists(atPath: workshop.path("shared/b.sqlite")))
    }

    func testJoiningAContainerWhoseOnlyLogIsDamagedSaysSo() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        let segment = try workshop.files(suffix: ".segment")[0]
        let whole = try Data(contentsOf: segment)
        try workshop.change(segment) { $0[$0.startIndex + 120] ^= 1 }
        try workshop.fail("join", "b.sqlite", "shared", status: 65, code: "damagedFile")
        try whole.dropLast(7).write(to: segment)
        try workshop.fail(
            "join", "b.sqlite", "shared", status: 75, code: "fileNotThereYet", mentioning: "arrived whole")
        XCTAssertFalse(FileManager.default.fileExists(atPath: workshop.path("b.sqlite")))
    }

    func testJoinCountsAndSaysThatKeysCoincide() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        try workshop.sql("b.sqlite", Workshop.music)
        let outcome = try workshop.succeed("join", "b.sqlite", "shared", "--dry-run")
        XCTAssertTrue(outcome.output.contains("both would be kept"), outcome.output)
        XCTAssertTrue(outcome.output.contains("`--match keys`"), outcome.output)
        let matched = try workshop.succeed("join", "b.sqlite", "shared", "--dry-run", "--match", "keys")
        XCTAssertFalse(matched.output.contains("--match"), matched.output)
        let lines = matched.output.split(separator: "\n").map { $0.split(separator: " ") }
        XCTAssertTrue(lines.contains(["song", "3", "0", "0", "0"]), matched.output)
    }

    func testACopyJoinsByItsKeysAndNothingIsDoubled() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        try workshop.sql("b.sqlite", Workshop.music + "INSERT INTO song VALUES (4, 'Four', 1);")
        let report = try workshop.succeed("join", "b.sqlite", "shared", "--match", "keys", "--json").json()
        let rows = try XCTUnwrap(report["compared"] as? [[String: Any]])
        let song = try XCTUnwrap(rows.first { $0["table"] as? String == "song" })
        XCTAssertEqual(song["same"] as? Int, 3)
        XCTAssertEqual(song["onlyHere"] as? Int, 1)
        try workshop.succeed("sync", "a.sqlite")
        for database in ["a.sqlite", "b.sqlite"] {
            XCTAssertEqual(try workshop.sql(database, "SELECT count(*) FROM song"), "4\n")
        }
    }

    /// Without the file of `leave` the integers alone tell, and `join` says so where rows differ.
    func testJoinSaysThatIntegersAloneMadeRowsOne() throws {
        for keepsFile in [true, false] {
            let workshop = try Workshop()
            try workshop.begin(isOpen: true)
            try workshop.succeed("join", "b.sqlite", "shared")
            try workshop.succeed("leave", "b.sqlite")
            if !keepsFile { try FileManager.default.removeItem(atPath: workshop.path("b.sqlite-ferry-keys")) }
            for name in ["a", "b"] {
                try workshop.sql("\(name).sqlite", "INSERT INTO artist VALUES (50, 'late \(name)')")
            }
            try workshop.succeed("sync", "a.sqlite")
            let outcome = try workshop.succeed("join", "b.sqlite", "shared", "--match", "keys")
            XCTAssertEqual(outcome.output.contains("Only the integer keys say"), !keepsFile, outcome.output)
            XCTAssertEqual(
                try workshop.sql("b.sqlite", "SELECT count(*) FROM artist WHERE name LIKE 'late%'"),
                keepsFile ? "2\n" : "1\n")
        }
    }

    /// The file of `leave` proves which rows are the container's, and `join` says so.
    func testADatabaseThatLeftJoinsByItsFile() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        try workshop.succeed("join", "b.sqlite", "shared")
        try workshop.succeed("leave", "b.sqlite")
        let dry = try workshop.succeed("join", "b.sqlite", "shared", "--dry-run")
        XCTAssertTrue(dry.output.contains("left this container before"), dry.output)
        let outcome = try workshop.succeed("join", "b.sqlite", "shared")
        XCTAssertTrue(outcome.output.contains("as with `--match keys`"), outcome.output)
        XCTAssertFalse(outcome.output.contains("both were kept"), outcome.output)
        try workshop.succeed("sync", "a.sqlite")
        for database in ["a.sqlite", "b.sqlite"] {
            XCTAssertEqual(try workshop.sql(database, "SELECT count(*) FROM song"), "3\n")
        }
    }

    func testJoinWithTheirsDeletesWhatOnlyThisDatabaseHas() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        try workshop.sql("b.sqlite", Workshop.music + "INSERT INTO song VALUES (4, 'Four', 1);")
        let outcome = try workshop.succeed("join", "b.sqlite", "shared", "--match", "keys", "--rows", "theirs")
        XCTAssertTrue(outcome.output.contains("1 row that only this database had was deleted"), outcome.output)
        let query = "SELECT * FROM song ORDER BY id"
        XCTAssertEqual(try workshop.sql("b.sqlite", query), try workshop.sql("a.sqlite", query))
        try workshop.succeed("verify", "b.sqlite", "--deep")
        // It comes back from the conflicts, and then it is everybody's.
        let list = try workshop.succeed("conflicts", "b.sqlite", "--json").json()
        let conflicts = try XCTUnwrap(list["conflicts"] as? [[String: Any]])
        XCTAssertEqual(conflicts.map { $0["kind"] as? String }, ["deleted"])
        let number = try XCTUnwrap(conflicts[0]["number"] as? Int)
        try workshop.succeed("conflicts", "b.sqlite", "restore", "\(number)")
        try workshop.succeed("sync", "b.sqlite")
        try workshop.succeed("sync", "a.sqlite")
        XCTAssertEqual(try workshop.sql("a.sqlite", "SELECT * FROM song WHERE id = 4"), "4|Four|1\n")
        XCTAssertEqual(try workshop.sql("b.sqlite", query), try workshop.sql("a.sqlite", query))
        try workshop.succeed("verify", "a.sqlite", "--deep")
    }

    func testJoinWithMineShowsThisDatabasesValues() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        try workshop.sql("b.sqlite", Workshop.music + "UPDATE song SET title = 'Mine' WHERE id = 2;")
        try workshop.succeed("join", "b.sqlite", "shared", "--match", "keys", "--rows", "mine")
        try workshop.succeed("sync", "a.sqlite")
        XCTAssertEqual(try workshop.sql("a.sqlite", "SELECT title FROM song WHERE id = 2"), "Mine\n")
    }

    func testJoinRefusesOtherWords() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        XCTAssertEqual(try workshop.ferry("join", "b.sqlite", "shared", "--rows", "ours").status, 64)
        XCTAssertEqual(try workshop.ferry("join", "b.sqlite", "shared", "--match", "names").status, 64)
    }

    func testChangesOfRowsThatJoiningMadeOneAreNoConflicts() throws {
        let workshop = try Workshop()
        for (database, order) in [("a.sqlite", "1, 2"), ("b.sqlite", "2, 1")] {
            try workshop.sql(
                database,
                """
                CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
                CREATE TABLE song(id INTEGER PRIMARY KEY, artist INTEGER REFERENCES artist, path TEXT UNIQUE, plays INT);
                INSERT INTO artist SELECT value, 'artist ' || key FROM json_each('[\(order)]');
                INSERT INTO song SELECT id, id, name || '.mp3', 0 FROM artist;
                """)
        }
        try workshop.succeed("init", "a.sqlite", "shared", "--open")
        let report = try workshop.succeed("join", "b.sqlite", "shared", "--json").json()
        XCTAssertEqual(report["conflicts"] as? Int, 0)
        try workshop.succeed("sync", "a.sqlite")
        try workshop.sql("a.sqlite", "UPDATE song SET plays = 1")
        try workshop.succeed("sync", "a.sqlite")
        let pass = try workshop.succeed("sync", "b.sqlite", "--json").json()
        XCTAssertEqual(pass["conflicts"] as? Int, 0)
        let query = "SELECT name, path, plays FROM song JOIN artist ON artist.id = artist ORDER BY name"
        XCTAssertEqual(try workshop.sql("b.sqlite", query), "artist 0|artist 0.mp3|1\nartist 1|artist 1.mp3|1\n")
    }
}
