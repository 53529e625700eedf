import Foundation
import XCTest

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// `ferry ui` as a process, asked over HTTP.
final class UICommandTests: XCTestCase {
    func testThePageAnswersAndEndsCleanlyOnEitherSignal() throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        for signal in [SIGINT, SIGTERM] {
            let page = try RunningPage(workshop, "a.sqlite")
            let overview = try page.get("overview")
            XCTAssertEqual((overview["status"] as? [String: Any])?["unpublished"] as? Int, 0)
            XCTAssertEqual(
                (overview["devices"] as? [[String: Any]])?.map { $0["name"] as? String }, ["laptop", "phone"])
            XCTAssertEqual(page.end(signal), 0)
        }
    }

    func testTheViewsSayWhatTheVerbsSay() throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        try workshop.sql("a.sqlite", "UPDATE song SET title = 'mine' WHERE id = 1")
        try workshop.sql(
            "b.sqlite", "UPDATE song SET title = 'theirs' WHERE id = 1; INSERT INTO genre VALUES (9, 'Folk')")
        try workshop.sql("a.sqlite", "INSERT INTO genre VALUES (9, 'Folk')")
        for database in ["a.sqlite", "b.sqlite", "a.sqlite"] { try workshop.succeed("sync", database) }
        let page = try RunningPage(workshop, "a.sqlite")
        func verb(_ words: String...) throws -> [String: Any] {
            try workshop.run([Workshop.binary] + words + ["--json"]).json()
        }
        let conflicts = try XCTUnwrap(page.get("conflicts")["conflicts"] as? [[String: Any]])
        let listed = try XCTUnwrap(verb("conflicts", "a.sqlite")["conflicts"] as? [[String: Any]])
        XCTAssertEqual(conflicts.count, 1)
        for (name, value) in listed[0] {
            XCTAssertEqual(conflicts[0][name] as? NSObject, value as? NSObject, name)
        }
        let around = try XCTUnwrap(conflicts[0]["around"] as? [[String: Any]])
        XCTAssertEqual(around.map { $0["column"] as? String }, ["id", "title", "artist_id"])
        let row = try page.get("row?table=song&key=1")
        let history = try verb("history", "a.sqlite", "song", "1")
        XCTAssertEqual(
            (row["rows"] as? [[String: Any]])?[0]["changes"] as? NSArray,
            (history["rows"] as? [[String: Any]])?[0]["changes"] as? NSArray)
        let hidden = try page.get("hidden")
        XCTAssertEqual((hidden["groups"] as? [[String: Any]])?.map { $0["kind"] as? String }, ["joined"])
        XCTAssertNotNil((hidden["groups"] as? [[String: Any]])?[0]["advice"])
        let rows = try page.get("rows?table=song&search=thr")
        XCTAssertEqual((rows["rows"] as? [[String: Any]])?.map { $0["keyWords"] as? [String] }, [["3"]])
        let container = try page.get("container")
        let files = try XCTUnwrap(container["files"] as? [String: Any])
        let found = try workshop.files(suffix: ".segment")
        let segments = try XCTUnwrap(files["devices"] as? [[String: Any]]).map {
            ($0["kinds"] as? [String: [String: Int]])?["segment"]?["files"] ?? 0
        }
        XCTAssertEqual(segments.reduce(0, +), found.count)
        XCTAssertEqual(try page.get("verify")["isSound"] as? Bool, true)
        XCTAssertEqual(page.end(SIGTERM), 0)
    }

    func testActsAreThoseOfTheVerbs() throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        try workshop.sql("a.sqlite", "UPDATE song SET title = 'mine' WHERE id = 1")
        try workshop.sql("b.sqlite", "UPDATE song SET title = 'theirs' WHERE id = 1")
        for database in ["a.sqlite", "b.sqlite", "a.sqlite"] { try workshop.succeed("sync", database) }
        let page = try RunningPage(workshop, "a.sqlite")
        let restored = try page.post("restore-conflict", ["number": 1])
        XCTAssertEqual(restored.json["action"] as? String, "updated")
        XCTAssertEqual(try workshop.sql("a.sqlite", "SELECT title FROM song WHERE id = 1"), "mine\n")
        let changes = try XCTUnwrap(
            (page.get("row?table=song&key=1")["rows"] as? [[String: Any]])?[0]["changes"] as? [[String: Any]])
        let moment = try XCTUnwrap(changes.last { $0["device"] as? String == "phone" }?["timeMilliseconds"] as? Int)
        let body: [String: Any] = ["table": "song", "key": ["1"], "atMilliseconds": moment, "dryRun": true]
        XCTAssertEqual(
            try page.post("restore-row", body).json["sentence"] as? String, "song 1: title would be restored.")
        XCTAssertEqual(try workshop.sql("a.sqlite", "SELECT title FROM song WHERE id = 1"), "mine\n")
        XCTAssertEqual(try page.post("restore-row", body.merging(["dryRun": false]) { $1 }).status, 200)
        XCTAssertEqual(try workshop.sql("a.sqlite", "SELECT title FROM song WHERE id = 1"), "theirs\n")
        // What is not there, and forged values.
        XCTAssertEqual(try page.post("resolve", ["numbers": [99]]).status, 404)
        XCTAssertEqual(try page.post("restore-conflict", ["number": -1]).status, 404)
        XCTAssertEqual(
            try page.post("restore-row", body.merging(["object": "'; DROP TABLE song; --"]) { $1 }).status, 400)
        XCTAssertEqual(
            try page.post("restore-row", body.merging(["object": "00000000-0000-4000-8000-000000000000"]) { $1 })
                .status, 404)
        XCTAssertEqual(try page.post("restore-row", body.merging(["table": "sqlite_schema"]) { $1 }).status, 400)
        XCTAssertEqual(try page.post("restore-row", body.merging(["atMilliseconds": Int64.max]) { $1 }).status, 400)
        for question in [
            "rows?table=ferry_device", "rows?table=sqlite_schema", "rows?table=song&after=zz",
            "row?table=song&object=zz",
            "rows?table=song&after=0102030405",
        ] {
            XCTAssertEqual(try page.ask(question).status, 400, question)
        }
        XCTAssertEqual(try page.ask("row?table=song&key=99").status, 404)
        XCTAssertEqual(page.end(SIGTERM), 0)
    }

    func testAPageToReadAloneChangesNothing() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        let page = try RunningPage(workshop, "a.sqlite", "--read-only")
        XCTAssertEqual(try page.get("summary")["readOnly"] as? Bool, true)
        XCTAssertEqual(try page.post("resolve", ["numbers": [1]]).status, 403)
        XCTAssertEqual(page.end(SIGTERM), 0)
    }

    func testASealedContainerIsShownByItsMembers() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        let page = try RunningPage(workshop, "a.sqlite")
        let overview = try page.get("overview")
        let container = (overview["status"] as? [String: Any])?["container"] as? [String: Any]
        XCTAssertEqual(container?["sealed"] as? Bool, true)
        XCTAssertEqual(container?["members"] as? Int, 2)
        let files = try XCTUnwrap(page.get("container")["files"] as? [String: Any])
        XCTAssertNotNil((files["devices"] as? [[String: Any]])?.first?["kinds"] as? [String: Any])
        XCTAssertEqual(page.end(SIGTERM), 0)
    }

    func testADatabaseThatGoesIsToldAndTakenUpAgain() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        let page = try RunningPage(workshop, "a.sqlite")
        XCTAssertEqual(try page.ask("overview").status, 200)
        let (here, away) = (workshop.path("a.sqlite"), workshop.path("away.sqlite"))
        try FileManager.default.moveItem(atPath: here, toPath: away)
        let gone = try page.ask("overview")
        XCTAssertEqual(gone.status, 410)
        XCTAssertTrue("\(gone.json)".contains("There is no database at"), "\(gone.json)")
        try Data("no database".utf8).write(to: URL(fileURLWithPath: here))
        XCTAssertEqual(try page.ask("overview").status, 500)
        try FileManager.default.removeItem(atPath: here)
        try FileManager.default.moveItem(atPath: away, toPath: here)
        XCTAssertEqual(try page.ask("overview").status, 200)
        // While the folder is away, rows are shown all the same.
        try FileManager.default.moveItem(atPath: workshop.path("shared"), toPath: workshop.path("unmounted"))
        XCTAssertEqual(try page.ask("rows?table=song").status, 200)
        let row = try page.get("row?table=song&key=1")
        XCTAssertEqual((row["gaps"] as? [Any])?.count, 1)
        XCTAssertNotNil(try page.get("container")["filesProblem"])
        XCTAssertNotNil(try page.get("overview")["activityProblem"])
        XCTAssertEqual(page.end(SIGTERM), 0)
    }

    #if os(Linux)
    func testTheBrowserGetsAFileThatNobodyElseCanRead() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        // In place of the system's program: notes what it gets, and ends the page.
        let programs = workshop.path("programs")
        try FileManager.default.createDirectory(atPath: programs, withIntermediateDirectories: false)
        try workshop.run(["mkdir", "runtime"])
        let script = "#!/bin/sh\nstat -c %a \"$(dirname \"$1\")\" > got; cat \"$1\" >> got; kill -INT $PPID\n"
        try script.write(toFile: programs + "/xdg-open", atomically: false, encoding: .utf8)
        try workshop.run(["chmod", "+x", programs + "/xdg-open"])
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        let outcome = try workshop.run(
            [Workshop.binary, "ui", "a.sqlite"],
            environment: [
                "DISPLAY": ":9", "PATH": programs + ":" + path, "XDG_RUNTIME_DIR": workshop.path("runtime"),
            ])
        XCTAssertEqual(outcome.status, 0, outcome.errors)
        let got = try String(contentsOfFile: workshop.path("got"), encoding: .utf8)
        XCTAssertTrue(got.hasPrefix("700\n"), got)
        XCTAssertTrue(got.contains("url=" + outcome.output.trimmingCharacters(in: .newlines)), got)
        XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: workshop.path("runtime")), [])
    }
    #endif

    func testWhatCannotBeShownIsToldBeforeAPageBegins() throws {
        let workshop = try Workshop()
        try workshop.fail("ui", "none.sqlite", "--no-open", status: 66, code: "databaseMissing")
        try workshop.sql("plain.sqlite", Workshop.music)
        try workshop.fail("ui", "plain.sqlite", "--no-open", status: 65, code: "notTracked")
        for words in [["--port", "0"], ["--port", "99999"], ["--listen", "everywhere"]] {
            XCTAssertEqual(try workshop.run([Workshop.binary, "ui", "plain.sqlite"] + words).status, 64, "\(words)")
        }
        try workshop.begin(isOpen: true)
        let page = try RunningPage(workshop, "a.sqlite")
        try workshop.fail(
            "ui", "a.sqlite", "--no-open", "--port", "\(page.port)", status: 74, code: "inputOutput",
            mentioning: "--port")
        XCTAssertEqual(page.end(SIGTERM), 0)
    }
}

