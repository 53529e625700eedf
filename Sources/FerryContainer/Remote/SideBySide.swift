import Dispatch

/// Runs the same work for many numbers, some of them at the same time.
package enum SideBySide {
    /// Calls `body` with each number below `count`, and returns when all calls have.
    /// - Parameter limit: the most calls at once.
    package static func perform(_ count: Int, atOnce limit: Int, _ body: @escaping @Sendable (Int) -> Void) {
        let next = Locked(0)
        DispatchQueue.concurrentPerform(iterations: min(count, max(limit, 1))) { _ in
            while let number = next.withLock({ next -> Int? in
                guard next < count else { return nil }
                defer { next += 1 }
                return next
            }) { body(number) }
        }
    }
}
