import FeedTestServer
import Feeds
import Foundation
import XCTest

final class FetchingTests: FetchingTestCase {
    func testFetchesAFeedUnderTheAppsName() async throws {
        try await server.serve(
            "/feed", Route(rss("1", "2"), headers: ["Content-Type": "application/rss+xml; charset=\"UTF-8\""]))
        let feed = try await fetch("/feed").feed()
        XCTAssertEqual(try guids(feed), ["1", "2"])
        XCTAssertEqual(feed.pages.first?.charset, "UTF-8")
        XCTAssertEqual(feed.pages.first?.body.byteCount, rss("1", "2").utf8.count)
        let requests = try await server.requests("/feed")
        XCTAssertEqual(requests.map(\.method), ["GET"])
        XCTAssertEqual(requests.first?.header("User-Agent"), "TestReader/7 (feed reader)")
        XCTAssertNil(requests.first?.header("Cookie"))
        XCTAssertEqual(feed.notes, FetchNotes())
    }

    // MARK: Conditional requests

    func testAFeedThatHasNotChangedCostsNothing() async throws {
        try await server.serve(
            "/etag", Route(rss("1")).with { $0.etag = "\"v1\"" }, Route(rss("1")).with { $0.etag = "\"v1\"" },
            Route(rss("2")).with { $0.etag = "\"v2\"" })
        let first = try await fetch("/etag").feed()
        XCTAssertEqual(first.notes.validators, FeedValidators(etag: "\"v1\""))
        let second = try await fetch("/etag", validators: first.notes.validators)
        XCTAssertTrue(second.isNotModified)
        XCTAssertEqual(second.notes.validators, first.notes.validators)
        let third = try await fetch("/etag", validators: second.notes.validators).feed()
        XCTAssertEqual(try guids(third), ["2"])
        XCTAssertEqual(third.notes.validators?.etag, "\"v2\"")
        let statuses = try await server.requests("/etag").map(\.status)
        XCTAssertEqual(statuses, [200, 304, 200])
    }

    func testLastModifiedServesWhereThereIsNoETag() async throws {
        let date = "Sun, 22 Nov 2026 10:00:00 GMT"
        try await server.serve("/date", Route(rss("1")).with { $0.lastModified = date })
        let first = try await fetch("/date").feed()
        XCTAssertEqual(first.notes.validators, FeedValidators(lastModified: date))
        let second = try await fetch("/date", validators: first.notes.validators)
        XCTAssertTrue(second.isNotModified)
        let requests = try await server.requests("/date")
        XCTAssertEqual(requests.map(\.status), [200, 304])
        XCTAssertEqual(requests.last?.header("If-Modified-Since"), date)
    }

    func testANotModifiedThatNobodyAskedForIsAFailure() async throws {
        try await server.serve("/odd", Route(status: 304))
        let outcome = try await fetch("/odd")
        XCTAssertEqual(outcome.failureCode, .notFound)
    }

    // MARK: When to come back

    func testReportsWhenTheServerWantsToBeAskedNext() async throws {
        let samples: [([String: String], Int, Double?)] = [
            (["Cache-Control": "public, max-age=600"], 200, 600),
            (["Cache-Control": "max-age=600", "Age": "100"], 200, 500),
            (["Cache-Control": "no-cache, max-age=600"], 200, nil),
            (["Cache-Control": "max-age=99999999"], 200, 7 * 86400),
            (["Cache-Control": "max-age=-5"], 200, nil),
            (["Retry-After": "120"], 503, 120), (["Retry-After": "120"], 429, 120), ([:], 503, nil),
            (["Retry-After": "Fri, 15 Jan 2027 08:01:00 GMT"], 503, 60),
            (["Retry-After": "nonsense"], 503, nil),
        ]
        for (index, (headers, status, seconds)) in samples.enumerated() {
            try await server.serve("/wait\(index)", Route(rss("1"), status: status, headers: headers))
            let outcome = try await fetch("/wait\(index)")
            XCTAssertEqual(outcome.notes.notBefore, seconds.map(today.addingTimeInterval), "\(headers)")
            switch status {
            case 200: XCTAssertNil(outcome.error)
            case 429: XCTAssertEqual(outcome.failureCode, .tooManyRequests)
            default: XCTAssertEqual(outcome.failureCode, .server)
            }
            XCTAssertEqual(outcome.error?.isTemporary ?? true, true)
        }
    }

