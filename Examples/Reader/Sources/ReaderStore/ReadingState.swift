import Ferry

/// What a person read and starred, and settings: sets and values of Ferry's key-value store, which merge member by member
/// and key by key, so two devices that read at the same time get both.
///
/// Safe to use from any thread.
public struct ReadingState: Sendable {
    public enum Mark: String, Sendable, CaseIterable {
        case read, starred
    }

    /// The store of values, for settings.
    public let values: KeyValueStore
    private let library: Library

    /// - Throws: `notSetUp` where the database belongs to no shared folder yet.
    public init(_ library: Library, _ engine: SyncEngine) throws {
        self.library = library
        values = try KeyValueStore(engine)
    }

    /// Marks articles, or takes the mark off. What is so already is not written.
    /// - Parameter ids: their numbers on this device.
    /// - Returns: how many were different.
    /// - Throws: `nothingFound`, and nothing is marked then.
    @discardableResult
    public func set(_ mark: Mark, _ isSet: Bool, _ ids: [Int64]) throws -> Int {
        try set(mark, isSet, marks: library.marks(ids))
    }

    /// Marks all articles of a list, whatever their number.
    @discardableResult
    public func set(_ mark: Mark, _ isSet: Bool, _ query: ArticleQuery) throws -> Int {
        if query.search != nil { try library.indexForSearch() }
        return try set(mark, isSet, marks: library.pool.read { try query.marks.fetchAll($0) })
    }

    private func set(_ mark: Mark, _ isSet: Bool, marks: [String]) throws -> Int {
        if isSet { return try values.add(contentsOf: marks, toSet: mark.rawValue) }
        return try values.discard(contentsOf: marks, fromSet: mark.rawValue)
    }
}
