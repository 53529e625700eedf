import FerryCore
import FerryMerge
import FerrySchema

/// Writes a table's captured operations into the changeset, and registers and shadow values into the state.
///
/// Both come from the same values and times, so this device's state equals the state a peer makes from the changeset.
struct LocalChangeWriter {
    let access: StoreAccess
    let table: TrackedTable
    private(set) var changes: TableChangesBuilder
    let objects: ObjectTable
    private let allColumns: [Int]
    private let registers: RegisterWriter
    /// The last object in the state at the beginning. Objects behind are new unless written since.
    private let lastKnown: ObjectID?
    /// The targets of the written columns of written objects.
    var references: WrittenReferences
    /// Values released by written objects for the values of their rows: referring objects follow
    /// (`ReferenceRepointing`).
    var givenUp: [ReleasedValues] = []
    /// The successors of objects replaced because of the key their rows showed (`LinkRekeying`).
    var successors: [ObjectID: RekeyedLink] = [:]
    /// Objects unified rows no longer show (`SplitMembers`).
    private let departed: Set<ObjectID>

    init(
        _ access: StoreAccess, _ table: TrackedTable, notesReferences: Bool = false, departed: Set<ObjectID> = []
    ) throws {
        self.access = access
        self.table = table
        self.departed = departed
        references = try WrittenReferences(
            access.registry, table,
            areWanted: !table.foreignKeys.isEmpty && (notesReferences || RetainedLinks(access).concern(table)))
        changes = TableChangesBuilder(table)
        objects = access.objects(of: table.id)
        allColumns = table.columns.map(\.id)
        registers = try RegisterWriter(access, table)
        let last = try access.connection.firstValue("SELECT max(object) FROM \(table.objectTable)")
        if case .blob(let bytes)? = last { lastKnown = ObjectID(bytes: bytes) } else { lastKnown = nil }
    }

    /// Writes an object; the objects of a table come in the order of their IDs.
    /// - Parameter touched: receives the objects the rules may have to check.
    /// - Returns: false if the object stays unknown: only its key was reserved before, and its row is gone again.
    mutating func write(
        _ captured: CapturedObject, _ clock: inout HybridClock, _ touched: inout [TouchedObject]
    ) throws -> Bool {
        let (object, isFresh, key, row) = (captured.object, captured.isFresh, captured.key, captured.row)
        var operations = captured.operations
        let isNew = isFresh || lastKnown.map { $0 < object } ?? true
        var state = isNew ? objects.new(object) : try objects.load(object)
        let former = isNew ? ObjectState(object: object) : state
        let shown = state.shown
        // The row never left this flush: nobody knows the row.
        if key.isEmpty, !state.isStored || state.registers.newest == nil, operations.last?.kind == .delete {
            return false
        }
        var unshown: ColumnValues = [:]
        if !key.isEmpty, state.isHeldBack, operations.allSatisfy({ $0.kind == .update }) {
            // A device that has forgotten the deletion has forgotten the row.
            let isJoined = try !members(of: object).isEmpty
            let own = row.overlaid(with: state.kept.fields)
            let all = isJoined ? whole(own, shown: row) : own
            recordReleased(object, own, for: all, operations)
            operations = insertion(of: all, operations)
            // Values not shown by the row become shadow values.
            unshown = operations.reduce(ColumnValues()) { $0.overlaid(with: $1.values) }.filter {
                row[$0.key] != $0.value
            }
        }
        if !key.isEmpty, !shown.hasRow, !state.registers.isAlive, operations.allSatisfy({ $0.kind == .update }) {
            // The row was another object's until a key in its own key changed owners.
            operations = insertion(of: row, operations)
        }
        if operations.first?.kind == .insert, shown == .anomalousRow, state.registers.isAlive,
            try !members(of: object).isEmpty
        {
            // OR REPLACE on the key of a unified row. An insertion would make the representative the youngest object,
            // and the row would get a different object's key. The object keeps its own key.
            let unshown = unshownKey(of: state)
            operations[0].kind = .update
            operations[0].values = operations[0].values.filter { !unshown.has($0.key) }
        }
        if shown == .joined, let first = operations.first, first.kind == .insert {
            // No row had the object's key: the object's former values go with the row that showed the object.
            operations.insert(CapturedOperation(kind: .delete, time: first.time, values: [:], beforeImage: nil), at: 0)
        }
        try ColumnGroupCompletion(access, table).complete(&operations, state, row)
        if shown == .anomalousRow { try noteRowValues(&operations, state) }
        if !key.isEmpty { references.note(operations, row.overlaid(with: state.kept.fields)) }
        let isUnseen = try access.areRowsWaiting && access.anomalies.isWaiting(.init(table: table.id, id: object))
        let ownOperations = registers.steps(of: operations, on: state)
        let changed = try merge(
            ownOperations, into: &state, wish: captured.formerKey.first,
            isMinted: isFresh && table.identity.isSurrogate, &clock)
        // The app sees no row under the key of a hidden object, its own values included.
        let isOverHidden = shown == .hidden && former.registers.isAlive && ownOperations.first?.kind == .insert
        if isUnseen || isOverHidden { try recordUnseen(former, state, ownOperations, includesOwn: isOverHidden) }
        if !unshown.isEmpty { state.kept.fields = state.kept.fields.overlaid(with: unshown) }
        let corrected = registers.corrections(of: ownOperations, &state)
        // The effect of a foreign key's action on a row showing a different object's value is no value of the object
        // itself.
        for (column, value) in captured.cleared where state.kept.fields[column] == nil {
            state.kept.fields[column] = value
        }
        let isCleared = !captured.cleared.isEmpty || corrected
        if let own = try save(&state, over: former, captured, changed, isCleared: isCleared) {
            touched.append(own)
            if own.isDeleted, !table.incoming.isEmpty {
                touched[touched.count - 1].deletion = FlushedDeletion(
                    formerRow: operations.last { $0.kind == .delete }?.beforeImage ?? [:],
                    rewritten: Set(operations.flatMap { $0.values.keys }).sorted())
            }
        }
        if shown == .anomalousRow { touched += try writeMembers(of: object, operations, row, &clock) }
        return true
    }

