import FerryCore

/// The columns of tables with integer keys, and the collations of other keys, by a container's schema.
///
/// A table's identity does not say which column holds the integers, and how keys are compared. The text of the table does.
package struct RecordedKeys {
    private var tables: [String: SchemaTable] = [:]
    /// The names of the columns of tables with renamed columns, in order and in lower case, by the table's travelling name in
    /// lower case.
    package private(set) var columns: [String: [String]] = [:]
    /// The collations under which key values derive the same ID, by the table's travelling name in lower case.
    package private(set) var collations: [String: [String]] = [:]

    /// Makes each table alone, in a database in memory. A table that cannot be made there says nothing.
    package init(_ record: SchemaRecord) throws {
        for tracked in record.tracked {
            let isKey = if case .key = tracked.identity { true } else { false }
            guard isKey || tracked.identity == .surrogate || !tracked.renamedColumns.isEmpty else { continue }
            guard let text = record.statement(of: tracked) else { continue }
            let table = try RecordedTable.read(tracked.statementName, [text.sql])
            if !tracked.renamedColumns.isEmpty {
                columns[foldedName(tracked.name)] = table.map { $0.columns.map { foldedName($0.name) } }
            }
            if isKey {
                collations[foldedName(tracked.name)] =
                    tracked.keyCollations.isEmpty ? table.map(KeyEquality.identityCollations) : tracked.keyCollations
            } else if tracked.identity == .surrogate {
                tables[foldedName(tracked.name)] = table
            }
        }
    }

    /// The integer key of a database's own table, if the container's devices have their integers in another column.
    ///
    /// Where one of the two columns is missing on the other side, the column was renamed.
    package func movedKey(of table: SchemaTable) -> String? {
        guard table.isIntegerKey, let there = tables[foldedName(table.name)], there.isIntegerKey,
            let own = table.primaryKey.first, let theirs = there.primaryKey.first, !equalNames(own, theirs),
            there.column(own) != nil || table.column(theirs) != nil
        else { return nil }
        return own
    }
}