    // MARK: Redirects

    func testPermanentRedirectsAreReportedUpToTheFirstTemporaryOne() async throws {
        try await server.serve("/old", Route(status: 301, headers: ["Location": "/newer"]))
        try await server.serve("/newer", Route("moved", status: 308, headers: ["Location": "newest?x=1"]))
        try await server.serve("/newest?x=1", Route(status: 302, headers: ["Location": "/today"]))
        try await server.serve("/today", Route(status: 301, headers: ["Location": "/there"]))
        try await server.serve("/there", Route(rss("1")))
        let feed = try await fetch("/old").feed()
        XCTAssertEqual(feed.notes.movedTo, try server.url("/newest?x=1"))
        XCTAssertEqual(feed.pages.first?.url, try server.url("/there"))
        XCTAssertEqual(try guids(feed), ["1"])
    }

    func testTemporaryRedirectsAreNotReported() async throws {
        try await server.serve("/there", Route(rss("1")))
        for status in [302, 303, 307] {
            try await server.serve("/from\(status)", Route(status: status, headers: ["Location": "/there"]))
            let outcome = try await fetch("/from\(status)")
            XCTAssertNil(try outcome.feed().notes.movedTo)
        }
    }

    func testRedirectsThatLeadNowhereEndWithAnError() async throws {
        try await server.serve("/a", Route(status: 301, headers: ["Location": "/b"]))
        try await server.serve("/b", Route(status: 302, headers: ["Location": "/a"]))
        try await server.serve("/file", Route(status: 302, headers: ["Location": "file:///etc/passwd"]))
        try await server.serve("/self", Route(status: 301, headers: ["Location": "/self"]))
        for number in 0..<20 {
            try await server.serve("/far\(number)", Route(status: 302, headers: ["Location": "/far\(number + 1)"]))
        }
        for (path, text) in [
            ("/a", "circle"), ("/self", "circle"), ("/far0", "more than 10"), ("/file", "not on the web"),
        ] {
            let outcome = try await fetch(path)
            XCTAssertEqual(outcome.failureCode, .redirect, path)
            XCTAssertTrue(outcome.error?.message.contains(text) == true, outcome.error?.message ?? "")
        }
        try await server.serve("/moved", Route(status: 301, headers: ["Location": "/missing"]))
        let moved = try await fetch("/moved")
        XCTAssertEqual(moved.failureCode, .notFound)
        XCTAssertNil(moved.notes.movedTo, "a subscription is not changed to where nothing is")
        let asked = try await server.requests("/far11").count
        XCTAssertEqual(asked, 0)
        try await server.serve("/none", Route(status: 301))
        let outcome = try await fetch("/none")
        XCTAssertNotNil(outcome.error)
    }

    // MARK: Failures

    func testFailuresAreOnePlainLineEach() async throws {
        let samples: [(Int, FeedError.Code, String)] = [
            (404, .notFound, "127.0.0.1 has no feed at this address (404); check the address"),
            (500, .server, "127.0.0.1 has a fault of its own (500); it is tried again later"),
            (401, .refused, "127.0.0.1 wants a password for this feed (401), which is not supported"),
            (403, .refused, "127.0.0.1 refuses this feed (403); look on its site for another address"),
        ]
        for (status, code, message) in samples {
            try await server.serve("/\(status)", Route(String(repeating: "<p>", count: 50_000), status: status))
            let outcome = try await fetch("/\(status)")
            XCTAssertEqual(outcome.failureCode, code)
            XCTAssertEqual(outcome.error?.message, message)
        }
        XCTAssertEqual(try cachedFiles(), [])
    }

    func testAFeedThatIsGoneIsReportedAsGone() async throws {
        try await server.serve("/gone", Route("bye", status: 410))
        guard case .gone(let error, _) = try await fetch("/gone") else { return XCTFail("not gone") }
        XCTAssertEqual(error.message, "127.0.0.1 says that this feed is gone for good (410); unsubscribe from it")
        XCTAssertFalse(error.isTemporary)
    }

