import FerryCore
import FerrySQL
import FerrySchema

/// Finds the rows referring to many parents by a foreign key without an index on the child columns.
///
/// The first few lookups search the child table. Then the scan copies the columns of the foreign key and of the primary
/// key into an indexed temporary table. So all lookups together read the child table once.
///
/// Invariant: the rows of the child table do not change between the first lookup and `finish()`.
final class ReferenceScan {
    /// Number of lookups after which a copy costs less than further searches.
    private static let patience = 8

    private let access: StoreAccess
    private var searches: [Place: Search] = [:]

    /// A foreign key of a table.
    private struct Place: Hashable {
        var table: Int
        var columns: [Int]
        var parent: Int
    }

    private struct Search {
        var count = 0
        var hasIndex: Bool
        /// The name of the temporary copy, once made.
        var copy: String?
    }

    init(_ access: StoreAccess) { self.access = access }

    /// Returns the keys of the rows referring to given values by a foreign key.
    /// - Parameter parts: the values of the foreign key's columns, in the key's order.
    func keys(
        of table: TrackedTable, referringBy key: TrackedForeignKey, to parts: [FieldValue]
    ) throws -> [[FieldValue]] {
        let condition = access.registry.condition(referringBy: key, of: table)
        let place = Place(table: table.id, columns: key.columns, parent: key.parent)
        var search = try searches[place] ?? Search(hasIndex: hasIndex(table, key))
        search.count += 1
        if search.copy == nil, !search.hasIndex, search.count > Self.patience { search.copy = try copy(table, key) }
        searches[place] = search
        guard let copy = search.copy else {
            return try access.connection.rows(
                "SELECT \(table.keyList) FROM \(table.quotedName) WHERE \(condition)", values: parts)
        }
        let slots = table.keyColumns.indices.map(Self.slot).joined(separator: ", ")
        return try access.connection.rows("SELECT \(slots) FROM \(copy) WHERE \(condition)", values: parts)
    }

    /// Drops the temporary tables. Lookups afterward start anew.
    func finish() throws {
        for search in searches.values {
            if let copy = search.copy { try access.connection.executeScript("DROP TABLE IF EXISTS \(copy)") }
        }
        searches = [:]
    }

    private func hasIndex(_ table: TrackedTable, _ key: TrackedForeignKey) throws -> Bool {
        try access.connection.hasIndex(on: table.localName, beginningWith: table.columns[key.columns[0]].name)
    }

    private static func slot(_ place: Int) -> String { "ferry_key_\(place)" }

    private func copy(_ table: TrackedTable, _ key: TrackedForeignKey) throws -> String {
        let name = "ferry_referring_\(table.id)_\(key.columns.map(String.init).joined(separator: "_"))_\(key.parent)"
        let columns = key.columns.map { table.columns[$0] }
        let definitions = columns.map { column in
            "\(quoted(column.name)) \(column.affinity.type) COLLATE \(quoted(column.collation))"
        }
        let names = columns.map { quoted($0.name) }
        // The collations used by the condition's comparison.
        let collations = access.registry.collations(of: key) ?? columns.map(\.collation)
        let terms = zip(names, collations).map { "\($0) COLLATE \(quoted($1))" }
        let slots = table.keyColumns.indices.map(Self.slot)
        try access.connection.executeScript(
            """
            DROP TABLE IF EXISTS temp.\(name);
            CREATE TEMP TABLE \(name)(\((definitions + slots).joined(separator: ", ")));
            INSERT INTO temp.\(name) SELECT \(names.joined(separator: ", ")), \(table.keyList)
            FROM main.\(table.quotedName) WHERE \(names[0]) IS NOT NULL;
            CREATE INDEX temp.\(name)_index ON \(name)(\(terms.joined(separator: ", ")));
            """)
        return "temp.\(name)"
    }
}
