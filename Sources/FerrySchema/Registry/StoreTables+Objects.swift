import FerryCore

extension StoreTables {
    /// The statements for a table's state, with a row for each object. Docs/Architecture/store-tables.md describes the
    /// columns.
    package static func createObjectTable(_ table: TrackedTable) -> [String] {
        let keys = table.keyColumns.indices.map { "k\($0), " }.joined()
        var statements = [
            """
            CREATE TABLE \(table.objectTable)(
                object BLOB PRIMARY KEY, \(keys)shown INTEGER NOT NULL, "check" INTEGER NOT NULL, state BLOB,
                kept BLOB) WITHOUT ROWID
            """,
            // The index for counting and collecting tombstones.
            """
            CREATE INDEX \(table.objectTable)_tombstone ON \(table.objectTable)(object)
            WHERE \(Visibility.tombstoneCondition)
            """,
        ]
        if table.isMapped {
            statements.append(
                "CREATE UNIQUE INDEX \(table.objectTable)_key ON \(table.objectTable)(k0) WHERE k0 IS NOT NULL")
        }
        return statements
    }

    /// The statement for a table's before-images: values of deleted rows and displacement candidates, until the next
    /// flush.
    package static func createOldRowsTable(_ table: TrackedTable) -> String {
        let columns = table.localColumns.map { ", c\($0.id)" }.joined()
        return "CREATE TABLE \(table.beforeImageTable)(sequence INTEGER PRIMARY KEY\(columns))"
    }
}
