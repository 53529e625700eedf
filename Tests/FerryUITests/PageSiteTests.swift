import FerryCore
import FerryUI
import Foundation
import XCTest

/// Answers with the question, so that tests see what was understood.
struct EchoSource: PageSource {
    var failure: FerryError?

    func answer(_ question: PageQuestion) async throws -> Data {
        if let failure { throw failure }
        return Data("\"\(question)\"".utf8)
    }

    func perform(_ act: PageAct) async throws -> Data {
        if let failure { throw failure }
        return Data("\"\(act)\"".utf8)
    }
}

/// Which request means which question, act or file.
final class PageSiteTests: XCTestCase {
    private let token = AccessToken(SystemRandom())
    private let events = EventHub()

    private func site(_ source: EchoSource = EchoSource(), isReadOnly: Bool = false) -> PageSite {
        PageSite(
            gate: PageGate(names: ["127.0.0.1"], port: 8377, isEverywhere: false, token: token), source: source,
            events: events, isReadOnly: isReadOnly)
    }

    private func ask(
        _ method: String, _ target: String, body: String = "", site: PageSite? = nil
    ) async -> (status: Int, text: String) {
        let headers = [
            "host": ["127.0.0.1:8377"], "authorization": ["Bearer \(token.text)"],
            "origin": ["http://127.0.0.1:8377"], "content-type": ["application/json"],
        ]
        let answer = await (site ?? self.site()).respond(
            to: PageRequest(method: method, target: target, headers: headers, body: Data(body.utf8)))
        guard case .data(let data) = answer.body else { return (answer.status, "events") }
        return (answer.status, String(decoding: data, as: UTF8.self))
    }

    private func assertAsks(
        _ target: String, _ question: PageQuestion, file: StaticString = #filePath, line: UInt = #line
    ) async {
        let answer = await ask("GET", target)
        XCTAssertEqual(answer.status, 200, answer.text, file: file, line: line)
        XCTAssertEqual(answer.text, "\"\(question)\"", file: file, line: line)
    }

    func testQuestionsOfTheViews() async {
        await assertAsks("/api/summary", .summary)
        await assertAsks("/api/overview", .overview)
        await assertAsks("/api/conflicts", .conflicts(table: nil, isResolved: false, before: nil))
        await assertAsks(
            "/api/conflicts?table=song&resolved=true&before=12", .conflicts(table: "song", isResolved: true, before: 12)
        )
        await assertAsks(
            "/api/rows?table=my+table&search=100%25", .rows(table: "my table", after: nil, search: "100%"))
        await assertAsks("/api/row?table=song_tag&key=3&key=", .row(table: "song_tag", key: ["3", ""]))
        await assertAsks("/api/row?table=song&object=ab", .object(table: "song", id: "ab"))
        await assertAsks("/api/hidden", .hidden(table: nil))
        await assertAsks("/api/container", .container)
        await assertAsks("/api/verify", .verify)
        await assertAsks("/api/tables", .tables)
    }

    func testQuestionsThatSayNothingAreRefused() async {
        for target in [
            "/api/rows", "/api/rows?table=", "/api/row?table=song", "/api/conflicts?before=x",
            "/api/conflicts?before=0",
            "/api/conflicts?before=99999999999999999999", "/api/rows?table=a&table=b", "/api/rows?table=%ff",
            "/api/rows?table=%zz", "/api/rows?table=" + String(repeating: "a", count: 5000),
            "/api/row?table=a" + String(repeating: "&key=1", count: 40),
            "/api/overview?" + String(repeating: "a=1&", count: 100),
        ] {
            let answer = await ask("GET", target)
            XCTAssertEqual(answer.status, 400, target + answer.text)
        }
    }

