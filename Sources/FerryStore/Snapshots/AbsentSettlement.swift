import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

extension StoreSession {
    /// Handles the next batch of objects absent from a merged snapshot. In the end takes the snapshot's position.
    /// - Returns: the outcome, and true if no batch is left.
    func finishSnapshot(_ manifest: SnapshotManifest) throws -> (outcome: PassOutcome, isDone: Bool) {
        guard let progress = try ImportProgress.read(access.meta) else {
            throw FerryError(.internalInconsistency, "A snapshot was finished that was not begun.")
        }
        let standing = try SnapshotCoverage(access, manifest)
        let conflicts = access.conflicts.recorded
        if !progress.isFresh { try AbsentObjects(access, standing).recordRest(progress) }
        var settlement = AbsentSettlement(access, standing)
        let isDone = try AppTriggerSandbox(access).run { try settlement.run(&clock) }
        touched.formUnion(settlement.tables)
        try stage(settlement.published)
        if isDone {
            if !progress.isFresh { try Republication(access).note(standing) }
            try takePosition(of: manifest)
        }
        outcome.conflicts = access.conflicts.recorded - conflicts
        return (outcome, isDone)
    }

    /// From now on the store counts as having replayed everything the snapshot covers.
    private func takePosition(of manifest: SnapshotManifest) throws {
        let vector = try access.versionVector()
        let wall = access.clock.milliseconds()
        for (device, position) in manifest.positions.sorted(by: { $0.key < $1.key }) where device != access.device {
            clock.observe(position.log.time, wallMilliseconds: wall)
            try DeviceTable(access.connection).cover(
                access.devices.number(of: device),
                upTo: .init(position: position.log, checksum: position.checksum),
                isAhead: position.log.sequence > vector[device].sequence)
        }
        for context in manifest.contexts {
            try access.contexts.add(
                .init(author: context.author, other: context.other, time: context.time, seen: context.seen))
        }
        try BackdatedChanges.note(manifest.lateChanges, access.meta)
        if let schema = manifest.schema {
            try NewestSchema(access.connection).note(schema)
            try ToldColumnNames(access.connection).hear(schema.record)
        }
        try access.meta.remove(.snapshot)
    }
}

/// Handles objects absent from a merged snapshot (`AbsentObjects`).
private struct AbsentSettlement {
    /// Number of objects handled in a transaction.
    private static let batchSize = 20_000

    private let access: StoreAccess
    private let standing: SnapshotCoverage
    private var connection: SQLConnection { access.connection }
    /// The objects' changes to publish again.
    private(set) var published: [TableChanges] = []
    /// Numbers of tables with possibly changed rows.
    private(set) var tables: Set<Int> = []

    init(_ access: StoreAccess, _ standing: SnapshotCoverage) {
        self.access = access
        self.standing = standing
    }

    /// - Returns: true if none are left.
    mutating func run(_ clock: inout HybridClock) throws -> Bool {
        let list = AbsentList(connection)
        let (objects, count) = try list.first(Self.batchSize)
        tables = Set(objects.keys)
        var again: Set<RowToken> = []
        var dropped: [Int: [ObjectID]] = [:]
        var deletions: [[DyingRow]] = []
        var touched: [TouchedObject] = []
        for table in access.registry.parentsFirst {
            var rows: [TouchedObject] = []
            for object in objects[table.id] ?? [] {
                switch try decide(object, table) {
                case .stays: continue
                case .isPublishedAgain: again.insert(RowToken(table: table.id, id: object))
                case .goes:
                    dropped[table.id, default: []].append(object)
                    if let row = try markDeleted(object, table, &touched) { rows.append(row) }
                case .goesWithConflict:
                    if let row = try markDeleted(object, table, &touched) { rows.append(row) }
                }
            }
            deletions.append(rows.map { DyingRow(object: $0) })
        }
        for group in deletions.reversed() { touched += try RowRemoval(access).remove(group) }
        try RowProjector(access).settle(touched)
        for table in access.registry.parentsFirst {
            for object in dropped[table.id] ?? [] where try !forget(object, table) {
                // An object unknown to the remote devices refers to this object; to them this object is a new row.
                again.insert(RowToken(table: table.id, id: object))
            }
        }
        let written = try Republication(access).publishAgain(again, &clock, &published)
        tables.formUnion(written.map(\.table))
        try RowProjector(access).settle(written)
        for (table, ids) in objects {
            for id in ids { try list.remove(RowToken(table: table, id: id)) }
        }
        return count < Self.batchSize
    }

    private enum Decision {
        /// A remote device wrote to the object later than the snapshot knows.
        case stays
        case isPublishedAgain
        case goes
        case goesWithConflict
    }

    private func decide(_ object: ObjectID, _ table: TrackedTable) throws -> Decision {
        let state = try access.objects(of: table.id).load(object)
        let registers = state.registers
        let stamps = ([registers.inserted, registers.deleted] + registers.fields).compactMap { $0 }
        if stamps.isEmpty { return .stays }
        let unknown = stamps.filter { !standing.isKnownToSnapshot($0) }
        if unknown.isEmpty { return .goes }
        // Deleting a deleted object again changes nothing; the tombstone is collected in due course.
        guard registers.isAlive, unknown.allSatisfy({ $0.device == access.device }) else { return .stays }
        if table.deletionWins, let newest = registers.newestWrite {
            try ConflictLog(access.conflicts).record(
                .deleted, of: RowToken(table: table.id, id: object), column: nil, lost: (nil, newest),
                kept: (nil, Self.deletion(after: newest)))
            return .goesWithConflict
        }
        return .isPublishedAgain
    }

    /// The time of the remote deletion is unknown now.
    private static func deletion(after stamp: Stamp) -> Stamp { Stamp(time: stamp.time.next, device: stamp.device) }

    /// Marks an object as deleted, so its row is removed like the row of any deleted object.
    /// - Returns: the object if it has a row to remove.
    private func markDeleted(
        _ object: ObjectID, _ table: TrackedTable, _ touched: inout [TouchedObject]
    ) throws -> TouchedObject? {
        let objects = access.objects(of: table.id)
        var state = try objects.load(object)
        if let newest = state.registers.newest, state.registers.isAlive {
            state.registers.mergeDeletion(Self.deletion(after: newest))
            try objects.save(state)
        }
        let isRow = state.shown == .row
        let record = TouchedObject(
            table: table.id, object: object, columns: table.columns.map(\.id), isDeleted: isRow, needsRules: !isRow,
            key: isRow ? state.key : [])
        if isRow { return record }
        if state.shown != .none { touched.append(record) }
        return nil
    }

    /// Forgets everything known of an object.
    /// - Returns: false if the rules still show the object.
    private func forget(_ object: ObjectID, _ table: TrackedTable) throws -> Bool {
        let objects = access.objects(of: table.id)
        let state = try objects.load(object)
        if state.shown != .none { return false }
        try objects.forget(state)
        try access.anomalies.remove(RowToken(table: table.id, id: object))
        try access.unified.forget(RowToken(table: table.id, id: object))
        return true
    }
}
