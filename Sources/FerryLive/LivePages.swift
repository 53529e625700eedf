import FerryContainer
import FerryCore
import GRDB

/// Fetches records by the page and keeps those of the last pages.
final class LivePages<Record: FetchableRecord & Sendable>: Sendable {
    /// How many pages are kept.
    private static var kept: Int { 16 }
    /// A larger page is no page any more.
    private static var maximumPageSize: Int { 1 << 20 }

    private struct Entry {
        var record: Record
        /// `LiveIndex.token` of the row when the record was fetched.
        var token: Int?
        var used: Int
    }

    private struct Cache {
        var entries: [LiveKey: Entry] = [:]
        var clock = 0
    }

    private let list: LiveList
    private let pageSize: Int
    private let cache = Locked(Cache())

    init(_ list: LiveList, pageSize: Int) {
        self.list = list
        self.pageSize = min(max(pageSize, 1), Self.maximumPageSize)
    }

    func records(in rows: Range<Int>, of index: LiveIndex) async throws -> [Record?] {
        if rows.isEmpty { return [] }
        var found = known(rows, of: index)
        if found.contains(where: { $0 == nil }) {
            // Whole pages, so that the next rows are at hand as well.
            let first = rows.lowerBound / pageSize * pageSize
            let end = min((rows.upperBound + pageSize - 1) / pageSize * pageSize, index.keys.count)
            let missing = zip(first..<end, known(first..<end, of: index)).filter { $0.1 == nil }.map(\.0)
            let fetched = try await fetch(missing, of: index)
            found = zip(rows, found).map { row, record in record ?? fetched[index.keys[row]] }
        }
        return found
    }

    private func known(_ rows: Range<Int>, of index: LiveIndex) -> [Record?] {
        cache.withLock { cache in
            cache.clock += 1
            return rows.map { row in
                let key = index.keys[row]
                guard let entry = cache.entries[key], entry.token == index.token(at: row) else { return nil }
                cache.entries[key]?.used = cache.clock
                return entry.record
            }
        }
    }

    private func fetch(_ rows: [Int], of index: LiveIndex) async throws -> [LiveKey: Record] {
        let keys = rows.map { index.keys[$0] }
        let found = try await list.connection.readPages { [list] database in
            try list.request.fetch(database, keys).map { ($0.key, $0.hash, try Record(row: $0.row)) }
        }
        let places = Dictionary(zip(keys, rows), uniquingKeysWith: { first, _ in first })
        if index.hashes == nil { index.fetched.withLock { $0.formUnion(keys) } }
        cache.withLock { cache in
            for (key, hash, record) in found {
                guard let row = places[key] else { continue }
                // Written since the list was read: the next delivery reports the row, even if the old content is back
                // by then.
                if let known = index.hashes?[row], known != hash { list.suspect(key) }
                cache.entries[key] = Entry(record: record, token: index.token(at: row), used: cache.clock)
            }
            evict(&cache)
        }
        return Dictionary(found.map { ($0.0, $0.2) }, uniquingKeysWith: { first, _ in first })
    }

    private func evict(_ cache: inout Cache) {
        let most = pageSize * Self.kept
        if cache.entries.count <= most { return }
        let oldest = cache.entries.sorted { $0.value.used < $1.value.used }.prefix(cache.entries.count - most / 2)
        for (key, _) in oldest { cache.entries[key] = nil }
    }
}