    /// Records in operations on a unified row what the row showed before each of them. After a deletion the row is the
    /// representative's alone.
    private func noteRowValues(_ operations: inout [CapturedOperation], _ representative: ObjectState) throws {
        guard table.hasColumnPolicies else { return }
        // A member that departs in this flush was shown by the row until now.
        let members = try access.unified.members(of: representative.object, table.id)
        if members.isEmpty { return }
        var shown = registers.shown(by: try [representative] + members.map(objects.load))
        for place in operations.indices where !operations[place].isReview {
            if operations[place].kind == .delete { return }
            operations[place].rowValues = shown
            for column in shown.keys {
                if let value = operations[place].values[column] { shown[column] = value }
            }
        }
    }

    /// Writes operations on a unified row to all objects shown by the row, so they stay unified. After a deletion the
    /// row is gone, and an insertion under its key is the representative alone.
    private mutating func writeMembers(
        of representative: ObjectID, _ operations: [CapturedOperation], _ row: ColumnValues, _ clock: inout HybridClock
    ) throws -> [TouchedObject] {
        let end = operations.firstIndex { $0.kind == .delete }.map { $0 + 1 } ?? operations.count
        // Each object keeps its own key, and columns grouped with the key.
        let keyColumns = table.keyGroupColumns
        let shared = operations[..<end].map { operation in
            // Each object's own insertion stays unchanged.
            var shared = operation
            if operation.kind == .insert { shared.kind = .update }
            shared.values = operation.values.filter { !keyColumns.contains($0.key) }
            shared.beforeImage = nil
            return shared
        }
        return try members(of: representative).compactMap { member in
            let state = try objects.load(member)
            let own = shared.compactMap { $0.isReview ? unknown($0, to: state) : $0 }
            return own.isEmpty ? nil : try writeHidden(member, own, shown: row, &clock)
        }
    }

    /// The values of a review that a member has no value for: a migration filled a new column of the row. Any other value that nobody may
    /// have written concerns only the row's own object.
    private func unknown(_ review: CapturedOperation, to member: ObjectState) -> CapturedOperation? {
        var own = review
        own.values = review.values.filter { column, _ in
            guard let known = member.registers.stamp(of: column) else { return member.kept.fields[column] == nil }
            // The former column was written after another device's migration.
            return formerTime(of: column, member).map { known.time <= $0 } ?? false
        }
        return own.values.isEmpty ? nil : own
    }

