import FerryCore
import FerryMerge
import FerrySchema

extension StoreSession {
    /// Packs all pending changes, as one changeset or several, and projects the objects concerned.
    func pack() throws {
        var limit = ChangeCapture.maximumNotes
        var concerned: [RowToken] = []
        while true {
            let before = (clock: clock, outcome: outcome)
            let packed: Packed?
            do {
                packed = try access.savepoint {
                    try packOnce(upTo: limit)
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
            try settle(packed.touched, packed.lookups)
            for object in packed.touched where !touched.contains(object.table) { touched.insert(object.table) }
            // A value may be free now.
            concerned += try KeylessRows(access).hidden(in: packed.keyless)
            if packed.isLast { break }
        }
        try settle(concerned)
    }

    /// The outcome of packing a changeset.
    private struct Packed {
        /// Objects the rules may have to check.
        var touched: [TouchedObject]
        /// Tables with changes of rows with a NULL in their key.
        var keyless: Set<Int>
        /// True if no pending change is left.
        var isLast: Bool
        /// Lookups of rows, still valid: no row was written since.
        var lookups: RowLookups
    }

    /// Packs a changeset.
    /// - Returns: `nil` if nothing was left to pack.
    private func packOnce(upTo limit: Int) throws -> Packed? {
        let captured = try ChangeCapture(access).consumePendingChanges(
            upTo: limit, maximumBytes: limit > 1 ? maximumPackedBytes : .max, &clock)
        let lookups = RowLookups(access)
        if let captured {
            let broken = try BrokenKeySearch(access, lookups).keys(captured)
            if !broken.isEmpty { throw BrokenKeys(keys: broken) }
        }
        outcome.rowsWithoutKey += captured?.rowsWithoutKey ?? 0
        // While a table is leaving, the described schema is not the schema this device is about to show.
        let mayBeNews =
            try access.registry.leaving.isEmpty
            && (access.meta.integer(.schemaUnsent) == 1
                || NewestSchema(connection).hasOtherNotes(connection))
        let schema = mayBeNews ? try unsentSchema() : nil
        let isSchemaNews = schema != nil
        if mayBeNews, !isSchemaNews { try access.meta.set(.schemaUnsent, 0) }
        let changes = captured?.tables ?? []
        if !changes.isEmpty || isSchemaNews {
            // A migration happens now. The log's first schema is as old as the rows with it: another device may have migrated since.
            if isSchemaNews, try access.versionVector()[access.device].sequence > 0 {
                _ = clock.advance(toMilliseconds: access.clock.milliseconds())
            }
            // Rows of an unknown time do not move the clock; yet the changeset must not be earlier than they are. A
            // schema is newer than the log's former schema, whatever the times of rows.
            let movesClock = captured == nil || isSchemaNews && clock.now > .unknown
            let time = movesClock ? clock.tick() : max(clock.now, .unknown)
            try stage(changes, schema: schema, time: time)
            if let schema {
                try access.meta.set(.schemaUnsent, 0)
                try NewestSchema(connection).noteSent(schema)
            }
        }
        return captured.map {
            Packed(touched: $0.touched, keyless: $0.keylessTables, isLast: $0.isLast, lookups: lookups)
        }
    }

    /// The schema of this database; `nil` if this device sent the same one last.
    private func unsentSchema() throws -> SchemaRecord? {
        let columns = try ColumnNameList.load(access.connection)
        let schema = try SchemaRecorder(connection: access.connection).record(
            access.registry.parentsFirst.filter(\.isLocal).map {
                TrackedTableRecord(
                    name: $0.name, identity: $0.identity,
                    localName: equalNames($0.name, $0.localName) ? nil : $0.localName,
                    keyCollations: $0.hasFormerCollations ? $0.identityCollations : [],
                    identityColumns: $0.renamedIdentity, renamedColumns: columns[$0.name].record)
            }, references: access.references())
        let newest = NewestSchema(access.connection)
        guard try newest.isSent(schema) else { return schema }
        // An earlier version of Ferry did not record all of this.
        try newest.noteSent(schema)
        return nil
    }

    /// - Parameter lookups: lookups of rows since a row was last written.
    private func settle(_ touched: [TouchedObject], _ lookups: RowLookups) throws {
        let seeds = try ProjectionSeeds(access, isAfterStatements: true, lookups).seeds(touched)
        if seeds.isEmpty { return }
        let formerRows = RowProjector.formerRows(touched)
        try AppTriggerSandbox(access).run { _ = try RowProjector(access).settle(seeds: seeds, formerRows: formerRows) }
    }

    /// Stages a transaction's own writes as a changeset, besides pending changes. Without writes, does nothing.
    func stage(_ changes: [TableChanges]) throws {
        if changes.isEmpty { return }
        try stage(changes, schema: nil, time: max(clock.tick(), .unknown))
    }

    /// Stages a changeset of this device: encodes the changeset, puts the segment into the outbox, and moves the
    /// position in the own log.
    private func stage(_ tables: [TableChanges], schema: SchemaRecord?, time: HybridTime) throws {
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
        let devices = DeviceTable(connection)
        let entry = try encode(changeset, after: devices.end(of: access.device)?.checksum)
        try Outbox(connection).stage(entry)
        if tables.contains(where: { $0.operations.contains { !$0.time.isKnown } }) {
            try access.meta.set(.lastOldRows, Int64(sequence))
        }
        if let schema {
            try NewestSchema(connection).note(
                schema, at: Stamp(time: time, device: access.device), isOwn: true)
        }
        try access.contexts.record(changeset.context, of: access.device, after: own.time)
        if BackdatedChanges.isLate(tables, after: own.time) {
            try BackdatedChanges.note([access.device: sequence], access.meta)
        }
        try devices.set(
            .init(position: LogPosition(sequence: sequence, time: time), checksum: entry.checksum), of: access.device)
        outcome.packed += changeset.operationCount
        try contentNews.note(sortedTables, access, areOwn: true)
    }
}
