import FerryCore
import FerrySQL

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
            """, createApartIndex(table),
        ]
        if table.isMapped {
            statements.append(
                "CREATE UNIQUE INDEX \(table.objectTable)_key ON \(table.objectTable)(k0) WHERE k0 IS NOT NULL")
        }
        return statements
    }

    /// The index for counting and collecting tombstones, and for finding anomalous objects among all others.
    private static func createApartIndex(_ table: TrackedTable) -> String {
        """
        CREATE INDEX \(table.objectTable)_apart ON \(table.objectTable)(shown, object)
        WHERE \(Visibility.apartCondition)
        """
    }

    /// Gives the tables of an earlier Ferry the indexes of new ones.
    package static func renewIndexes(_ tables: some Collection<TrackedTable>, _ connection: SQLConnection) throws {
        let former = "_tombstone"
        var outdated: Set<String> = []
        try connection.forEachRow(
            "SELECT tbl_name FROM sqlite_schema WHERE type = 'index' AND name = tbl_name || '\(former)'"
        ) { outdated.insert($0.string(0)) }
        for table in tables where outdated.contains(table.objectTable) {
            try connection.executeScript("DROP INDEX \(table.objectTable)\(former); \(createApartIndex(table))")
        }
        try connection.executeScript(createConflictIndex)
    }

    /// The statement for a table's before-images: values of deleted rows and displacement candidates, until the next
    /// flush.
    package static func createOldRowsTable(_ table: TrackedTable) -> String {
        let columns = table.localColumns.map { ", c\($0.id)" }.joined()
        return "CREATE TABLE \(table.beforeImageTable)(sequence INTEGER PRIMARY KEY\(columns))"
    }
}
