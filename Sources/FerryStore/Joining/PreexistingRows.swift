import FerryCore
import FerryMerge
import FerrySchema

/// Handles a join's pre-existing rows after the container's rows are merged. Changes are merged like a remote
/// changeset: the app's triggers run, and the rules decide about the rows.
extension StoreSession {
    /// Writes pre-existing rows again, as of now, and stages the changes.
    /// - Parameters:
    ///   - changes: the packed changes of these rows.
    ///   - revived: objects inserted again, because a deletion removed them.
    ///   - renewed: objects with all fields written again. Overwritten values become conflicts.
    /// - Returns: the number of written rows.
    func rewritePreexistingRows(
        _ changes: [TableChanges], revived: ObjectSets, renewed: ObjectSets
    ) throws -> Int {
        var rows = PreexistingRows(access, revived: revived, renewed: renewed)
        _ = clock.advance(toMilliseconds: access.clock.milliseconds())
        for changes in changes { try rows.take(changes, &clock) }
        try rows.write(self)
        try stage(rows.insertions + rows.updates + rows.shared)
        return rows.count
    }

    /// Deletes rows that only this database has, and stages the changes.
    /// - Returns: the number of deleted rows.
    func removePreexistingRows(_ gone: ObjectSets) throws -> Int {
        _ = clock.advance(toMilliseconds: access.clock.milliseconds())
        let rows = PreexistingRowFilter(self)
        let changes = try rows.remove(gone)
        try stage(changes)
        return gone.values.reduce(0) { $0 + $1.count }
    }

    /// Replaces the waiting segments.
    func rewriteOutbox(_ make: OutboxRewriting) throws {
        let outbox = Outbox(connection)
        let parts = PartTable(connection)
        var last: (sequence: UInt64, checksum: Checksum?) = (0, nil)
        while let entry = try outbox.entry(after: last.sequence) {
            let segment = entry.numbers
            var kept: Set<Checksum> = []
            let made = try make(entry, last.checksum, OutboxParts(table: parts, segment: segment)) { checksum, file in
                try parts.keep(checksum, file, of: segment)
                kept.insert(checksum)
            }
            try parts.remove(segment, except: kept)
            try outbox.remove(first: entry.first)
            try outbox.stage(made)
            last = (made.last, made.checksum)
        }
        if let checksum = last.checksum {
            try DeviceTable(connection).setChecksum(checksum, of: access.device)
        }
    }
}

/// The pre-existing rows for `StoreSession.rewritePreexistingRows`.
struct PreexistingRowSelection {
    private let access: StoreAccess

    init(_ access: StoreAccess) { self.access = access }

    /// The objects a deletion of the container removed.
    func deleted(among here: ObjectSets) throws -> ObjectSets {
        var deleted: ObjectSets = [:]
        for table in access.registry.tables.values where table.isLocal {
            let name = foldedName(table.name)
            guard let own = here[name] else { continue }
            let dead = try access.objects(of: table.id).deleted()
            deleted[name] = own.intersection(dead)
        }
        return deleted
    }

