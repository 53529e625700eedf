import FerryCore

/// Columns of a table that travels to which foreign keys of tables that stay on this device refer.
///
/// No rule knows of such foreign keys: what stays on a device must never make devices differ. What they say is done to the
/// rows that stay once a transaction of Ferry's has settled what travels (`StayingRows`).
struct StayingKey: Sendable {
    /// The columns that are referred to, as the table has them.
    var columns: [SchemaColumn]
    /// Whether they are the key of a mapped table, whose integers another object may have next.
    var isMappedKey: Bool
    var references: [StayingReference]
}

/// A foreign key of a table that stays on this device.
struct StayingReference: Sendable {
    /// What ON DELETE or ON UPDATE says; SQLite's other two refuse the statement, which a replay cannot.
    enum Action: Sendable {
        case refuse, cascade, setNull, setDefault

        init(_ text: String) {
            switch text {
            case "CASCADE": self = .cascade
            case "SET NULL": self = .setNull
            case "SET DEFAULT": self = .setDefault
            default: self = .refuse
            }
        }
    }

    var child: SchemaTable
    /// The child's columns, in the order of the key's.
    var columns: [String]
    var onDelete: Action
    var onUpdate: Action
    /// In a table that travels: the columns of the key. Of its rows only those stay that have a NULL in one of them.
    var keyless: [String] = []

    /// The condition for the rows concerned, under the alias `child`.
    var rows: String {
        if keyless.isEmpty { return "TRUE" }
        return "(" + keyless.map { "child.\(quoted($0)) IS NULL" }.joined(separator: " OR ") + ")"
    }
}

/// A foreign key from one table that stays on this device to another such, or to itself, by which SQLite may refuse that
/// a row goes or gets another key.
///
/// SQLite's own count of what a statement breaks is of no use for that: a row that goes after the row which it referred to
/// counts as one violation less (https://www.sqlite.org/foreignkeys.html, "Deferred Foreign Key Constraints").
struct StayingChain: Sendable {
    /// Counts the rows that refer to nothing.
    let countSQL: String

    /// - Returns: `nil` where the foreign key refuses nothing, or names what is not there.
    fileprivate init?(_ child: SchemaTable, _ key: SchemaForeignKey, _ parent: SchemaTable) {
        let refuses: (String) -> Bool = { $0 != "CASCADE" && $0 != "SET NULL" }
        let names = key.parentColumns.isEmpty ? parent.primaryKey : key.parentColumns
        guard refuses(key.onDelete) || refuses(key.onUpdate), names.count == key.columns.count else { return nil }
        let present = key.columns.map { "child.\(quoted($0)) IS NOT NULL" }.joined(separator: " AND ")
        let pairs = zip(names, key.columns).map { "parent.\(quoted($0)) = child.\(quoted($1))" }
        countSQL = """
            SELECT count(*) FROM main.\(quoted(child.name)) AS child WHERE \(present) AND NOT EXISTS (
                SELECT 1 FROM main.\(quoted(parent.name)) AS parent WHERE \(pairs.joined(separator: " AND ")))
            """
    }
}

extension Registry {
    /// Notes at the tables that travel what the foreign keys of those that stay refer to.
    /// - Parameter keyless: the tables that travel and have had rows with a NULL in their key, in lower case.
    mutating func linkStayingTables(_ schema: Schema, keyless: Set<String>) {
        let staying = schema.tables.filter { $0.kind == .table && !(table(named: $0.name)?.isLocal ?? false) }
        for child in staying {
            for key in child.foreignKeys where schema.flaw(of: key, in: child) == nil {
                guard let parent = table(named: key.parentTable), parent.isLocal,
                    let described = schema.table(parent.name)
                else { continue }
                let names = key.parentColumns.isEmpty ? described.primaryKey : key.parentColumns
                let columns = names.compactMap { described.column($0) }
                // SQLite refuses every write to a table whose foreign key names what is not there.
                guard columns.count == key.columns.count else { continue }
                let isMappedKey =
                    parent.isMapped && columns.count == 1 && equalNames(columns[0].name, parent.keyColumns[0])
                parent.add(
                    StayingReference(
                        child: child, columns: key.columns, onDelete: .init(key.onDelete), onUpdate: .init(key.onUpdate)
                    ),
                    to: columns, isMappedKey: isMappedKey)
            }
        }
        stayingTables = Self.referring(among: staying) { name in self.table(named: name)?.isLocal ?? false }
        linkKeylessRows(schema, keyless)
        let concerned = staying.filter { stayingTables.contains($0.name) }
        stayingChains = concerned.flatMap { child in
            child.foreignKeys.compactMap { key in
                concerned.first { equalNames($0.name, key.parentTable) }.flatMap { StayingChain(child, key, $0) }
            }
        }
    }

    /// Rows with a NULL in their key stay too. Tables that have never had any cost nothing.
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
                let isMappedKey = if case .mapped = key.target { true } else { false }
                self[key.parent].add(
                    StayingReference(
                        child: described, columns: declared.columns, onDelete: .init(own.onDelete),
                        onUpdate: .init(own.onUpdate), keyless: child.keyColumns),
                    to: columns, isMappedKey: isMappedKey)
                if !stayingTables.contains(child.name) { stayingTables.append(child.name) }
            }
        }
    }

    /// Those of some tables that refer to a table that travels, directly or through each other.
    private static func referring(among tables: [SchemaTable], to travels: (String) -> Bool) -> [String] {
        var found: [String] = []
        var isSettled = false
        while !isSettled {
            isSettled = true
            for table in tables where !found.contains(table.name) {
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
    fileprivate func add(_ reference: StayingReference, to columns: [SchemaColumn], isMappedKey: Bool) {
        if isMappedKey, reference.onDelete == .refuse { hasUncheckedReferences = true }
        let names = columns.map(\.name)
        if let known = stayingKeys.firstIndex(where: { $0.columns.map(\.name) == names }) {
            stayingKeys[known].references.append(reference)
        } else {
            stayingKeys.append(StayingKey(columns: columns, isMappedKey: isMappedKey, references: [reference]))
        }
    }

    /// All columns to which rows that stay on this device refer.
    var stayingColumns: [SchemaColumn] {
        var columns: [SchemaColumn] = []
        for column in stayingKeys.flatMap(\.columns) where !columns.contains(where: { $0.name == column.name }) {
            columns.append(column)
        }
        return columns
    }
}
