import FerryCore

extension Store {
    /// Starts tracking the database: makes Ferry's tables and triggers, and records every present row as new.
    ///
    /// - Parameter rowsAreOld: true if the rows' times are unknown, so a container's values for the same rows win
    ///   (`ferry join`). Otherwise the rows are as of now (`ferry init`).
    /// - Returns: the local tables, with reasons.
    /// - Throws: `alreadyTracked`, `invalidArgument`, `unsupportedTable`; nothing is changed then.
    package func beginTracking(
        _ identity: StoreIdentity, _ selection: TableSelection, rowsAreOld: Bool = false
    ) throws -> [LeftOutTable] {
        try writeAsFerry { connection in
            if let present = try Self.identity(connection) {
                throw FerryError(
                    .alreadyTracked,
                    "The database belongs to the container at \(present.containerPath) already. "
                        + "Run `ferry leave` first if it is to belong to another.")
            }
            try OwnNames.checkFree(connection)
            let tracking = Tracking(connection, clock: clock, random: random)
            return (try tracking.begin(identity, selection, rowsAreOld: rowsAreOld), [])
        }
    }

    /// Returns the tables that would travel, and the tables that would stay local. Changes nothing.
    package func trackingPlan(
        _ selection: TableSelection
    ) throws -> (tracked: [TrackedTableRecord], leftOut: [LeftOutTable]) {
        try read { connection in
            if try Self.identity(connection) == nil { try OwnNames.checkFree(connection) }
            let plan = try TrackingPlan(SchemaReader(connection: connection).read(), selection)
            return (plan.tracked, plan.leftOut)
        }
    }

    /// The number of changes not in the container: pending changes, and operations in the outbox.
    package func unpublishedCount() throws -> Int {
        try read { connection in
            try connection.count(
                "SELECT (SELECT count(*) FROM ferry_pending) + (SELECT coalesce(sum(changes), 0) FROM ferry_outbox)")
        }
    }

    /// Stops tracking and removes everything of Ferry's, including the key-value store. The app's rows stay.
    /// - Parameter emptying: true to empty the travelling tables, because they were empty before tracking.
    /// - Returns: the app's triggers and views reading `ferry_replay`: the table stays for them, with the value 0.
    @discardableResult
    package func endTracking(emptying: Bool = false) throws -> [String] {
        try writeAsFerry { connection in
            try StoreIdentity.required(connection)
            let registry = emptying ? try Registry(connection, SchemaReader(connection: connection).read()) : nil
            let asking = try Tracking(connection, clock: clock, random: random).end()
            guard let registry else { return (asking, []) }
            // The app's triggers remove their derived rows.
            try connection.setTriggersEnabled(true)
            let tables = registry.parentsFirst.reversed().filter { $0.isLocal && !isFerryName($0.name) }
            for table in tables { try connection.execute("DELETE FROM \(quoted(table.name))") }
            try connection.setTriggersEnabled(false)
            return (asking, tables.map(\.name))
        }
    }

    /// Removes Ferry's triggers from an untracked database. They are left if somebody dropped Ferry's tables, and make every
    /// write of the app fail.
    /// - Returns: the number of triggers.
    package func removeRemains() throws -> Int {
        try writeAsFerry { connection in
            let hasNotes = try connection.count("SELECT count(*) FROM sqlite_schema WHERE name = 'ferry_pending'") != 0
            guard try Self.identity(connection) == nil, !hasNotes else { return (0, []) }
            let names = try connection.rows(
                "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND sql LIKE '%INSERT INTO ferry_pending(%'"
            ).map { $0[0].text }.filter { OwnNames.table(ofTrigger: $0) != nil }
            for name in names { try connection.executeScript("DROP TRIGGER \(quoted(name))") }
            return (names.count, [])
        }
    }

    /// Drops tables made by `DatabaseCreator`, after a failure of the following work.
    package func dropTables(_ names: [String]) throws {
        try writeAsFerry { connection in
            for name in names { try connection.executeScript("DROP TABLE IF EXISTS \(quoted(name))") }
            return ((), [])
        }
    }
}
