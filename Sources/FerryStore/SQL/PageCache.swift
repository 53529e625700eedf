/// The page cache of a connection, which makes room for what Ferry holds in memory beside it.
final class PageCache {
    /// What is left of it meanwhile, in KiB.
    static let leastKiB = 16 * 1024

    private let connection: SQLConnection
    /// The size that it had, where it is smaller now.
    private var former: Int?

    init(_ connection: SQLConnection) { self.connection = connection }

    /// Leaves the least of the cache, where there is more, inside of `restoring`. Pages beyond are written or forgotten.
    func shrink() throws {
        if former != nil { return }
        let size = try connection.count("PRAGMA cache_size")
        // Below 0 it is KiB, above 0 pages: https://www.sqlite.org/pragma.html#pragma_cache_size
        let kib = size < 0 ? -size : try size * connection.count("PRAGMA page_size") / 1024
        if kib <= Self.leastKiB { return }
        try connection.execute("PRAGMA cache_size = -\(Self.leastKiB)")
        former = size
    }

    /// Gives the cache the size that it had, once `body` is done or has thrown.
    func restoring<Result>(after body: () throws -> Result) throws -> Result {
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
