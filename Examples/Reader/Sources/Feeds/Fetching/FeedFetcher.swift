import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Fetches feeds, by HTTP and from files, and says what came of each as a value.
///
/// It asks politely: under its own name, only for what changed, at most two feeds at a time from one host, and it
/// reports when a server wants to be asked next. Redirects are followed; permanent ones are reported, so that a
/// subscription can be changed. Cancelling the task ends a fetch at once, with the code `cancelled`.
///
///     let fetcher = FeedFetcher(cache: try BodyCache(directory: folder))
///     for await (request, outcome) in fetcher.outcomes(of: requests) { … }
///
/// Bodies are files, and each page's `source` is what `FeedParser` reads.
public final class FeedFetcher: Sendable {
    public let cache: BodyCache
    public let limits: FetchLimits
    private let userAgent: String
    private let now: @Sendable () -> Date
    private let client: HTTPClient

    /// - Parameters:
    ///   - userAgent: the app's name and version, by which servers know it.
    ///   - now: the clock from which `FetchNotes.notBefore` is counted.
    public init(
        cache: BodyCache, limits: FetchLimits = FetchLimits(), userAgent: String = "FerryReader/1.0 (feed reader)",
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.cache = cache
        self.limits = limits
        self.userAgent = userAgent
        self.now = now
        client = HTTPClient(maximumConnectionsPerHost: limits.maximumConcurrentPerHost)
    }

    /// Fetches one feed with its pages. The bounds on how many are fetched at a time are those of `outcomes(of:)`.
    public func fetch(_ request: FeedRequest) async -> FetchOutcome {
        if Task.isCancelled { return .failed(.fetchCancelled, FetchNotes()) }
        if request.url.isFileURL { return FileFetch(limits: limits).fetch(request) }
        guard request.url.isWeb else {
            return .failed(
                FeedError(
                    .badAddress,
                    "“\(request.url.absoluteString.prefix(100))” is no address of a feed; it must begin with "
                        + "https://, http:// or file://"),
                FetchNotes())
        }
        do {
            return try await fetchFirstPage(request)
        } catch {
            return .failed(Self.feedError(error), FetchNotes())
        }
    }

    private func fetchFirstPage(_ request: FeedRequest) async throws -> FetchOutcome {
        let (reply, page) = try await get(
            request.url, validators: request.validators, maximumBytes: limits.maximumBytes)
        let advice = ResponseAdvice(reply.response, url: reply.url, now: now())
        var notes = FetchNotes(movedTo: reply.movedTo, notBefore: advice.notBefore, validators: advice.validators)
        if let page {
            return .fetched(await fetchFurtherPages(request, first: page, linked: advice.nextPage, notes))
        }
        if reply.response.statusCode == 304, request.validators != nil {
            notes.validators = advice.validators ?? request.validators
            return .notModified(notes)
        }
        notes = FetchNotes(notBefore: advice.notBefore)
        let error = FeedError(status: reply.response, url: reply.url)
        return reply.response.statusCode == 410 ? .gone(error, notes) : .failed(error, notes)
    }

    /// A page, or nil for an answer that comes without one.
    private func get(
        _ url: URL, validators: FeedValidators?, maximumBytes: Int
    ) async throws -> (reply: HTTPExchange.Reply, page: FetchedPage?) {
        let part = cache.newPart()
        let exchange = HTTPExchange(client: client, limits: limits, userAgent: userAgent)
        do {
            let reply = try await exchange.get(url, validators: validators, into: part, maximumBytes: maximumBytes)
            guard reply.response.isGood else { return (reply, nil) }
            let charset = ResponseAdvice(reply.response, url: reply.url, now: now()).charset
            let body = try cache.store(part: part, byteCount: reply.byteCount, for: url, charset: charset)
            return (reply, FetchedPage(url: reply.url, charset: charset, body: body))
        } catch {
            if FileManager.default.fileExists(atPath: part.path) {
                try? FileManager.default.removeItem(at: part)  // harmless: opening the cache removes it later
            }
            throw error
        }
    }

