import ArgumentParser
import Foundation
import XCTest

@testable import FerryCommand

/// Runs every verb with `--json` and holds `Docs/JSON.md` against what is printed.
final class JSONPageTests: XCTestCase {
    func testAKeyHasOneTypeUnlessThePageSaysOtherwise() throws {
        let page = try JSONPage()
        let several = page.keysOfSeveralTypes
        XCTAssertEqual(Set(several.keys), page.ambiguous, "\(several)")
        XCTAssertEqual(page.keysOfOtherTimes, [], "times are in milliseconds, and say so")
    }

    func testTheHelpNamesKeysOfThePage() throws {
        let page = try JSONPage()
        var lists = 0
        var examples = 0
        func examine(_ command: any ParsableCommand.Type, _ path: [String]) {
            let configuration = command.configuration
            let chapters = [path, path + ["list"]].map { $0.joined(separator: " ") }
            if let chapter = chapters.first(where: { page.chapters[$0] != nil }) {
                let help = configuration.discussion
                if let start = help.range(of: "JSON: {") {
                    lists += 1
                    XCTAssertEqual(
                        page.differences(list: help[start.upperBound...], chapter: chapter), [], "help \(path)")
                }
                for line in help.split(separator: "\n") {
                    guard let filter = line.range(of: "| jq ") else { continue }
                    examples += 1
                    XCTAssertEqual(
                        page.differences(filter: line[filter.upperBound...], chapter: chapter), [], "help \(path)")
                }
            }
            for verb in configuration.subcommands { examine(verb, path + [verb.configuration.commandName ?? ""]) }
        }
        examine(RootCommand.self, [])
        XCTAssertGreaterThan(lists, 20)
        XCTAssertGreaterThan(examples, 5)
    }

    func testThePageSaysWhatEveryVerbPrints() throws {
        let scenario = try Scenario()
        try scenario.beginAndLetIn()
        try scenario.disagree()
        try scenario.carryAndKeep()
        try scenario.decideAndCount()
        try scenario.keepDocuments()
        try scenario.lockOutAndLeave()
        try scenario.watch()
        try scenario.hold("version", ["version"])
        try scenario.hold("error", ["sync", "none.sqlite"], status: 66)
        try scenario.hold("error", ["dance"], status: 64)
        // `ServiceCommandTests` and `UICommandTests` compare their chapters.
        XCTAssertEqual(scenario.page.unused(verbs: scenario.seen.union(["service", "ui"])), [])
    }
}

/// A life of some databases in which every verb is used.
private final class Scenario {
    let page: JSONPage
    private let workshop: Workshop
    /// The chapters that were compared.
    private(set) var seen: Set<String> = []

    init() throws {
        page = try JSONPage()
        workshop = try Workshop()
    }

    /// Runs a verb and compares its object with a chapter.
    @discardableResult
    func hold(
        _ chapter: String, _ arguments: [String], input: String = "", status: Int32 = 0, file: StaticString = #filePath,
        line: UInt = #line
    ) throws -> [String: Any] {
        let outcome = try workshop.run([Workshop.binary] + arguments + ["--json"], input: input)
        XCTAssertEqual(
            outcome.status, status, "\(arguments): \(outcome.output)\(outcome.errors)", file: file, line: line)
        XCTAssertEqual(outcome.output.split(separator: "\n").count, 1, outcome.output, file: file, line: line)
        let json = try outcome.json(file: file, line: line)
        XCTAssertEqual(page.differences(json, chapter: chapter), [], "\(arguments)", file: file, line: line)
        seen.insert(chapter)
        return json
    }

    private static let schema =
        Workshop.music + """
            CREATE TABLE tune(id INTEGER PRIMARY KEY, song_id INTEGER);
            CREATE TABLE picture(id INTEGER PRIMARY KEY, bytes BLOB, size REAL);
            INSERT INTO tune VALUES (1, 1), (2, 2); INSERT INTO picture VALUES (1, x'00ff', 0.5);
            """

