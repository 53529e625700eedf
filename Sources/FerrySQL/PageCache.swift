/// The page cache of a connection. Shrinks to make room for Ferry's own memory.
package final class PageCache {
    /// The reduced size, in KiB.
    package static let leastKiB = 16 * 1024

    private let connection: SQLConnection
    /// The former `cache_size` while the cache is reduced.
    private var former: Int?

    package init(_ connection: SQLConnection) { self.connection = connection }

    /// Reduces a larger cache, inside of `restoring`. Excess pages are written or dropped.
    package func shrink() throws {
        if former != nil { return }
        let size = try connection.count("PRAGMA cache_size")
        // A negative size is in KiB, a positive size in pages: https://www.sqlite.org/pragma.html#pragma_cache_size
        let kib = size < 0 ? -size : try size * connection.count("PRAGMA page_size") / 1024
        if kib <= Self.leastKiB { return }
        try connection.execute("PRAGMA cache_size = -\(Self.leastKiB)")
        former = size
    }

    /// Runs `body`, then restores the cache's former size, also after an error.
    package func restoring<Result>(after body: () throws -> Result) throws -> Result {
        let result: Result
        do {
            result = try body()
        } catch {
            try restore()
            throw error
        }
        try restore()
        return result
    }

    private func restore() throws {
        guard let former else { return }
        try connection.execute("PRAGMA cache_size = \(former)")
        self.former = nil
    }
}