    /// The time of the last write of the columns that a column replaces.
    private func formerTime(of column: Int, _ state: ObjectState) -> HybridTime? {
        table.columns[column].precursors.compactMap { state.registers.stamp(of: $0)?.time }.max()
    }

    /// Records as conflicts the values this device overwrote without having shown them: the row was hidden, or was waiting for an
    /// equipped process.
    /// - Parameter includesOwn: whether values that this device wrote were not shown either.
    private func recordUnseen(
        _ former: ObjectState, _ state: ObjectState, _ operations: [CapturedOperation], includesOwn: Bool
    ) throws {
        let (log, own) = (ConflictLog(access.conflicts), access.device)
        let written = operations.reduce(ColumnValues()) { $0.overlaid(with: $1.values) }
        for (column, value) in former.kept.fields {
            guard let now = written[column], now != value, let lost = former.registers.stamp(of: column),
                let kept = state.registers.stamp(of: column), includesOwn || lost.device != own
            else { continue }
            try log.record(
                .field, of: RowToken(table: table.id, id: state.object), column: column, lost: (value, lost),
                kept: (now, kept))
        }
        let (before, now) = (former.registers, state.registers)
        if before.isAlive == now.isAlive { return }
        let lost = before.isAlive ? before.newestWrite : before.deleted
        let kept = before.isAlive ? now.deleted : now.newestWrite
        guard let lost, let kept, lost.device != own else { return }
        try log.record(
            before.isAlive ? .deleted : .revived, of: RowToken(table: table.id, id: state.object), column: nil,
            lost: (nil, lost),
            kept: (nil, kept))
    }

    /// The further objects a row goes on showing.
    func members(of representative: ObjectID) throws -> [ObjectID] {
        let members = try access.unified.members(of: representative, table.id)
        return departed.isEmpty ? members : members.filter { !departed.contains($0) }
    }

    /// Writes operations on an object without an own row: its values become shadow values.
    /// - Parameter shown: the values of the row showing the object.
    mutating func writeHidden(
        _ object: ObjectID, _ operations: [CapturedOperation], shown: ColumnValues, _ clock: inout HybridClock
    ) throws -> TouchedObject {
        var state = try objects.load(object)
        var operations = operations
        if state.isHeldBack, operations.allSatisfy({ $0.kind == .update }) {
            let own = ownValues(state, shown: shown)
            let all = whole(own, shown: shown)
            recordReleased(object, own, for: all, operations)
            operations = insertion(of: all, operations)
            references.note(operations, own)
        }
        operations = registers.steps(of: operations, on: state)
        let changed = try merge(operations, into: &state, wish: state.key.first ?? state.kept.key, &clock)
        for operation in operations {
            for (column, value) in operation.values
            where !operation.isReview || state.registers.stamp(of: column) != nil { state.kept.fields[column] = value }
        }
        _ = registers.corrections(of: operations, &state)
        objects.renewCheck(of: &state)
        try objects.save(state)
        return TouchedObject(
            table: table.id, object: object, columns: changed, isDeleted: false, needsRules: true)
    }

    /// Records values an object gives up, except for columns written by operations.
    mutating func recordReleased(
        _ object: ObjectID, _ own: ColumnValues, for values: ColumnValues, _ operations: [CapturedOperation]
    ) {
        if table.incoming.isEmpty { return }
        let columns = values.keys.filter { column in
            own[column] != values[column] && !operations.contains { $0.values.has(column) }
        }
        if !columns.isEmpty { givenUp.append(ReleasedValues(object: object, former: own, columns: columns)) }
    }

    /// An object's own values: its row's values, if any, overlaid with shadow values.
    func ownValues(_ state: ObjectState, shown: ColumnValues) -> ColumnValues {
        (state.shown.hasRow ? shown : [:]).overlaid(with: state.kept.fields)
    }

