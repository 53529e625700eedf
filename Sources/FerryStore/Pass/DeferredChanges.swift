import FerryCore

/// Sets aside pending changes impossible to pack without a collation or function of the app, while all the rest is
/// packed.
struct DeferredChanges {
    private let connection: SQLConnection
    private let tables: [Int]

    init(_ access: StoreAccess) throws {
        connection = access.connection
        tables = access.waiting.holdsNotes ? access.waiting.connected(access.registry).sorted() : []
    }

    func putAside() throws {
        if tables.isEmpty { return }
        let condition = "\"table\" IN (\(tables.map { "\($0)" }.joined(separator: ", ")))"
        try connection.executeScript(
            """
            DROP TABLE IF EXISTS temp.ferry_held;
            CREATE TEMP TABLE ferry_held AS SELECT * FROM ferry_pending WHERE \(condition);
            DELETE FROM ferry_pending WHERE \(condition)
            """)
    }

    func putBack() throws {
        if tables.isEmpty { return }
        try connection.executeScript(
            "INSERT INTO ferry_pending SELECT * FROM temp.ferry_held; DROP TABLE temp.ferry_held")
    }
}
