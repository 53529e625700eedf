import Foundation
import XCTest

/// What is wrong is told in one sentence, with the right status, and no row changes.
final class BadInputTests: XCTestCase {
    /// Directories, pipes and devices in the place of files: a sentence, and no wait.
    func testOddFilesAsArgumentsAreRefusedInAPlainSentence() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        try "x".write(toFile: workshop.path("x.txt"), atomically: true, encoding: .utf8)
        try workshop.succeed("documents", "a.sqlite", "add", "x.txt")
        try FileManager.default.createDirectory(atPath: workshop.path("d"), withIntermediateDirectories: false)
        XCTAssertEqual(mkfifo(workshop.path("p"), 0o600), 0)
        for (name, words) in [("d", "is a directory"), ("p", "is a pipe"), ("/dev/null", "is a device")] {
            try workshop.fail("import", "i.sqlite", name, status: 64, code: "invalidArgument", mentioning: words)
            let unusual = name == "d" ? "is a directory" : "is no regular file"
            try workshop.fail("status", name, status: 65, code: "notADatabase", mentioning: unusual)
            try workshop.fail(
                "documents", "a.sqlite", "put", name, "x.txt", status: 64, code: "invalidArgument", mentioning: unusual)
            try workshop.fail(
                "documents", "a.sqlite", "settle", "x.txt", "--with", name, status: 64, code: "invalidArgument",
                mentioning: unusual)
            try workshop.fail(
                "documents", "a.sqlite", "get", "x.txt", "-o", name, status: 73, code: "nameTaken", mentioning: unusual)
            try workshop.fail("export", "a.sqlite", name, status: 64, code: "invalidArgument")
        }
        try workshop.fail(
            "documents", "a.sqlite", "get", "x.txt", "--force", "-o", "p", status: 73, code: "nameTaken",
            mentioning: "no regular file")
        for name in ["p", "x.txt", "/dev/null"] {
            try workshop.fail(
                "documents", "a.sqlite", "mirror", name, status: 64, code: "invalidArgument",
                mentioning: "is no directory")
        }
        try workshop.fail("import", "i.sqlite", "none", status: 74, code: "inputOutput", mentioning: "There is no file")
        XCTAssertEqual(
            try workshop.ferry(
                "join", "c.sqlite", "s3://bucket/m", "--ca-file", "d", environment: ["AWS_ACCESS_KEY_ID": "x"]
            ).status, 64)
    }

    /// A code may come by a pipe, as from `<(pass show ferry)`. A wait for the code is told.
    func testACodeComesFromAFileOrAPipe() throws {
        let workshop = try Workshop()
        try workshop.begin()
        try FileManager.default.createDirectory(atPath: workshop.path("d"), withIntermediateDirectories: false)
        XCTAssertEqual(mkfifo(workshop.path("p"), 0o600), 0)
        try workshop.fail(
            "join", "b.sqlite", "shared", "--code-file", "d", status: 64, code: "invalidArgument",
            mentioning: "is a directory")
        try workshop.fail(
            "join", "b.sqlite", "shared", "--code-file", "/dev/zero", status: 77, code: "codeRefused",
            mentioning: "The file holds no code")
        let waiting = try Watch(
            workshop, arguments: ["join", "b.sqlite", "shared", "--code-file", "p"], hasWarnings: true)
        XCTAssertEqual(waiting.line(), "Waiting for the code from p. Ctrl-C ends the wait.")
        try "no code\n".write(toFile: workshop.path("p"), atomically: false, encoding: .utf8)
        XCTAssertEqual(waiting.wait(), 77)
        // Standard input is read up to the end of the line, and no further than a code is long.
        let endless = try workshop.run(
            ["sh", "-c", "\"$0\" join b.sqlite shared --code - </dev/zero", Workshop.binary])
        XCTAssertEqual(endless.status, 77, endless.errors)
    }

    func testATextFileIsNoDatabase() throws {
        let workshop = try Workshop()
        let text = String(repeating: "This is a letter, not a database.\n", count: 100)
        try text.write(toFile: workshop.path("letter.txt"), atomically: false, encoding: .utf8)
        try workshop.begin(isOpen: true)
        try workshop.fail("init", "letter.txt", "other", "--open", status: 65, code: "notADatabase")
        try workshop.fail("join", "letter.txt", "shared", status: 65, code: "notADatabase")
        try workshop.fail("sync", "letter.txt", status: 65, code: "notADatabase")
        try workshop.fail("status", "letter.txt", status: 65, code: "notADatabase")
        XCTAssertEqual(try String(contentsOfFile: workshop.path("letter.txt"), encoding: .utf8), text)
    }

    func testAMissingDatabaseIsTold() throws {
        let workshop = try Workshop()
        for command in ["sync", "status", "log", "leave"] {
            try workshop.fail(command, "none.sqlite", status: 66, code: "databaseMissing")
        }
        try workshop.fail("init", "none.sqlite", "shared", "--open", status: 66, code: "databaseMissing")
        XCTAssertFalse(FileManager.default.fileExists(atPath: workshop.path("none.sqlite")))
    }

    func testADatabaseOfNoContainerIsTold() throws {
        let workshop = try Workshop()
        try workshop.sql("a.sqlite", Workshop.music)
        for command in ["sync", "status", "log", "watch"] {
            try workshop.fail(command, "a.sqlite", status: 65, code: "notTracked", mentioning: "ferry init")
        }
    }

    func testAContainerOfANewerFormatIsRefused() throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        let before = try workshop.rows("b.sqlite")
        try workshop.change(workshop.folder.appendingPathComponent("shared/container.json")) { data in
            data = Data(
                String(decoding: data, as: UTF8.self).replacingOccurrences(of: "\"format\" : 1", with: "\"format\" : 9")
                    .utf8)
        }
        try workshop.fail("sync", "b.sqlite", status: 65, code: "containerTooNew", mentioning: "Update Ferry")
        try workshop.fail("join", "c.sqlite", "shared", status: 65, code: "containerTooNew")
        XCTAssertEqual(try workshop.rows("b.sqlite"), before)
    }

    func testAGarbledContainerFileIsRefused() throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        try workshop.change(workshop.folder.appendingPathComponent("shared/container.json")) { $0 = Data("{}".utf8) }
        try workshop.fail("sync", "b.sqlite", status: 65, code: "damagedFile")
    }

    func testACutOffSegmentStopsItsDeviceOnly() throws {
        try withDamagedNews(code: "fileNotThereYet") { $0.removeLast($0.count / 2) }
    }

    func testAnEmptySegmentStopsItsDeviceOnly() throws {
        try withDamagedNews(code: "fileNotThereYet") { $0 = Data() }
    }

    func testFlippedBitsStopTheirDeviceOnly() throws {
        for place in [5, 40, 100, 120] {
            try withDamagedNews(code: nil) { $0[$0.startIndex + min(place, $0.count - 1)] ^= 0x10 }
        }
    }

    func testASegmentOfANewerFormatStopsItsDeviceOnly() throws {
        try withDamagedNews(code: "formatTooNew") { $0[$0.startIndex + 4] = 200 }
    }

    func testASegmentOfAnotherContainerStopsItsDeviceOnly() throws {
        let other = try Workshop()
        try other.begin(isOpen: true)
        let foreign = try Data(contentsOf: other.files(suffix: ".segment")[0])
        try withDamagedNews(code: "foreignFile") { $0 = foreign }
    }

    func testADamagedDatabaseIsTold() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        try workshop.change(workshop.folder.appendingPathComponent("a.sqlite")) { data in
            // Everything behind the first page, which holds the schema.
            for index in data.startIndex + 4096..<data.endIndex { data[index] = 0xA5 }
        }
        let outcome = try workshop.ferry("sync", "a.sqlite", "--json")
        XCTAssertEqual(outcome.status, 65, outcome.output)
        XCTAssertEqual((try outcome.json()["error"] as? [String: String])?["code"], "databaseCorrupt")
    }

    func testAStoreOfANewerFerryIsRefused() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        try workshop.sql("a.sqlite", "UPDATE ferry_meta SET value = 99 WHERE name = 'version'")
        try workshop.fail("sync", "a.sqlite", status: 65, code: "storeTooNew", mentioning: "Update Ferry")
    }

    /// The laptop's news are damaged: the phone is told, keeps its rows, sends its own, and mends with the file.
    private func withDamagedNews(
        code: String?, _ damage: (inout Data) -> Void, file: StaticString = #filePath, line: UInt = #line
    ) throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'news' WHERE id = 1")
        let before = Set(try workshop.files(suffix: ".segment"))
        try workshop.succeed("sync", "a.sqlite")
        let news = try XCTUnwrap(workshop.files(suffix: ".segment").first { !before.contains($0) })
        let whole = try Data(contentsOf: news)
        try workshop.change(news, damage)
        try workshop.sql("b.sqlite", "INSERT INTO genre VALUES (7, 'Tango')")
        let rows = try workshop.rows("b.sqlite")

        let plain = try workshop.ferry("sync", "b.sqlite")
        // What has not arrived whole is waited for, what is damaged is an error.
        let status: Int32 = code == "fileNotThereYet" ? 0 : 65
        XCTAssertEqual(plain.status, status, plain.errors, file: file, line: line)
        XCTAssertTrue(plain.errors.contains("laptop: "), plain.errors, file: file, line: line)
        XCTAssertTrue(plain.output.contains("Sent 1 change."), plain.output, file: file, line: line)
        // An error is told also where nothing but errors is asked for.
        let quiet = try workshop.ferry("sync", "b.sqlite", "--quiet")
        XCTAssertEqual(quiet.status, status, file: file, line: line)
        XCTAssertEqual(quiet.errors.contains("laptop: "), status != 0, quiet.errors, file: file, line: line)
        XCTAssertEqual(quiet.output, "", file: file, line: line)
        let scripted = try workshop.ferry("sync", "b.sqlite", "--json")
        XCTAssertEqual(scripted.status, status, scripted.output, file: file, line: line)
        let report = try scripted.json()
        let waiting = try XCTUnwrap(report["waiting"] as? [[String: Any]], file: file, line: line)
        XCTAssertEqual(waiting.count, 1, file: file, line: line)
        XCTAssertEqual(waiting.first?["file"] as? String, news.path, file: file, line: line)
        XCTAssertNotNil(waiting.first?["sinceMilliseconds"] as? Int, file: file, line: line)
        if let code { XCTAssertEqual(waiting.first?["code"] as? String, code, file: file, line: line) }
        let error = report["error"] as? [String: String]
        XCTAssertEqual(error?["code"], status == 0 ? nil : waiting.first?["code"] as? String, file: file, line: line)
        XCTAssertEqual(try workshop.rows("b.sqlite"), rows, file: file, line: line)

        try whole.write(to: news)
        try workshop.succeed("sync", "b.sqlite", file: file, line: line)
        XCTAssertEqual(
            try workshop.sql("b.sqlite", "SELECT name FROM artist WHERE id = 1"), "news\n", file: file, line: line)
    }
}
