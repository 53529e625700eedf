import FerryCore
import FerrySQL
import FerrySchema

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
        try PendingTable(connection).putAside(tables)
    }

    func putBack() throws {
        if tables.isEmpty { return }
        try PendingTable(connection).putBack()
    }
}
