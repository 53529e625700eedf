import FerryCore
import FerryMerge

/// Merges the changes of a batch into one table's state, and writes the rows that nothing else depends on. What may
/// concern other rows is left to the rules.
final class TableMerge {
    private let access: StoreAccess
    private let table: TrackedTable
    private let parts: [ChangesetPart]
    private let objects: ObjectTable
    private let reader: RowReader
    private let writer: RowWriter
    private let meaning: References
    private let conflicts: ConflictLog
    private let contexts: ContextLog
    private let travelling: Travelling
    private let reservations: KeyReservations
    /// Objects that the batch inserts into tables which references lead to that no foreign key checks, by table.
    private let arriving: [Int: Set<ObjectID>]
    private let hasUncheckedReferences: Bool
    private let registers: RegisterMerge
    private let uniqueClaims: UniqueClaims
    /// Whether exceptional objects refer to, claim or offer something of this table.
    private let hasExceptions: Bool
    /// Whether peers have columns that this database does not have.
    private let hasForeignColumns: Bool
    /// Columns under a UNIQUE index or a foreign key, or that foreign keys refer to.
    private let sensitiveColumns: Set<Int>
    /// Columns under a UNIQUE index.
    private let claimColumns: Set<Int>
    /// Columns that rows are found by: of the key, and those that foreign keys refer to.
    private let offeredColumns: Set<Int>

    /// What the rules may have to look at.
    private(set) var touched: [TouchedObject] = []
    /// Objects that died and still have their rows.
    private(set) var deletions: [TouchedObject] = []

    /// Objects of a mapped table that the batch deletes.
    private var dying: Set<ObjectID> = []

    private struct Entry {
        var object: ObjectID
        var time: HybridTime
        var part: Int
        var operation: Int
    }

    init(
        _ access: StoreAccess, _ table: TrackedTable, _ parts: [ChangesetPart], arriving: [Int: Set<ObjectID>]
    ) throws {
        self.arriving = arriving
        self.access = access
        self.table = table
        self.parts = parts
        objects = access.objects(of: table.id)
        reader = access.reader(of: table.id)
        writer = access.writer(of: table.id)
        meaning = References(registry: access.registry)
        conflicts = ConflictLog(access)
        contexts = ContextLog(access)
        registers = RegisterMerge(table: table, hooks: access.hooks, conflicts: conflicts)
        travelling = Travelling(access)
        reservations = KeyReservations(access)
        hasUncheckedReferences = table.columns.contains(where: \.isUnchecked)
        uniqueClaims = UniqueClaims(access)
        hasExceptions = try access.exceptionTokens.areAny(of: table.id)
        hasForeignColumns = table.columns.contains { !$0.isLocal }
        var claimed: Set<Int> = []
        for index in table.uniqueIndexes {
            if index.needsEvaluation { claimed.formUnion(table.columns.map(\.id)) }
            claimed.formUnion(index.terms.compactMap(\.column))
        }
        claimColumns = claimed
        var columns = claimed
        for key in table.foreignKeys { columns.formUnion(key.columns) }
        var offered = Set(table.keyColumnIDs)
        for incoming in table.incoming {
            if case .unique(let numbers) = access.registry[incoming.table].foreignKeys[incoming.foreignKey].target {
                offered.formUnion(numbers)
            }
        }
        offeredColumns = offered
        sensitiveColumns = columns.union(offered)
    }

    func run() throws {
        var entries: [Entry] = []
        entries.reserveCapacity(parts.reduce(0) { $0 + $1.changes.operations.count })
        for (part, content) in parts.enumerated() {
            for (index, operation) in content.changes.operations.enumerated() {
                entries.append(Entry(object: operation.object, time: operation.time, part: part, operation: index))
                if operation.kind == .delete, table.isMapped { dying.insert(operation.object) }
            }
        }
        entries.sort { left, right in
            if left.object != right.object { return left.object < right.object }
            if left.time != right.time { return left.time < right.time }
            return left.part != right.part ? left.part < right.part : left.operation < right.operation
        }
        var start = 0
        while start < entries.count {
            var end = start + 1
            while end < entries.count, entries[end].object == entries[start].object { end += 1 }
            try merge(entries[start..<end])
            start = end
        }
    }

    // MARK: One object

    /// The present state of the object that is merged, and what the merge changes.
    private struct Merge {
        var state: ObjectState
        let before: ObjectState
        /// Values won in this batch, by column.
        var won: FieldValues = [:]
        /// Columns under a policy of which the batch changed the stamp alone.
        var stamped: Set<Int> = []
        /// The present row, read where a conflict or a deletion needs it.
        var row: FieldValues?
    }