    /// Replaces updates by an insertion with all of an object's values.
    private func insertion(of values: ColumnValues, _ updates: [CapturedOperation]) -> [CapturedOperation] {
        guard let last = updates.map(\.time).max() else { return [] }
        let all = updates.reduce(values) { $0.overlaid(with: $1.values) }
        return [CapturedOperation(kind: .insert, time: last, values: all, beforeImage: nil)]
    }

    /// All values of an object in a unified row. Shown values count, so repeating them changes nothing. Own values
    /// count for columns without a shared value, such as the key, and for cleared references.
    private func whole(_ own: ColumnValues, shown: ColumnValues) -> ColumnValues {
        let keyColumns = table.keyGroupColumns
        let clearing = Set(
            table.foreignKeys.filter { $0.action == .setNull || $0.action == .setDefault }.flatMap(\.columns))
        return own.overlaid(
            with: shown.filter { column, value in
                !keyColumns.contains(column) && !(clearing.contains(column) && value == .null)
            })
    }

    /// Assigns the operations' times, and merges operations into registers and changeset.
    /// - Returns: the changed columns, ascending.
    private mutating func merge(
        _ operations: [CapturedOperation], into state: inout ObjectState, wish: FieldValue?, isMinted: Bool = false,
        _ clock: inout HybridClock
    ) throws -> [Int] {
        var changed: [Int] = []
        if state.registers.fields.isEmpty { state.registers.fields.reserveCapacity(table.columns.count) }
        let unshownKey = unshownKey(of: state)
        let former = state.registers.newest
        for operation in try operations.flatMap({ try timed($0, state) }) {
            var operation = operation
            if operation.kind == .insert { operation.values = operation.values.overlaid(with: unshownKey) }
            let time = operation.isReview ? operation.time : laterTime(operation.time, than: state, former, &clock)
            let stamp = Stamp(time: time, device: access.device)
            let values = operation.values
            switch operation.kind {
            case .insert:
                state.registers.mergeInsertion(stamp)
            case .delete:
                state.registers.mergeDeletion(stamp)
                keepBeforeImage(operation.beforeImage ?? [:], &state)
            case .update:
                if values.isEmpty { continue }
            }
            let parts = registers.write(operation, at: stamp, isMinted: isMinted, &state)
            values.forEachColumn { column, value in
                _ = state.registers.mergeField(column, stamp, value: value)
            }
            changed = changed.isEmpty ? values.keys : Set(changed).union(values.keys).sorted()
            if !state.kept.fields.isEmpty {
                for column in values.keys { state.kept.fields[column] = nil }
                if operation.kind == .insert { state.kept.fields = state.kept.fields.overlaid(with: unshownKey) }
            }
            if operation.kind == .insert, let floor = state.registers.floor { forget(before: floor, &state) }
            var key = operation.kind == .insert && table.isMapped ? wish : nil
            // While the key's column holds values other than integers, the table is leaving for a new key.
            if table.identity.isSurrogate { key = key?.integerKey }
            if let key, state.registers.inserted == stamp { state.givenKey = key }
            changes.append(state.object, operation.kind, stamp.time, key: key, .init(values: values, parts: parts))
        }
        return changed
    }

    /// Divides possibly written values by the times their columns get.
    private func timed(_ operation: CapturedOperation, _ state: ObjectState) throws -> [CapturedOperation] {
        guard operation.isReview else { return [operation] }
        var byTime: [HybridTime: ColumnValues] = [:]
        var rest: ColumnValues = [:]
        for (column, value) in operation.values {
            // A column that replaces others was written when those were written.
            if let former = formerTime(of: column, state), former < .latest,
                state.registers.stamp(of: column).map({ $0.time <= former }) ?? true
            {
                byTime[former.next, default: [:]][column] = value
                continue
            }
            // A remote value waiting for its column is newer.
            if let waiting = state.kept.fields[column] {
                try recordLost(value, at: operation.time, column, waiting, state)
                continue
            }
            // An unwritten column shows its default everywhere.
            if state.registers.stamp(of: column) == nil, try access.isUnwritten(value, in: table.columns[column]) {
                continue
            }
            // A value that a migration computed is as old as the row, which nobody has written since.
            let row = table.columns[column].hasOtherMeanings ? nil : state.registers.newest
            if let known = state.registers.stamp(of: column) ?? row, known.time < .latest {
                byTime[known.time.next, default: [:]][column] = value
            } else {
                rest[column] = value
            }
        }
        var result = byTime.sorted { $0.key < $1.key }.map { time, values in
            CapturedOperation(kind: .update, time: time, values: values, beforeImage: nil, isReview: true)
        }
        if !rest.isEmpty {
            result.append(CapturedOperation(kind: .update, time: operation.time, values: rest, beforeImage: nil))
        }
        return result
    }