    func beginAndLetIn() throws {
        try workshop.sql("a.sqlite", Self.schema)
        try hold("init", ["init", "a.sqlite", "shared", "--name", "laptop", "--recovery-to", "recovery"])
        let code = try String(contentsOfFile: workshop.recovery, encoding: .utf8)
        try hold("invite", ["invite", "a.sqlite"])
        try hold("invite --cancel", ["invite", "a.sqlite", "--cancel"])
        try hold("join", ["join", "b.sqlite", "shared", "--name", "phone", "--recovery", "-"], input: code)
        let words =
            try hold("error", ["join", "c.sqlite", "shared", "--name", "tablet"], status: 75)["words"] as? String
        try hold("approve", ["approve", "a.sqlite"])
        try hold("approve", ["approve", "a.sqlite"] + (words ?? "").split(separator: " ").map(String.init))
        try hold("join", ["join", "c.sqlite", "shared", "--name", "tablet"])
        try hold("sync", ["sync", "a.sqlite"])
        try hold("status", ["status", "a.sqlite"])
        try hold("status --check", ["status", "a.sqlite", "--check"])
        try hold("devices list", ["devices", "a.sqlite"])
        try hold("devices rename", ["devices", "a.sqlite", "rename", "study"])
        try hold("keys list", ["keys", "a.sqlite"])
        try hold("keys rotate", ["keys", "a.sqlite", "rotate"])
        try hold("keys check-recovery", ["keys", "a.sqlite", "check-recovery"], input: code)
    }

    func disagree() throws {
        try workshop.sql(
            "a.sqlite",
            "UPDATE song SET title = 'A' WHERE id = 1; UPDATE picture SET bytes = x'01'; DELETE FROM song WHERE id = 2")
        try workshop.sql(
            "b.sqlite",
            "UPDATE song SET title = 'B' WHERE id = 1; UPDATE picture SET bytes = x'02'; INSERT INTO song_genre VALUES (2, 1)"
        )
        for database in ["a.sqlite", "b.sqlite", "a.sqlite"] { try hold("sync", ["sync", database]) }
        XCTAssertFalse((try hold("log", ["log", "a.sqlite"])["changes"] as? [Any] ?? []).isEmpty)
        try hold("history", ["history", "a.sqlite", "song", "1"])
        let listed = try hold("conflicts list", ["conflicts", "b.sqlite"])
        let numbers = (listed["conflicts"] as? [[String: Any]] ?? []).compactMap { $0["number"] as? Int }.map(
            String.init)
        XCTAssertGreaterThan(numbers.count, 1)
        XCTAssertEqual((listed["hidden"] as? [Any])?.count, 1)
        try hold("conflicts show", ["conflicts", "b.sqlite", "show", numbers[0]])
        try hold("conflicts show", ["conflicts", "b.sqlite", "show", "song_genre", "2", "1"])
        try hold("conflicts restore", ["conflicts", "b.sqlite", "restore", numbers[0]])
        let fan = "CREATE TABLE fan(id TEXT PRIMARY KEY NOT NULL)"
        try workshop.sql("b.sqlite", fan + "; INSERT INTO fan VALUES ('k')")
        try workshop.succeed("sync", "b.sqlite")
        try workshop.sql("b.sqlite", "DROP TABLE fan; " + fan)
        try hold("conflicts bring-back", ["conflicts", "b.sqlite", "bring-back"])
        try hold("conflicts resolve", ["conflicts", "b.sqlite", "resolve", numbers[1]])
        try hold("conflicts list", ["conflicts", "b.sqlite", "list", "--resolved"])
        try hold("restore", ["restore", "a.sqlite", "song", "1", "--at", "0s", "--dry-run"])
        try hold("status", ["status", "a.sqlite"])
        try hold("doctor", ["doctor", "a.sqlite"])
        try hold("verify", ["verify", "a.sqlite"])
        try hold("verify", ["verify", "a.sqlite", "--deep"])
    }