    // MARK: Pages

    /// Follows the links to next pages, to the request's limit, the size limit or an address that was there before.
    private func fetchFurtherPages(
        _ request: FeedRequest, first: FetchedPage, linked: URL?, _ notes: FetchNotes
    ) async -> FetchedFeed {
        var feed = FetchedFeed(pages: [first], notes: notes)
        guard request.maximumPages > 1 else { return feed }
        var visited: Set<String> = [request.url.absoluteString, first.url.absoluteString]
        var left = limits.maximumTotalBytes - first.body.byteCount
        var next = linked ?? NextPage.find(in: first)
        while let url = next, url.isWeb, visited.insert(url.absoluteString).inserted {
            feed.nextPage = url
            guard feed.pages.count < request.maximumPages, left > 0 else { return feed }
            do {
                let (reply, page) = try await get(url, validators: nil, maximumBytes: min(limits.maximumBytes, left))
                guard let page else { throw FeedError(status: reply.response, url: reply.url) }
                // A redirect to a page that was there already.
                if reply.url != url, !visited.insert(reply.url.absoluteString).inserted { break }
                feed.pages.append(page)
                left -= page.body.byteCount
                next = ResponseAdvice(reply.response, url: reply.url, now: now()).nextPage ?? NextPage.find(in: page)
            } catch {
                feed.incomplete = Self.feedError(error)
                return feed
            }
        }
        feed.nextPage = nil
        return feed
    }

    // MARK: Several feeds

    /// Fetches several feeds at the same time and delivers each outcome as soon as it is there.
    ///
    /// No more than `FetchLimits.maximumConcurrent` are under way at a time, and of one host no more than
    /// `maximumConcurrentPerHost`; the host is that of the request, wherever it redirects to. Each request has one
    /// outcome. When nobody iterates any more, or the task that iterates is cancelled, what is under way is cancelled.
    public func outcomes(of requests: [FeedRequest]) -> AsyncStream<(request: FeedRequest, outcome: FetchOutcome)> {
        AsyncStream { continuation in
            let work = Task {
                await fetchAll(requests) { continuation.yield(($0, $1)) }
                continuation.finish()
            }
            continuation.onTermination = { _ in work.cancel() }
        }
    }

    private func fetchAll(_ requests: [FeedRequest], deliver: (FeedRequest, FetchOutcome) -> Void) async {
        await withTaskGroup(of: (Int, FetchOutcome).self) { group in
            var waiting = Array(requests.indices)
            var running: [String: Int] = [:]
            func startWhatMay() {
                while running.values.reduce(0, +) < max(1, limits.maximumConcurrent) {
                    let next = waiting.firstIndex { index in
                        running[Self.host(requests[index]), default: 0] < max(1, limits.maximumConcurrentPerHost)
                    }
                    guard let next else { return }
                    let index = waiting.remove(at: next)
                    let request = requests[index]
                    running[Self.host(request), default: 0] += 1
                    group.addTask { (index, await self.fetch(request)) }
                }
            }
            startWhatMay()
            while let (index, outcome) = await group.next() {
                running[Self.host(requests[index]), default: 1] -= 1
                startWhatMay()
                deliver(requests[index], outcome)
            }
        }
    }

    private static func host(_ request: FeedRequest) -> String { request.url.host()?.lowercased() ?? "" }

    private static func feedError(_ error: any Error) -> FeedError {
        if error is CancellationError { return .fetchCancelled }
        return error as? FeedError ?? FeedError(.file, "fetching failed: \(error.localizedDescription)")
    }
}

/// The link to the next page in a page's own text.
enum NextPage {
    /// Reads the page without making articles of it. A page that cannot be read has no next one.
    static func find(in page: FetchedPage) -> URL? {
        let parser = FeedParser(page.source, skipsArticles: true)
        // Harmless: whoever parses the page for its articles gets the same error.
        guard let address = (try? parser.parse { _ in })?.nextURL else { return nil }
        return URL(string: address)?.absoluteURL
    }
}