    private func merge(_ entries: ArraySlice<Entry>) throws {
        guard let first = entries.first else { return }
        let before = try objects.load(first.object)
        var merge = Merge(state: before, before: before)
        for entry in entries {
            let part = parts[entry.part]
            let operation = part.changes.operations[entry.operation]
            try apply(operation, part, &merge)
        }
        try write(&merge)
    }

    private func apply(_ operation: Operation, _ part: ChangesetPart, _ merge: inout Merge) throws {
        let stamp = Stamp(time: operation.time, device: part.device)
        let wasAlive = merge.state.registers.isAlive
        let formerDeletion = merge.state.registers.deleted
        switch operation.kind {
        case .delete:
            let newest = merge.state.registers.newestWrite
            merge.state.registers.mergeDeletion(stamp)
            if let newest { try noteDeletion(stamp, newest, part, wasAlive: wasAlive, merge) }
            return
        case .insert:
            let isNewest = merge.state.registers.inserted.map { $0 < stamp } ?? true
            merge.state.registers.mergeInsertion(stamp)
            if isNewest, let key = operation.key, !merge.before.shown.hasRow { merge.state.kept.key = key }
        case .update:
            break
        }
        let values = part.changes.values(of: operation)
        for (place, (column, value)) in zip(part.shapes[operation.shape], values).enumerated() where column >= 0 {
            let payload = part.payloads.isEmpty ? nil : part.payloads[operation.shape][place]
            // Asked first, because most tables have nothing of it.
            if table.hasColumnPolicies || payload != nil || !merge.state.policies.isEmpty,
                registers.concerns(column, payload, merge.state)
            {
                let written = try RegisterMerge.written(value, payload, at: stamp, part)
                try mergeRegister(written, column, at: stamp, part, &merge)
                continue
            }
            let known = merge.state.registers.stamp(of: column)
            // Read before the merge forgets it; only a conflict or a tie needs it.
            var isConflict = false
            var former: FieldValue?
            if let known {
                isConflict = try known.device != part.device && isConcurrent(stamp, part, with: known)
                if isConflict || known == stamp { former = try present(column, merge) }
            }
            let wins = merge.state.registers.mergeField(column, stamp, value: value, present: former)
            if isConflict, let known, let former, former != value {
                let other = (value: Optional(former), stamp: known)
                let this = (value: Optional(value), stamp: stamp)
                try conflicts.record(
                    .field, table: table.id, object: operation.object, column: column, lost: wins ? other : this,
                    kept: wins ? this : other)
            }
            if wins { merge.won[column] = value }
        }
        if let deletion = formerDeletion, deletion.device != part.device, !part.context.includes(deletion) {
            try noteWriteAgainst(deletion, stamp, operation.object, merge)
        }
    }

    /// Merges an operation on a column whose present policy, or whose past, asks for more than a stamp and a value.
    private func mergeRegister(
        _ written: WrittenValue, _ column: Int, at stamp: Stamp, _ part: ChangesetPart, _ merge: inout Merge
    ) throws {
        let known = merge.state.registers.stamp(of: column)
        let isMet = try known.map { try $0.device != part.device && isConcurrent(stamp, part, with: $0) } ?? false
        let present = try known == nil ? nil : self.present(column, merge)
        let shown = try registers.merge(
            written, column, at: stamp, present: present, isConcurrent: isMet, &merge.state)
        if let shown {
            merge.won[column] = shown
        } else if merge.won[column] == nil, merge.state.registers.stamp(of: column) != known {
            merge.stamped.insert(column)
        }
    }

    /// Whether two writes were made without knowledge of each other.
    private func isConcurrent(_ stamp: Stamp, _ part: ChangesetPart, with known: Stamp) throws -> Bool {
        if part.context.includes(known) { return false }
        // What arrives late may have been known to what overwrote it.
        return try known < stamp || !contexts.knew(known, of: stamp)
    }

    private func present(_ column: Int, _ merge: Merge) throws -> FieldValue? {
        if let value = merge.won[column] ?? merge.state.kept.fields[column] { return value }
        guard merge.before.shown.hasRow, table.isLocal else { return nil }
        guard let value = try reader.read(merge.before.key)?[column] else { return nil }
        return try travelling.value(value, table.columns[column])
    }

    /// A deletion arrived: it or the writes that it had not seen have lost.
    private func noteDeletion(
        _ deletion: Stamp, _ newest: Stamp, _ part: ChangesetPart, wasAlive: Bool, _ merge: Merge
    ) throws {
        guard newest.device != part.device, !part.context.includes(newest) else { return }
        let object = merge.state.object
        if merge.state.registers.isAlive {
            if try newest < deletion || !contexts.knew(newest, of: deletion) {
                try conflicts.record(
                    .revived, table: table.id, object: object, column: nil, lost: (nil, deletion), kept: (nil, newest))
            }
        } else if wasAlive {
            try conflicts.record(
                .deleted, table: table.id, object: object, column: nil, lost: (nil, newest), kept: (nil, deletion))
        }
    }