    func carryAndKeep() throws {
        try hold("export", ["export", "a.sqlite", "all.ferry"])
        try hold("import", ["import", "b.sqlite", "all.ferry"])
        try hold("import", ["import", "look.sqlite", "all.ferry"])
        try hold("carry", ["carry", "shared", "copy"])
        try hold("carry", ["carry", "shared", "copy", "--dry-run"])
        try hold("relocate", ["relocate", "a.sqlite", "copy"])
        try hold("relocate", ["relocate", "a.sqlite", "shared"])
        try hold("compact", ["compact", "a.sqlite", "--dry-run"])
        try hold("compact", ["compact", "a.sqlite"])
    }

    func decideAndCount() throws {
        try hold("policy list", ["policy", "a.sqlite"])
        try hold("policy set", ["policy", "a.sqlite", "set", "song.title", "max"])
        try hold("policy list", ["policy", "a.sqlite"])
        try hold("policy remove", ["policy", "a.sqlite", "remove", "song.title"])
        try hold("kv set", ["kv", "a.sqlite", "set", "theme", "dark"])
        try hold("kv set", ["kv", "a.sqlite", "set", "volume", "-0.5", "--type", "double"])
        try hold("kv get", ["kv", "a.sqlite", "get", "theme"])
        try hold("kv add", ["kv", "a.sqlite", "add", "read", "one", "two"])
        try hold("kv discard", ["kv", "a.sqlite", "discard", "read", "one"])
        try hold("kv members", ["kv", "a.sqlite", "members", "read"])
        try hold("kv increment", ["kv", "a.sqlite", "increment", "plays"])
        try hold("kv counter", ["kv", "a.sqlite", "counter", "plays"])
        try hold("kv list", ["kv", "a.sqlite"])
        try hold("kv remove", ["kv", "a.sqlite", "remove", "theme"])
        try hold("alter", ["alter", "a.sqlite", "ALTER TABLE picture DROP COLUMN size"])
    }

