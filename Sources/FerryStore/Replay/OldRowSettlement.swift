import FerryCore
import FerryMerge

/// What a join does with the rows that a database brought along, once the container's are merged. What is written is
/// merged like a changeset of another device's: the app's triggers run, and the rules decide about the rows.
extension Store {
    /// Notes which time the rows have that were there before the database joined, before they are packed.
    public func setOldTime(_ time: HybridTime) throws {
        try access { access in (try access.setOldTime(time), []) }
    }

    /// The objects that both sides have: by their identity, or because they are one row with one of the container's.
    /// - Parameters:
    ///   - here: the objects that the database brought along.
    ///   - there: the objects that the container had and that were not deleted.
    public func matchedRows(here: ObjectSets, there: ObjectSets) throws -> ObjectSets {
        try readAccess { access in
            var matched: ObjectSets = [:]
            for table in access.registry.tables.values {
                let name = foldedName(table.name)
                guard let own = here[name], let others = there[name] else { continue }
                var found = own.intersection(others)
                if try access.joined.areAny(in: table.id) {
                    for object in own.subtracting(found)
                    where try access.classmates(of: object, table.id).contains(where: others.contains) {
                        found.insert(object)
                    }
                }
                matched[name] = found
            }
            return matched
        }
    }

    /// Those of the objects that a deletion of the container's took away.
    public func deletedRows(among here: ObjectSets) throws -> ObjectSets {
        try readAccess { access in
            var deleted: ObjectSets = [:]
            for table in access.registry.tables.values where table.isLocal {
                let name = foldedName(table.name)
                guard let own = here[name] else { continue }
                let dead = try access.objects(of: table.id).deleted()
                deleted[name] = own.intersection(dead)
            }
            return deleted
        }
    }

    /// Writes old rows again, as of now, and stages that.
    /// - Parameters:
    ///   - changes: what was packed of them.
    ///   - revived: those that are inserted again, because a deletion took them away.
    ///   - renewed: those of which all fields are written again. What they take the place of becomes a conflict.
    /// - Returns: the number of rows written.
    public func writeOldRowsAgain(
        _ changes: [TableChanges], revived: ObjectSets, renewed: ObjectSets, seal: SegmentSealer
    ) throws -> Int {
        try passing(seal) { work in
            var rows = OldRows(work.access, revived: revived, renewed: renewed)
            _ = work.clock.advance(toMilliseconds: clock.milliseconds())
            for changes in changes { try rows.take(changes, &work.clock) }
            try rows.write(&work)
            try stage(rows.insertions + rows.updates, &work, seal)
            return rows.count
        }
    }

    /// What was packed of old rows, without what `writeOldRowsAgain` says again: nobody else is to merge both.
    public func withoutWhatIsWrittenAgain(
        _ changes: TableChanges, revived: ObjectSets, renewed: ObjectSets
    ) throws -> TableChanges {
        let name = foldedName(changes.name)
        let (revived, renewed) = (revived[name] ?? [], renewed[name] ?? [])
        if revived.isEmpty && renewed.isEmpty { return changes }
        return try readAccess { access in
            guard let table = access.registry.table(named: changes.name, changes.identity) else { return changes }
            var rest = TableChanges(name: changes.name, identity: changes.identity)
            rest.columns = changes.columns
            rest.payloads = changes.payloads
            rest.shapes = changes.shapes
            // Keys, and what stands on something else than a value, are not written again.
            let stays = changes.columns.indices.map { place in
                changes.payload(of: place) != nil
                    || table.columnID(travelling: changes.columns[place]).map(table.keyColumnIDs.contains) ?? true
            }
            var shapes: [Int: Int] = [:]
            for operation in changes.operations where !revived.contains(operation.object) {
                var kept = operation
                kept.firstValue = rest.values.count
                let values = changes.values(of: operation)
                guard operation.kind == .insert, renewed.contains(operation.object) else {
                    rest.values += values
                    rest.operations.append(kept)
                    continue
                }
                let shape = changes.shapes[operation.shape]
                if shapes[operation.shape] == nil {
                    shapes[operation.shape] = rest.shapes.count
                    rest.shapes.append(shape.filter { stays[$0] })
                }
                kept.shape = shapes[operation.shape] ?? operation.shape
                rest.values += zip(shape, values).filter { stays[$0.0] }.map(\.1)
                rest.operations.append(kept)
            }
            return rest
        }
    }

