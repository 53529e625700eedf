import FerryCore
import FerrySQL

/// The travelling names of a table's columns that this database knows under another name.
///
/// A column goes on travelling under its first name after `ALTER TABLE … RENAME COLUMN`. So its values and its policy stay,
/// and every device may rename the column at any time (Docs/Architecture/schema-changes.md, "Renamed columns").
package struct ColumnNames: Codable, Equatable, Sendable {
    /// The travelling name by the name in the database, in lower case; only where the two differ. A column that is gone keeps
    /// its entry, and comes back as the same column.
    package var travelling: [String: String] = [:]
    /// Travelling names, in lower case, that nothing but the name in the database decided: the column was new.
    package var guessed: Set<String> = []
    /// The entries of other devices: the travelling name by the name in their databases, in lower case.
    package var told: [String: String] = [:]

    package init(_ travelling: [String: String] = [:], guessed: Set<String> = [], told: [String: String] = [:]) {
        self.travelling = travelling
        self.guessed = guessed
        self.told = told
    }

    /// The name under which a column of the database travels.
    package func travelling(_ name: String) -> String { travelling[foldedName(name)] ?? name }

    /// The renamed columns, as a schema records them.
    package var record: [RenamedColumn] {
        travelling.sorted { $0.key < $1.key }.map { RenamedColumn(name: $0.value, localName: $0.key) }
    }

    var isEmpty: Bool { self == ColumnNames() }
}

/// The names of all tables' columns (`ferry_meta`, `columnNames`).
package struct ColumnNameList: Codable, Equatable, Sendable {
    /// By the travelling name of the table, in lower case.
    private var tables: [String: ColumnNames]

    package init(_ tables: [String: ColumnNames] = [:]) { self.tables = tables }

    package subscript(table: String) -> ColumnNames {
        get { tables[foldedName(table)] ?? ColumnNames() }
        set { tables[foldedName(table)] = newValue.isEmpty ? nil : newValue }
    }

    package var isEmpty: Bool { tables.isEmpty }

    /// The names recorded in a database; none in an untracked database.
    package static func load(_ connection: SQLConnection) throws -> ColumnNameList {
        guard try OwnNames.areMade(connection) else { return ColumnNameList() }
        return try MetaTable(connection: connection).json(.columnNames) ?? ColumnNameList()
    }

    package func save(_ meta: MetaTable) throws { try meta.set(.columnNames, json: self) }

    /// Notes what another device's schema says, where this database says something else.
    package mutating func hear(_ tracked: [TrackedTableRecord]) {
        for table in tracked where !table.renamedColumns.isEmpty {
            for column in table.renamedColumns
            // An arrow is in names that Ferry makes (`ColumnMeaning`).
            where !equalNames(self[table.name].travelling(column.localName), column.name)
                && !column.name.contains(" → ")
            {
                self[table.name].told[foldedName(column.localName)] = column.name
            }
        }
    }
}