    /// A write arrived whose author had not seen the object's deletion.
    private func noteWriteAgainst(
        _ deletion: Stamp, _ write: Stamp, _ object: ObjectID, _ merge: Merge
    ) throws {
        if write < deletion || merge.state.registers.deletionWins && !merge.state.registers.isAlive {
            if try contexts.knew(deletion, of: write) { return }
            try conflicts.record(
                .deleted, table: table.id, object: object, column: nil, lost: (nil, write), kept: (nil, deletion))
        } else {
            try conflicts.record(
                .revived, table: table.id, object: object, column: nil, lost: (nil, deletion), kept: (nil, write))
        }
    }

    // MARK: The row

    private func write(_ merge: inout Merge) throws {
        let isAlive = merge.state.registers.isAlive
        if !table.isLocal {
            keepWon(&merge, merge.won)
            objects.renewCheck(of: &merge.state)
            try objects.save(merge.state)
            return
        }
        if hasForeignColumns {
            let hidden = merge.won.filter { !table.columns[$0.key].isLocal }
            keepWon(&merge, hidden)
            for column in hidden.keys { merge.won[column] = nil }
        }
        switch (merge.before.shown, isAlive) {
        case (.row, true):
            try update(&merge)
        case (.row, false):
            keepWon(&merge, merge.won)
            try objects.save(merge.state)
            deletions.append(
                TouchedObject(
                    table: table.id, object: merge.state.object, columns: table.columns.map(\.id), isDeleted: true,
                    needsRules: false, key: merge.before.key))
        case (.none, true):
            try insert(&merge)
        case (.none, false):
            // What waits for a deleted object may hold it back, once it is known.
            if try table.incoming.contains(where: isHolding)
                && isAwaited(merge.state.object, merge.state.kept.fields.overlaid(with: merge.won))
            {
                return try leaveToRules(&merge)
            }
            keepWon(&merge, merge.won)
            objects.renewCheck(of: &merge.state)
            try objects.save(merge.state)
            try DeadOffers(access).note(merge.state, table)
        case (.exceptionalRow, _), (.hidden, _), (.joined, _):
            try leaveToRules(&merge)
        }
    }

    private func isHolding(_ incoming: TrackedTable.IncomingKey) -> Bool {
        access.registry[incoming.table].foreignKeys[incoming.foreignKey].action == .restrict
    }

    private func keepWon(_ merge: inout Merge, _ values: FieldValues) {
        merge.state.kept.fields = merge.state.kept.fields.overlaid(with: values)
    }

    /// Writes the state with all values won kept beside the row; the rules decide what the row becomes.
    private func leaveToRules(_ merge: inout Merge) throws {
        keepWon(&merge, merge.won)
        try objects.save(merge.state)
        touched.append(
            TouchedObject(
                table: table.id, object: merge.state.object, columns: merge.won.keys, isDeleted: false,
                needsRules: true))
    }

    private func update(_ merge: inout Merge) throws {
        if merge.won.isEmpty {
            try changeCheck(&merge)
            try objects.save(merge.state)
            return
        }
        let isSensitive = merge.won.keys.contains { sensitiveColumns.contains($0) }
        // What it claims now, an exceptional object may claim too.
        if hasExceptions, merge.won.keys.contains(where: claimColumns.contains) { return try leaveToRules(&merge) }
        if merge.won.keys.contains(where: { offeredColumns.contains($0) }) { return try leaveToRules(&merge) }
        guard let values = try localValues(merge.won) else { return try leaveToRules(&merge) }
        try changeCheck(&merge)
        if try writer.update(key: merge.before.key, values) != nil { return try leaveToRules(&merge) }
        if !merge.state.kept.fields.isEmpty {
            for column in merge.won.keys { merge.state.kept.fields[column] = nil }
        }
        try keepMisleading(merge.won, &merge)
        try objects.save(merge.state)
        if isSensitive {
            touched.append(
                TouchedObject(
                    table: table.id, object: merge.state.object, columns: merge.won.keys, isDeleted: false,
                    needsRules: false, key: merge.before.key))
        }
    }

