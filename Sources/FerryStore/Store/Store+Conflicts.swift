import FerryCore

extension Store {
    /// Lists conflicts, latest first.
    /// - Parameters:
    ///   - limit: maximum number of conflicts.
    ///   - number: only conflicts before this number: the last number of the preceding page.
    /// - Throws: `invalidArgument` for a table that does not travel.
    public func conflicts(
        _ filter: ConflictFilter = ConflictFilter(), limit: Int = 50, before number: Int64? = nil
    ) throws -> [Conflict] {
        try readAccess { try ConflictReader($0).list(filter, limit: limit, before: number) }
    }

    /// Lists the conflicts recorded after a number, earliest first: for a caller who remembers the last number seen.
    package func conflicts(after number: Int64, limit: Int = 50) throws -> [Conflict] {
        try readAccess { try ConflictReader($0).list(after: number, limit: limit) }
    }

    /// Lists unresolved conflicts in which a value lost that perhaps nobody wrote, earliest first.
    /// - Parameter number: only conflicts recorded after this number.
    package func backdatedConflicts(after number: Int64, limit: Int) throws -> [BackdatedConflict] {
        try readAccess { access in
            // The first changeset of a log is not known as backdated. Of two values of one time this does not matter.
            let late = try BackdatedChanges.all(access.meta)
            let devices = try late.keys.sorted().map { "\(try access.devices.number(of: $0))" }.joined(separator: ", ")
            let entries = try ConflictReader(access).entries(
                [
                    "number > ?", "resolved IS NULL", "kind = 'field'", "kept_device <> lost_device",
                    "(kept_time = lost_time OR kept_time > lost_time AND lost_device IN (\(devices)))",
                ],
                "ORDER BY number LIMIT ?", [.integer(number), .integer(Int64(limit))])
            return entries.compactMap { entry in
                guard let column = entry.column, column < entry.table.columns.count,
                    entry.table.columns[column].policy == .lastWriterWins, let lost = entry.lost.value,
                    let kept = entry.kept.value
                else { return nil }
                let time = HybridTime(rawValue: UInt64(bitPattern: entry.lost.time))
                return BackdatedConflict(
                    number: entry.number, table: entry.table.name, object: entry.object,
                    column: entry.table.columns[column].travellingName, time: time, lost: lost, kept: kept,
                    isOwn: entry.lost.device == access.device, isTie: entry.kept.time == entry.lost.time)
            }
        }
    }

    /// Lists unresolved conflicts of two references to objects that one row shows: both writers referred to the row. Earliest first.
    /// - Parameter number: only conflicts recorded after this number.
    package func conflictsOfOneRow(after number: Int64, limit: Int) throws -> [Int64] {
        try readAccess { access in
            let columns = access.registry.tables.values.flatMap { table in
                table.columns.filter { $0.reference != nil }.map { "(\(table.id), \($0.id))" }
            }
            if columns.isEmpty { return [] }
            let entries = try ConflictReader(access).entries(
                [
                    "number > ?", "resolved IS NULL", "kind = 'field'",
                    "(\"table\", \"column\") IN (VALUES \(columns.joined(separator: ", ")))",
                ],
                "ORDER BY number LIMIT ?",
                [.integer(number), .integer(Int64(limit))])
            return try entries.filter { entry in
                guard let column = entry.column, column < entry.table.columns.count,
                    let parent = entry.table.columns[column].reference,
                    case .reference(let lost)? = entry.lost.value, case .reference(let kept)? = entry.kept.value
                else { return false }
                func row(of object: ObjectID) throws -> ObjectID {
                    try access.unified.representative(of: object, parent) ?? object
                }
                return try row(of: lost) == row(of: kept)
            }.map(\.number)
        }
    }

    /// Removes conflicts in which nothing was lost.
    package func forgetConflicts(_ numbers: [Int64]) throws {
        try write { try ConflictReader.forget(numbers, $0) }
    }

    /// A single conflict, resolved or not.
    /// - Throws: `nothingFound`.
    package func conflict(_ number: Int64) throws -> Conflict {
        try readAccess { access in try ConflictReader(access).conflict(number) }
    }

    /// Counts conflicts.
    package func conflictCount(_ filter: ConflictFilter = ConflictFilter()) throws -> Int {
        try readAccess { try ConflictReader($0).count(filter) }
    }

    /// The number of the last recorded conflict; 0 without any.
    package func lastConflictNumber() throws -> Int64 {
        try read { try ConflictTable.lastNumber($0) }
    }

    /// Marks conflicts as resolved by a person. They stay, but are neither listed nor counted by default. Only this
    /// device marks them.
    /// - Returns: the number of newly resolved conflicts.
    /// - Throws: `nothingFound` for an unknown number; nothing is changed then.
    @discardableResult
    public func resolveConflicts(_ numbers: [Int64]) throws -> Int {
        try write { try ConflictReader.resolve(numbers, at: clock.milliseconds(), $0) }
    }

    /// Restores the losing side of a conflict, as an ordinary change that travels, and resolves the conflict. A field
    /// gets the lost value, a deleted row comes back with its values, and a revived row is deleted again.
    /// - Parameter encode: encodes pending changes as segments; they are packed first.
    /// - Throws: `nothingFound`; `restoreRefused` if row, column or table is gone, or the schema refuses the row.
    ///   Nothing is changed then.
    package func restoreConflict(_ number: Int64, encode: SegmentEncoding) throws -> RestoredRow {
        try transaction(encoding: encode) { try $0.restoreConflict(number) }
    }

    /// Gives an object's row the wanted content, as an ordinary change that travels.
    /// - Parameters:
    ///   - isDryRun: true to try and change nothing.
    ///   - encode: encodes pending changes as segments; they are packed first.
    /// - Throws: `invalidArgument` for a table that does not travel; `restoreRefused` as `restoreConflict`.
    package func restoreRow(
        _ object: ObjectID, table: String, to target: RowTarget, isDryRun: Bool = false,
        encode: SegmentEncoding
    ) throws -> RestoredRow {
        do {
            return try transaction(encoding: encode) { session in
                let row = try session.restoreRow(object, table: table, to: target)
                if isDryRun { throw DryRun(row: row) }
                return row
            }
        } catch let attempt as DryRun {
            return attempt.row
        }
    }

    /// Thrown to roll back a transaction that was only a trial.
    private struct DryRun: Error {
        var row: RestoredRow
    }
}