/// A running `ferry ui`.
final class RunningPage {
    let port: Int
    private let token: String
    private let process: Process
    private let session = URLSession(configuration: .ephemeral)

    struct Answer {
        var status: Int
        var json: [String: Any]
    }

    init(_ workshop: Workshop, _ words: String...) throws {
        process = workshop.process([Workshop.binary, "ui"] + words + ["--no-open", "--json"])
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        var line = Data()
        while line.last != UInt8(ascii: "\n") {
            let more = output.fileHandleForReading.availableData
            if more.isEmpty { throw Workshop.Problem(text: "ferry ui ended: \(String(decoding: line, as: UTF8.self))") }
            line += more
        }
        let report = try XCTUnwrap(try JSONSerialization.jsonObject(with: line) as? [String: Any])
        XCTAssertEqual(try JSONPage().differences(report, chapter: "ui"), [])
        port = try XCTUnwrap(report["port"] as? Int)
        let address = try XCTUnwrap(report["address"] as? String)
        token = String(try XCTUnwrap(address.components(separatedBy: "#token=").last))
        XCTAssertEqual(address, "http://127.0.0.1:\(port)/#token=\(token)")
    }

    deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

    func get(_ name: String) throws -> [String: Any] {
        let answer = try ask(name)
        XCTAssertEqual(answer.status, 200, "\(name): \(answer.json)")
        return answer.json
    }

