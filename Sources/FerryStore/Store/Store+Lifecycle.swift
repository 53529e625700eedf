import FerryCore
import FerrySQL
import FerrySchema

extension Store {
    /// Starts tracking the database: makes Ferry's tables and triggers, and records every present row as new.
    ///
    /// - Parameter rowsAreOld: true if the rows' times are unknown, so a container's values for the same rows win
    ///   (`ferry join`). Otherwise the rows are as of now (`ferry init`).
    /// - Parameter sealed: what the store of a sealed container begins with; `nil` for an open container.
    /// - Returns: the local tables, with reasons.
    /// - Throws: `alreadyTracked`, `invalidArgument`, `unsupportedTable`; nothing is changed then.
    package func beginTracking(
        _ identity: StoreIdentity, _ selection: TableSelection, rowsAreOld: Bool = false,
        sealed: SealedBeginning? = nil
    ) throws -> [LeftOutTable] {
        try writeAsFerry { connection in
            try Self.checkOwnTables(connection, path)
            if let present = try Self.identity(connection) {
                throw FerryError(
                    .alreadyTracked,
                    "The database belongs to the container at \(present.containerPath) already. "
                        + "Run `ferry leave` first if it is to belong to another.")
            }
            try OwnNames.checkFree(connection)
            let tracking = Tracking(connection, clock: clock, random: random)
            let leftOut = try tracking.begin(identity, selection, rowsAreOld: rowsAreOld)
            if let sealed { try RecordTable(connection).begin(sealed) }
            return (leftOut, [])
        }
    }

    /// Returns the tables that would travel, and the tables that would stay local. Changes nothing.
    package func trackingPlan(
        _ selection: TableSelection
    ) throws -> (tracked: [TrackedTableRecord], leftOut: [LeftOutTable]) {
        try read { connection in
            try Self.checkOwnTables(connection, path)
            if try Self.identity(connection) == nil { try OwnNames.checkFree(connection) }
            let plan = try TrackingPlan(
                SchemaReader(connection: connection).read(selection.renamed, columns: selection.renamedColumns),
                selection)
            return (plan.tracked, plan.leftOut)
        }
    }

    /// The number of this device's changes that wait: pending changes without candidates of OR REPLACE, and operations in the
    /// outbox.
    package func waitingChanges() throws -> (pending: Int, outbox: Int) {
        try read { connection in
            (try PendingTable(connection).countWritten(), try Outbox(connection).changeCount())
        }
    }

    /// The number of changes not in the container: pending changes, and operations in the outbox.
    package func unpublishedCount() throws -> Int {
        try read { connection in
            try PendingTable(connection).count() + Outbox(connection).changeCount()
        }
    }

    /// The number of rows of the key-value store that stay in a database without a container (`KeyValueRemains`).
    package func keyValueRows() throws -> Int { try read { try KeyValueRemains($0).count() } }

    /// Stops tracking and removes everything of Ferry's. The app's rows stay, and those of the key-value store.
    /// - Parameter emptying: true to empty the travelling tables, because they were empty before tracking.
    /// - Returns: the app's triggers and views reading `ferry_replay`: the table stays for them, with the value 0.
    @discardableResult
    package func endTracking(emptying: Bool = false) throws -> [String] {
        try writeAsFerry { connection in
            try StoreIdentity.required(connection)
            let registry = emptying ? try Registry(connection, SchemaReader(connection: connection).read()) : nil
            if emptying {
                for table in try KeyValueRemains(connection).tables() { try connection.execute("DELETE FROM \(table)") }
            }
            let asking = try Tracking(connection, clock: clock, random: random).end()
            guard let registry else { return (asking, []) }
            // The app's triggers remove their derived rows.
            try connection.setTriggersEnabled(true)
            let tables = registry.parentsFirst.reversed().filter { $0.isLocal && !isFerryName($0.name) }
            for table in tables { try connection.execute("DELETE FROM \(table.quotedName)") }
            try connection.setTriggersEnabled(false)
            return (asking, tables.map(\.localName))
        }
    }

    /// Removes what is left of Ferry's from a database in which somebody dropped Ferry's tables, or some of them. Left
    /// triggers make every write of the app fail.
    /// - Returns: the numbers of removed triggers and tables, and as `endTracking`; `nil` if nothing is missing or left.
    package func removeRemains() throws -> (triggers: Int, tables: Int, askers: [String])? {
        try writeAsFerry { connection in
            let remains = try OwnRemains(connection)
            guard !remains.missing.isEmpty, try remains.areThere else { return (nil, []) }
            return (try remains.remove(), [])
        }
    }

    /// Makes sure that Ferry's tables are all there, or none of them.
    /// - Throws: `storeIncomplete`.
    package func checkOwnTables() throws {
        try read { try Self.checkOwnTables($0, path) }
    }

    static func checkOwnTables(_ connection: SQLConnection, _ path: String) throws {
        let remains = try OwnRemains(connection)
        if remains.missing.isEmpty { return }
        guard !remains.missing.contains(OwnNames.meta) else {
            if try remains.areThere { throw remains.failure(in: path) }
            return
        }
        // Tables of other versions are refused for their version.
        let version = try MetaTable(connection: connection).integer(.version) ?? 0
        if (StoreTables.earliestVersion...StoreTables.version).contains(version) { throw remains.failure(in: path) }
    }

    /// Drops tables made by `DatabaseCreator`, after a failure of the following work.
    package func dropTables(_ names: [String]) throws {
        try writeAsFerry { connection in
            for name in names { try connection.executeScript("DROP TABLE IF EXISTS \(quoted(name))") }
            return ((), [])
        }
    }

    /// True if a container's schema tracks a table of this database.
    package func hasTables(of record: SchemaRecord) throws -> Bool {
        let tracked = Set(record.tracked.flatMap { [foldedName($0.name), foldedName($0.statementName)] })
        return try read { connection in
            var names: [String] = []
            try connection.forEachRow("SELECT name FROM sqlite_schema WHERE type = 'table'") {
                names.append($0.string(0))
            }
            return names.contains { !isFerryName($0) && tracked.contains(foldedName($0)) }
        }
    }
}
