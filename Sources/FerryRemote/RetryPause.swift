import Foundation

/// Lets time pass between two attempts at a request. `interrupt` ends all pauses at once, so a program at its end does
/// not wait for a storage.
///
/// A pause waits for nothing but time, never for the work of a thread.
///
/// `@unchecked Sendable` because `count` is only used under `condition`.
package final class RetryPause: @unchecked Sendable {
    private let condition = NSCondition()
    private var count = 0

    package init() {}

    /// How often `interrupt` was called. Ask when a request begins: a pause of the request ends if this number has grown since.
    package var interruptions: Int {
        condition.lock()
        defer { condition.unlock() }
        return count
    }

    /// Blocks for a time.
    /// - Parameter since: `interruptions` as of the request's beginning.
    /// - Returns: false as soon as somebody has called `interrupt` since then: no further attempt is wanted.
    package func wait(milliseconds: Int, since: Int) -> Bool {
        let end = Date(timeIntervalSinceNow: Double(milliseconds) / 1000)
        condition.lock()
        defer { condition.unlock() }
        while count == since, condition.wait(until: end) {}
        return count == since
    }

    /// Ends all pauses, now and in running requests. From any thread.
    package func interrupt() {
        condition.lock()
        count += 1
        condition.broadcast()
        condition.unlock()
    }
}
