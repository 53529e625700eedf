import FeedTestServer
import Foundation
import XCTest

@testable import ReaderStore

/// The command as people and scripts use it: the built program in a process of its own.
final class CommandTests: ServerTestCase {
    private struct Result {
        var status: Int32
        var output: String
        var error: String

        func json() throws -> [String: Any] {
            try XCTUnwrap(JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any], output)
        }
    }

    /// Runs it without a terminal.
    private func reader(_ arguments: String..., database: String = "laptop.sqlite") throws -> Result {
        try run(arguments, database: database)
    }

    private func run(_ arguments: [String], database: String = "laptop.sqlite") throws -> Result {
        try start(arguments, database: database).result()
    }

    /// A command that was started.
    private struct Started {
        let process: Process
        let output: URL
        let error: URL

        /// Waits for its end.
        func result() throws -> Result {
            process.waitUntilExit()
            let texts = try [output, error].map { String(decoding: try Data(contentsOf: $0), as: UTF8.self) }
            return Result(status: process.terminationStatus, output: texts[0], error: texts[1])
        }
    }

    /// - Parameter input: what it reads; without it, nothing.
    private func start(_ arguments: [String], input: String = "", database: String) throws -> Started {
        let process = Process()
        process.executableURL = try readerExecutable()
        process.arguments = arguments
        let keys = path("keys of \(database)")
        process.environment = ProcessInfo.processInfo.environment.merging(
            ["READER_DATABASE": path(database), "FERRY_KEYS": keys, "SWIFT_BACKTRACE": "enable=no"]
        ) { $1 }
        // Files, which never fill up as a pipe does that is read too late.
        let places = ["out", "err", "in"].map { folder.appendingPathComponent("\($0)-\(UUID().uuidString)") }
        for (place, text) in zip(places, ["", "", input]) { try Data(text.utf8).write(to: place) }
        process.standardOutput = try FileHandle(forWritingTo: places[0])
        process.standardError = try FileHandle(forWritingTo: places[1])
        process.standardInput = try FileHandle(forReadingFrom: places[2])
        try process.run()
        return Started(process: process, output: places[0], error: places[1])
    }

    /// Joins by a code of the laptop's, which lets the device in with a sync.
    private func join(_ name: String) throws -> Result {
        let words = try XCTUnwrap(reader("invite", "--json").json()["words"] as? String)
        let joining = try start(["join", path("shared"), "--name", name], input: words, database: name + ".sqlite")
        while joining.process.isRunning { XCTAssertEqual(try reader("sync").status, 0) }
        return try joining.result()
    }

    func testFilesOfAnArticleAreKeptAndWritten() async throws {
        try await server.serve("/episode.mp3", Route("an episode"))
        try await server.serve(
            "/feed",
            Route(
                """
                <?xml version="1.0"?><rss version="2.0"><channel><title>Podcast</title><item><guid>1</guid><title>One</title>
                <enclosure url="\(try address("/episode.mp3"))" type="audio/mpeg" length="10"/></item></channel></rss>
                """))
        XCTAssertEqual(try reader("init", path("shared"), "--name", "laptop", "--open").status, 0)
        XCTAssertEqual(try reader("add", address("/feed")).status, 0)
        let list = try XCTUnwrap(reader("list", "--json").json()["articles"] as? [[String: Any]])
        let id = "\(try XCTUnwrap(list[0]["id"] as? Int))"
        XCTAssertTrue(try reader("files", id).output.contains("None of its files is kept"))
        XCTAssertTrue(try reader("keep", id).output.contains("Kept episode.mp3, 10 bytes."))
        XCTAssertTrue(try reader("keep", id).output.contains("kept already"))
        let files = try XCTUnwrap(reader("files", id, "--into", path("out"), "--json").json()["paths"] as? [String])
        XCTAssertEqual(files, [path("out/episode.mp3")])
        XCTAssertEqual(try String(contentsOfFile: path("out/episode.mp3"), encoding: .utf8), "an episode")
        XCTAssertEqual(try reader("keep", id, "--remove", "--json").json()["removed"] as? Int, 1)
        XCTAssertEqual(try reader("keep", "99").status, 1)
    }

    func testAFirstDayWithTwoDevices() async throws {
        try await server.serve("/feed", Route(rss([1, 2], title: "Music")))
        try await server.serve("/broken", Route("", status: 500))
        let address = try address("/feed")
        XCTAssertEqual(
            try reader("init", path("shared"), "--name", "laptop", "--recovery-to", path("recovery")).status, 0)
        XCTAssertTrue(try reader("add", address).output.contains("2 new"))
        XCTAssertEqual(try reader("add", address).status, 73)
        let list = try reader("list", "--json").json()
        let articles = try XCTUnwrap(list["articles"] as? [[String: Any]])
        XCTAssertEqual(articles.map { $0["title"] as? String }, ["Article 2", "Article 1"])
        let id = try XCTUnwrap(articles[0]["id"] as? Int)
        XCTAssertTrue(try reader("show", "\(id)").output.contains("text 2"))
        XCTAssertEqual(try reader("read", "\(id)", "--json").json()["marked"] as? Int, 1)
        XCTAssertEqual(try reader("star", "\(id)").status, 0)
        XCTAssertEqual(try reader("set", "group", "feed").status, 0)

        // What commands did is in the folder already.
        XCTAssertEqual(try join("phone").status, 0)
        XCTAssertTrue(try reader("refresh", database: "phone.sqlite").output.contains("Music: 2 new"))
        let unread = try reader("list", "--unread", database: "phone.sqlite").output
        XCTAssertTrue(unread.contains("Article 1") && !unread.contains("Article 2"), unread)
        XCTAssertTrue(try reader("list", "--starred", database: "phone.sqlite").output.contains("★"))
        XCTAssertEqual(try reader("get", "group", database: "phone.sqlite").output, "feed\n")

        // A folder that is away is no reason not to do what was asked.
        try FileManager.default.moveItem(atPath: path("shared"), toPath: path("elsewhere"))
        let away = try reader("unread", "\(id)")
        XCTAssertEqual(away.status, 0)
        XCTAssertTrue(away.output.contains("1"), away.output)
        XCTAssertTrue(away.error.contains("not synced"), away.error)
        try FileManager.default.moveItem(atPath: path("elsewhere"), toPath: path("shared"))
        XCTAssertEqual(try reader("sync").status, 0)
        XCTAssertEqual(try reader("sync", database: "phone.sqlite").status, 0)
        XCTAssertTrue(try reader("list", "--unread", database: "phone.sqlite").output.contains("Article 2"))

        // A feed that fails says so in one line, and the other one is refreshed all the same.
        XCTAssertEqual(try reader("add", "\(self.address("/broken"))").status, 0, "it may work later")
        let refresh = try reader("refresh")
        XCTAssertEqual(refresh.status, 69)
        XCTAssertEqual(refresh.output.split(separator: "\n").count, 2, refresh.output)
        XCTAssertTrue(try reader("export").output.contains("xmlUrl=\"\(address)\""))
        XCTAssertEqual(try reader("remove", "Music").status, 0)
        XCTAssertFalse(try reader("feeds").output.contains("Music"))
    }

    func testFailuresSayWhatToDoAndHaveTheirStatus() throws {
        func check(_ status: Int32, _ hint: String, _ arguments: String..., line: UInt = #line) throws {
            let process = try run(arguments)
            XCTAssertEqual(process.status, status, process.error, line: line)
            XCTAssertTrue(process.error.contains(hint), process.error, line: line)
        }
        try check(65, "reader init", "feeds")
        try check(69, "is not there", "join", path("nowhere"))
        try check(74, "make it first", "feeds", "--database", path("no/such/folder.sqlite"))
        try check(64, "--recovery-to", "init", path("shared"))
        XCTAssertEqual(try reader("init", path("shared"), "--open").status, 0)
        try check(73, "already", "init", path("shared"), "--open")
        try check(1, "reader feeds", "remove", "nothing")
        try check(1, "reader list", "show", "99")
        try check(64, "neither a file nor", "add", "ftp://example.org/x")
        try check(64, "reader list", "screen")
        try check(64, "reader list")
        try check(64, "--all", "read")
        try check(64, "one of day", "set", "group", "week")
        try Data("<rss/>".utf8).write(to: folder.appendingPathComponent("feed.xml"))
        try check(65, "file://", "add", path("feed.xml"))
        let json = try reader("show", "99", "--json")
        XCTAssertEqual(json.status, 1)
        XCTAssertEqual((try json.json()["error"] as? [String: Any])?["code"] as? String, "nothingFound")
    }
}
