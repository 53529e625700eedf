import FerryCore
import FerrySQL

/// Columns of a travelling table referred to by foreign keys of local tables.
///
/// The rules ignore such foreign keys, because local tables must never make devices differ. Their actions are applied
/// to the local rows at the end of a transaction, after travelling rows are projected (`LocalTableUpkeep`).
package struct LocalParentKey: Sendable {
    /// The parent columns, as in the table.
    package var columns: [SchemaColumn]
    /// True for the key of a mapped table. A different object may get the integer next.
    package var isMappedKey: Bool
    package var references: [LocalForeignKey]
}

/// A foreign key of a local table.
package struct LocalForeignKey: Sendable {
    /// The action of ON DELETE or ON UPDATE. RESTRICT and NO ACTION refuse the statement; a replay cannot refuse.
    package enum Action: Sendable {
        case refuse, cascade, setNull, setDefault

        package init(_ text: String) {
            switch text {
            case "CASCADE": self = .cascade
            case "SET NULL": self = .setNull
            case "SET DEFAULT": self = .setDefault
            default: self = .refuse
            }
        }
    }

    package var child: SchemaTable
    /// The child's columns, in the order of the parent key.
    package var columns: [String]
    package var onDelete: Action
    package var onUpdate: Action
    /// For a travelling child table: the columns of the primary key. Only rows with a NULL in the key are local rows.
    package var keyless: [String] = []

    /// The condition for the local rows, under the alias `child`.
    package var rows: String {
        if keyless.isEmpty { return "TRUE" }
        return "(" + keyless.map { "child.\(quoted($0)) IS NULL" }.joined(separator: " OR ") + ")"
    }
}

/// A foreign key between local tables, or within a local table, by which SQLite may refuse a deletion or a key change.
///
/// SQLite's own count of violations does not help: a row deleted after its parent row counts as a violation less
/// (https://www.sqlite.org/foreignkeys.html, "Deferred Foreign Key Constraints").
package struct LocalForeignKeyChain: Sendable {
    /// Counts the rows without a parent row.
    package let countSQL: String

    /// - Returns: `nil` if the foreign key refuses nothing, or names missing columns.
    fileprivate init?(_ child: SchemaTable, _ key: SchemaForeignKey, _ parent: SchemaTable) {
        let refuses: (String) -> Bool = { $0 != "CASCADE" && $0 != "SET NULL" }
        let names = key.parentColumns.isEmpty ? parent.primaryKey : key.parentColumns
        guard refuses(key.onDelete) || refuses(key.onUpdate), names.count == key.columns.count else { return nil }
        let present = key.columns.map { "child.\(quoted($0)) IS NOT NULL" }.joined(separator: " AND ")
        let pairs = zip(names, key.columns).map { "parent.\(quoted($0)) = child.\(quoted($1))" }
        countSQL = """
            SELECT count(*) FROM main.\(child.quotedName) AS child WHERE \(present) AND NOT EXISTS (
                SELECT 1 FROM main.\(parent.quotedName) AS parent WHERE \(pairs.joined(separator: " AND ")))
            """
    }
}

extension Registry {
    /// Records at travelling tables the parent keys used by local tables.
    /// - Parameter keyless: the travelling tables known to have had rows with a NULL in their key, by keys of their names.
    package mutating func linkStayingTables(_ schema: Schema, keyless: Set<String>) {
        let staying = schema.tables.filter { $0.kind == .table && !(table(named: $0.name)?.isLocal ?? false) }
        for child in staying {
            for key in child.foreignKeys where schema.flaw(of: key, in: child) == nil {
                guard let parent = table(named: key.parentTable), parent.isLocal,
                    let described = schema.table(parent.name)
                else { continue }
                let names = key.parentColumns.isEmpty ? described.primaryKey : key.parentColumns
                let columns = names.compactMap { described.column($0) }
                // SQLite refuses every write to a table with a foreign key to missing columns.
                guard columns.count == key.columns.count else { continue }
                let isMappedKey =
                    parent.isMapped && columns.count == 1 && equalNames(columns[0].name, parent.keyColumns[0])
                parent.add(
                    LocalForeignKey(
                        child: child, columns: key.columns, onDelete: .init(key.onDelete), onUpdate: .init(key.onUpdate)
                    ),
                    to: columns, isMappedKey: isMappedKey)
            }
        }
        referringLocalTables = Self.referring(among: staying) { name in self.table(named: name)?.isLocal ?? false }
        linkKeylessRows(schema, keyless)
        let concerned = staying.filter { table in referringLocalTables.contains { equalNames($0, table.name) } }
        localForeignKeyChains = concerned.flatMap { child in
            child.foreignKeys.compactMap { key in
                concerned.first { equalNames($0.name, key.parentTable) }.flatMap {
                    LocalForeignKeyChain(child, key, $0)
                }
            }
        }
    }

    /// Adds the rows with a NULL in their key: these rows stay local too. Tables without such rows cost nothing.
    private mutating func linkKeylessRows(_ schema: Schema, _ keyless: Set<String>) {
        for name in keyless.sorted() {
            guard let child = table(named: name), child.isLocal, let described = schema.table(child.name) else {
                continue
            }
            for key in child.foreignKeys where key.action != .none {
                guard let declared = key.declared, let parent = schema.table(declared.parent),
                    let own = described.foreignKeys.first(where: { schema.declaredKey($0, of: described) == declared })
                else { continue }
                let columns = declared.parentColumns.compactMap { parent.column($0) }
                let isMappedKey = if case .mapped = key.target { columns.count == 1 } else { false }
                self[key.parent].add(
                    LocalForeignKey(
                        child: described, columns: declared.columns, onDelete: .init(own.onDelete),
                        onUpdate: .init(own.onUpdate), keyless: child.keyColumns),
                    to: columns, isMappedKey: isMappedKey)
                if !referringLocalTables.contains(where: { equalNames($0, child.localName) }) {
                    referringLocalTables.append(child.localName)
                }
            }
        }
    }

    /// The tables referring to a travelling table, directly or through further tables of the list.
    private static func referring(among tables: [SchemaTable], to travels: (String) -> Bool) -> [String] {
        var found: [String] = []
        var isSettled = false
        while !isSettled {
            isSettled = true
            for table in tables where !found.contains(where: { equalNames($0, table.name) }) {
                let leads = table.foreignKeys.contains { key in
                    travels(key.parentTable) || found.contains { equalNames($0, key.parentTable) }
                }
                if leads {
                    found.append(table.name)
                    isSettled = false
                }
            }
        }
        return found
    }
}

extension TrackedTable {
    fileprivate func add(_ reference: LocalForeignKey, to columns: [SchemaColumn], isMappedKey: Bool) {
        if isMappedKey, reference.onDelete == .refuse { hasUncheckedReferences = true }
        let names = columns.map(\.name)
        if let known = localParentKeys.firstIndex(where: { [String].areEqualBytes($0.columns.map(\.name), names) }) {
            localParentKeys[known].references.append(reference)
        } else {
            localParentKeys.append(LocalParentKey(columns: columns, isMappedKey: isMappedKey, references: [reference]))
        }
    }

    /// All columns referred to by local rows.
    package var localParentColumns: [SchemaColumn] {
        var columns: [SchemaColumn] = []
        for column in localParentKeys.flatMap(\.columns)
        where !columns.contains(where: { equalNames($0.name, column.name) }) {
            columns.append(column)
        }
        return columns
    }
}
