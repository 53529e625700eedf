import FerryCore
import FerrySQL

/// The travelling names of a table's columns that this database knows under another name.
///
/// A column goes on travelling under its first name after `ALTER TABLE … RENAME COLUMN`. So its values and its policy stay,
/// and every device may rename the column at any time (Docs/Architecture/schema-changes.md, "Renamed columns").
package struct ColumnNames: Codable, Equatable, Sendable {
    /// The travelling name by the key of the name in the database; only where the two differ. A column that is gone keeps
    /// its entry, and comes back as the same column.
    @ComparedByBytes package var travelling: [String: String] = [:]
    /// The keys of travelling names that nothing but the name in the database decided: the column was new.
    package var guessed: Set<String> = []
    /// The names that other devices' schemas tell, one entry for an order of columns.
    package var told: [Told] = []

    /// What another device's schema says of a table.
    package struct Told: Codable, Equatable, Sendable {
        /// The keys of the names of all columns in that database, in their order; empty if unknown. A migration that
        /// changes names leaves the places, so the order tells one version of a schema from another.
        package var columns: [String]
        /// The travelling name by the key of the name in that database; only where the two differ.
        @ComparedByBytes package var travelling: [String: String]

        package init(columns: [String], travelling: [String: String]) {
            self.columns = columns
            self.travelling = travelling
        }

        package init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            columns = try values.decode([String].self, forKey: .columns).map(foldedName)
            travelling = try values.decode([String: String].self, forKey: .travelling).byNameKeys
        }

        /// True if all devices with both names choose this entry's names: more columns have another name, or else the names
        /// come first.
        package func isPreferred(to other: [String: String]) -> Bool {
            if travelling.count != other.count { return travelling.count > other.count }
            func text(_ names: [String: String]) -> [String] {
                names.map { "\(foldedText($0))\u{0}\(foldedText($1))" }.sorted(by: textOrder)
            }
            return text(travelling).lexicographicallyPrecedes(text(other), by: textOrder)
        }
    }

    /// Decodes JSON. An earlier version of Ferry wrote names in place of their keys.
    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        travelling = try values.decode([String: String].self, forKey: .travelling).byNameKeys
        guessed = Set(try values.decode([String].self, forKey: .guessed).map(foldedName))
        told = try values.decode([Told].self, forKey: .told)
    }

    /// The most entries that are kept of a table.
    private static let maximumTold = 16

    package init(_ travelling: [String: String] = [:], guessed: Set<String> = [], told: [Told] = []) {
        self.travelling = travelling
        self.guessed = guessed
        self.told = told
    }

    /// Keeps what another device's schema says, unless an entry of the same columns is preferred.
    mutating func hear(_ entry: Told) {
        if let known = told.firstIndex(where: { $0.columns == entry.columns }) {
            if entry.isPreferred(to: told[known].travelling) { told[known] = entry }
            return
        }
        told = Array((told + [entry]).suffix(Self.maximumTold))
    }

    /// The name under which a column of the database travels.
    package func travelling(_ name: String) -> String { travelling[foldedName(name)] ?? name }

    /// The entries of a schema.
    package static func entries(_ renamed: [RenamedColumn]) -> [String: String] {
        // An arrow is in names that Ferry makes (`ColumnMeaning`).
        let possible = renamed.filter { !$0.name.contains(" → ") && !equalNames($0.name, $0.localName) }
        return Dictionary(possible.map { (foldedName($0.localName), $0.name) }) { first, _ in first }
    }

    /// The renamed columns, as a schema records them.
    package var record: [RenamedColumn] {
        travelling.map { RenamedColumn(name: $0.value, localName: foldedText($0.key)) }.sorted {
            textOrder($0.localName, $1.localName)
        }
    }

    var isEmpty: Bool { self == ColumnNames() }
}

/// The names of all tables' columns (`ferry_meta`, `columnNames`).
package struct ColumnNameList: Codable, Equatable, Sendable {
    /// By the key of the travelling name of the table.
    private var tables: [String: ColumnNames]

    package init(_ tables: [String: ColumnNames] = [:]) { self.tables = tables }

    package init(from decoder: any Decoder) throws {
        tables = try decoder.container(keyedBy: CodingKeys.self).decode([String: ColumnNames].self, forKey: .tables)
            .byNameKeys
    }

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

    /// Notes what another device's schema says.
    /// - Parameter columns: the names of each table's columns in that schema, in order and in lower case, by the table's
    ///   travelling name in lower case.
    package mutating func hear(_ tracked: [TrackedTableRecord], columns: [String: [String]]) {
        for table in tracked where !table.renamedColumns.isEmpty {
            let entries = ColumnNames.entries(table.renamedColumns)
            self[table.name].hear(.init(columns: columns[foldedName(table.name)] ?? [], travelling: entries))
        }
    }
}
