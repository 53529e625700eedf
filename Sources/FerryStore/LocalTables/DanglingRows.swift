import FerryCore
import FerrySQL

/// Dangling rows: local rows whose parent a replay deleted or hid, while foreign keys or further constraints forbid
/// deleting or changing them. They stay unchanged, and are counted.
struct DanglingRows {
    let access: StoreAccess
    private var connection: SQLConnection { access.connection }

    init(_ access: StoreAccess) { self.access = access }

    /// The number of a table's rows referring to missing rows of a parent table.
    struct Count {
        var table: String
        var parent: String
        var rows: Int
    }

    /// Saves the tables with dangling rows after a transaction.
    func note(_ all: [ChangedParentKeys]) throws {
        let known: [String] = try access.meta.json(.stranded) ?? []
        var tables = Set(try known.filter { try !count($0).isEmpty }.map(exactKey))
        for keys in all {
            for reference in keys.key.references where !tables.contains(exactKey(reference.child.localName)) {
                let left = LocalForeignKeyAction(
                    keys: keys, reference: reference, change: .clear, condition: "NOT former.isThere")
                if try left.concernsAny() { tables.insert(exactKey(reference.child.localName)) }
            }
        }
        if tables == Set(known.map(exactKey)) { return }
        if tables.isEmpty {
            try access.meta.remove(.stranded)
        } else {
            try access.meta.set(.stranded, json: tables.sorted().map(plainText))
        }
    }

    /// Counts the dangling rows in the saved tables.
    func counts() throws -> [Count] {
        let known: [String] = try access.meta.json(.stranded) ?? []
        return try known.flatMap { try count($0) }
    }

    private func count(_ table: String) throws -> [Count] {
        if let travelling = access.registry.table(called: table), travelling.isLocal {
            // Rows with a NULL in their key.
            return try travelling.foreignKeys.compactMap { key -> Count? in
                guard key.action != .none, let declared = key.declared else { return nil }
                let rows = try declared.brokenRows(connection, keyless: true)
                return rows == 0 ? nil : Count(table: table, parent: declared.localParent, rows: rows)
            }
        }
        return try connection.rows(
            "SELECT parent, count(*) FROM pragma_foreign_key_check(?) GROUP BY parent ORDER BY parent", .text(table)
        ).compactMap { row in
            let parent = row[0].text
            guard access.registry.table(called: parent)?.isLocal ?? false, case .integer(let rows) = row[1] else {
                return nil
            }
            return Count(table: table, parent: parent, rows: Int(rows))
        }
    }
}
