import FeedTestServer
import Feeds
import Foundation
import XCTest

final class ConcurrentFetchingTests: FetchingTestCase {
    func testFetchesSeveralAtATimeButFewPerHost() async throws {
        for number in 0..<6 {
            try await server.serve("/\(number)", Route(rss("\(number)")).with { $0.hold = .beforeHead })
        }
        var requests: [FeedRequest] = []
        // Two names of the same server.
        for host in ["127.0.0.1", "localhost"] {
            for number in 0..<6 { requests.append(FeedRequest(try server.url("/\(number)", host: host))) }
        }
        let fetcher = try fetcher { $0.maximumConcurrent = 3 }
        let stream = fetcher.outcomes(of: requests)
        // The first of either host are held, so as many are under way as may be.
        try await server.waitUntilHeld("/0", count: 2)
        for number in 0..<6 { try await server.release("/\(number)") }
        var urls: [URL] = []
        for await (request, outcome) in stream {
            XCTAssertNil(outcome.error)
            urls.append(request.url)
        }
        XCTAssertEqual(Set(urls), Set(requests.map(\.url)))
        XCTAssertEqual(urls.count, 12)
        let peak = try await server.peak()
        XCTAssertLessThanOrEqual(peak.all, 3)
        XCTAssertGreaterThanOrEqual(peak.all, 2)
        for (host, count) in peak.hosts { XCTAssertLessThanOrEqual(count, 2, host) }
    }

    func testAFailureOfOneFeedIsNoneOfTheOthers() async throws {
        try await server.serve("/good", Route(rss("1")))
        try await server.serve("/bad", Route(status: 500))
        let requests = try ["/bad", "/good", "/missing"].map { FeedRequest(try server.url($0)) }
        var codes: [String: String] = [:]
        for await (request, outcome) in try fetcher().outcomes(of: requests) {
            codes[request.url.path] = outcome.error?.code.rawValue ?? "fetched"
        }
        XCTAssertEqual(codes, ["/bad": "server", "/good": "fetched", "/missing": "notFound"])
    }

    func testCancellingWhoeverIteratesCancelsWhatIsUnderWay() async throws {
        try await server.serve("/held", Route(rss("1")).with { $0.hold = .beforeHead })
        let requests = [FeedRequest(try server.url("/held")), FeedRequest(try server.url("/held"))]
        let fetcher = try fetcher()
        let reading = Task {
            var count = 0
            for await _ in fetcher.outcomes(of: requests) { count += 1 }
            return count
        }
        try await server.waitUntilHeld("/held", count: 2)
        reading.cancel()
        let count = await reading.value
        XCTAssertLessThanOrEqual(count, 2)
        try await server.release("/held")
    }
}
