import Foundation

/// Fetches files that belong to articles: a podcast's episode, a picture. As polite as `FeedFetcher`, and with the same errors.
public final class FileDownloader: Sendable {
    public let limits: FetchLimits
    private let userAgent: String
    private let client: HTTPClient

    public init(limits: FetchLimits = FetchLimits(), userAgent: String = "FerryReader/1.0 (feed reader)") {
        self.limits = limits
        self.userAgent = userAgent
        client = HTTPClient(maximumConnectionsPerHost: limits.maximumConcurrentPerHost)
    }

    /// Fetches a file of at most `FetchLimits.maximumFileBytes`.
    /// - Parameter file: where it is written; after an error nothing is there.
    /// - Returns: its length in bytes.
    /// - Throws: `FeedError`.
    public func download(_ url: URL, to file: URL) async throws -> Int {
        guard url.isWeb else {
            throw FeedError(.badAddress, "“\(url.absoluteString.prefix(100))” is no address of a file on the web")
        }
        do {
            let reply = try await HTTPExchange(client: client, limits: limits, userAgent: userAgent)
                .get(url, validators: nil, into: file, maximumBytes: limits.maximumFileBytes)
            guard reply.response.isGood else { throw FeedError(status: reply.response, url: reply.url) }
            // The file is made when the first byte comes.
            if reply.byteCount == 0 { try Data().write(to: file) }
            return reply.byteCount
        } catch {
            // Where nothing was written nothing is to be removed.
            try? FileManager.default.removeItem(at: file)
            if error is CancellationError { throw FeedError.fetchCancelled }
            throw error as? FeedError ?? FeedError(.file, "fetching failed: \(error.localizedDescription)")
        }
    }
}