    /// Brings the check of an object with a row up to its registers, while the row still shows the former values.
    private func changeCheck(_ merge: inout Merge) throws {
        let (object, old, new) = (merge.state.object, merge.before.registers, merge.state.registers)
        merge.state.check &+= objects.checks.change(object, from: old, to: new)
        var row: FieldValues?
        for column in merge.stamped where merge.won[column] == nil {
            guard let former = old.stamp(of: column), let stamp = new.stamp(of: column) else { continue }
            if row == nil { row = try reader.read(merge.before.key) ?? [:] }
            guard let value = merge.before.kept.fields[column] ?? row?[column] else { continue }
            merge.state.check &+= objects.checks.field(object, column, stamp, value)
            merge.state.check &-= objects.checks.field(object, column, former, value)
        }
        try merge.won.forEachColumn { column, value in
            if let stamp = new.stamp(of: column) {
                merge.state.check &+= objects.checks.field(object, column, stamp, value)
            }
            guard let stamp = old.stamp(of: column) else { return }
            // What its row shows may be another object's that its own value refers to by now.
            if let own = merge.before.kept.fields[column] {
                merge.state.check &-= objects.checks.field(object, column, stamp, own)
                return
            }
            if row == nil { row = try reader.read(merge.before.key) ?? [:] }
            guard let shown = row?[column] else { return }
            let former = try travelling.value(shown, table.columns[column])
            merge.state.check &-= objects.checks.field(object, column, stamp, former)
        }
    }

    private func insert(_ merge: inout Merge) throws {
        let all = merge.state.kept.fields.overlaid(with: merge.won)
        let shown = hasForeignColumns ? all.filter { table.columns[$0.key].isLocal } : all
        guard let values = try localValues(shown), try canBeShown(merge.state.object, all) else {
            return try leaveToRules(&merge)
        }
        var key: FieldValue?
        var former: FieldValue?
        if table.isMapped {
            guard let allocated = try keyForInsertion(merge.state) else { return try leaveToRules(&merge) }
            (key, former) = allocated
        }
        if try writer.insert(key: key, values) != nil { return try leaveToRules(&merge) }
        if let former, let key {
            try reservations.moveReferences(to: merge.state.object, in: table, from: former, to: key)
        }
        merge.state.key =
            try key.map { [$0] }
            ?? table.keyColumnIDs.map { column in
                try travelling.local(all[column] ?? .null, table.columns[column]) ?? .null
            }
        merge.state.shown = .row
        merge.state.kept.key = nil
        merge.state.kept.fields = hasForeignColumns ? all.filter { !table.columns[$0.key].isLocal } : [:]
        try keepMisleading(shown, &merge)
        objects.renewCheck(of: &merge.state, row: all)
        try objects.save(merge.state)
    }

    private func keepMisleading(_ values: FieldValues, _ merge: inout Merge) throws {
        if hasUncheckedReferences { keepWon(&merge, try reservations.misleading(values, table)) }
    }

    /// An object that rows referred to before it came has a key already.
    /// - Returns: `nil` where the key is to be had later, or never.
    private func keyForInsertion(_ state: ObjectState) throws -> (key: FieldValue, former: FieldValue?)? {
        // A key that this batch sets free is free once the rows are gone.
        if !dying.isEmpty, let wish = state.kept.key, let holder = try objects.object(forKey: wish),
            dying.contains(holder)
        {
            return nil
        }
        return try reservations.keyForRow(of: state, in: table)
    }

    /// Values as they lie in rows, by ascending column; `nil` where a reference has no row to refer to.
    private func localValues(_ values: FieldValues) throws -> [(column: Int, value: FieldValue)]? {
        var result: [(column: Int, value: FieldValue)] = []
        result.reserveCapacity(values.count)
        var isComplete = true
        try values.forEachColumn { column, value in
            if case .reference(let target) = value {
                guard try !isArriving(target, table.columns[column]),
                    let local = try travelling.local(value, table.columns[column])
                else {
                    isComplete = false
                    return
                }
                result.append((column, local))
            } else {
                result.append((column, value))
            }
        }
        return isComplete ? result : nil
    }

    /// Whether an unchecked reference leads to an object whose row is about to come.
    private func isArriving(_ target: ObjectID, _ column: TrackedColumn) throws -> Bool {
        guard column.isUnchecked, let parent = column.reference, arriving[parent]?.contains(target) ?? false
        else { return false }
        return try !(access.objects(of: parent).place(of: target)?.shown.hasRow ?? false)
    }

    /// Whether every target has a row and no exceptional object waits for this one.
    private func canBeShown(_ object: ObjectID, _ values: FieldValues) throws -> Bool {
        for key in table.foreignKeys {
            switch key.target {
            case .mapped: continue  // resolved with its value
            case .key:
                guard let token = meaning.target(key, values) else { continue }
                let place = try access.objects(of: token.table).place(of: token.id)
                if place?.shown != .row { return false }
            case .unique:
                if meaning.target(key, values) != nil { return false }
            }
        }
        return try !isAwaited(object, values)
    }

    /// Whether an exceptional object waits for this one, or claims what it claims.
    private func isAwaited(_ object: ObjectID, _ values: FieldValues) throws -> Bool {
        guard hasExceptions else { return false }
        let tokens =
            try [RowToken(table: table.id, id: object)] + meaning.offers(of: table, values)
            + uniqueClaims.claims(table, values).map(\.token)
        return try tokens.contains { try !access.exceptionTokens.objects(concernedBy: $0).isEmpty }
    }
}
