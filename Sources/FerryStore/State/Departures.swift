import FerryCore

/// What rows that travel offered to those that stay on this device before Ferry first changed them in a transaction.
///
/// Only rows of tables that such rows refer to are noted. What became of them is seen at the end of the transaction: a row
/// that was removed and is there again has not gone anywhere.
final class Departures {
    /// A row as it was.
    struct Row {
        var object: ObjectID
        /// Its local key.
        var key: [FieldValue]
        /// Of its table's `stayingColumns`, in their order.
        var values: [FieldValue]
    }

    /// By table, in the order in which they were first changed: of two that had the same values in one transaction, the
    /// first had them before it.
    private(set) var rows: [Int: [Row]] = [:]
    private var known: [Int: Set<ObjectID>] = [:]
    /// The keys that rows of tables without an index refer to, by table and column.
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

    /// Whether rows that stay go on referring to a key of a mapped table, whatever becomes of its row: their foreign keys
    /// say RESTRICT or NO ACTION.
    func isHeld(_ key: FieldValue, of table: TrackedTable, _ connection: SQLConnection) throws -> Bool {
        for staying in table.stayingKeys where staying.isMappedKey {
            for reference in staying.references where reference.onDelete == .refuse {
                if try refers(reference, staying, to: key, connection) { return true }
            }
        }
        return false
    }

    private func refers(
        _ reference: StayingReference, _ staying: StayingKey, to key: FieldValue, _ connection: SQLConnection
    ) throws -> Bool {
        let (child, column) = (quoted(reference.child.name), quoted(reference.columns[0]))
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

/// Whether an index finds the rows of a table that stays by what they refer to.
struct ChildIndex {
    private let connection: SQLConnection

    init(_ connection: SQLConnection) { self.connection = connection }

    /// An index serves where it begins with a column of the foreign key and compares as the key that is referred to does:
    /// https://www.sqlite.org/foreignkeys.html#fk_indexes
    func serves(_ reference: StayingReference, _ key: StayingKey) throws -> Bool {
        for (name, parent) in zip(reference.columns, key.columns) {
            guard let column = reference.child.column(name), column.affinity == parent.affinity else { continue }
            if reference.child.isIntegerKey, equalNames(name, reference.child.primaryKey[0]) { return true }
            if try connection.hasIndex(on: reference.child.name, beginningWith: name, collation: parent.collation) {
                return true
            }
        }
        return false
    }
}
