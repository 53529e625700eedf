import FerryCore

extension Store {
    /// Begins to track the database: makes Ferry's tables and triggers, and notes every present row as new.
    ///
    /// - Parameter rowsAreOld: the rows' times are unknown, so that where a container has the same rows, its values
    ///   win (`ferry join`). Otherwise they are as of now (`ferry init`).
    /// - Returns: the tables that are left out, and why.
    /// - Throws: `alreadyTracked`, `invalidArgument`, `unsupportedTable`; nothing is changed then.
    public func beginTracking(
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

    /// Which tables would travel and which would not; nothing is changed.
    public func trackingPlan(
        _ selection: TableSelection
    ) throws -> (tracked: [TrackedTableRecord], leftOut: [LeftOutTable]) {
        try read { connection in
            if try Self.identity(connection) == nil { try OwnNames.checkFree(connection) }
            let plan = try TrackingPlan(SchemaReader(connection: connection).read(), selection)
            return (plan.tracked, plan.leftOut)
        }
    }

    /// The changes that are not in the container: notes that no flush has packed, and operations in the outbox.
    public func unpublishedCount() throws -> Int {
        try read { connection in
            try connection.count(
                "SELECT (SELECT count(*) FROM ferry_pending) + (SELECT coalesce(sum(changes), 0) FROM ferry_outbox)")
        }
    }

    /// Stops tracking and removes everything of Ferry's, the key-value store included. The app's rows stay.
    /// - Parameter emptying: whether the tables that travel are emptied, because they were empty before they were tracked.
    /// - Returns: the app's triggers and views that ask `ferry_replay`: that table stays for them, and says 0.
    @discardableResult
    public func endTracking(emptying: Bool = false) throws -> [String] {
        try writeAsFerry { connection in
            guard try Self.identity(connection) != nil else { throw Self.notTracked }
            let registry = emptying ? try Registry(connection, SchemaReader(connection: connection).read()) : nil
            let asking = try Tracking(connection, clock: clock, random: random).end()
            guard let registry else { return (asking, []) }
            // The app's triggers take what they derived along.
            try connection.setTriggersEnabled(true)
            let tables = registry.parentsFirst.reversed().filter { $0.isLocal && !isFerryName($0.name) }
            for table in tables { try connection.execute("DELETE FROM \(quoted(table.name))") }
            try connection.setTriggersEnabled(false)
            return (asking, tables.map(\.name))
        }
    }

    /// Drops tables that `DatabaseCreator` made, where what they were made for failed.
    public func dropTables(_ names: [String]) throws {
        try writeAsFerry { connection in
            for name in names { try connection.executeScript("DROP TABLE IF EXISTS \(quoted(name))") }
            return ((), [])
        }
    }
}
