import Synchronization

/// The open pages, as receivers of events. An event only says that there is news. The page asks for the content.
package final class EventHub: Sendable {
    /// The most pages at once.
    package static let maximumStreams = 32

    private struct State {
        var streams: [Int: AsyncStream<[UInt8]>.Continuation] = [:]
        var nextStream = 0
        /// Counts the news, so a returning page knows whether the page missed any.
        var news = 0
        var isEnded = false
    }

    private let state = Mutex(State())

    package init() {}

    /// True if a page is open.
    package var hasListeners: Bool { state.withLock { !$0.streams.isEmpty } }

    /// The events for a new page, the first event at once; `nil` for too many pages, and after the end.
    package func subscribe() -> AsyncStream<[UInt8]>? {
        // The newest event alone suffices for a page without reads.
        let (stream, continuation) = AsyncStream.makeStream(of: [UInt8].self, bufferingPolicy: .bufferingNewest(1))
        let number: Int? = state.withLock { state in
            if state.isEnded || state.streams.count >= Self.maximumStreams { return nil }
            state.nextStream += 1
            state.streams[state.nextStream] = continuation
            continuation.yield(Self.event(state.news))
            return state.nextStream
        }
        guard let number else { return nil }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.streams.removeValue(forKey: number) }
        }
        return stream
    }

    /// Sends an event with a new number to every page.
    package func announce() {
        state.withLock { state in
            state.news += 1
            for stream in state.streams.values { stream.yield(Self.event(state.news)) }
        }
    }

    /// Sends the last number again, so a page that has gone is noticed. Pages ignore a known number.
    package func ping() {
        state.withLock { state in
            for stream in state.streams.values { stream.yield(Self.event(state.news)) }
        }
    }

    /// Ends all events.
    package func end() {
        let streams = state.withLock { state in
            state.isEnded = true
            return Array(state.streams.values)
        }
        // Each stream removes itself, and takes the lock for this.
        for stream in streams { stream.finish() }
    }

    /// https://html.spec.whatwg.org/multipage/server-sent-events.html
    private static func event(_ news: Int) -> [UInt8] { Array("event: news\ndata: \(news)\n\n".utf8) }
}