    func keepDocuments() throws {
        try Data("one".utf8).write(to: URL(fileURLWithPath: workshop.path("note.md")))
        try Data(repeating: 7, count: 9000).write(to: URL(fileURLWithPath: workshop.path("score.pdf")))
        try hold("documents add", ["documents", "a.sqlite", "add", "note.md", "score.pdf"])
        try hold("documents folder", ["documents", "a.sqlite", "folder", "Scores"])
        try hold("documents move", ["documents", "a.sqlite", "move", "score.pdf", "Scores/"])
        XCTAssertNotNil(try hold("sync", ["sync", "a.sqlite"])["documents"])
        try workshop.succeed("sync", "b.sqlite")
        try Data("two".utf8).write(to: URL(fileURLWithPath: workshop.path("two.md")))
        try Data("three".utf8).write(to: URL(fileURLWithPath: workshop.path("three.md")))
        try hold("documents put", ["documents", "a.sqlite", "put", "two.md", "note.md"])
        try workshop.succeed("documents", "b.sqlite", "put", "three.md", "note.md")
        for database in ["a", "b", "a"] { try workshop.succeed("sync", database + ".sqlite") }
        try hold("documents conflicts", ["documents", "a.sqlite", "conflicts"])
        try hold("documents versions", ["documents", "a.sqlite", "versions", "note.md"])
        try hold("documents list", ["documents", "a.sqlite"])
        try hold("status", ["status", "a.sqlite"])
        try hold("documents settle", ["documents", "a.sqlite", "settle", "note.md", "--both"])
        try hold("documents get", ["documents", "a.sqlite", "get", "Scores/score.pdf", "-o", "out.pdf"])
        try hold("documents remove", ["documents", "a.sqlite", "remove", "Scores"])
        try hold("documents list", ["documents", "a.sqlite", "list", "--deleted"])
        try hold("documents put-back", ["documents", "a.sqlite", "put-back", "Scores"])
        try hold("documents evict", ["documents", "a.sqlite", "evict", "/"])
        try hold("documents fetch", ["documents", "a.sqlite", "fetch", "/"])
        try hold("documents pin", ["documents", "a.sqlite", "pin", "/"])
        try hold("documents evict", ["documents", "a.sqlite", "evict", "/"])
        try hold("documents unpin", ["documents", "a.sqlite", "unpin", "/"])
        try hold("documents keep", ["documents", "a.sqlite", "keep", "--most", "all"])
        try hold("documents keep", ["documents", "a.sqlite", "keep", "--most", "1GB"])
        try hold("documents retention", ["documents", "a.sqlite", "retention", "--forever"])
        try hold("documents retention", ["documents", "a.sqlite", "retention", "--days", "30"])
        try hold("documents verify", ["documents", "a.sqlite", "verify", "--contents"])
        try hold("documents mirror", ["documents", "a.sqlite", "mirror", "Papers"])
        try FileManager.default.createSymbolicLink(
            atPath: workshop.path("Papers/link"), withDestinationPath: workshop.path("Papers"))
        try hold("documents mirror", ["documents", "a.sqlite", "mirror", "Papers"])
        try FileManager.default.removeItem(atPath: workshop.path("Papers/note.md"))
        try FileManager.default.createSymbolicLink(
            atPath: workshop.path("Papers/note.md"), withDestinationPath: workshop.path("Papers"))
        try hold("documents mirror", ["documents", "a.sqlite", "mirror", "Papers"])
        try hold("status", ["status", "a.sqlite"])
        try hold("doctor", ["doctor", "a.sqlite"])
        try FileManager.default.moveItem(atPath: workshop.path("Papers"), toPath: workshop.path("Away"))
        try workshop.fail("documents", "a.sqlite", "mirror", "Papers", status: 69, code: "mirrorMissing")
        try hold("documents mirror", ["documents", "a.sqlite", "mirror"])
        try hold("documents mirror", ["documents", "a.sqlite", "mirror", "Papers", "--stop"])
        try hold("documents attachments", ["documents", "a.sqlite", "attachments", "--add", "song.title"])
        try hold("documents attachments", ["documents", "a.sqlite", "attachments", "--remove", "song.title"])
    }

    func lockOutAndLeave() throws {
        try workshop.sql("a.sqlite", ".backup '\(workshop.path("backup.sqlite"))'")
        try hold("devices retire", ["devices", "a.sqlite", "retire", "tablet"])
        try hold("devices remove", ["devices", "a.sqlite", "remove", "tablet"])
        try hold("keys renew", ["keys", "b.sqlite", "renew"])
        try hold("sync", ["sync", "a.sqlite"])
        try hold("seal", ["seal", "a.sqlite", "--anew", "--no-recovery"])
        try hold("seal --clean", ["seal", "a.sqlite", "--clean"])
        let code = try hold("invite", ["invite", "a.sqlite"])["code"] as? [String: String]
        let enrolling = try background(
            ["enrol", "b.sqlite", "--code", "-", "--json"], input: (code?["text"] ?? "") + "\n")
        let deadline = ContinuousClock.now + .seconds(60)
        while enrolling.isRunning, ContinuousClock.now < deadline { try workshop.succeed("sync", "a.sqlite") }
        let told = try String(contentsOfFile: workshop.path("told"), encoding: .utf8)
        let json = try XCTUnwrap(JSONSerialization.jsonObject(with: Data(told.utf8)) as? [String: Any])
        XCTAssertEqual(page.differences(json, chapter: "enrol"), [], told)
        seen.insert("enrol")
        // A copy that goes on beside the original, in an open container.
        try workshop.sql("o.sqlite", Self.schema)
        try hold("init", ["init", "o.sqlite", "open", "--open", "--reference", "tune.song_id=song"])
        try hold("join", ["join", "p.sqlite", "open", "--dry-run"])
        try FileManager.default.copyItem(atPath: workshop.path("o.sqlite"), toPath: workshop.path("q.sqlite"))
        XCTAssertNotNil(try hold("sync", ["sync", "q.sqlite"])["renewed"])
        try hold("status", ["status", "o.sqlite"])
        try damage()
        try hold("leave", ["leave", "o.sqlite"])
        try hold("error", ["leave", "a.sqlite"], status: 65)
        try hold("leave", ["leave", "a.sqlite", "--documents", "left"])
    }

