import FerryCore
import FerryMerge

/// The effects of a sync's transaction on the store.
public struct PassOutcome: Sendable {
    /// Number of changes packed into the outbox.
    public var packed = 0
    /// Numbers of replayed changes, and of conflicts caused by them.
    public var replayed = 0
    public var conflicts = 0
    /// Devices whose logs continue in a table under a policy unknown here.
    public var refused: [DeviceID: FerryError] = [:]
    /// Number of new rows with a NULL in their key; such rows are local.
    public var rowsWithoutKey = 0

    public init() {}
}

/// Encodes a changeset as a segment; provided by the layer with the format. The second argument is the checksum of the
/// preceding segment, `nil` for the first segment.
public typealias SegmentSealer = (Changeset, Checksum?) throws -> OutboxEntry

extension Store {
    /// Packs pending changes and then replays remote changesets, in a single transaction.
    ///
    /// Local changes are always packed first, so they get their own times and replay meets them as state.
    /// - Parameters:
    ///   - incoming: consecutive changesets for each device, following the replayed position; any different sequence is refused.
    ///   - checksums: the checksum of each device's last segment, if `incoming` ends with that segment.
    ///   - seal: encodes packed changesets as segments.
    /// - Throws: `replayHookFailed` if `willCommitReplay` fails; nothing is packed or replayed then.
    public func pass(
        replaying incoming: [Changeset], checksums: [DeviceID: Checksum] = [:], seal: SegmentSealer
    ) throws -> PassOutcome {
        var gate = PolicyGate(incoming)
        var isWaitingKnown = true
        gate.withdrawInadmissible(ChangesetAdmission(clock))
        try enter(tablesOf: Array(gate.rest))
        if !incoming.isEmpty {
            try readAccess {
                let waiting = try gate.noteObstacles($0)
                gate.withdraw($0.registry, hooks)
                isWaitingKnown = try Set(waiting.reasons.keys).isSubset(of: WaitingMark.load($0.meta)?.numbers ?? [])
            }
            // A waiting device must not make every pass write.
            if try gate.rest.isEmpty && !needsPass() {
                var outcome = PassOutcome()
                outcome.refused = gate.refused
                return outcome
            }
        }
        if !isWaitingKnown { try noteWaitingTables() }
        let admitted = gate
        return try passing(seal) { work in
            gate = admitted
            // More tables may wait now than before the transaction.
            if !work.access.waiting.isEmpty { try gate.noteObstacles(work.access) }
            if !gate.rest.isEmpty {
                try checkSequence(Array(gate.rest), work.access)
                let replayed = try work.replaying { try replay(&gate, &$0, seal) }
                try ContextLog(work.access).prune()
                for device in replayed {
                    // If a log stopped within a segment, the last checksum is unknown.
                    let checksum = gate.refused[device] == nil ? checksums[device] : nil
                    let value = checksum.map { FieldValue.blob($0.bytes[...]) } ?? .null
                    try work.access.connection.execute(
                        "UPDATE ferry_device SET checksum = ? WHERE id = ?", value, .blob(device.bytes[...]))
                }
            }
            work.outcome.refused = gate.refused
            return work.outcome
        }
    }

    /// Applies policies set since the last pass; the rest of the pass uses the new policies.
    func takeUpPolicies(_ access: inout StoreAccess, _ touched: inout Set<Int>) throws {
        guard let change = try PolicyChange(access) else { return }
        let outcome = try change.run()
        access = outcome.access
        touched.formUnion(outcome.tables)
    }

    /// Replays the changesets allowed by the policies, each part under the policies of earlier parts.
    /// - Returns: the devices with replayed changesets.
    private func replay(
        _ gate: inout PolicyGate, _ work: inout PassWork, _ seal: SegmentSealer
    ) throws -> Set<DeviceID> {
        var replayed: Set<DeviceID> = []
        while let changesets = gate.next(work.access.registry, hooks) {
            let seeds = try PlainReferenceChange.takeUp(PlainReferenceList.targets(in: changesets), &work.access)
            let merged = try AppTriggers(work.access).run {
                try ChangesetApplier(work.access).apply(changesets, &work.clock)
            }
            work.take(merged)
            try settle(seeds, work.access, &work.touched)
            try GenerationWriters(work.access).note(changesets)
            try passOn(changesets, &work, seal)
            replayed.formUnion(changesets.map(\.device))
            try takeUpPolicies(&work.access, &work.touched)
        }
        return replayed
    }