    func testAConnectionThatBreaksIsAFailureAndLeavesNothing() async throws {
        try await server.serve("/cut", Route(rss("1", "2", "3")).with { $0.cutAfter = 20 })
        let cut = try await fetch("/cut")
        XCTAssertEqual(cut.failureCode, .connectionLost)
        XCTAssertEqual(
            cut.error?.message, "the connection to 127.0.0.1 broke after 20 bytes of the feed; it is tried again later")
        try await server.serve("/long", Route(rss("1")).with { $0.contentLength = 5000 })
        let long = try await fetch("/long")
        XCTAssertEqual(long.failureCode, .connectionLost)
        try await server.serve("/nothing", Route().with { $0.hangUp = true })
        let nothing = try await fetch("/nothing")
        XCTAssertEqual(nothing.failureCode, .cannotConnect)
        XCTAssertEqual(try cachedFiles(), [])
    }

    func testALengthThatIsTooShortCutsTheFeedForTheParserToSay() async throws {
        try await server.serve("/short", Route(rss("1", "2")).with { $0.contentLength = rss("1", "2").utf8.count - 20 })
        let feed = try await fetch("/short").feed()
        XCTAssertThrowsError(try guids(feed)) { XCTAssertEqual(($0 as? FeedError)?.code, .cutOff) }
    }

    func testAddressesThatCannotBeFetched() async throws {
        let fetcher = try fetcher()
        for (text, code) in [
            ("ftp://example.org/feed", FeedError.Code.badAddress), ("mailto:a@example.org", .badAddress),
            ("http://no-such-host.invalid/feed", .unknownHost), ("http://127.0.0.1:1/feed", .cannotConnect),
        ] {
            let outcome = await fetcher.fetch(FeedRequest(try XCTUnwrap(URL(string: text))))
            XCTAssertEqual(outcome.failureCode, code, text)
        }
    }

    // MARK: Time

    func testTimeLimitsSayWhichOneItWas() async throws {
        try await server.serve("/mute", Route(rss("1")).with { $0.hold = .beforeHead })
        let mute = try await fetch("/mute", with: try fetcher { $0.connectSeconds = 0.2 })
        XCTAssertEqual(mute.failureCode, .timedOut)
        XCTAssertEqual(mute.error?.message, "127.0.0.1 did not answer within 0.2 s; it is tried again later")

        try await server.serve("/idle", Route(rss("1")).with { $0.hold = .inBody })
        let idle = try await fetch("/idle", with: try fetcher { $0.idleSeconds = 0.2 })
        XCTAssertEqual(idle.error?.message, "127.0.0.1 stopped sending for 0.2 s; it is tried again later")

        try await server.serve("/whole", Route(rss("1")).with { $0.hold = .inBody })
        let whole = try await fetch("/whole", with: try fetcher { $0.wholeSeconds = 0.2 })
        XCTAssertEqual(whole.error?.message, "127.0.0.1 was not done within 0.2 s; it is tried again later")
        for path in ["/mute", "/idle", "/whole"] { try await server.release(path) }
        XCTAssertEqual(try cachedFiles(), [])
    }

    func testASlowBodyIsWaitedFor() async throws {
        try await server.serve("/slow", Route(rss("1", "2")).with { $0.hold = .inBody })
        let request = FeedRequest(try server.url("/slow"))
        let fetcher = try fetcher()
        let task = Task { await fetcher.fetch(request) }
        try await server.waitUntilHeld("/slow")
        try await server.release("/slow")
        let feed = try await task.value.feed()
        XCTAssertEqual(try guids(feed), ["1", "2"])
    }

    func testCancellingTheTaskEndsTheFetch() async throws {
        for hold in [Route.Hold.beforeHead, .inBody] {
            let path = "/cancel-\(hold.rawValue)"
            try await server.serve(path, Route(rss("1")).with { $0.hold = hold })
            let request = FeedRequest(try server.url(path))
            let fetcher = try fetcher()
            let task = Task { await fetcher.fetch(request) }
            try await server.waitUntilHeld(path)
            task.cancel()
            let outcome = await task.value
            XCTAssertEqual(outcome.failureCode, .cancelled)
            XCTAssertEqual(try cachedFiles(), [])
            try await server.release(path)
        }
    }
}
