import XCTest

/// `ferry status --check`, `ferry watch --metrics`, and a watch of several databases.
final class MonitoringTests: XCTestCase {
    func testTheStatusOfACheckSaysWhatIsWrong() throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        let well = try workshop.succeed("status", "a.sqlite", "--check")
        XCTAssertEqual(well.output, "Nothing needs a look.\n")
        XCTAssertEqual(try workshop.succeed("status", "a.sqlite", "--check", "--quiet").output, "")
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'x' WHERE id = 1")
        let waiting = try workshop.ferry("status", "a.sqlite", "--check", "--quiet")
        XCTAssertEqual(waiting.status, 75)
        XCTAssertEqual(waiting.output, "waiting: 1 change waits to be published.\n")
        try workshop.succeed("sync", "a.sqlite")
        XCTAssertEqual(try workshop.ferry("status", "a.sqlite", "--check").status, 0)
        let behind = try workshop.ferry("status", "b.sqlite", "--check")
        XCTAssertEqual(behind.output, "waiting: 1 set of changes is still to come from laptop.\n")
        XCTAssertEqual(behind.status, 75)
        try FileManager.default.moveItem(atPath: workshop.path("shared"), toPath: workshop.path("away"))
        let away = try workshop.ferry("status", "b.sqlite", "--check", "--json")
        XCTAssertEqual(away.status, 69)
        let concerns = try XCTUnwrap(away.json()["concerns"] as? [[String: Any]])
        XCTAssertEqual(concerns.map { $0["kind"] as? String }, ["unreachable"])
        XCTAssertEqual(try workshop.ferry("status", "none.sqlite", "--check").status, 66)
    }

    func testADamagedLogAndOtherRowsAreMoreThanWaiting() throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'x'")
        try workshop.succeed("sync", "a.sqlite")
        let newest = try XCTUnwrap(
            workshop.files(suffix: ".segment").max { $0.lastPathComponent < $1.lastPathComponent })
        try workshop.change(newest) { $0[$0.count - 1] ^= 0xFF }
        let damaged = try workshop.ferry("status", "b.sqlite", "--check")
        XCTAssertEqual(damaged.status, 65)
        XCTAssertTrue(damaged.output.hasPrefix("damage: laptop: "), damaged.output)
        try workshop.change(newest) { $0[$0.count - 1] ^= 0xFF }
        try workshop.succeed("sync", "b.sqlite")
        try workshop.succeed("sync", "a.sqlite")
        let trigger =
            "FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'ferry%delete' AND tbl_name = 'song_genre'"
        let name = try workshop.sql("b.sqlite", "SELECT name " + trigger)
        let text = try workshop.sql("b.sqlite", "SELECT sql " + trigger)
        try workshop.sql("b.sqlite", "DROP TRIGGER \(name); DELETE FROM song_genre WHERE song_id = 1; \(text);")
        try workshop.succeed("verify", "b.sqlite", "--take")
        XCTAssertEqual(try workshop.ferry("status", "b.sqlite", "--check").status, 75)
    }

    func testAWatchKeepsFiguresInAFile() throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        let watch = try Watch(workshop, arguments: ["watch", "a.sqlite", "--json", "--metrics", "a.prom"])
        XCTAssertNotNil(watch.event { $0["event"] as? String == "synced" })
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'heard' WHERE id = 1")
        XCTAssertNotNil(watch.event { ($0["published"] as? [String: Int])?["changes"] == 1 })
        try workshop.sql("b.sqlite", "UPDATE artist SET name = 'said' WHERE id = 1")
        try workshop.succeed("sync", "b.sqlite")
        XCTAssertNotNil(watch.event { ($0["replayed"] as? [String: Int])?["changes"] ?? 0 > 0 })
        watch.send(SIGTERM)
        XCTAssertNotNil(watch.event { $0["event"] as? String == "stopped" })
        XCTAssertEqual(watch.wait(), 0)
        let text = try String(contentsOfFile: workshop.path("a.prom"), encoding: .utf8)
        for line in [
            "ferry_watch_running{database=\"a.sqlite\"} 0", "ferry_published_changes_total{database=\"a.sqlite\"} 1",
            "ferry_replayed_changes_total{database=\"a.sqlite\"} 1",
            "ferry_unpublished_changes{database=\"a.sqlite\"} 0",
            "ferry_failing{database=\"a.sqlite\"} 0", "ferry_conflicts{database=\"a.sqlite\"} 1",
        ] {
            XCTAssertTrue(text.contains("\n\(line)\n"), "\(line)\n\(text)")
        }
        XCTAssertTrue(text.contains("device=\"phone\""), text)
        // Nothing of the temporary file stays.
        let names = try FileManager.default.contentsOfDirectory(atPath: workshop.folder.path)
        XCTAssertEqual(names.filter { $0.hasPrefix("a.prom") }, ["a.prom"])
    }

    func testAPlaceWhereNoFiguresCanBeIsToldAtOnce() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        XCTAssertEqual(try workshop.ferry("watch", "a.sqlite", "--metrics", "a.txt").status, 64)
        try workshop.fail("watch", "a.sqlite", "--metrics", "nowhere/a.prom", status: 74, code: "inputOutput")
    }

    func testAWatchOfSeveralTellsOnceWhenADatabaseGoesAndWhenItComes() throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        try workshop.sql("c.sqlite", Workshop.music)
        try workshop.succeed("init", "c.sqlite", "other", "--open")
        // A container that is away at the start is waited for.
        try FileManager.default.moveItem(atPath: workshop.path("other"), toPath: workshop.path("other away"))
        let watch = try Watch(workshop, arguments: ["watch", "a.sqlite", "c.sqlite"], hasWarnings: true)
        XCTAssertNotNil(watch.line { $0.hasPrefix("Keeping c.sqlite in step") })
        try FileManager.default.moveItem(atPath: workshop.path("other away"), toPath: workshop.path("other"))
        XCTAssertNotNil(watch.line { $0.contains("c.sqlite: Nothing new.") })
        for suffix in ["", "-wal", "-shm"]
        where FileManager.default.fileExists(atPath: workshop.path("a.sqlite" + suffix)) {
            try FileManager.default.moveItem(
                atPath: workshop.path("a.sqlite" + suffix), toPath: workshop.path("away.sqlite" + suffix))
        }
        XCTAssertNotNil(watch.line { $0.contains("a.sqlite: The database at") && $0.contains("goes on with it then") })
        for suffix in ["", "-wal", "-shm"]
        where FileManager.default.fileExists(atPath: workshop.path("away.sqlite" + suffix)) {
            try FileManager.default.moveItem(
                atPath: workshop.path("away.sqlite" + suffix), toPath: workshop.path("a.sqlite" + suffix))
        }
        XCTAssertNotNil(watch.line { $0.contains("a.sqlite: The database is back") })
        try workshop.sql("b.sqlite", "UPDATE artist SET name = 'said' WHERE id = 1")
        try workshop.succeed("sync", "b.sqlite")
        XCTAssertNotNil(watch.line { $0.contains("a.sqlite: ") && $0.contains("1 change") })
        watch.send(SIGTERM)
        XCTAssertEqual(watch.wait(), 0)
    }

    func testAWatchOfSeveralTakesUpADatabaseThatComesAfterTheStart() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        // Of several, one must be there.
        try workshop.fail("watch", "b.sqlite", "c.sqlite", status: 66, code: "databaseMissing")
        let watch = try Watch(
            workshop, arguments: ["watch", "b.sqlite", "a.sqlite", "--metrics", "all.prom"], hasWarnings: true)
        var lines: [String] = []
        _ = watch.line { line in
            lines.append(line)
            return lines.contains { $0.contains("a.sqlite: Nothing new.") }
                && lines.contains { $0.contains("b.sqlite: ") }
        }
        let missing = lines.filter { $0.contains("b.sqlite") }
        XCTAssertEqual(missing.count, 1, "\(lines)")
        XCTAssertTrue(
            missing[0].contains("b.sqlite: There is no database at")
                && missing[0].hasSuffix("This watch goes on with it then."), missing[0])
        // A database without a container is no reason to end either, and is told once.
        try workshop.sql("b.sqlite", Workshop.music)
        XCTAssertNotNil(watch.line { $0.contains("b.sqlite: ") && $0.contains("belongs to no container") })
        try workshop.succeed("join", "b.sqlite", "shared", "--name", "phone")
        XCTAssertNotNil(watch.line { $0.hasPrefix("Keeping b.sqlite in step with ") })
        try workshop.sql("b.sqlite", "UPDATE artist SET name = 'come' WHERE id = 1")
        XCTAssertNotNil(watch.line { $0.contains("a.sqlite: ") && $0.contains("1 change") })
        watch.send(SIGTERM)
        XCTAssertEqual(watch.wait(), 0)
    }

    func testOneWatchKeepsSeveralDatabasesInStep() throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        try workshop.sql("c.sqlite", Workshop.music)
        try workshop.succeed("init", "c.sqlite", "other", "--open")
        let watch = try Watch(workshop, arguments: ["watch", "a.sqlite", "b.sqlite", "c.sqlite", "--json"])
        var synced: Set<String> = []
        _ = watch.event { event in
            if event["event"] as? String == "synced" { synced.insert(event["database"] as? String ?? "") }
            return synced.count == 3
        }
        XCTAssertEqual(synced, ["a.sqlite", "b.sqlite", "c.sqlite"])
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'heard' WHERE id = 1")
        XCTAssertNotNil(
            watch.event {
                $0["database"] as? String == "b.sqlite" && ($0["replayed"] as? [String: Int])?["changes"] == 1
            })
        // One that goes leaves the others alone; the status tells in the end.
        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: workshop.path("c.sqlite" + suffix))
        }
        XCTAssertNotNil(watch.event { $0["database"] as? String == "c.sqlite" && $0["event"] as? String == "stopped" })
        try workshop.sql("b.sqlite", "UPDATE artist SET name = 'again' WHERE id = 1")
        XCTAssertNotNil(
            watch.event {
                $0["database"] as? String == "a.sqlite" && ($0["replayed"] as? [String: Int])?["changes"] == 1
            })
        // Back again, it is taken up.
        try workshop.sql("c.sqlite", Workshop.music)
        try workshop.succeed("join", "c.sqlite", "other")
        XCTAssertNotNil(watch.event { $0["database"] as? String == "c.sqlite" && $0["event"] as? String == "started" })
        try workshop.sql("c.sqlite", "UPDATE artist SET name = 'back' WHERE id = 1")
        XCTAssertNotNil(
            watch.event {
                $0["database"] as? String == "c.sqlite" && ($0["published"] as? [String: Int])?["changes"] == 1
            })
        watch.send(SIGTERM)
        XCTAssertEqual(watch.wait(), 0)
        XCTAssertEqual(try workshop.ferry("watch", "a.sqlite", "a.sqlite").status, 64)
    }
}