    func pack(
        _ access: inout StoreAccess, _ clock: inout HybridClock, _ outcome: inout PassOutcome, _ seal: SegmentSealer,
        _ tables: inout Set<Int>
    ) throws {
        var limit = ChangeCapture.maximumNotes
        var concerned: [RowToken] = []
        while true {
            let before = (clock: clock, outcome: outcome)
            let packed: Packed?
            do {
                packed = try access.savepoint {
                    try packOnce(access, upTo: limit, &clock, &outcome, seal)
                }
            } catch let error as FerryError where error.code == .limitExceeded && limit > 1 {
                // Too large for a single segment: the loop packs smaller parts.
                (clock, outcome) = before
                limit = max(limit / 4, 1)
                continue
            } catch let broken as BrokenKeys {
                // The broken keys become plain references before the breaking changes are packed.
                (clock, outcome) = before
                let change = try PlainReferenceChange(access).enter(broken.keys)
                access = change.access
                concerned += change.seeds
                continue
            }
            guard let packed else { break }
            if try KeylessTables(access).note(packed.keyless) { access = try access.renewed() }
            // A key passed to a different object is no operation. Still rows referring to the key may remain.
            try settle(packed.touched, access, packed.lookups)
            for object in packed.touched where !tables.contains(object.table) { tables.insert(object.table) }
            if packed.isLast { break }
        }
        try settle(concerned, access, &tables)
    }

    /// Gives objects to the rules.
    /// - Parameter tables: receives the tables with possibly changed rows.
    func settle(_ seeds: [RowToken], _ access: StoreAccess, _ tables: inout Set<Int>) throws {
        if seeds.isEmpty { return }
        tables.formUnion(seeds.map(\.table))
        try AppTriggers(access).run { _ = try RowMaintenance(access).settle(seeds: seeds) }
    }

    /// The outcome of packing a changeset.
    private struct Packed {
        /// Objects the rules may have to check.
        var touched: [TouchedObject]
        /// Tables with rows with a NULL in their key.
        var keyless: Set<Int>
        /// True if no pending change is left.
        var isLast: Bool
        /// Lookups of rows, still valid: no row was written since.
        var lookups: RowLookups
    }

    /// Packs a changeset.
    /// - Returns: `nil` if nothing was left to pack.
    private func packOnce(
        _ access: StoreAccess, upTo limit: Int, _ clock: inout HybridClock, _ outcome: inout PassOutcome,
        _ seal: SegmentSealer
    ) throws -> Packed? {
        let captured = try ChangeCapture(access).takePendingChanges(
            upTo: limit, maximumBytes: limit > 1 ? maximumPackedBytes.withLock { $0 } : .max, &clock)
        let lookups = RowLookups(access)
        if let captured {
            let broken = try BrokenKeySearch(access, lookups).keys(captured)
            if !broken.isEmpty { throw BrokenKeys(keys: broken) }
        }
        outcome.rowsWithoutKey += captured?.rowsWithoutKey ?? 0
        // While a table is leaving, the described schema is not the schema this device is about to show.
        let isSchemaNews = try access.registry.leaving.isEmpty && access.meta.integer(.schemaUnsent) == 1
        let changes = captured?.tables ?? []
        if !changes.isEmpty || isSchemaNews {
            let schema =
                isSchemaNews
                ? try SchemaRecorder(connection: access.connection).record(
                    access.registry.parentsFirst.filter(\.isLocal).map {
                        TrackedTableRecord(name: $0.name, identity: $0.identity)
                    }, references: access.references()) : nil
            // Rows of an unknown time do not move the clock; yet the changeset must not be earlier than they are. A
            // schema is newer than the log's former schema, whatever the times of rows.
            let movesClock = captured == nil || isSchemaNews && clock.now > .unknown
            let time = movesClock ? clock.tick() : max(clock.now, .unknown)
            try stage(changes, schema: schema, time: time, access, seal, &outcome)
            if isSchemaNews { try access.meta.set(.schemaUnsent, 0) }
        }
        return captured.map {
            Packed(touched: $0.touched, keyless: $0.keylessTables, isLast: $0.isLast, lookups: lookups)
        }
    }

