import FerryContainer
import FerryCore
import FerryEngine
import Foundation

/// A time for several watches at once, of which one works at a time: each wait of a watch is a stretch of this time.
///
/// Each watch is production's loop on a thread of its own. A thread waits until the time is at the end of the thread's wait. Whatever a
/// watch does takes no time. So the same random numbers give the same requests.
///
/// `@unchecked Sendable` because a single thread works at a time: semaphores hand the turn over.
final class WatchedTime: WallClock, @unchecked Sendable {
    private(set) var now: Int64
    private var watches: [Watch] = []

    init(milliseconds: Int64) { now = milliseconds }

    func milliseconds() -> Int64 { now }
    /// Triggers record the computer's time, which is not this time.
    func milliseconds(captured: Int64) -> Int64 { now }

    /// Lets time pass outside of all watches.
    func pass(milliseconds: Int64) { now += milliseconds }

    /// Starts a watch. The watch's first pass is the beginning of the next `advance`.
    /// - Returns: the number of the watch.
    func watch(_ replica: Replica) -> Int {
        watches.append(Watch(replica, self))
        return watches.count - 1
    }

    /// Lets the watches work until a time, in the order of their waits' ends.
    /// - Throws: a watch's failure.
    func advance(to end: Int64) throws {
        while let next = watches.min(by: { $0.due < $1.due }), next.due <= end {
            now = max(now, next.due)
            try next.work()
        }
        now = max(now, end)
    }

    /// Lets a watch look at events of its database now.
    func tell(_ index: Int) { watches[index].due = now }

    /// Ends all watches.
    func stop() throws {
        for watch in watches { try watch.stop() }
        watches = []
    }

    /// A loop on a thread of its own.
    private final class Watch: ChangeWatching, @unchecked Sendable {
        private let time: WatchedTime
        /// Real events of the database's files: a pass that writes wakes its own watch.
        private let events = ChangeWatcher()
        private var loop: WatchLoop?
        private let turn = DispatchSemaphore(value: 0)
        private let rest = DispatchSemaphore(value: 0)
        private let start: ContinuousClock.Instant
        private let began: Int64
        private var failure: FerryError?
        private var hasEnded = false
        /// The end of the present wait.
        var due: Int64

        init(_ replica: Replica, _ time: WatchedTime) {
            self.time = time
            (start, began, due) = (ContinuousClock.now, time.now, time.now)
            let loop = WatchLoop(replica, configuration: WatchConfiguration(), watcher: self) { [unowned self] event in
                if case .failed(let error) = event { failure = error }
            }
            self.loop = loop
            let thread = Thread { [self] in
                turn.wait()
                loop.run()
                hasEnded = true
                rest.signal()
            }
            thread.stackSize = 8 << 20
            thread.start()
        }

        /// Lets the thread work until the loop's next wait.
        func work() throws {
            turn.signal()
            rest.wait()
            if let failure { throw failure }
            if hasEnded { throw FerryError(.internalInconsistency, "A watch ended by itself.") }
        }

        func stop() throws {
            guard !hasEnded else { return }
            loop?.stop()
            turn.signal()
            rest.wait()
            loop = nil
        }

        // MARK: ChangeWatching

        var deliversEvents: Bool { events.deliversEvents }
        var now: ContinuousClock.Instant { start.advanced(by: .milliseconds(time.now - began)) }
        func setDirectories(_ paths: [String], files: [String]) { events.setDirectories(paths, files: files) }
        func wake() { events.wake() }

        func wait(timeoutMilliseconds: Int) -> WakeReason {
            let known = events.wait(timeoutMilliseconds: 0)
            if known != .timedOut || timeoutMilliseconds == 0 { return known }
            due = timeoutMilliseconds < 0 ? .max : time.now + Int64(timeoutMilliseconds)
            rest.signal()
            turn.wait()
            return events.wait(timeoutMilliseconds: 0)
        }
    }
}
