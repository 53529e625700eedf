import Foundation
import XCTest

/// A snapshot as a file: a backup, and a way between computers that share no folder.
final class ExportCommandTests: XCTestCase {
    /// One table stays on the device that it is on.
    private func shared(_ workshop: Workshop, _ database: String) throws -> String {
        try workshop.rows(database).replacing("INSERT INTO \"table\" VALUES('note','stays');\n", with: "")
    }

    /// The same word twice, another path to the database, or a name of something else.
    func testAnExportReplacesNothingButAnExport() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        try workshop.sql("a.sqlite", "CREATE TABLE diary(v); INSERT INTO diary VALUES ('only here')")
        try Data("a letter".utf8).write(to: URL(fileURLWithPath: workshop.path("letter.txt")))
        try FileManager.default.createSymbolicLink(
            atPath: workshop.path("link.sqlite"), withDestinationPath: workshop.path("a.sqlite"))
        let names = [
            "a.sqlite", "./a.sqlite", "link.sqlite", "a.sqlite-wal", "a.sqlite-ferry-lock", "letter.txt", "/dev/null",
        ]
        for name in names {
            try workshop.fail(
                "export", "a.sqlite", name, status: 64, code: "invalidArgument", mentioning: "is no export")
        }
        XCTAssertEqual(try workshop.sql("a.sqlite", "SELECT v FROM diary"), "only here\n")
        XCTAssertEqual(try String(contentsOfFile: workshop.path("letter.txt"), encoding: .utf8), "a letter")
        try Data().write(to: URL(fileURLWithPath: workshop.path("new.ferry")))
        for _ in 0..<2 { try workshop.succeed("export", "a.sqlite", "new.ferry") }
    }

    func testAFileCarriesWhatIsNewToADeviceWithoutTheFolder() throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'news' WHERE id = 1; DELETE FROM song WHERE id = 3")
        let export = try workshop.succeed("export", "a.sqlite", "stick.ferry", "--json").json()
        XCTAssertEqual(export["objects"] as? Int, 8)
        XCTAssertEqual(export["tableCount"] as? Int, 4)
        // The phone does not see the folder.
        try FileManager.default.moveItem(atPath: workshop.path("shared"), toPath: workshop.path("away"))
        let report = try workshop.succeed("import", "b.sqlite", "stick.ferry", "--json").json()
        XCTAssertEqual(report["outcome"] as? String, "merged")
        XCTAssertEqual(try shared(workshop, "b.sqlite"), try shared(workshop, "a.sqlite"))
        let again = try workshop.succeed("import", "b.sqlite", "stick.ferry")
        XCTAssertTrue(again.output.contains("Nothing in the file is new here."), again.output)
        // When the folder is back nothing is replayed twice.
        try FileManager.default.moveItem(atPath: workshop.path("away"), toPath: workshop.path("shared"))
        try workshop.succeed("sync", "b.sqlite")
        try workshop.succeed("verify", "b.sqlite", "--deep")
        XCTAssertEqual(try shared(workshop, "b.sqlite"), try shared(workshop, "a.sqlite"))
    }

    func testWhatAnInterruptedImportLeftIsMadeAnew() throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        try workshop.succeed("export", "a.sqlite", "backup.ferry")
        for arguments in [[], ["--container", "shared"]] {
            // As after a kill: a part of a database beside its place.
            try workshop.sql("c.sqlite-ferry-import", "CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT NOT NULL)")
            let made = try workshop.run([Workshop.binary, "import", "c.sqlite", "backup.ferry"] + arguments)
            XCTAssertEqual(made.status, 0, made.errors)
            XCTAssertEqual(try shared(workshop, "c.sqlite"), try shared(workshop, "a.sqlite"))
            let left = try FileManager.default.contentsOfDirectory(atPath: workshop.folder.path)
                .filter { $0.contains("-ferry-import") }
            XCTAssertEqual(left, [])
            if arguments.isEmpty { try FileManager.default.removeItem(atPath: workshop.path("c.sqlite")) }
        }
        // An import that was interrupted once the database was there is run again, too.
        try workshop.succeed("import", "c.sqlite", "backup.ferry", "--container", "shared")
        try workshop.succeed("verify", "c.sqlite", "--deep")
        try workshop.fail(
            "import", "c.sqlite", "backup.ferry", "--container", "other", status: 64, code: "invalidArgument")
    }

    func testABackupBecomesAPlainDatabase() throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        try workshop.succeed("export", "a.sqlite", "backup.ferry")
        try workshop.succeed("import", "look.sqlite", "backup.ferry")
        XCTAssertEqual(try workshop.rows("look.sqlite"), try workshop.rows("b.sqlite"))
        XCTAssertEqual(
            try workshop.sql("look.sqlite", "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'ferry%'"), "0\n")
        try workshop.fail("status", "look.sqlite", status: 65, code: "notTracked")
    }

    func testABackupJoinsTheContainerAsADeviceOfItsOwn() throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        try workshop.succeed("export", "a.sqlite", "backup.ferry")
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'later' WHERE id = 2")
        try workshop.succeed("sync", "a.sqlite")
        let report = try workshop.succeed(
            "import", "c.sqlite", "backup.ferry", "--container", "shared", "--name", "new")
        XCTAssertTrue(report.output.contains("it belongs to the container"), report.output)
        XCTAssertEqual(try shared(workshop, "c.sqlite"), try shared(workshop, "a.sqlite"))
        try workshop.sql("c.sqlite", "UPDATE artist SET name = 'from new' WHERE id = 1")
        try workshop.succeed("sync", "c.sqlite")
        try workshop.succeed("sync", "a.sqlite")
        XCTAssertEqual(try shared(workshop, "c.sqlite"), try shared(workshop, "a.sqlite"))
    }

    func testTheCountIsThatOfTheRows() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        try workshop.sql("a.sqlite", "DELETE FROM song_genre WHERE song_id = 1")
        try workshop.succeed("kv", "a.sqlite", "set", "theme", "dark")
        try workshop.succeed("policy", "a.sqlite", "set", "song.title", "max")
        let export = try workshop.succeed("export", "a.sqlite", "all.ferry")
        XCTAssertTrue(export.output.hasPrefix("Wrote 8 rows of 4 tables to all.ferry."), export.output)
        let look = try workshop.succeed("import", "look.sqlite", "all.ferry")
        XCTAssertTrue(look.output.hasPrefix("Made look.sqlite with 8 rows;"), look.output)
        let verify = try workshop.succeed("verify", "a.sqlite", "--deep")
        XCTAssertTrue(verify.output.contains("and 8 rows in 4 tables show what they should."), verify.output)
        let status = try workshop.succeed("status", "a.sqlite", "--json").json()["tables"] as? [[String: Any]]
        XCTAssertEqual(status?.compactMap { $0["objects"] as? Int }.reduce(0, +), 8)
    }

    func testAPlaceWhereNoFileCanBeIsRefused() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        try FileManager.default.createDirectory(atPath: workshop.path("stick"), withIntermediateDirectories: false)
        for place in ["stick", "stick/"] {
            try workshop.fail(
                "export", "a.sqlite", place, status: 64, code: "invalidArgument", mentioning: "stick/a.ferry")
        }
        try workshop.fail(
            "export", "a.sqlite", "nowhere/a.ferry", status: 74, code: "inputOutput", mentioning: "There is no folder")
        XCTAssertEqual(try workshop.ferry("export", "a.sqlite", "").status, 64)
        XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: workshop.path("stick")), [])
    }

    func testWhatDoesNotFitIsRefused() throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'news'")
        try workshop.succeed("export", "a.sqlite", "backup.ferry")
        let other = try Workshop()
        try other.begin(isOpen: true)
        try other.succeed("export", "a.sqlite", workshop.path("other.ferry"))
        try workshop.fail("import", "a.sqlite", "other.ferry", status: 69, code: "containerMismatch")
        try workshop.fail("import", "a.sqlite", "none.ferry", status: 74, code: "inputOutput")
        try workshop.fail("export", "a.sqlite", "shared/inside.ferry", status: 64, code: "invalidArgument")
        try workshop.fail(
            "import", "a.sqlite", "backup.ferry", "--container", "other", status: 64, code: "invalidArgument")
        try Data("no snapshot at all, just a letter of some length".utf8).write(
            to: URL(filePath: workshop.path("x.ferry")))
        try workshop.fail("import", "a.sqlite", "x.ferry", status: 65, code: "damagedFile")
        let whole = try Data(contentsOf: URL(filePath: workshop.path("backup.ferry")))
        let before = try workshop.rows("b.sqlite")
        for length in [0, 3, 24, 40, whole.count / 2, whole.count - 1] {
            try whole.prefix(length).write(to: URL(filePath: workshop.path("x.ferry")))
            try workshop.fail("import", "b.sqlite", "x.ferry", status: 65, code: "damagedFile")
            try workshop.fail("import", "new.sqlite", "x.ferry", status: 65, code: "damagedFile")
            XCTAssertFalse(FileManager.default.fileExists(atPath: workshop.path("new.sqlite")))
        }
        for place in stride(from: 0, to: whole.count, by: max(whole.count / 40, 1)) {
            var flipped = whole
            flipped[place] ^= 0x20
            try flipped.write(to: URL(filePath: workshop.path("x.ferry")))
            XCTAssertNotEqual(try workshop.ferry("import", "b.sqlite", "x.ferry").status, 0, "byte \(place)")
        }
        XCTAssertEqual(try workshop.rows("b.sqlite"), before)
    }

    func testWhileTheFolderIsAwayOnlyWhatIsPublishedIsExported() throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        try FileManager.default.moveItem(atPath: workshop.path("shared"), toPath: workshop.path("away"))
        try workshop.succeed("export", "a.sqlite", "backup.ferry")
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'unsent'")
        try workshop.fail("export", "a.sqlite", "more.ferry", status: 75, code: "busy", mentioning: ".backup")
        XCTAssertFalse(FileManager.default.fileExists(atPath: workshop.path("more.ferry")))
    }

    func testAnExportRemovesWhatInterruptedExportsOfTheNameLeft() throws {
        let workshop = try Workshop()
        try workshop.begin()
        let (dead, living) = ("x.ferry.ferry-tmp-0123456789abcdef", "x.ferry.ferry-tmp-fedcba9876543210")
        let others = ["x.ferry.ferry-tmp-notes", "y.ferry.ferry-tmp-0123456789abcdef"]
        for name in [dead, living] + others { try Data("FRYA".utf8).write(to: URL(filePath: workshop.path(name))) }
        // Whoever writes a file holds its lock.
        let writer = open(workshop.path(living), O_RDONLY)
        defer { close(writer) }
        XCTAssertEqual(flock(writer, LOCK_EX | LOCK_NB), 0)
        try workshop.succeed("export", "a.sqlite", "x.ferry")
        let names = try FileManager.default.contentsOfDirectory(atPath: workshop.folder.path)
        XCTAssertEqual(names.filter { $0.contains("ferry-tmp") }.sorted(), ([living] + others).sorted())
    }

    func testAnInterruptedExportLeavesNothing() throws {
        let workshop = try Workshop()
        try workshop.sql(
            "a.sqlite",
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, x);
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
            INSERT INTO t SELECT i, hex(randomblob(20)) FROM n
            """)
        try workshop.succeed("init", "a.sqlite", "shared", "--open")
        func leftovers() throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: workshop.folder.path)
                .filter { $0.contains("ferry-tmp") }
        }
        for number in [SIGINT, SIGTERM] {
            let process = workshop.process([Workshop.binary, "export", "a.sqlite", "x.ferry"])
            process.standardError = FileHandle.nullDevice
            process.standardOutput = FileHandle.nullDevice
            try process.run()
            let deadline = Date(timeIntervalSinceNow: 60)
            while try leftovers().isEmpty, process.isRunning, deadline > Date() {}
            kill(process.processIdentifier, number)
            process.waitUntilExit()
            XCTAssertEqual(process.terminationReason, .uncaughtSignal)
            XCTAssertEqual(process.terminationStatus, number)
            XCTAssertEqual(try leftovers(), [])
            XCTAssertFalse(FileManager.default.fileExists(atPath: workshop.path("x.ferry")))
        }
    }
}
