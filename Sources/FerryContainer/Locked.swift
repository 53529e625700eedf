import Foundation

/// Keeps a value behind a lock.
///
/// `Synchronization.Mutex` would do, did the thread sanitizer see its locking (Swift 6.3).
///
/// `@unchecked Sendable` because `value` is only touched while `lock` is held, and `withLock` does not let the value
/// out.
package final class Locked<Value>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    package init(_ value: Value) { self.value = value }

    /// Runs `body` with the value; not reentrant. `body` must not return a reference inside of `Value`.
    package func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}