    func ask(_ name: String) throws -> Answer { try send(request(name)) }

    func post(_ name: String, _ body: [String: Any]) throws -> Answer {
        var request = try request(name)
        request.httpMethod = "POST"
        request.httpBody = try JSONSerialization.data(withJSONObject: body)
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.setValue("http://127.0.0.1:\(port)", forHTTPHeaderField: "Origin")
        return try send(request)
    }

    private func request(_ name: String) throws -> URLRequest {
        var request = URLRequest(url: try XCTUnwrap(URL(string: "http://127.0.0.1:\(port)/api/\(name)")))
        request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
        return request
    }

    private func send(_ request: URLRequest) throws -> Answer {
        let box = Box()
        let isThere = DispatchSemaphore(value: 0)
        session.dataTask(with: request) { data, response, error in
            box.result = (data, response, error)
            isThere.signal()
        }.resume()
        XCTAssertEqual(isThere.wait(timeout: .now() + 60), .success)
        if let error = box.result.2 { throw error }
        let object = try JSONSerialization.jsonObject(with: box.result.0 ?? Data())
        return Answer(
            status: (box.result.1 as? HTTPURLResponse)?.statusCode ?? 0, json: object as? [String: Any] ?? [:])
    }

    /// `@unchecked Sendable` because the result is written before the signal and read after the wait.
    private final class Box: @unchecked Sendable {
        var result: (Data?, URLResponse?, (any Error)?) = (nil, nil, nil)
    }

    /// Sends a signal, and gives the exit status.
    func end(_ signal: Int32) -> Int32 {
        kill(process.processIdentifier, signal)
        process.waitUntilExit()
        return process.terminationReason == .exit ? process.terminationStatus : -1
    }
}