    /// Returns the packed changes of pre-existing rows without the repeated parts: no device may merge both.
    func rest(of changes: TableChanges, revived: ObjectSets, renewed: ObjectSets) throws -> TableChanges {
        let name = foldedName(changes.name)
        let (revived, renewed) = (revived[name] ?? [], renewed[name] ?? [])
        if revived.isEmpty && renewed.isEmpty { return changes }
        guard let table = access.registry.table(named: changes.name, changes.identity) else { return changes }
        var rest = TableChanges(name: changes.name, identity: changes.identity)
        rest.columns = changes.columns
        rest.payloads = changes.payloads
        rest.shapes = changes.shapes
        // Keys, and values based on payloads, are not written again.
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

extension StoreAccess {
    /// The objects shown by the same row as an object, including the object.
    func classmates(of object: ObjectID, _ table: Int) throws -> [ObjectID] {
        let representative = try unified.representative(of: object, table) ?? object
        return try [representative] + unified.members(of: representative, table)
    }
}

/// Operations repeating pre-existing rows as of now.
private struct PreexistingRows {
    private let access: StoreAccess
    private let revived: ObjectSets
    private let renewed: ObjectSets
    private(set) var insertions: [TableChanges] = []
    private(set) var updates: [TableChanges] = []
    /// The updates, for the further objects of unified rows: a write to a row is a write to all of the row's objects (Docs/Rules.md,
    /// "Unified rows"). Objects that are rows of this database have updates of their own.
    private(set) var shared: [TableChanges] = []

    var count: Int { (insertions + updates).reduce(0) { $0 + $1.operations.count } }

    init(_ access: StoreAccess, revived: ObjectSets, renewed: ObjectSets) {
        self.access = access
        self.revived = revived
        self.renewed = renewed
    }

    /// Adds a table's packed changes.
    mutating func take(_ changes: TableChanges, _ clock: inout HybridClock) throws {
        let name = foldedName(changes.name)
        let (revived, renewed) = (revived[name] ?? [], renewed[name] ?? [])
        guard !revived.isEmpty || !renewed.isEmpty,
            let table = access.registry.table(named: changes.name, changes.identity)
        else {
            return
        }
        let columns = changes.columns.map { table.columnID(travelling: $0) }
        var (inserted, updated, shared) = (
            TableChangesBuilder(table), TableChangesBuilder(table), TableChangesBuilder(table)
        )
        let areJoined = try access.unified.areAny(in: table.id)
        var others: [(object: ObjectID, time: HybridTime, values: ColumnValues)] = []
        for operation in changes.operations where operation.kind == .insert {
            let isRevived = revived.contains(operation.object)
            guard isRevived || renewed.contains(operation.object) else { continue }
            var values: ColumnValues = [:]
            var parts: [EncodedPart] = []
            for (place, value) in zip(changes.shapes[operation.shape], changes.values(of: operation)) {
                guard let column = columns[place], isRevived || !table.keyColumnIDs.contains(column) else { continue }
                if let kind = changes.payload(of: place) {
                    // The base of a sum or set is unchanged.
                    guard isRevived, case .blob(let bytes) = value else { continue }
                    parts.append(EncodedPart(column: .init(number: column, kind: kind), bytes: Array(bytes)))
                } else {
                    values[column] = value
                }
            }
            let time = try time(for: operation.object, table, &clock)
            if isRevived {
                inserted.append(
                    operation.object, .insert, time, key: operation.key, .init(values: values, parts: parts))
            } else if !values.isEmpty {
                updated.append(operation.object, .update, time, .init(values: values))
                if !areJoined { continue }
                // Each object keeps its own key, and columns grouped with the key.
                let common = values.filter { !table.keyGroupColumns.contains($0.key) }
                for member in try access.classmates(of: operation.object, table.id)
                where member != operation.object && !renewed.contains(member) && !common.isEmpty {
                    others.append((member, time, common))
                }
            }
        }
        for other in others.sorted(by: { ($0.object, $0.time) < ($1.object, $1.time) }) {
            shared.append(other.object, .update, other.time, .init(values: other.values))
        }
        if !shared.isEmpty { self.shared.append(shared.changes) }
        if !inserted.isEmpty { insertions.append(inserted.changes) }
        if !updated.isEmpty { updates.append(updated.changes) }
    }

    /// The present time, later than all stamps of the row's objects, even if a remote clock is far ahead.
    private func time(
        for object: ObjectID, _ table: TrackedTable, _ clock: inout HybridClock
    ) throws -> HybridTime {
        var time = clock.tick()
        for member in try access.classmates(of: object, table.id) {
            guard let newest = try access.objects(of: table.id).load(member).registers.newest else { continue }
            time = max(time, min(newest.time.afterResending, .latest))
        }
        if time > clock.now { clock.observe(time, wallMilliseconds: access.clock.milliseconds()) }
        return time
    }

    func write(_ session: StoreSession) throws {
        let known = try access.versionVector()
        try apply([(insertions, known)], session)
        // Nothing was lost to the deletions.
        try forget(["deleted"], revived, insertions)
        // Each overtaken field is a conflict, as if unknown to its author.
        try forget(["field", "joined"], renewed, updates)
        try recordOvertakenClassmates()
        // `recordOvertakenClassmates` has recorded what the further objects lose.
        try apply([(updates, VersionVector()), (shared, known)], session)
    }

    /// Records the losses of further members of the unified rows: values no longer shown after this write. A merge
    /// records such losses only for newly unified rows.
    private func recordOvertakenClassmates() throws {
        for changes in updates {
            guard let table = access.registry.table(named: changes.name, changes.identity),
                try access.unified.areAny(in: table.id)
            else {
                continue
            }
            let columns = changes.columns.map { table.columnID(travelling: $0) }
            for operation in changes.operations {
                let members = try access.classmates(of: operation.object, table.id)
                if members.count < 2 { continue }
                let states = try members.map { try access.objects(of: table.id).load($0) }
                let shown = try ReferenceTranslator(access).row(
                    showing: RowToken(table: table.id, id: operation.object))
                let stamp = Stamp(time: operation.time, device: access.device)
                for (place, value) in zip(changes.shapes[operation.shape], changes.values(of: operation)) {
                    guard let column = columns[place], let former = shown[column] else { continue }
                    let writes = states.compactMap { state in
                        state.registers.stamp(of: column).map { (object: state.object, stamp: $0) }
                    }
                    // The merge records what the object itself loses.
                    guard let newest = writes.max(by: { $0.stamp < $1.stamp }), newest.stamp.device != access.device,
                        !writes.contains(where: { $0.object == operation.object && $0.stamp == newest.stamp }),
                        try former != resolved(value, table.columns[column])
                    else { continue }
                    try ConflictLog(access.conflicts).record(
                        .joined, of: RowToken(table: table.id, id: newest.object), column: column,
                        lost: (former, newest.stamp),
                        kept: (value, stamp))
                }
            }
        }
    }

    /// A reference as shown by its target row.
    private func resolved(_ value: FieldValue, _ column: TrackedColumn) throws -> FieldValue {
        guard let parent = column.reference, case .reference(let target) = value else { return value }
        return .reference(try access.unified.representative(of: target, parent) ?? target)
    }

    /// Applies changes as if their author knew a context, all at once.
    private func apply(_ changes: [(tables: [TableChanges], context: VersionVector)], _ session: StoreSession) throws {
        let changesets = changes.filter { !$0.tables.isEmpty }.map {
            Changeset(
                device: access.device, sequence: 0, time: session.clock.now, context: $0.context, tables: $0.tables)
        }
        if changesets.isEmpty { return }
        let outcome = try AppTriggerSandbox(access).run {
            try ChangesetApplier(access).apply(changesets, &session.clock, movesPositions: false)
        }
        session.touched.formUnion(outcome.tables)
    }

    /// Removes the conflicts lost by this database: the values are written again.
    private func forget(_ kinds: [String], _ objects: ObjectSets, _ changes: [TableChanges]) throws {
        let lost = Stamp(time: try access.oldTime(), device: access.device)
        for changes in changes {
            guard let table = access.registry.table(named: changes.name, changes.identity) else { continue }
            for operation in changes.operations {
                for member in try access.classmates(of: operation.object, table.id) {
                    let token = RowToken(table: table.id, id: member)
                    for kind in kinds { try access.conflicts.forget(token, kind, lost: lost) }
                }
            }
        }
    }
}
