import FerryCore
import GRDB

/// The content of a `LiveResults` at a point in time.
public struct LiveDelivery<Record: FetchableRecord & Sendable>: Sendable {
    private let index: LiveIndex
    private let pages: LivePages<Record>
    /// The difference from the delivery before; empty in the first delivery.
    public let difference: LiveDifference
    /// True if this is the reader's first delivery.
    public let isFirst: Bool

    init(index: LiveIndex, pages: LivePages<Record>, difference: LiveDifference, isFirst: Bool) {
        self.index = index
        self.pages = pages
        self.difference = difference
        self.isFirst = isFirst
    }

    /// True if the delivery comes from the cache of the last start, not yet compared with the database.
    public var isFromCache: Bool { index.hashes == nil }

    /// How many rows there are in all.
    public var count: Int { index.keys.count }
    /// The sections in order; none is empty.
    public var sections: [LiveSection] { index.sections }

    /// The key of a row.
    /// - Parameter row: the row's place among all rows, from 0.
    public func key(at row: Int) -> LiveKey { index.keys[row] }

    /// The object ID of a row; `nil` without a store, for a row that no pass has packed yet, or if the table does not travel. In a delivery from
    /// the cache, and in the first delivery of a list with more than 5,000 rows, IDs become known by and by.
    public func object(at row: Int) -> ObjectID? { index.objects.withLock { $0[index.keys[row]] } }

    /// The place of a row in its section.
    public func position(ofRow row: Int) -> LivePosition { index.position(row) }

    /// The place of a row among all rows.
    public func row(at position: LivePosition) -> Int {
        index.sections[position.section].rows.lowerBound + position.item
    }

    /// The place of the row with a key among all rows; `nil` for a key outside of the list.
    public func row(of key: LiveKey) -> Int? { index.place(of: key) }

    /// The first section whose `indexTitle` is a letter or comes after the letter, for an index beside a long list.
    public func section(forIndexTitle title: String) -> Int? {
        index.sections.firstIndex { $0.indexTitle >= title }
    }

    /// Fetches records, a page at a time; records of the last pages are at hand.
    /// - Parameter rows: places among all rows.
    /// - Returns: as many as were asked for and are in the list; `nil` for a row deleted since, to be reported by the next delivery.
    /// - Throws: errors of GRDB.
    public func records(in rows: Range<Int>) async throws -> [Record?] {
        try await pages.records(in: rows.clamped(to: 0..<count), of: index)
    }

    /// Fetches a record, and with the record the rest of its page.
    /// - Returns: `nil` for a row deleted since, and for a position outside of the list.
    public func record(at position: LivePosition) async throws -> Record? {
        guard index.sections.indices.contains(position.section) else { return nil }
        let rows = index.sections[position.section].rows
        guard position.item >= 0, position.item < rows.count else { return nil }
        let row = rows.lowerBound + position.item
        return try await records(in: row..<row + 1).first ?? nil
    }
}
