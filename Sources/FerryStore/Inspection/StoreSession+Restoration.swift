import FerryCore
import FerrySchema

/// Restores rows and values for a person, with writes in the app's name.
extension StoreSession {
    /// Restores the values lost in a conflict, and resolves the conflict.
    func restoreConflict(_ number: Int64) throws -> RestoredRow {
        try writingAsApp { access in
            guard let entry = try ConflictReader(access).entries(["number = ?"], "", [.integer(number)]).first else {
                throw ConflictReader.nothingFound(number)
            }
            let row = try RowRestoration(access, entry.table).restore(entry)
            _ = try ConflictReader.resolve(number, at: access.clock.milliseconds(), access.connection)
            return row
        }
    }

    /// Brings an object's row to a target state.
    func restoreRow(_ object: ObjectID, table: String, to target: RowTarget) throws -> RestoredRow {
        try writingAsApp { access in
            let table = try access.registry.travellingTable(table)
            let restoration = try RowRestoration(access, table)
            let state = try access.objects(of: table.id).load(object)
            switch target {
            case .absent: return try restoration.remove(state)
            case .values(let named, let wish):
                var values: ColumnValues = [:]
                for (name, value) in named {
                    if let column = table.columnID(travelling: name) { values[column] = value }
                }
                return try restoration.write(values, state, wish: wish)
            }
        }
    }

    /// Packs pending changes, then lets `body` write as an app does. Packing first makes keys mean what the state says.
    private func writingAsApp(_ body: (StoreAccess) throws -> RestoredRow) throws -> RestoredRow {
        try pack()
        try updateLocalTables()
        let row: RestoredRow
        do {
            row = try connection.writingAsApp(enforcingForeignKeys: true) { try body(access) }
        } catch let error as FerryError where error.isOfStatement {
            throw RowRestoration.refusal("The schema refuses it: \(error.message) Nothing was changed.")
        }
        // ON DELETE and the app's triggers may write to any table.
        touched.formUnion(access.registry.tables.keys)
        touchedNames += access.registry.referringLocalTables
        return row
    }
}