    /// - Parameter lookups: lookups of rows since a row was last written.
    func settle(_ touched: [TouchedObject], _ access: StoreAccess, _ lookups: RowLookups? = nil) throws {
        let seeds = try SeedFinder(access, isAfterStatements: true, lookups).seeds(touched)
        if seeds.isEmpty { return }
        let formerRows = RowMaintenance.formerRows(touched)
        try AppTriggers(access).run { _ = try RowMaintenance(access).settle(seeds: seeds, formerRows: formerRows) }
    }

    func stage(
        _ tables: [TableChanges], schema: SchemaRecord?, time: HybridTime, _ access: StoreAccess,
        _ seal: SegmentSealer, _ outcome: inout PassOutcome
    ) throws {
        let connection = access.connection
        let vector = try access.versionVector()
        let own = vector[access.device]
        var context = vector.positions
        context[access.device] = nil
        let sequence = own.sequence + 1
        // The changesets of a log are ordered by time, even if a clock has not started or was set back.
        let time = max(time, own.time, .unknown)
        let sortedTables = tables.map { changes -> TableChanges in
            var sorted = changes
            func precedes(_ left: ObjectOperation, _ right: ObjectOperation) -> Bool {
                left.object != right.object ? left.object < right.object : left.time < right.time
            }
            // New rows come in this order: no copy is needed.
            let isSorted = !zip(changes.operations.dropFirst(), changes.operations).contains { precedes($0, $1) }
            if !isSorted { sorted.operations.sort(by: precedes) }
            return sorted
        }
        let changeset = Changeset(
            device: access.device, sequence: sequence, time: time, context: VersionVector(context), schema: schema,
            tables: sortedTables)
        let previous = try connection.firstValue(
            "SELECT checksum FROM ferry_device WHERE id = ?", .blob(access.device.bytes[...]))
        var checksum: Checksum?
        if case .blob(let bytes)? = previous { checksum = Checksum(bytes: bytes) }
        let entry = try seal(changeset, checksum)
        try Outbox(connection).stage(entry)
        if let schema {
            try NewestSchema(connection).note(schema, at: Stamp(time: time, device: access.device))
        }
        try ContextLog(access).record(changeset.context, of: access.device, after: own.time)
        if LateChanges.isLate(tables, after: own.time) { try LateChanges.note([access.device: sequence], access.meta) }
        try connection.execute(
            "UPDATE ferry_device SET sequence = ?, time = ?, checksum = ? WHERE id = ?", .integer(Int64(sequence)),
            .integer(Int64(bitPattern: time.rawValue)), .blob(entry.checksum.bytes[...]),
            .blob(access.device.bytes[...]))
        outcome.packed += changeset.operationCount
    }

    private func checkSequence(_ incoming: [Changeset], _ access: StoreAccess) throws {
        var expected = try access.versionVector()
        for changeset in incoming {
            let next = expected[changeset.device].sequence + 1
            guard changeset.sequence == next, changeset.device != access.device else {
                throw FerryError(
                    .internalInconsistency,
                    "Changeset \(changeset.sequence) was to be replayed where \(next) is next.",
                    device: changeset.device, sequence: changeset.sequence)
            }
            expected.advance(changeset.device, to: LogPosition(sequence: changeset.sequence, time: changeset.time))
        }
    }

    /// Registers peers' unknown tables and columns, in a separate transaction.
    func enter(tablesOf changesets: [Changeset]) throws {
        if changesets.isEmpty { return }
        // Many changesets name the same few tables with the same columns: each is looked up once.
        var layouts: Set<TableLayout> = []
        for changeset in changesets {
            for changes in changeset.tables {
                layouts.insert(
                    TableLayout(name: changes.name, identity: changes.identity, columns: changes.columns))
            }
        }
        let schemas = changesets.compactMap(\.schema)
        let news = try read { connection in
            // For a known table, a device's identity of the table matters even before any write.
            for record in schemas.flatMap(\.tracked)
            where try !TableGeneration.all(record.name, connection).isEmpty {
                layouts.insert(TableLayout(name: record.name, identity: record.identity, columns: []))
            }
            return try layouts.filter { try isNews($0, connection) }
        }
        if news.isEmpty { return }
        try writeAsFerry { connection in
            var numbers = FreeNumbers(connection)
            for layout in news {
                try Registry.register(layout.name, layout.identity, columns: layout.columns, &numbers, in: connection)
            }
            // By its schema, this database may already have such a table or column.
            if news.contains(where: { $0.columns.contains { ColumnMeaning.base(of: $0) != nil } }) {
                try StoreMeta(connection: connection).set(.schemaVersion, -1)
            }
            return ((), [])
        }
    }

