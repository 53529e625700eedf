import Foundation

/// Runs the same work for many numbers, some of them at the same time.
package enum SideBySide {
    /// Calls `body` with each number below `count`, and returns when all calls have.
    ///
    /// Each call at the same time has a thread of its own: calls wait for a network, so their number is not the number of processors.
    /// - Parameter limit: the most calls at once.
    package static func perform(_ count: Int, atOnce limit: Int, _ body: @escaping @Sendable (Int) -> Void) {
        let next = Locked(0)
        let work: @Sendable () -> Void = {
            while let number = next.withLock({ next -> Int? in
                guard next < count else { return nil }
                defer { next += 1 }
                return next
            }) { body(number) }
        }
        let others = DispatchGroup()
        for _ in 0..<max(min(count, limit) - 1, 0) {
            others.enter()
            Thread {
                work()
                others.leave()
            }.start()
        }
        work()
        others.wait()
    }
}
