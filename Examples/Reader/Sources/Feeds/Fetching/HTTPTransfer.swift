import Foundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// One request and its answer: the head as a value, the body in a file.
///
/// Its life: made, `begin` with its task, events of the delegate and of the clock in any order, `end` once. What
/// happens first decides: after a failure all later events are ignored.
final class HTTPTransfer: Sendable {
    struct Answer: Sendable {
        var response: HTTPURLResponse
        /// Bytes of the body in the file, after decompression.
        var byteCount: Int
    }

    private struct State {
        var task: URLSessionTask?
        var file: FileHandle?
        var response: HTTPURLResponse?
        var byteCount = 0
        var failure: FeedError?
        /// The connection was given up because the body of this answer is not read: that is no failure.
        var isGivenUp = false
        var continuation: CheckedContinuation<Answer, any Error>?
        var startedAt = ContinuousClock.now
        var lastEventAt = ContinuousClock.now
    }

    /// How much of the body of an answer that is not read is taken in before the connection is given up.
    private static let maximumUnreadBytes = 64 << 10

    private let url: URL
    private let file: URL
    private let limits: FetchLimits
    private let maximumBytes: Int
    private let state = Mutex(State())

    /// - Parameter file: where the body of a good answer is written to; it is made when the first byte comes.
    init(url: URL, file: URL, limits: FetchLimits, maximumBytes: Int) {
        self.url = url
        self.file = file
        self.limits = limits
        self.maximumBytes = maximumBytes
    }

    private var host: String { url.host() ?? url.absoluteString }

    // MARK: From outside

    func begin(_ task: URLSessionTask, _ continuation: CheckedContinuation<Answer, any Error>) {
        let hasFailed = state.withLock { state in
            state.task = task
            state.continuation = continuation
            state.startedAt = .now
            state.lastEventAt = .now
            return state.failure != nil
        }
        task.resume()
        if hasFailed { task.cancel() }
    }

    /// Gives up with this error, unless the transfer has failed already.
    func fail(_ error: FeedError) {
        let task = state.withLock { state in
            state.failure = state.failure ?? error
            return state.task
        }
        task?.cancel()
    }

    /// How long until a limit is reached if nothing happens; reaches it if it is time.
    func checkTime() -> Duration {
        let (left, message) = state.withLock { state -> (Duration, String) in
            let now = ContinuousClock.now
            let whole = state.startedAt + .seconds(limits.wholeSeconds) - now
            let (idle, message) =
                state.response == nil
                ? (
                    state.startedAt + .seconds(limits.connectSeconds) - now,
                    "\(host) did not answer within \(Self.text(limits.connectSeconds))"
                )
                : (
                    state.lastEventAt + .seconds(limits.idleSeconds) - now,
                    "\(host) stopped sending for \(Self.text(limits.idleSeconds))"
                )
            return whole < idle
                ? (whole, "\(host) was not done within \(Self.text(limits.wholeSeconds))") : (idle, message)
        }
        if left <= .zero { fail(FeedError(.timedOut, "\(message); it is tried again later")) }
        return left
    }

    private static func text(_ seconds: Double) -> String {
        seconds == seconds.rounded() ? "\(Int(seconds)) s" : "\(seconds) s"
    }

    // MARK: Events

    func received(_ response: HTTPURLResponse) {
        let expected = response.expectedContentLength
        let isPlain = response.value(forHTTPHeaderField: "Content-Encoding") == nil
        state.withLock { state in
            state.response = response
            state.lastEventAt = .now
        }
        if response.isGood, isPlain, expected > Int64(maximumBytes) { fail(tooLarge) }
    }

    func received(_ data: Data) {
        let failure = state.withLock { state -> FeedError? in
            guard state.failure == nil, !state.isGivenUp else { return nil }
            state.lastEventAt = .now
            state.byteCount += data.count
            guard state.response?.isGood == true else {
                if state.byteCount > Self.maximumUnreadBytes {
                    state.isGivenUp = true
                    state.task?.cancel()
                }
                return nil
            }
            guard state.byteCount <= maximumBytes else { return tooLarge }
            do {
                if state.file == nil {
                    try Data().write(to: file)
                    state.file = try FileHandle(forWritingTo: file)
                }
                try state.file?.write(contentsOf: data)
                return nil
            } catch {
                return FeedError(.file, "the feed could not be written to \(file.path); check the disk")
            }
        }
        if let failure { fail(failure) }
    }

    private var tooLarge: FeedError {
        FeedError(
            .tooLarge,
            "the feed from \(host) is larger than \(maximumBytes.asByteCount); raise the limit if it may be")
    }

    func end(_ error: (any Error)?) {
        let (continuation, result) = state.withLock { state in
            let continuation = state.continuation
            state.continuation = nil
            let result = Result { try Self.answer(&state, error, url: url, file: file) }
            return (continuation, result)
        }
        continuation?.resume(with: result)
    }

    private static func answer(_ state: inout State, _ error: (any Error)?, url: URL, file: URL) throws -> Answer {
        defer { state.file = nil }
        if let failure = state.failure { throw failure }
        if let error, !state.isGivenUp {
            throw FeedError(url: url, error: error, hasAnswer: state.response != nil, byteCount: state.byteCount)
        }
        guard let response = state.response else {
            throw FeedError(
                .server, "\(url.host() ?? "the server") gave an answer that makes no sense; try again later")
        }
        do {
            try state.file?.close()
            if response.isGood, state.file == nil { try Data().write(to: file) }
        } catch {
            throw FeedError(.file, "the feed could not be written to \(file.path); check the disk")
        }
        return Answer(response: response, byteCount: state.byteCount)
    }
}

extension HTTPURLResponse {
    /// Whether it comes with a feed.
    var isGood: Bool { (200..<300).contains(statusCode) }
}
