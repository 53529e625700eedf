import XCTest

/// Mistyped verbs, sub-verbs, options, tables and devices, and words in another order.
final class MistypedWordTests: XCTestCase {
    func testAMistypedVerbIsToldWithTheVerbThatWasMeant() throws {
        let workshop = try Workshop()
        try workshop.fail(
            "stauts", "a.sqlite", status: 64, code: "invalidArgument", mentioning: "Did you mean “status”?")
        try workshop.fail("dance", status: 64, code: "invalidArgument", mentioning: "There is no command “dance”.")
        try workshop.fail(
            "music.sqlite", "status", status: 64, code: "invalidArgument",
            mentioning: "The verb comes first: `ferry status music.sqlite")
    }

    func testAMistypedSubVerbIsTold() throws {
        let workshop = try Workshop()
        try workshop.fail(
            "devices", "a.sqlite", "renam", "x", status: 64, code: "invalidArgument",
            mentioning: "Did you mean “rename”?")
        try workshop.fail("help", "synk", status: 64, code: "invalidArgument", mentioning: "Did you mean “sync”?")
        try workshop.fail(
            "help", "devices", "renam", status: 64, code: "invalidArgument", mentioning: "Did you mean “rename”?")
        XCTAssertTrue(
            try workshop.succeed("help", "devices", "rename").output.contains("ferry devices <database> rename"))
        try workshop.fail(
            "kv", "a.sqlite", "put", "x", "y", status: 64, code: "invalidArgument", mentioning: "There are set, get")
    }

    func testAMistypedOptionIsTold() throws {
        let workshop = try Workshop()
        try workshop.begin()
        let outcome = try workshop.ferry("sync", "a.sqlite", "--jsn")
        XCTAssertEqual(outcome.status, 64)
        XCTAssertTrue(outcome.errors.contains("Did you mean '--json'?"), outcome.errors)
        XCTAssertEqual(try workshop.ferry("history", "a.sqlite", "song", "1", "--jsn").status, 64)
    }

    func testAMistypedTableOrDeviceIsTold() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        for arguments in [
            ["history", "a.sqlite", "sogn", "1"], ["log", "a.sqlite", "--table", "sogn"],
            ["restore", "a.sqlite", "sogn", "1", "--at", "1h"], ["conflicts", "a.sqlite", "list", "--table", "sogn"],
            ["conflicts", "a.sqlite", "show", "sogn", "1"], ["policy", "a.sqlite", "set", "sogn", "deleteWins"],
            ["policy", "a.sqlite", "set", "sogn.title", "max"],
        ] {
            let outcome = try workshop.run([Workshop.binary] + arguments)
            XCTAssertEqual(outcome.status, 64, "\(arguments)")
            XCTAssertTrue(outcome.errors.contains("Did you mean “song”?"), "\(arguments) \(outcome.errors)")
        }
        try workshop.fail(
            "policy", "a.sqlite", "set", "song.titel", "max", status: 64, code: "invalidArgument",
            mentioning: "Did you mean “title”?")
        try workshop.fail(
            "devices", "a.sqlite", "retire", "phome", status: 1, code: "nothingFound",
            mentioning: "Did you mean “phone”?")
    }

    func testAMistypedTableOfInitIsTold() throws {
        let workshop = try Workshop()
        try workshop.sql("a.sqlite", Workshop.music)
        for option in [
            ["--tables", "artist,sogn"], ["--except", "sogn"], ["--identity", "sogn=title"],
            ["--reference", "song.title=artits"],
        ] {
            let outcome = try workshop.run([Workshop.binary, "init", "a.sqlite", "shared", "--open"] + option)
            XCTAssertEqual(outcome.status, 64, "\(option)")
            let meant = option[1].contains("artits") ? "artist" : "song"
            XCTAssertTrue(outcome.errors.contains("Did you mean “\(meant)”?"), "\(option) \(outcome.errors)")
        }
        try workshop.fail(
            "init", "a.sqlite", "shared", "--open", "--except", "photos", status: 64, code: "invalidArgument",
            mentioning: "Check the spelling.")
    }

    func testOptionsMayStandAnywhere() throws {
        let workshop = try Workshop()
        try workshop.begin()
        try workshop.succeed("devices", "--json", "a.sqlite", "rename", "study")
        try workshop.succeed("devices", "a.sqlite", "--quiet", "rename", "attic")
        try workshop.succeed("conflicts", "--table", "song", "a.sqlite", "list")
        try workshop.succeed("conflicts", "a.sqlite", "--table", "song", "--limit", "3")
        try workshop.succeed("conflicts", "list", "a.sqlite", "--limit", "3")
        let name = try workshop.succeed("status", "a.sqlite", "--json").json()["device"] as? [String: String]
        XCTAssertEqual(name?["name"], "attic")
    }

    func testNegativeNumbersAreValues() throws {
        let workshop = try Workshop()
        try workshop.sql(
            "a.sqlite",
            """
            CREATE TABLE point(x INTEGER, y REAL, name TEXT, PRIMARY KEY(x, y)) WITHOUT ROWID;
            CREATE TABLE depth(id INTEGER PRIMARY KEY, name TEXT);
            INSERT INTO point VALUES (-3, -1.5, 'a'), (3, 1, 'b'); INSERT INTO depth VALUES (-7, 'c');
            """)
        try workshop.succeed("init", "a.sqlite", "shared", "--open")
        for words in [["point", "-3", "-1.5"], ["depth", "-7"], ["--", "depth", "-7"], ["depth", "--", "-7"]] {
            let outcome = try workshop.run([Workshop.binary, "history", "a.sqlite", "--json"] + words)
            XCTAssertEqual(outcome.status, 0, "\(words) \(outcome.output)")
        }
        XCTAssertEqual(
            ((try workshop.succeed("history", "a.sqlite", "point", "-3", "-1.5", "--json").json()["rows"]
                as? [[String: Any]])?.first?["key"] as? [Double]) ?? [], [-3, -1.5])
        try workshop.succeed("restore", "a.sqlite", "depth", "-7", "--at", "1s", "--allow-delete", "--dry-run")
        try workshop.fail("conflicts", "a.sqlite", "show", "depth", "-7", status: 1, code: "nothingFound")
        try workshop.succeed("kv", "a.sqlite", "set", "offset", "-5", "--type", "integer")
        XCTAssertEqual(try workshop.succeed("kv", "a.sqlite", "increment", "count", "-5").output, "-5\n")
        XCTAssertEqual(try workshop.succeed("kv", "a.sqlite", "increment", "count", "--", "-5").output, "-10\n")
        try workshop.succeed("kv", "a.sqlite", "set", "word", "--", "-dash")
        XCTAssertEqual(try workshop.succeed("kv", "a.sqlite", "get", "word").output, "-dash\n")
    }
}
