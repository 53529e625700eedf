import XCTest

final class KeyValueCommandTests: XCTestCase {
    func testValuesAreSetReadListedAndRemoved() throws {
        let workshop = try Workshop()
        try workshop.begin()
        try workshop.succeed("kv", "a.sqlite", "set", "theme", "dark")
        try workshop.succeed("kv", "a.sqlite", "set", "volume", "0.8", "--type", "double")
        // The order of earlier versions.
        try workshop.succeed("kv", "set", "a.sqlite", "offset", "-5", "--type", "integer")
        XCTAssertEqual(try workshop.succeed("kv", "a.sqlite", "get", "theme").output, "dark\n")
        let offset = try workshop.succeed("kv", "a.sqlite", "get", "offset", "--json").json()
        XCTAssertEqual(offset["value"] as? Int, -5)
        XCTAssertEqual(offset["type"] as? String, "integer")
        XCTAssertEqual(offset["name"] as? String, "offset")
        let values = try XCTUnwrap(
            workshop.succeed("kv", "a.sqlite", "--json").json()["values"] as? [String: Any])
        XCTAssertEqual(Set(values.keys), ["theme", "volume", "offset"])
        XCTAssertTrue(try workshop.succeed("kv", "a.sqlite", "list").output.contains("theme    string    dark"))
        try workshop.succeed("kv", "remove", "a.sqlite", "theme")
        let again = try workshop.succeed("kv", "remove", "a.sqlite", "theme", "--json").json()
        XCTAssertEqual(again["wasThere"] as? Bool, false)
        try workshop.fail("kv", "a.sqlite", "get", "theme", status: 1, code: "nothingFound")
    }

    func testEveryTypeOfValueIsReadBack() throws {
        let workshop = try Workshop()
        try workshop.begin()
        let samples = [
            ("string", "a b"), ("integer", "9007199254740993"), ("double", "0.1"), ("bool", "true"), ("data", "AAEC"),
            ("date", "2026-03-01T12:00:00Z"), ("date", "2026-03-01T13:05:09.123Z"),
            ("date", "1812-02-07T01:00:00.007Z"),
            ("json", "{\"a\": [1, null]}"),
        ]
        for (type, text) in samples {
            try workshop.succeed("kv", "a.sqlite", "set", type, text, "--type", type)
            XCTAssertEqual(try workshop.succeed("kv", "a.sqlite", "get", type).output, text + "\n")
        }
        for type in ["integer", "double", "bool", "data", "date", "json"] {
            try workshop.fail("kv", "set", "a.sqlite", "k", "{no", "--type", type, status: 64, code: "invalidArgument")
        }
    }

    func testSetsAndCountersMerge() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        try workshop.succeed("kv", "a.sqlite", "add", "favourites", "one", "two")
        try workshop.succeed("kv", "add", "b.sqlite", "favourites", "three")
        XCTAssertEqual(try workshop.succeed("kv", "increment", "a.sqlite", "plays", "5").output, "5\n")
        XCTAssertEqual(try workshop.succeed("kv", "b.sqlite", "increment", "plays").output, "1\n")
        XCTAssertEqual(try workshop.succeed("kv", "b.sqlite", "increment", "plays", "-3").output, "-2\n")
        for database in ["a.sqlite", "b.sqlite", "a.sqlite"] { try workshop.succeed("sync", database) }
        for database in ["a.sqlite", "b.sqlite"] {
            XCTAssertEqual(try workshop.succeed("kv", database, "members", "favourites").output, "one\nthree\ntwo\n")
            XCTAssertEqual(
                try workshop.succeed("kv", "counter", database, "plays", "--json").json()["value"] as? Int, 3)
        }
        XCTAssertEqual(
            try workshop.succeed("kv", "discard", "a.sqlite", "favourites", "one", "--json").json()["discarded"]
                as? Int, 1)
        let members = try workshop.succeed("kv", "members", "a.sqlite", "favourites", "--json").json()["elements"]
        XCTAssertEqual(members as? [String], ["three", "two"])
    }

    func testADatabaseOfNoContainerHasNoKeyValueStore() throws {
        let workshop = try Workshop()
        try workshop.sql("a.sqlite", Workshop.music)
        try workshop.fail("kv", "set", "a.sqlite", "k", "v", status: 65, code: "notTracked")
        try workshop.fail("kv", "list", "none.sqlite", status: 66, code: "databaseMissing")
        XCTAssertEqual(try workshop.ferry("kv", "increment", "a.sqlite", "k", "much").status, 64)
    }
}