    func testActs() async {
        let resolve = await ask("POST", "/api/resolve", body: "{\"numbers\":[3,4]}")
        XCTAssertEqual(resolve.text, "\"\(PageAct.resolve([3, 4]))\"")
        let conflict = await ask("POST", "/api/restore-conflict", body: "{\"number\":3}")
        XCTAssertEqual(conflict.text, "\"\(PageAct.restoreConflict(3))\"")
        let moment = PageAct.RowMoment(table: "song", key: ["3"], object: nil, atMilliseconds: 7, dryRun: true)
        let row = await ask(
            "POST", "/api/restore-row", body: #"{"table":"song","key":["3"],"atMilliseconds":7,"dryRun":true}"#)
        XCTAssertEqual(row.text, "\"\(PageAct.restoreRow(moment))\"")
    }

    func testActsThatSayNothingAreRefused() async {
        for (target, body) in [
            ("/api/resolve", ""), ("/api/resolve", "{}"), ("/api/resolve", "{\"numbers\":[]}"),
            ("/api/resolve", "{\"numbers\":[\"1\"]}"), ("/api/resolve", "{\"numbers\":[1.5]}"),
            ("/api/resolve", "[" + String(repeating: "[", count: 30_000)),
            ("/api/restore-conflict", "{\"number\":null}"),
            ("/api/restore-row", "{\"table\":\"song\",\"key\":[],\"atMilliseconds\":1}"),
            ("/api/restore-row", "{\"table\":\"song\",\"key\":[\"1\"],\"atMilliseconds\":1e300}"),
        ] {
            let answer = await ask("POST", target, body: body)
            XCTAssertEqual(answer.status, 400, "\(target) \(body.prefix(40)) \(answer.text)")
        }
    }

    func testAPageToReadAloneRefusesActs() async {
        let answer = await ask("POST", "/api/resolve", body: "{\"numbers\":[3]}", site: site(isReadOnly: true))
        XCTAssertEqual(answer.status, 403)
        XCTAssertTrue(answer.text.contains("--read-only"), answer.text)
        let question = await ask("GET", "/api/overview", site: site(isReadOnly: true))
        XCTAssertEqual(question.status, 200)
    }

    func testWrongMethods() async {
        for (method, target) in [
            ("POST", "/api/overview"), ("GET", "/api/resolve"), ("PUT", "/api/resolve"), ("DELETE", "/"), ("POST", "/"),
            ("OPTIONS", "/api/overview"), ("HEAD", "/page.css"), ("TRACE", "/api/rows"),
        ] {
            let answer = await ask(method, target)
            XCTAssertEqual(answer.status, 405, "\(method) \(target)")
        }
    }

    func testOnlyWholePathsLeadAnywhere() async {
        for target in [
            "", "*", "//", "/index.html", "/page.css/", "/../page.css", "/%2e%2e/etc/passwd", "/./page.css",
            "/PAGE.CSS",
            "/page.css%00", "/api", "/api/", "/api//overview", "/api/overview/", "/api/../api/overview", "/api/none",
            "/api/%6fverview", "http://127.0.0.1:8377/", "/etc/passwd", "/api/overview#x",
        ] {
            let answer = await ask("GET", target)
            XCTAssertEqual(answer.status, 404, target)
        }
    }

    func testEveryFileIsThere() async throws {
        XCTAssertEqual(PageAsset.paths.first, "/")
        for path in PageAsset.paths {
            let answer = await ask("GET", path)
            XCTAssertEqual(answer.status, 200, path)
            XCTAssertFalse(answer.text.isEmpty, path)
        }
        let page = await ask("GET", "/?from=elsewhere")
        XCTAssertEqual(page.status, 200)
    }

    /// The policy forbids scripts and styles within markup, and what is not the page's own.
    func testThePageHasNoScriptOrStyleWithinItsMarkup() async {
        for path in PageAsset.paths where path != "/icon.svg" {
            let text = await ask("GET", path).text
            for wrong in [
                "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "style=\"", "https://cdn",
            ] {
                XCTAssertFalse(text.contains(wrong), "\(path) has \(wrong)")
            }
        }
        let html = await ask("GET", "/").text
        XCTAssertFalse(html.contains("<style"))
        XCTAssertEqual(html.components(separatedBy: "<script").count, 2)
    }

    /// Every module that a script imports is a file of the page.
    func testScriptsImportFilesOfThePage() async {
        for path in PageAsset.paths where path.hasSuffix(".js") {
            for match in await ask("GET", path).text.matches(of: /from "([^"]+)"/) {
                XCTAssertTrue(PageAsset.paths.contains(String(match.1)), "\(path) imports \(match.1)")
            }
        }
    }

    func testFailuresHaveAStatusACodeAndASentence() async {
        for (code, status) in [
            (FerryError.Code.nothingFound, 404), (.databaseMissing, 410), (.databaseReplaced, 410), (.busy, 503),
            (.restoreRefused, 409), (.invalidArgument, 400), (.damagedFile, 500),
        ] {
            let failing = site(EchoSource(failure: FerryError(code, "It is \"so\".")))
            let answer = await ask("GET", "/api/overview", site: failing)
            XCTAssertEqual(answer.status, status)
            XCTAssertTrue(answer.text.contains(#""code":"\#(code.rawValue)""#), answer.text)
            XCTAssertTrue(answer.text.contains(#"It is \"so\"."#), answer.text)
        }
    }

    func testEventsTellOfNewsAndEnd() async throws {
        let stream = try XCTUnwrap(events.subscribe())
        events.announce()
        events.ping()
        var iterator = stream.makeAsyncIterator()
        let first = await iterator.next()
        // A page that reads late gets the newest alone.
        XCTAssertEqual(first.map { String(decoding: $0, as: UTF8.self) }, "event: news\ndata: 1\n\n")
        events.announce()
        let second = await iterator.next()
        XCTAssertEqual(second.map { String(decoding: $0, as: UTF8.self) }, "event: news\ndata: 2\n\n")
        XCTAssertTrue(events.hasListeners)
        events.end()
        let end = await iterator.next()
        XCTAssertNil(end)
        XCTAssertFalse(events.hasListeners)
        XCTAssertNil(events.subscribe())
    }

    func testThereIsAnEndToOpenPages() throws {
        let streams = (0..<EventHub.maximumStreams).compactMap { _ in events.subscribe() }
        XCTAssertEqual(streams.count, EventHub.maximumStreams)
        // A stream that nobody holds has ended.
        withExtendedLifetime(streams) { XCTAssertNil(events.subscribe()) }
    }
}
