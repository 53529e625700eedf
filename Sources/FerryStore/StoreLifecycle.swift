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
    /// - Returns: the app's triggers and views that ask `ferry_replay`: that table stays for them, and says 0.
    @discardableResult
    public func endTracking() throws -> [String] {
        try writeAsFerry { connection in
            guard try Self.identity(connection) != nil else { throw Self.notTracked }
            return (try Tracking(connection, clock: clock, random: random).end(), [])
        }
    }

    /// The rows that joined with an unknown time and lost to a deletion that the container held: written again, as of
    /// now, so that joining loses nothing that this database had.
    /// - Parameter here: the objects that the database brought along.
    /// - Returns: their number.
    public func reviveOldRowsLostToDeletions(_ here: ObjectSets) throws -> Int {
        try access { access in
            var revived = 0
            var tables: Set<Int> = []
            for table in access.registry.parentsFirst where table.isLocal {
                let objects = here[foldedName(table.name)] ?? []
                let count = try OldRowRevival(access, table).run(objects.sorted())
                if count > 0 { tables.insert(table.id) }
                revived += count
            }
            return (revived, tables.map { access.registry[$0].name })
        }
    }
}

/// Shows again what a join would otherwise take away, and notes it for the next flush.
struct OldRowRevival {
    let access: StoreAccess
    let table: TrackedTable

    init(_ access: StoreAccess, _ table: TrackedTable) {
        self.access = access
        self.table = table
    }

    func run(_ objects: [ObjectID]) throws -> Int {
        let connection = access.connection
        var revived = 0
        for object in objects {
            let state = try access.objects(of: table.id).load(object)
            guard state.shown == .none, state.registers.deleted != nil, !state.registers.isAlive else { continue }
            let writer = access.writer(of: table.id)
            var values: [(column: Int, value: FieldValue)] = []
            for (column, value) in state.kept.fields.sorted(by: { $0.key < $1.key }) where table.columns[column].isLocal
            {
                guard let local = try Travelling(access).local(value, table.columns[column]) else { continue }
                values.append((column, local))
            }
            let reservations = KeyReservations(access)
            let place = table.isMapped ? try reservations.keyForRow(of: state, in: table) : nil
            if table.isMapped, place == nil { continue }
            let key = place?.key
            if try writer.insert(key: key, values) != nil { continue }
            if let key {
                if let former = place?.former {
                    try reservations.moveReferences(to: object, in: table, from: former, to: key)
                }
                // What is captured of the row is this object's.
                var shown = state
                shown.key = [key]
                shown.shown = .row
                try access.objects(of: table.id).save(shown)
            }
            let slots = table.keyColumns.indices.map { "k\($0)" }.joined(separator: ", ")
            let keys: [FieldValue] =
                try key.map { [$0] }
                ?? table.keyColumnIDs.map { column in
                    try Travelling(access).local(state.kept.fields[column] ?? .null, table.columns[column]) ?? .null
                }
            let places = keys.map { _ in "?" }.joined(separator: ", ")
            try connection.execute(
                "INSERT INTO ferry_pending(\"table\", event, at, \(slots)) "
                    + "VALUES (\(table.id), \(PendingEvent.insert.rawValue), julianday('now'), \(places))", keys)
            // So nothing was lost to it.
            try connection.execute(
                "DELETE FROM ferry_conflict WHERE \"table\" = ? AND object = ? AND kind = 'deleted'",
                .integer(Int64(table.id)), .blob(object.bytes[...]))
            revived += 1
        }
        return revived
    }
}
