import FerryContainer
import FerryCore

/// The streams of those who follow something: each gets every event from its beginning on.
///
/// Invariant: no stream is added after `finish`. Safe to use from any thread.
package final class EventStreams<Event: Sendable>: Sendable {
    private let state = Locked(State())

    private struct State {
        var streams: [Int: AsyncStream<Event>.Continuation] = [:]
        var count = 0
        var isFinished = false
    }

    package init() {}

    /// True if nobody follows.
    package var isEmpty: Bool { state.withLock { $0.streams.isEmpty } }

    /// A stream of the events from now on. Ends at once after `finish`.
    package func makeStream(
        _ policy: AsyncStream<Event>.Continuation.BufferingPolicy = .unbounded
    ) -> AsyncStream<Event> {
        let (stream, continuation) = AsyncStream.makeStream(of: Event.self, bufferingPolicy: policy)
        let number = state.withLock { state -> Int? in
            if state.isFinished { return nil }
            state.count += 1
            state.streams[state.count] = continuation
            return state.count
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.streams.removeValue(forKey: number) }
        }
        return stream
    }

    package func yield(_ event: Event) {
        for stream in state.withLock({ Array($0.streams.values) }) { stream.yield(event) }
    }

    /// Ends all streams.
    package func finish() {
        // Outside of the lock: ending a stream calls its `onTermination`.
        let streams = state.withLock { state in
            state.isFinished = true
            return Array(state.streams.values)
        }
        for stream in streams { stream.finish() }
    }
}
