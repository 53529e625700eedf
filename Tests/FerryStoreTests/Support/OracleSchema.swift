import FerryCore
import GRDB

@testable import FerryStore

/// A schema as the oracle reads it, apart from the store's own reader.
struct OracleSchema {
    struct Column {
        var name: String
        var type: String
        /// The mapped table whose objects it refers to.
        var reference: String?
        var defaultSQL: String?
        var isNotNull: Bool
    }

    struct ForeignKey {
        var columns: [String]
        var parent: String
        var parentColumns: [String]
        var action: String
    }

    struct Unique {
        /// SQL terms, and the columns among them.
        var terms: [String]
        var columns: [String?]
        var collations: [String]
        var condition: String?
    }

    struct Table {
        var name: String
        /// All but generated ones.
        var columns: [Column]
        var primaryKey: [String]
        var isMapped: Bool
        var foreignKeys: [ForeignKey]
        var uniques: [Unique]
        /// The collation of each column under a key or UNIQUE index.
        var collations: [String: String]
    }

    var tables: [Table]
    let test: TestSchema

    subscript(name: String) -> Table {
        guard let table = tables.first(where: { $0.name == name }) else { preconditionFailure("no table \(name)") }
        return table
    }

    init(_ schema: TestSchema) throws {
        test = schema
        let queue = try DatabaseQueue()
        tables = try queue.write { database in
            try database.execute(sql: schema.sql)
            let names = try String.fetchAll(
                database,
                sql: "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY rowid")
            return try names.map { try Self.read($0, schema, database) }
        }
        for reference in schema.references where self[reference.parent].isMapped {
            guard let table = tables.firstIndex(where: { $0.name == reference.table }),
                let column = tables[table].columns.firstIndex(where: { $0.name == reference.column })
            else { continue }
            tables[table].columns[column].reference = reference.parent
        }
        // A column refers to a mapped table directly or through a column that does.
        for _ in tables {
            for (index, table) in tables.enumerated() {
                for key in table.foreignKeys {
                    let parent = self[key.parent]
                    for (column, parentColumn) in zip(key.columns, key.parentColumns) {
                        let reference =
                            parent.isMapped && parent.primaryKey == [parentColumn]
                            ? parent.name : parent.columns.first { $0.name == parentColumn }?.reference
                        guard let place = table.columns.firstIndex(where: { $0.name == column }) else { continue }
                        if let reference { tables[index].columns[place].reference = reference }
                    }
                }
            }
        }
    }

    private static func read(_ name: String, _ schema: TestSchema, _ database: Database) throws -> Table {
        var columns: [Column] = []
        var key: [(Int, String)] = []
        var keyType = ""
        for row in try Row.fetchAll(
            database, sql: "SELECT * FROM pragma_table_xinfo(?) WHERE hidden = 0", arguments: [name])
        {
            columns.append(
                Column(
                    name: row["name"], type: row["type"], defaultSQL: row["dflt_value"], isNotNull: row["notnull"] != 0)
            )
            if row["pk"] > 0 {
                key.append((row["pk"], row["name"]))
                keyType = row["type"]
            }
        }
        let primaryKey = key.sorted { $0.0 < $1.0 }.map(\.1)
        var foreignKeys: [Int: ForeignKey] = [:]
        for row in try Row.fetchAll(
            database, sql: "SELECT * FROM pragma_foreign_key_list(?) ORDER BY id, seq", arguments: [name])
        {
            let id: Int = row["id"]
            var made =
                foreignKeys[id]
                ?? ForeignKey(columns: [], parent: row["table"], parentColumns: [], action: row["on_delete"])
            made.columns.append(row["from"])
            if let to: String = row["to"] {
                made.parentColumns.append(to)
            } else {
                let keys = try String.fetchAll(
                    database, sql: "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk",
                    arguments: [made.parent])
                made.parentColumns.append(keys[row["seq"]])
            }
            foreignKeys[id] = made
        }
        var uniques: [Unique] = []
        var collations: [String: String] = [:]
        for row in try Row.fetchAll(
            database, sql: "SELECT * FROM pragma_index_list(?) WHERE \"unique\" ORDER BY seq DESC", arguments: [name])
        {
            let terms = try Row.fetchAll(
                database, sql: "SELECT * FROM pragma_index_xinfo(?) WHERE key ORDER BY seqno",
                arguments: [row["name"] as String])
            let names = terms.map { $0["name"] as String? }
            for term in terms { if let column: String = term["name"] { collations[column] = term["coll"] } }
            if row["origin"] == "pk" || row["partial"] == 1 || names.contains(nil) { continue }
            uniques.append(
                Unique(
                    terms: names.map { quoted($0 ?? "") }, columns: names, collations: terms.map { $0["coll"] },
                    condition: nil))
        }
        for special in schema.specialUniques where special.table == name {
            uniques.append(
                Unique(
                    terms: special.terms,
                    columns: special.terms.map { term in columns.contains { $0.name == term } ? term : nil },
                    collations: special.terms.map { _ in "BINARY" }, condition: special.condition))
        }
        let isReference =
            foreignKeys.values.contains { $0.columns == primaryKey && $0.parent != name }
            || schema.references.contains { $0.table == name && [$0.column] == primaryKey }
        let isSurrogate = primaryKey.count == 1 && keyType.uppercased() == "INTEGER" && !isReference
        return Table(
            name: name, columns: columns, primaryKey: primaryKey, isMapped: isSurrogate || schema.declared[name] != nil,
            foreignKeys: foreignKeys.sorted { $0.key < $1.key }.map(\.value), uniques: uniques, collations: collations)
    }
}

/// Whether SQLite takes two values for equal.
func sqlEqual(_ left: FieldValue, _ right: FieldValue, _ collation: String) -> Bool {
    switch (left, right) {
    case (.null, _), (_, .null): return false
    case (.integer(let a), .real(let b)), (.real(let b), .integer(let a)): return Double(a) == b
    case (.real(let a), .real(let b)): return a == b
    case (.text(let a), .text(let b)) where collation == "NOCASE":
        return a.map { (0x41...0x5a).contains($0) ? $0 + 32 : $0 }
            == b.map { (0x41...0x5a).contains($0) ? $0 + 32 : $0 }
    default: return left == right
    }
}