    /// What `verify`, `sync` and `status` tell of damage.
    private func damage() throws {
        try hold("sync", ["sync", "o.sqlite"])
        // What somebody does who takes a trigger away for a moment.
        let trigger =
            "FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'ferry%delete' AND tbl_name = 'song_genre'"
        let name = try workshop.sql("q.sqlite", "SELECT name " + trigger)
        let text = try workshop.sql("q.sqlite", "SELECT sql " + trigger)
        try workshop.sql("q.sqlite", "DROP TRIGGER \(name); DELETE FROM song_genre WHERE song_id = 1; \(text);")
        let verified = try hold("verify", ["verify", "q.sqlite", "--deep"], status: 65)
        XCTAssertFalse((verified["differences"] as? [Any] ?? []).isEmpty)
        try hold("verify", ["verify", "q.sqlite", "--take"])
        try hold("sync", ["sync", "q.sqlite"])
        for segment in try workshop.files("open", suffix: ".segment") {
            try workshop.change(segment) { $0[$0.count - 1] ^= 0xFF }
        }
        try workshop.sql("r.sqlite", Self.schema)
        try hold("error", ["join", "r.sqlite", "open"], status: 65)
        let outcome = try workshop.run([Workshop.binary, "doctor", "o.sqlite", "--json"])
        XCTAssertEqual(page.differences(try outcome.json(), chapter: "doctor"), [])
    }

    func watch() throws {
        try workshop.sql("w.sqlite", Self.schema)
        try workshop.succeed("init", "w.sqlite", "watched", "--open")
        let watch = try Watch(workshop, "w.sqlite")
        var events: [[String: Any]] = []
        func next(_ name: String) {
            _ = watch.event { event in
                events.append(event)
                return event["event"] as? String == name
            }
        }
        next("synced")
        try FileManager.default.moveItem(atPath: workshop.path("watched"), toPath: workshop.path("away"))
        try workshop.sql("w.sqlite", "UPDATE artist SET name = 'x'")
        next("failed")
        try hold("status --check", ["status", "w.sqlite", "--check"], status: 69)
        watch.send(SIGTERM)
        next("stopped")
        XCTAssertEqual(watch.wait(), 0)
        XCTAssertTrue(
            Set(events.compactMap { $0["event"] as? String }).isSuperset(of: ["started", "synced", "failed", "stopped"])
        )
        for event in events { XCTAssertEqual(page.differences(event, chapter: "watch"), [], "\(event)") }
        seen.insert("watch")
    }

    /// Starts a command whose output goes into the file `told`.
    private func background(_ arguments: [String], input: String) throws -> Process {
        let process = workshop.process([Workshop.binary] + arguments)
        let (told, given) = (workshop.path("told"), workshop.path("given"))
        try "".write(toFile: told, atomically: false, encoding: .utf8)
        try input.write(toFile: given, atomically: false, encoding: .utf8)
        process.standardOutput = try XCTUnwrap(FileHandle(forWritingAtPath: told))
        process.standardError = FileHandle.nullDevice
        process.standardInput = try XCTUnwrap(FileHandle(forReadingAtPath: given))
        try process.run()
        return process
    }
}
