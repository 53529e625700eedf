import FerryStore
import Foundation

/// How a list fetches rows, and what the list keeps for the next start.
public struct LiveOptions: Sendable {
    /// The least number of rows fetched at once. A number below 1 counts as 1, and a number above 1,048,576 as that.
    public var pageSize: Int
    /// A file that keeps the list's keys for the next start; make a file for each list, in a folder for caches. The
    /// first delivery comes from the cache, and the second delivery corrects it.
    public var cache: URL?

    public init(pageSize: Int = 50, cache: URL? = nil) {
        self.pageSize = pageSize
        self.cache = cache
    }
}

/// The columns of a result that tell its rows apart.
///
///     LiveResults<Song>(in: pool, key: ["id"]) { _ in SQLRequest(sql: "SELECT * FROM song") }
public struct LiveRowKey: ExpressibleByArrayLiteral, Sendable {
    let columns: [String]
    let objects: LiveObjects?

    /// - Parameter elements: columns of the result that no two rows share and that are never NULL.
    public init(arrayLiteral elements: String...) {
        columns = elements
        objects = nil
    }

    /// The key of a travelling table: changes have object IDs. A row that gets another key, because two devices had given
    /// the key to two rows, is reported as moved.
    /// - Parameters:
    ///   - columns: the columns of the result with the table's key.
    ///   - table: the table's name.
    ///   - store: the store of the database.
    public init(_ columns: [String], of table: String, in store: Store) {
        self.columns = columns
        objects = LiveObjects(store: store, table: table)
    }
}
