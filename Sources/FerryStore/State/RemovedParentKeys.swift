import FerryCore
import FerrySQL
import FerrySchema

/// Records the parent keys used by local rows, with their values in travelling rows as of before Ferry's first change
/// in a transaction.
///
/// Only rows of tables referred to by local rows are recorded. The end of the transaction decides their fate: a row
/// removed and present again is unchanged.
///
/// Invariants:
/// - `rows` has at most a single entry for each object, with the values before the transaction.
/// - `known` holds exactly the objects in `rows`.
final class RemovedParentKeys {
    /// A row as of before the transaction.
    struct Row {
        var object: ObjectID
        /// The row's local key.
        var key: [FieldValue]
        /// The values of the table's `localParentColumns`, in their order.
        var values: [FieldValue]
    }

    /// Rows by table, in the order of their first change. Two rows may have had equal values within a transaction. Then
    /// the first row had them before the transaction.
    private(set) var rows: [Int: [Row]] = [:]
    private var known: [Int: Set<ObjectID>] = [:]
    /// The keys in use by rows of tables without an index, by table and column.
    private var held: [[String]: Set<FieldValue>] = [:]
    private var isIndexed: [[String]: Bool] = [:]

    var isEmpty: Bool { rows.isEmpty }

    func isKnown(_ object: ObjectID, of table: Int) -> Bool { known[table]?.contains(object) ?? false }

    func note(_ row: Row, of table: Int) {
        if known[table, default: []].insert(row.object).inserted { rows[table, default: []].append(row) }
    }

    func clear() {
        rows = [:]
        known = [:]
        held = [:]
        isIndexed = [:]
    }

    /// True if local rows go on referring to a key of a mapped table after the row is gone, under RESTRICT or NO
    /// ACTION.
    func isHeld(_ key: FieldValue, of table: TrackedTable, _ connection: SQLConnection) throws -> Bool {
        for staying in table.localParentKeys where staying.isMappedKey {
            for reference in staying.references where reference.onDelete == .refuse {
                if try refers(reference, staying, to: key, connection) { return true }
            }
        }
        return false
    }

    private func refers(
        _ reference: LocalForeignKey, _ staying: LocalParentKey, to key: FieldValue, _ connection: SQLConnection
    ) throws -> Bool {
        let (child, column) = (reference.child.quotedName, quoted(reference.columns[0]))
        let place = [reference.child.name, reference.columns[0]]
        let isIndexed = try isIndexed[place] ?? ChildIndex(connection).serves(reference, staying)
        self.isIndexed[place] = isIndexed
        if isIndexed {
            return try connection.firstValue("SELECT 1 FROM main.\(child) WHERE \(column) = ? LIMIT 1", key) != nil
        }
        if let known = held[place] { return known.contains(key) }
        let keys = try connection.rows("SELECT DISTINCT \(column) FROM main.\(child)").map { $0[0] }
        held[place] = Set(keys)
        return keys.contains(key)
    }
}

/// Determines whether an index finds a local table's rows by their parent key.
struct ChildIndex {
    private let connection: SQLConnection

    init(_ connection: SQLConnection) { self.connection = connection }

    /// True if an index begins with a column of the foreign key and compares like the parent key:
    /// https://www.sqlite.org/foreignkeys.html#fk_indexes
    func serves(_ reference: LocalForeignKey, _ key: LocalParentKey) throws -> Bool {
        for (name, parent) in zip(reference.columns, key.columns) {
            guard let column = reference.child.column(name), column.affinity == parent.affinity else { continue }
            if reference.child.isIntegerKey, equalNames(name, reference.child.primaryKey[0]) { return true }
            if try connection.hasIndex(on: reference.child.localName, beginningWith: name, collation: parent.collation)
            {
                return true
            }
        }
        return false
    }
}