    /// Deletes rows that only this database has, here and for the other devices, and keeps them as conflicts. Nobody else
    /// knows them: what was packed of them is out of the outbox (`rewriteOutbox`).
    /// - Returns: their number.
    public func removeOldRows(_ gone: ObjectSets, seal: SegmentSealer) throws -> Int {
        try passing(seal) { work in
            _ = work.clock.advance(toMilliseconds: clock.milliseconds())
            let rows = OneSidedRows(work.access)
            let changes = try rows.remove(gone, &work)
            try stage(changes, &work, seal)
            return gone.values.reduce(0) { $0 + $1.count }
        }
    }

    /// Puts other segments in the place of those that wait to be published.
    /// - Parameter make: makes one of the entry that is there and of the checksum of the new one before it.
    public func rewriteOutbox(_ make: (OutboxEntry, Checksum?) throws -> OutboxEntry) throws {
        try access { access in
            let outbox = Outbox(access.connection)
            var last: (sequence: UInt64, checksum: Checksum?) = (0, nil)
            while let entry = try outbox.entry(after: last.sequence) {
                let made = try make(entry, last.checksum)
                try outbox.remove(first: entry.first)
                try outbox.stage(made)
                last = (made.last, made.checksum)
            }
            if let checksum = last.checksum {
                try access.connection.execute(
                    "UPDATE ferry_device SET checksum = ? WHERE id = ?", .blob(checksum.bytes[...]),
                    .blob(access.device.bytes[...]))
            }
            return ((), [])
        }
    }

    /// How many fields differed between the rows that the database brought along and the container's.
    public func differingFieldCount() throws -> Int {
        try read { try $0.count("SELECT count(*) FROM ferry_conflict WHERE kind IN ('field', 'joined')") }
    }
}

extension StoreAccess {
    /// The objects that one row shows, the object itself among them.
    func classmates(of object: ObjectID, _ table: Int) throws -> [ObjectID] {
        let representative = try joined.representative(of: object, table) ?? object
        return try [representative] + joined.members(of: representative, table)
    }
}

/// Operations that say again, as of now, what a database brought along.
private struct OldRows {
    private let access: StoreAccess
    private let revived: ObjectSets
    private let renewed: ObjectSets
    private(set) var insertions: [TableChanges] = []
    private(set) var updates: [TableChanges] = []

    var count: Int { (insertions + updates).reduce(0) { $0 + $1.operations.count } }

    init(_ access: StoreAccess, revived: ObjectSets, renewed: ObjectSets) {
        self.access = access
        self.revived = revived
        self.renewed = renewed
    }

    /// Takes what was packed of a table.
    mutating func take(_ changes: TableChanges, _ clock: inout HybridClock) throws {
        let name = foldedName(changes.name)
        let (revived, renewed) = (revived[name] ?? [], renewed[name] ?? [])
        guard !revived.isEmpty || !renewed.isEmpty,
            let table = access.registry.table(named: changes.name, changes.identity)
        else {
            return
        }
        let columns = changes.columns.map { table.columnID(travelling: $0) }
        var (inserted, updated) = (TableChangesBuilder(table), TableChangesBuilder(table))
        for operation in changes.operations where operation.kind == .insert {
            let isRevived = revived.contains(operation.object)
            guard isRevived || renewed.contains(operation.object) else { continue }
            var values: FieldValues = [:]
            var parts: [EncodedPart] = []
            for (place, value) in zip(changes.shapes[operation.shape], changes.values(of: operation)) {
                guard let column = columns[place], isRevived || !table.keyColumnIDs.contains(column) else { continue }
                if let kind = changes.payload(of: place) {
                    // What a sum or a set stands on is the same as before.
                    guard isRevived, case .blob(let bytes) = value else { continue }
                    parts.append(EncodedPart(column: .init(number: column, kind: kind), bytes: Array(bytes)))
                } else {
                    values[column] = value
                }
            }
            let time = try time(for: operation.object, table, &clock)
            if isRevived {
                inserted.append(operation.object, .insert, time, key: operation.key, values: values, parts: parts)
            } else if !values.isEmpty {
                updated.append(operation.object, .update, time, values: values)
            }
        }
        if !inserted.isEmpty { insertions.append(inserted.changes) }
        if !updated.isEmpty { updates.append(updated.changes) }
    }

