import Feeds
import Foundation
import GRDB
import Synchronization

/// Fetches feeds and puts their articles into the database: several at once, each for itself, so that what is wrong with
/// one feed disturbs no other.
///
/// It works beside people: it writes through a connection of its own, in small transactions, on threads of its own.
/// Cancelling the task ends it soon; what is in the database stays, and the next refresh goes on from there.
public final class Refresher: Sendable {
    /// How many pages of older articles are fetched when a feed is new.
    public static let firstPages = 10
    /// How many feeds are read at the same time, once they are there.
    private static let maximumImports = 4

    private let library: Library
    private let folder: FeedCacheFolder
    private let fetcher: FeedFetcher
    private let connection: ImportConnection
    private let queue = DispatchQueue(label: "reader.import", qos: .utility, attributes: .concurrent)
    private let parserLimits: FeedParser.Limits

    public init(
        _ library: Library, limits: FetchLimits = FetchLimits(), parserLimits: FeedParser.Limits = FeedParser.Limits()
    ) throws {
        self.library = library
        self.parserLimits = parserLimits
        folder = try FeedCacheFolder(database: library.path)
        fetcher = FeedFetcher(cache: try BodyCache(directory: folder.url), limits: limits)
        connection = try ImportConnection(path: library.path)
    }

    /// Refreshes feeds.
    /// - Parameters:
    ///   - isForced: also those whose servers asked not to be asked yet.
    ///   - progress: is called from any thread.
    ///   - finished: is called for each feed as soon as it is done, one at a time.
    /// - Returns: all that `finished` got.
    @discardableResult
    public func refresh(
        _ feeds: [Feed], isForced: Bool = false, progress: @escaping @Sendable (RefreshProgress) -> Void = { _ in },
        finished: (FeedRefresh) -> Void = { _ in }
    ) async throws -> [FeedRefresh] {
        var results: [FeedRefresh] = []
        func finish(_ result: FeedRefresh) {
            results.append(result)
            finished(result)
        }
        var requests: [FeedRequest] = []
        var waiting: [URL: (feed: Feed, record: FetchRecord)] = [:]
        for feed in feeds {
            let record = try library.fetchRecord(feed)
            if let time = record.notBefore, !isForced, Date(timeIntervalSince1970: Double(time)) > Date() {
                finish(FeedRefresh(feed: feed, outcome: .notYet(Date(timeIntervalSince1970: Double(time)))))
            } else if let url = URL(string: feed.url), waiting[url] == nil {
                waiting[url] = (feed, record)
                let pages = feed.articles == 0 ? Self.firstPages : 1
                requests.append(FeedRequest(url, validators: record.validators, maximumPages: pages))
            } else {
                finish(FeedRefresh(feed: feed, outcome: .failed(.badAddress(feed))))
            }
        }
        try await withThrowingTaskGroup(of: FeedRefresh.self) { group in
            var running = 0
            for await (request, outcome) in fetcher.outcomes(of: requests) {
                guard let (feed, record) = waiting[request.url] else { continue }
                if running >= Self.maximumImports, let result = try await group.next() {
                    running -= 1
                    finish(result)
                }
                running += 1
                group.addTask { try await self.take(outcome, of: feed, record, progress) }
            }
            for try await result in group { finish(result) }
        }
        try Task.checkCancellation()
        return results
    }

    // MARK: One feed

    private func take(
        _ outcome: FetchOutcome, of feed: Feed, _ record: FetchRecord,
        _ progress: @escaping @Sendable (RefreshProgress) -> Void
    ) async throws -> FeedRefresh {
        var record = record
        record.notBefore = outcome.notes.notBefore.map(Self.seconds)
        var refresh = FeedRefresh(feed: feed, outcome: .unchanged, movedTo: outcome.notes.movedTo?.absoluteString)
        switch outcome {
        case .notModified(let notes):
            record.validators = notes.validators
            record.problem = nil
        case .failed(let error, _), .gone(let error, _):
            refresh.outcome = .failed(error)
            if error.code == .cancelled { return refresh }
        case .fetched(let pages):
            let title: String?
            (refresh.outcome, title) = try await read(pages, of: feed, progress)
            refresh.feed.title = feed.title ?? title
            if case .imported = refresh.outcome { record.validators = outcome.notes.validators }
        }
        record.problem = refresh.error?.message
        record.failedAt = refresh.error == nil ? nil : Self.seconds(Date())
        try library.save(record)
        return refresh
    }

    private static func seconds(_ date: Date) -> Int64 { Int64(date.timeIntervalSince1970) }

    /// Reads the pages on a thread of the queue, where it may take its time.
    /// - Returns: what came of it, and the feed's own title.
    private func read(
        _ fetched: FetchedFeed, of feed: Feed, _ progress: @escaping @Sendable (RefreshProgress) -> Void
    ) async throws -> (FeedRefresh.Outcome, title: String?) {
        let cancellation = CancellationFlag()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                queue.async { [self] in
                    continuation.resume(
                        with: Result { try readNow(fetched, of: feed, until: cancellation, progress) })
                }
            }
        } onCancel: {
            cancellation.set()
        }
    }

    private func readNow(
        _ fetched: FetchedFeed, of feed: Feed, until cancellation: CancellationFlag,
        _ progress: (RefreshProgress) -> Void
    ) throws -> (FeedRefresh.Outcome, title: String?) {
        let importer = ArticleImporter(connection, feedURL: feed.url)
        var title: String?
        do {
            for page in fetched.pages {
                let parsed = try FeedParser(page.source, limits: parserLimits).parse { event in
                    if cancellation.isSet { throw CancellationError() }
                    switch event {
                    case .article(let article): try importer.add(article)
                    // Also where the feed turns out to be cut off it has its title.
                    case .feed(let parsed):
                        title = title ?? parsed.title
                        try importer.describe(parsed)
                    case .progress(let bytes):
                        progress(
                            RefreshProgress(
                                feed: feed, counts: importer.counts, bytesDone: bytes.bytesDone,
                                bytesTotal: bytes.bytesTotal))
                    }
                }
                try importer.flush()
                title = title ?? parsed.title
                try importer.describe(parsed)
            }
        } catch let error as FeedError {
            // Every article before the fault was delivered.
            try importer.flush()
            return (importer.counts.all > 0 ? .partly(importer.counts, error) : .failed(error), title)
        } catch let error as ReaderError {
            return (.failed(FeedError(.init(rawValue: error.code.rawValue), error.message)), title)
        }
        if let error = fetched.incomplete { return (.partly(importer.counts, error), title) }
        return (.imported(importer.counts), title)
    }
}

extension FeedError {
    static func badAddress(_ feed: Feed) -> FeedError {
        FeedError(
            .badAddress,
            "its address cannot be fetched, or another feed has it too; `reader remove \(feed.id)` removes it")
    }
}

/// Tells a thread that its work is not wanted any more.
final class CancellationFlag: Sendable {
    private let flag = Atomic(false)

    var isSet: Bool { flag.load(ordering: .relaxed) }
    func set() { flag.store(true, ordering: .relaxed) }
}
