import FerryCore
import GRDB

/// What a `LiveResults` shows at one time.
public struct LiveDelivery<Record: FetchableRecord & Sendable>: Sendable {
    private let index: LiveIndex
    private let pages: LivePages<Record>
    /// What is different from the delivery before; empty in the first one.
    public let difference: LiveDifference
    /// Whether it is the first one that its reader gets.
    public let isFirst: Bool

    init(index: LiveIndex, pages: LivePages<Record>, difference: LiveDifference, isFirst: Bool) {
        self.index = index
        self.pages = pages
        self.difference = difference
        self.isFirst = isFirst
    }

    /// Whether it comes from the cache of the last start, and was not compared with the database yet.
    public var isFromCache: Bool { index.hashes == nil }

    /// How many rows there are in all.
    public var count: Int { index.keys.count }
    /// The sections in order; none is empty.
    public var sections: [LiveSection] { index.sections }

    /// The key of a row.
    /// - Parameter row: its place among all rows, from 0.
    public func key(at row: Int) -> LiveKey { index.keys[row] }

    /// The object ID of a row, as far as it is known yet; `nil` where no store was given or the table does not travel.
    public func object(at row: Int) -> ObjectID? { index.objects.withLock { $0[index.keys[row]] } }

    /// The place of a row in its section.
    public func position(ofRow row: Int) -> LivePosition { index.position(row) }

    /// The place of a row among all rows.
    public func row(at position: LivePosition) -> Int {
        index.sections[position.section].rows.lowerBound + position.item
    }

    /// The place of the row with a key among all rows; `nil` where it is not in the list.
    public func row(of key: LiveKey) -> Int? { index.place(of: key) }

    /// The first section whose `indexTitle` is a letter or comes after it, for an index beside a long list.
    public func section(forIndexTitle title: String) -> Int? {
        index.sections.firstIndex { $0.indexTitle >= title }
    }

    /// Fetches records, a page at a time; those of the last pages are at hand.
    /// - Parameter rows: places among all rows.
    /// - Returns: as many as were asked for; `nil` for a row that was deleted since, of which the next delivery tells.
    /// - Throws: what GRDB throws.
    public func records(in rows: Range<Int>) async throws -> [Record?] {
        try await pages.records(in: rows.clamped(to: 0..<count), of: index)
    }

    /// Fetches one record, and with it those of its page.
    public func record(at position: LivePosition) async throws -> Record? {
        let row = row(at: position)
        return try await records(in: row..<row + 1)[0]
    }
}