    /// Now, and later than all that is known of the row, also where the clock of another device is far ahead.
    private func time(
        for object: ObjectID, _ table: TrackedTable, _ clock: inout HybridClock
    ) throws -> HybridTime {
        var time = clock.tick()
        for member in try access.classmates(of: object, table.id) {
            guard let newest = try access.objects(of: table.id).load(member).registers.newest else { continue }
            time = max(time, min(newest.time.next, .latest))
        }
        if time > clock.now { clock.observe(time, wallMilliseconds: access.clock.milliseconds()) }
        return time
    }

    func write(_ work: inout PassWork) throws {
        try apply(insertions, knowing: try access.versionVector(), &work)
        // Nothing was lost to what had deleted them.
        try forget(["deleted"], revived, insertions)
        // Of what is overtaken each field is a conflict, as if nobody had known of it.
        try forget(["field", "joined"], renewed, updates)
        try noteOvertakenClassmates()
        try apply(updates, knowing: VersionVector(), &work)
    }

    /// What other members of the rows show, and show no more once this is written, is lost: a merge notes such only where
    /// rows become one.
    private func noteOvertakenClassmates() throws {
        for changes in updates {
            guard let table = access.registry.table(named: changes.name, changes.identity),
                try access.joined.areAny(in: table.id)
            else {
                continue
            }
            let columns = changes.columns.map { table.columnID(travelling: $0) }
            for operation in changes.operations {
                let members = try access.classmates(of: operation.object, table.id)
                if members.count < 2 { continue }
                let states = try members.map { try access.objects(of: table.id).load($0) }
                let shown = try Travelling(access).row(showing: RowToken(table: table.id, id: operation.object))
                let stamp = Stamp(time: operation.time, device: access.device)
                for (place, value) in zip(changes.shapes[operation.shape], changes.values(of: operation)) {
                    guard let column = columns[place], let former = shown[column] else { continue }
                    let writes = states.compactMap { state in
                        state.registers.stamp(of: column).map { (object: state.object, stamp: $0) }
                    }
                    guard let newest = writes.max(by: { $0.stamp < $1.stamp }), newest.stamp.device != access.device,
                        try former != resolved(value, table.columns[column])
                    else { continue }
                    try ConflictLog(access).record(
                        .joined, table: table.id, object: newest.object, column: column, lost: (former, newest.stamp),
                        kept: (value, stamp))
                }
            }
        }
    }

    /// A reference as the row shows it that it leads to.
    private func resolved(_ value: FieldValue, _ column: TrackedColumn) throws -> FieldValue {
        guard let parent = column.reference, case .reference(let target) = value else { return value }
        return .reference(try access.joined.representative(of: target, parent) ?? target)
    }

    private func apply(_ changes: [TableChanges], knowing context: VersionVector, _ work: inout PassWork) throws {
        if changes.isEmpty { return }
        let changeset = Changeset(
            device: access.device, sequence: 0, time: work.clock.now, context: context, tables: changes)
        let outcome = try AppTriggers(access).run {
            try ChangesetApplier(access).apply([changeset], &work.clock, isOwn: true)
        }
        work.touched.formUnion(outcome.tables)
    }

    /// Forgets what this database lost: it is written again.
    private func forget(_ kinds: [String], _ objects: ObjectSets, _ changes: [TableChanges]) throws {
        let own = FieldValue.integer(Int64(try access.devices.number(of: access.device)))
        let time = FieldValue.integer(Int64(bitPattern: try access.oldTime().rawValue))
        for changes in changes {
            guard let table = access.registry.table(named: changes.name, changes.identity) else { continue }
            for operation in changes.operations {
                for member in try access.classmates(of: operation.object, table.id) {
                    for kind in kinds {
                        try access.connection.execute(
                            "DELETE FROM ferry_conflict WHERE \"table\" = ? AND object = ? AND kind = ? "
                                + "AND lost_device = ? AND lost_time = ?",
                            .integer(Int64(table.id)), .blob(member.bytes[...]), .text(kind), own, time)
                    }
                }
            }
        }
    }
}
