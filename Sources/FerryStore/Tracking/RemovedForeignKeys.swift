import FerryCore
import FerrySQL
import FerrySchema

/// Keeps the meaning of a column whose foreign key a migration takes away.
///
/// Frameworks drop the constraint and keep the column: Django's `db_constraint=False`, Rails' `remove_foreign_key`, Prisma's
/// `relationMode`. The column goes on holding the parent's keys. Where these differ from device to device, plain integers would lead
/// to other rows elsewhere. So such a column becomes an undeclared reference, as by `--reference` of `ferry init`.
struct RemovedForeignKeys {
    private let connection: SQLConnection
    private let schema: Schema
    private var meta: MetaTable { MetaTable(connection: connection) }

    init(_ connection: SQLConnection, _ schema: Schema) {
        self.connection = connection
        self.schema = schema
    }

    /// Adds the columns that lost their foreign key to the selection's references. A new registry knows them then.
    func update() throws {
        guard let text = try meta.string(.selection) else { return }
        let meanings = try Generations.load(meta).meanings
        if meanings.isEmpty { return }
        var selection = try SelectionText.parse(text)
        let registered = try RegisteredTables(connection).all()
        let mapped = try registered.filter { try IdentityText.parse($0.identity).isSurrogate }.map(\.name)
        for entry in registered {
            guard let columns = meanings["\(entry.number)"], let table = schema.table(entry.name) else { continue }
            for (name, meaning) in columns.sorted(by: { $0.key < $1.key }) where !meaning.target.isEmpty {
                guard let column = table.column(travelling: name), holdsKeys(column),
                    table.target(of: column.name, schema) == "",
                    let parent = mapped.first(where: { String?.areEqualBytes(meaning.target, target($0)) })
                else { continue }
                let reference = UndeclaredReference(table: entry.name, column: column.travellingName, parent: parent)
                if !selection.references.contains(where: { $0.names(reference) }) {
                    selection.references.append(reference)
                }
            }
        }
        let changed = try SelectionText.format(selection)
        if !equalBytes(changed, text) { try meta.set(.selection, changed) }
    }

    /// True if a column can hold integer keys. A text in place of an integer is another value.
    private func holdsKeys(_ column: SchemaColumn) -> Bool { !column.isGenerated && column.affinity != .text }

    /// The target of a foreign key to a table's integer key (`ColumnMeaning.target`); `nil` without such a key.
    private func target(_ name: String) -> String? {
        guard let parent = schema.table(name), parent.isIntegerKey, parent.primaryKey.count == 1 else { return nil }
        return parent.target(to: parent.primaryKey[0])
    }
}

extension UndeclaredReference {
    /// True if both are of one column.
    fileprivate func names(_ other: UndeclaredReference) -> Bool {
        equalNames(table, other.table) && equalNames(column, other.column)
    }
}
