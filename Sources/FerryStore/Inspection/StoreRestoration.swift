import FerryCore

extension Store {
    /// Restores the losing side of a conflict, as an ordinary change that travels, and resolves the conflict. A field
    /// gets the lost value, a deleted row comes back with its values, and a revived row is deleted again.
    /// - Parameter seal: encodes pending changes as segments; they are packed first.
    /// - Throws: `nothingFound`; `restoreRefused` if row, column or table is gone, or the schema refuses the row.
    ///   Nothing is changed then.
    public func restoreConflict(_ number: Int64, seal: SegmentSealer) throws -> RestoredRow {
        try writeAsApp(seal) { access in
            guard let entry = try ConflictReader(access).entries(["number = ?"], "", [.integer(number)]).first else {
                throw ConflictReader.nothingFound(number)
            }
            let row = try RowRestoration(access, entry.table).restore(entry)
            _ = try ConflictReader.resolve(number, at: clock.milliseconds(), access.connection)
            return row
        }
    }

    /// Gives an object's row the wanted content, as an ordinary change that travels.
    /// - Parameters:
    ///   - wish: the key for a new row if none is known here.
    ///   - isDryRun: true to try and change nothing.
    ///   - seal: encodes pending changes as segments; they are packed first.
    /// - Throws: `invalidArgument` for a table that does not travel; `restoreRefused` as `restoreConflict`.
    public func restoreRow(
        _ object: ObjectID, table: String, to target: RowTarget, wish: FieldValue? = nil, isDryRun: Bool = false,
        seal: SegmentSealer
    ) throws -> RestoredRow {
        try writeAsApp(seal, isDryRun: isDryRun) { access in
            let table = try access.registry.travellingTable(table)
            let restoration = try RowRestoration(access, table)
            let state = try access.objects(of: table.id).load(object)
            switch target {
            case .absent: return try restoration.remove(state)
            case .values(let named):
                var values: FieldValues = [:]
                for (name, value) in named {
                    if let column = table.columnID(name) { values[column] = value }
                }
                return try restoration.write(values, state, wish: wish)
            }
        }
    }

    /// Thrown to roll back a transaction that was only a trial.
    private struct DryRun: Error {
        var row: RestoredRow
    }

    /// Packs pending changes and then lets `body` write like an app, in a single transaction. So keys mean the objects
    /// of the state.
    private func writeAsApp(
        _ seal: SegmentSealer, isDryRun: Bool = false, _ body: (StoreAccess) throws -> RestoredRow
    ) throws -> RestoredRow {
        do {
            return try access { access in
                var access = access
                var outcome = PassOutcome()
                var clock = try access.hybridClock()
                var touched: Set<Int> = []
                try pack(&access, &clock, &outcome, seal, &touched)
                try access.save(clock)
                _ = try StayingRows(access).settle()
                let row: RestoredRow
                do {
                    row = try access.connection.writingAsApp(enforcingForeignKeys: true) { try body(access) }
                } catch let error as FerryError where error.isOfStatement {
                    throw RowRestoration.refusal("The schema refuses it: \(error.message) Nothing was changed.")
                }
                try access.keyValueChanges.save(access.connection)
                if isDryRun { throw DryRun(row: row) }
                // ON DELETE and the app's triggers may write to any table.
                let tables = access.registry.tables.values.filter(\.isLocal).map(\.name)
                return (row, tables + access.registry.stayingTables)
            }
        } catch let attempt as DryRun {
            return attempt.row
        }
    }
}