    private struct TableLayout: Hashable {
        var name: String
        var identity: TableIdentity
        var columns: [String]
    }

    private func isNews(_ layout: TableLayout, _ connection: SQLConnection) throws -> Bool {
        guard let known = try TableGeneration.named(layout.name, layout.identity, connection) else { return true }
        return try layout.columns.contains { column in
            try connection.count(
                "SELECT count(*) FROM ferry_column WHERE \"table\" = ? AND name = ? COLLATE NOCASE",
                .integer(Int64(known.number)),
                .text(column)) == 0
        }
    }

    /// True if a head naming the log up to `sequence`, with the last segment's checksum `checksum`, can be this store's
    /// own. False if the store has not published so far, or published a different segment there.
    public func publishedSegments(include sequence: UInt64, _ checksum: Checksum) throws -> Bool {
        try read { connection in
            // Published and not yet removed from the outbox: left by a crash in between.
            if let waiting = try connection.firstValue(
                "SELECT checksum FROM ferry_outbox WHERE last = ?", .integer(Int64(sequence)))
            {
                return waiting == .blob(checksum.bytes[...])
            }
            let row = try connection.rows(
                """
                SELECT sequence, checksum, (SELECT min(first) FROM ferry_outbox) FROM ferry_device
                WHERE number = (SELECT value FROM ferry_meta WHERE name = 'device')
                """
            ).first
            guard case .integer(let last)? = row?[0] else { return true }
            // The file may have gathered several outbox entries.
            if let isOwn = try OwnSegmentList(connection).holds(checksum, endingWith: sequence) { return isOwn }
            if case .integer(let first)? = row?[2] { return Int64(sequence) < first }
            guard Int64(sequence) == last, case .blob(let known)? = row?[1] else { return Int64(sequence) <= last }
            return known == checksum.bytes[...]
        }
    }

    /// True if a pass without incoming changesets would have work: pending changes, or a new or unsent schema. Cheap,
    /// and writes nothing.
    public func needsPass() throws -> Bool {
        try read { try needsPass($0) }
    }

    func needsPass(_ connection: SQLConnection) throws -> Bool {
        let meta = StoreMeta(connection: connection)
        try StoreTables.checkVersion(meta)
        if try !StoreTables.tellsRows(meta) { return true }
        if let mark = try WaitingMark.load(meta) {
            if try hasWorkBesideWaiting(mark, connection) { return true }
        } else if try connection.count("SELECT EXISTS(SELECT 1 FROM ferry_pending)") != 0 {
            return true
        }
        if try meta.integer(.schemaUnsent) == 1 || meta.string(.schemaNews) != nil { return true }
        // A hook may have been registered since.
        let policies = PolicyList(connection)
        if try policies.target(hooks) != policies.applied() { return true }
        return try SchemaReader(connection: connection).version() != meta.integer(.schemaVersion)
    }

    /// A number changed by commits of any further connection, of this process or not. Commits of the store's own
    /// connection leave the number: https://www.sqlite.org/pragma.html#pragma_data_version
    public func dataVersion() throws -> Int {
        try read { try $0.count("PRAGMA data_version") }
    }

    // MARK: Outbox

    /// The oldest segment waiting to be published, after a sequence number.
    public func outboxEntry(after sequence: UInt64 = 0) throws -> OutboxEntry? {
        try read { try Outbox($0).entry(after: sequence) }
    }

    /// The segments waiting to be published, in order, without their bytes.
    public func outboxSizes() throws -> [OutboxSize] {
        try read { try Outbox($0).sizes() }
    }

    /// Replaces the waiting segments with the same changesets by a single segment, durably: the head will name the
    /// segment.
    public func gatherInOutbox(_ entry: OutboxEntry) throws {
        try note(durably: true) { try Outbox($0).gather(entry) }
    }
}
