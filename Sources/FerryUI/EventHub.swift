import Synchronization

/// The open pages, which are told when something changed. An event says that there is news, and never what: the page asks anew.
package final class EventHub: Sendable {
    /// The most pages at once.
    package static let maximumStreams = 32

    private struct State {
        var streams: [Int: AsyncStream<[UInt8]>.Continuation] = [:]
        var nextStream = 0
        /// Counts the news, so that a page that comes back knows whether it missed any.
        var news = 0
        var isEnded = false
    }

    private let state = Mutex(State())

    package init() {}

    /// True if a page is open.
    package var hasListeners: Bool { state.withLock { !$0.streams.isEmpty } }

    /// The events for one more page, the first of them at once; `nil` if there are too many, or the page ends.
    package func subscribe() -> AsyncStream<[UInt8]>? {
        // A page that does not read misses nothing by the newest event alone.
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

    /// Tells every page that something changed.
    package func announce() {
        state.withLock { state in
            state.news += 1
            for stream in state.streams.values { stream.yield(Self.event(state.news)) }
        }
    }

    /// Tells every page the last news again, which it ignores, so that a page that has gone is noticed.
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
        // Each removes itself, which takes the lock.
        for stream in streams { stream.finish() }
    }

    /// https://html.spec.whatwg.org/multipage/server-sent-events.html
    private static func event(_ news: Int) -> [UInt8] { Array("event: news\ndata: \(news)\n\n".utf8) }
}