    /// Records as a conflict a value of a new column that yields to another device's default. That device has the column for longer, and
    /// nobody there has written it since the row's insertion. So a migration computed the value here, or somebody wrote it.
    private func recordLost(
        _ value: FieldValue, at time: HybridTime, _ column: Int, _ waiting: FieldValue, _ state: ObjectState
    ) throws {
        let standard = try access.defaultValue(of: table.columns[column]) ?? .null
        guard let kept = state.registers.stamp(of: column), kept == state.registers.inserted,
            waiting == standard, value != standard
        else { return }
        try ConflictLog(access.conflicts).record(
            .field, of: RowToken(table: table.id, id: state.object), column: column,
            lost: (value, Stamp(time: time, device: access.device)), kept: (waiting, kept))
    }

    /// The values of an object's key if its row shows a different key. A row replacing the shown row still belongs to
    /// the object with this key. A reference with further columns is written whole, as shown by the row.
    private func unshownKey(of state: ObjectState) -> ColumnValues {
        guard state.shown == .anomalousRow, table.hasReferencesInKey,
            table.keyGroupColumns.count == table.keyColumnIDs.count
        else { return [:] }
        return state.kept.fields.filter { table.keyGroupColumns.contains($0.key) }
    }

    /// Forgets fields from before the floor: a row inserted again begins anew.
    private func forget(before floor: Stamp, _ state: inout ObjectState) {
        for (column, stamp) in state.registers.fields.enumerated() {
            guard let stamp else { continue }
            if stamp < floor {
                state.forget(column)
            } else if var register = state.policies[column] {
                register.forget(before: floor) { _ in true }
                state.keep(register, column, table.columns[column].policy, newest: stamp)
            }
        }
    }

    /// - Parameter former: the state as loaded.
    private func save(
        _ state: inout ObjectState, over former: ObjectState, _ captured: CapturedObject, _ changed: [Int],
        isCleared: Bool
    ) throws -> TouchedObject? {
        let (key, formerKey) = (captured.key, captured.formerKey)
        let hasRow = !key.isEmpty
        let before = former.shown
        state.key = hasRow ? key : captured.keepsKey ? formerKey : []
        state.shown = hasRow ? (before == .anomalousRow ? .anomalousRow : .row) : .none
        if hasRow {
            state.kept.key = nil
        } else if table.isMapped {
            state.kept.key = formerKey.first
        }
        objects.renewCheck(of: &state, row: captured.row)
        try objects.save(state, over: former)
        let isDeleted = !hasRow
        if isDeleted { try TombstoneParentKeys(access).note(state, table) }
        // Under a new key, a row may have different index entries.
        let claimsAnew = hasRow && table.hasIndexOnKey && former.key != key
        let columns = isDeleted || !before.hasRow || claimsAnew ? allColumns : changed
        if columns.isEmpty, !isCleared, before.hasRow == hasRow { return nil }
        return TouchedObject(
            table: table.id, object: state.object, columns: columns, isDeleted: isDeleted,
            isInsertion: hasRow && !before.hasRow, needsRules: before.isAnomalous || isCleared, key: formerKey)
    }

    /// Keeps values shown only by the deleted row.
    private func keepBeforeImage(_ row: ColumnValues, _ state: inout ObjectState) {
        state.kept.fields = row.overlaid(with: state.kept.fields)
    }

    /// Makes a local change effective (`HybridClock.effective`).
    /// - Parameter former: the newest stamp before this flush.
    private func laterTime(
        _ time: HybridTime, than state: ObjectState, _ former: Stamp?, _ clock: inout HybridClock
    ) -> HybridTime {
        guard time.isKnown, let newest = state.registers.newest else { return time }
        return clock.effective(
            time, after: newest.time, former: former?.time, wallMilliseconds: access.clock.milliseconds)
    }
}
