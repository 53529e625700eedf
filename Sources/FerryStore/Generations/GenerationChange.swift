import FerryCore
import FerryMerge

/// Passes objects of a table's former generation over into the present generation, shown by this database from now on.
///
/// Every register keeps its time. So later writes still win, in either generation, and two devices migrating the same
/// rows come to the same objects. Deleted objects stay deleted. The former generation stays in the state, with all
/// values, like a table missing from this database. Devices still showing that generation need it.
///
/// Invariants:
/// - `present` has every object of the present generation with a row adopted by this change.
/// - `builder` holds the changes since the last staged changeset.
struct GenerationChange {
    /// An object known in the present generation before.
    private struct Counterpart {
        var object: ObjectID
        var inserted: HybridTime
    }

    /// Maximum number of objects, and of bytes of values, in a changeset.
    private static let maximumObjects = 20_000
    private static let maximumBytes = 64 << 20

    private let former: StoreAccess
    private let left: TrackedTable
    private let access: StoreAccess
    private let table: TrackedTable
    private let rows: RowReader
    private let before: ObjectTable
    private let after: ObjectTable
    private let closed: ObjectTable
    private let translator: ReferenceTranslator
    /// The columns of the present generation by the former generation's column numbers, if present.
    private var columns: [Int: TrackedColumn] = [:]
    /// The present column of the former mapped key. Then the statement reading a row's present key by its former key,
    /// and the former column with the values of the present mapped key.
    private var formerKeyColumn: TrackedColumn?
    private let formerKey: [String]
    private let keyOfRow: LazyStatement
    private var keyAsValue: Int?
    /// Objects known in the present generation before, by their wished keys.
    private var awaited: [FieldValue: [Counterpart]] = [:]
    /// Objects known in the present generation before, by their IDs in the former generation.
    private var counterparts: [ObjectID: [Counterpart]] = [:]
    /// Objects of the present generation with rows.
    private var present: Set<ObjectID> = []
    /// Objects the rules must check.
    private(set) var seeds: [RowToken] = []
    private var builder: TableChangesBuilder
    private var written = 0
    /// True if the former generation was left in an earlier pass.
    private var isClosed = false

    /// - Parameters:
    ///   - former: the session in which rows belong to the former generation.
    ///   - access: the session in which rows belong to the present generation.
    ///   - formerKey: the columns of the former generation's key.
    init(
        _ former: StoreAccess, _ left: TrackedTable, _ access: StoreAccess, _ table: TrackedTable, formerKey: [String]
    ) throws {
        self.former = former
        self.left = left
        self.access = access
        self.table = table
        rows = former.reader(of: left.id)
        before = former.objects(of: left.id)
        after = access.objects(of: table.id)
        closed = access.objects(of: left.id)
        translator = ReferenceTranslator(access)
        builder = TableChangesBuilder(table)
        for column in left.columns {
            // By the present name: a column with a new meaning is a different column.
            let number =
                column.isLocal ? table.columnID(column.name) : table.columnID(travelling: column.travellingName)
            if let number { columns[column.id] = table.columns[number] }
        }
        self.formerKey = formerKey
        if left.isMapped, let name = formerKey.first, let number = table.columnID(name) {
            formerKeyColumn = table.columns[number]
        }
        if table.isMapped { keyAsValue = left.columnID(table.keyColumns[0]) }
        keyOfRow = LazyStatement(
            "SELECT \(table.keyList) FROM \(quoted(table.name)) WHERE \(left.keyCondition(first: 1))", access.connection
        )
    }

    /// Passes all objects over.
    /// - Parameter stage: stages the changes of a changeset.
    mutating func run(_ stage: (TableChanges) throws -> Void) throws {
        try findAwaited()
        let ids = try objects()
        // Objects with rows come first: a deleted object may have had a key a row has now.
        var others: [ObjectID] = []
        for id in ids {
            let state = try before.load(id)
            if state.registers.newest == nil, !state.isLeft { continue }
            if state.shown.hasRow, let row = try rows.read(state.key) {
                try pass(state, row)
            } else {
                others.append(id)
            }
            try stageFull(stage)
        }
        for id in others {
            try pass(before.load(id), nil)
            try stageFull(stage)
        }
        if !builder.isEmpty { try stage(builder.changes) }
        try forgetExceptions()
    }

    /// Passes over objects with remote writes and without rows of their own.
    mutating func pass(_ ids: [ObjectID], _ stage: (TableChanges) throws -> Void) throws {
        isClosed = true
        try findAwaited()
        for id in ids {
            let state = try before.load(id)
            if state.registers.newest == nil { continue }
            try pass(state, nil)
            try stageFull(stage)
        }
        if !builder.isEmpty { try stage(builder.changes) }
    }

    private mutating func stageFull(_ stage: (TableChanges) throws -> Void) throws {
        guard written >= Self.maximumObjects || builder.valueBytes >= Self.maximumBytes else { return }
        try stage(builder.changes)
        builder = TableChangesBuilder(table)
        written = 0
    }

    private func objects() throws -> [ObjectID] {
        var ids: [ObjectID] = []
        try access.connection.forEachRow("SELECT object FROM \(left.objectTable) ORDER BY object") { row in
            if let id: ObjectID = row.id(0) { ids.append(id) }
        }
        return ids
    }

    private mutating func findAwaited() throws {
        // Remote writes to a closed generation are few, and the present generation may be large.
        if isClosed && !table.isMapped { return }
        var ids: [ObjectID] = []
        try access.connection.forEachRow("SELECT object FROM \(table.objectTable) WHERE state IS NOT NULL") { row in
            if let id: ObjectID = row.id(0) { ids.append(id) }
        }
        for id in ids {
            let state = try after.load(id)
            guard let inserted = state.registers.inserted else { continue }
            let known = Counterpart(object: id, inserted: inserted.time)
            // A mapped generation took over the IDs of the generation before.
            counterparts[id, default: []].append(known)
            if let derived = derivedID(of: state), derived != id { counterparts[derived, default: []].append(known) }
            if table.isMapped, let key = state.kept.key { awaited[key, default: []].append(known) }
        }
    }

    /// The former generation's ID of an object of the present generation without a row. `nil` if IDs do not follow from
    /// values there, or a value is unknown.
    private func derivedID(of state: ObjectState) -> ObjectID? {
        if left.isMapped || left.keyColumnIDs.isEmpty { return nil }
        var parts: [FieldValue] = []
        for column in left.keyColumnIDs {
            let value = column == keyAsValue ? state.kept.key : columns[column].flatMap { state.kept.fields[$0.id] }
            guard let value, value != .null else { return nil }
            parts.append(value)
        }
        return left.derivedID(parts)
    }

    /// The object of the present generation an object was when the present generation was last left; `nil` if none. A
    /// deleted object has no values and is found by ID alone.
    private func counterpart(of state: ObjectState) -> ObjectID? {
        let known = counterparts[state.object]?.filter { !present.contains($0.object) } ?? []
        let inserted = state.registers.inserted?.time
        return (known.first { $0.inserted == inserted } ?? known.max { $0.inserted < $1.inserted })?.object
    }

    // MARK: Single objects

    /// - Parameter row: the row's values by columns of the former generation; `nil` without an own row.
    private mutating func pass(_ state: ObjectState, _ row: ColumnValues?) throws {
        let own = try former(row ?? [:]).overlaid(with: state.kept.fields)
        if !isClosed { try close(state, own) }
        var key: [FieldValue] = []
        if row != nil { key = try presentKey(of: state) ?? [] }
        let present = key.isEmpty ? nil : try access.reader(of: table.id).read(key)
        let values = try self.values(of: state, own, present)
        if table.isMapped, key.isEmpty, let wish = wish(of: state, own) { key = [wish] }
        guard let object = try object(for: state, values, table.isMapped ? key.first : nil) else { return }
        if row == nil, !isClosed, state.isLeft { return try leave(object) }
        if present == nil, !state.registers.isAlive {
            // A different object of the former generation has become the row.
            if self.present.contains(object) { return }
            if isClosed, try isOfAnother(object, state) { return }
        }
        try adopt(state, as: object, values, hasRow: present != nil, key: key)
        try deleteFormerSelves(of: state, besides: object)
        written += 1
    }

    /// Leaves an object without a row whose row went with its table in the former generation.
    private func leave(_ object: ObjectID) throws {
        let state = try after.load(object)
        if state.registers.isAlive, !state.shown.hasRow {
            try UnseenWrites(access, table, covered: []).leave(state)
        }
    }

    /// Deletes an object's outdated counterparts in the present generation: a write in the former generation gave the
    /// row a new key of the present generation.
    private mutating func deleteFormerSelves(of state: ObjectState, besides object: ObjectID) throws {
        guard !table.isMapped, state.registers.isAlive, let known = counterparts[state.object] else { return }
        let key = Set(table.keyColumnIDs)
        let written = state.registers.fields.enumerated().compactMap { column, stamp in
            columns[column].map { key.contains($0.id) } ?? false ? stamp : nil
        }.max()
        // A passed value keeps the object's time; no newer write to the key exists.
        guard let written, !known.contains(where: { $0.inserted == written.time }) else { return }
        for other in known where other.object != object && !present.contains(other.object) {
            var former = try after.load(other.object)
            guard former.registers.isAlive, other.inserted < written.time else { continue }
            let row = former.shown.hasRow ? try access.reader(of: table.id).read(former.key) : nil
            former.registers.mergeDeletion(Stamp(time: written.time, device: access.device))
            after.renewCheck(of: &former, row: try row.map { try translator.values($0, table) } ?? [:])
            try after.save(former)
            seeds.append(RowToken(table: table.id, id: other.object))
            builder.append(other.object, .delete, written.time)
        }
    }

    /// The row's portable values in the former generation.
    private func former(_ row: ColumnValues) throws -> ColumnValues {
        try ReferenceTranslator(former).values(row, left)
    }

    /// An object's values by columns of the present generation.
    /// - Parameter row: the row's values by these columns.
    private func values(of state: ObjectState, _ own: ColumnValues, _ row: ColumnValues?) throws -> ColumnValues {
        var values = try row.map { try translator.values($0, table) } ?? [:]
        for (number, column) in columns where row == nil || state.kept.fields[number] != nil {
            guard let value = own[number] else { continue }
            // A reference has no meaning in a column without references, and a plain value none in a checked reference
            // column.
            if case .reference = value, column.reference == nil { continue }
            if column.reference != nil, !column.isUnchecked, value != .null {
                guard case .reference = value else { continue }
            }
            values[column.id] = value
        }
        if row == nil, let formerKeyColumn, let key = state.key.first ?? state.kept.key ?? state.givenKey {
            values[formerKeyColumn.id] = key.taken(by: formerKeyColumn.affinity)
        }
        return values
    }

    /// The present key of an object's row; `nil` without a row, or with a NULL in the key.
    private func presentKey(of state: ObjectState) throws -> [FieldValue]? {
        let statement = try keyOfRow.prepared()
        defer { statement.rewind() }
        for (place, value) in state.key.enumerated() { statement.bind(value, Int32(place + 1)) }
        guard try statement.step() else { return nil }
        let key = table.keyColumns.indices.map { statement.value(Int32($0)) }
        return key.contains(.null) ? nil : key
    }

    /// The wished mapped key of an object without a row.
    private func wish(of state: ObjectState, _ own: ColumnValues) -> FieldValue? {
        if left.isMapped, let name = formerKey.first, equalNames(name, table.keyColumns[0]) {
            return state.key.first ?? state.kept.key ?? state.givenKey
        }
        guard let value = keyAsValue.flatMap({ own[$0] }), value != .null else { return nil }
        return value
    }

    /// The object of the present generation for an object of the former generation; `nil` if its key is unknown.
    private func object(for state: ObjectState, _ values: ColumnValues, _ key: FieldValue?) throws -> ObjectID? {
        guard table.isMapped else {
            let parts = table.keyColumnIDs.map { values[$0] ?? .null }
            return parts.contains(.null) || parts.isEmpty ? counterpart(of: state) : table.derivedID(parts)
        }
        // From a mapped key to a mapped key an object keeps its ID.
        if left.isMapped { return state.object }
        guard let key else { return counterpart(of: state) ?? state.object }
        // The object previously shown by this database under the same key, or inserted at the same time under the key.
        if let known = try after.object(forKey: key), !present.contains(known) { return known }
        // Devices numbering rows each in their own order give a key to several objects.
        if try !present.contains(state.object) && after.load(state.object).registers.newest != nil {
            return state.object
        }
        let same = awaited[key]?.first { $0.inserted == state.registers.inserted?.time && !present.contains($0.object) }
        return same?.object ?? counterpart(of: state) ?? state.object
    }

    /// True if an object of the present generation was inserted separately from this object, so this object's deletion
    /// does not concern the former.
    private func isOfAnother(_ object: ObjectID, _ state: ObjectState) throws -> Bool {
        guard let inserted = try after.load(object).registers.inserted, let own = state.registers.inserted else {
            return false
        }
        return inserted.time != own.time && inserted.time.isKnown
    }

    // MARK: The present generation

    private mutating func adopt(
        _ former: ObjectState, as object: ObjectID, _ values: ColumnValues, hasRow: Bool, key: [FieldValue]
    ) throws {
        var state = try after.load(object)
        var writes = Writes()
        // An earlier object may have a row already.
        var shown: ColumnValues = [:]
        if !hasRow, state.shown.hasRow, let present = try access.reader(of: table.id).read(state.key) {
            shown = try translator.values(present, table)
        }
        take(former.registers, of: former, values, into: &state, &writes)
        if hasRow { try takeRest(former.registers, values, into: &state, &writes) }
        for column in writes.taken {
            state.kept.fields[column] = hasRow && former.kept.fields.isEmpty ? nil : values[column]
        }
        if hasRow {
            if table.isMapped, let first = key.first, let holder = try after.object(forKey: first), holder != object {
                try after.releaseKey(of: holder)
            }
            state.key = key
            state.shown = .row
            state.kept.key = nil
            present.insert(object)
            // Only remote values different from the row go on waiting.
            for (column, value) in state.kept.fields where values[column] == value {
                if former.kept.fields.isEmpty { state.kept.fields[column] = nil }
            }
        } else if table.isMapped, !state.shown.hasRow, state.kept.key == nil {
            state.kept.key = key.first
        }
        if table.isMapped, let given = key.first, state.givenKey == nil { state.givenKey = given }
        after.renewCheck(of: &state, row: hasRow ? values : shown)
        try after.save(state)
        if isClosed, writes.byTime.isEmpty { return }
        if !hasRow || former.shown != .row || !state.kept.fields.isEmpty || !state.registers.isAlive {
            seeds.append(RowToken(table: table.id, id: object))
        }
        append(writes, object, table.isMapped ? key.first : nil)
    }

    /// The changes of an object in the present generation, by time.
    private struct Writes {
        struct Write {
            var isInsertion = false
            var values: ColumnValues = [:]
            var parts: [EncodedPart] = []
            var isDeletion = false
        }

        var byTime: [HybridTime: Write] = [:]
        /// The columns with values of the former generation.
        var taken: [Int] = []
    }

    /// Merges the former generation's registers, except where the present generation already has as much.
    private func take(
        _ registers: ObjectRegisters, of former: ObjectState, _ values: ColumnValues, into state: inout ObjectState,
        _ writes: inout Writes
    ) {
        func stamp(_ other: Stamp) -> Stamp { Stamp(time: other.time, device: access.device) }
        let floor = state.registers.floor
        if let inserted = registers.inserted, state.registers.inserted.map({ $0.time < inserted.time }) ?? true {
            state.registers.mergeInsertion(stamp(inserted))
            writes.byTime[inserted.time, default: .init()].isInsertion = true
        }
        let known = Set(([state.registers.deleted] + state.registers.earlierDeletions).compactMap { $0?.time })
        for deletion in registers.earlierDeletions + [registers.deleted].compactMap({ $0 })
        where !known.contains(deletion.time) {
            state.registers.mergeDeletion(stamp(deletion))
            writes.byTime[deletion.time, default: .init()].isDeletion = true
        }
        for (column, written) in registers.fields.enumerated() {
            guard let written, let present = columns[column] else { continue }
            let taken = Taken(column: present.id, value: values[present.id], register: former.policies[column])
            take(taken, written: written, into: &state, &writes)
        }
        if let formerKeyColumn, let inserted = registers.inserted {
            let taken = Taken(column: formerKeyColumn.id, value: values[formerKeyColumn.id])
            take(taken, written: inserted, into: &state, &writes)
        }
        if let now = state.registers.floor, now != floor { forget(before: now, &state) }
    }

    /// Merges the row's values in columns unknown to the former generation: as written with the row.
    private func takeRest(
        _ registers: ObjectRegisters, _ values: ColumnValues, into state: inout ObjectState, _ writes: inout Writes
    ) throws {
        guard let inserted = registers.inserted else { return }
        let told = Set(columns.filter { registers.stamp(of: $0.key) != nil }.map(\.value.id))
        for column in table.localColumns where !told.contains(column.id) && column.id != formerKeyColumn?.id {
            guard let value = values[column.id] else { continue }
            // A column replaced by a new meaning has the time of the former meaning.
            let former = left.columns.first { equalNames($0.name, column.name) }.flatMap { registers.stamp(of: $0.id) }
            if former == nil, try value == access.defaultValue(of: column) ?? .null { continue }
            take(Taken(column: column.id, value: value), written: former ?? inserted, into: &state, &writes)
        }
    }

    /// A column's value and register in the former generation.
    private struct Taken {
        var column: Int
        var value: FieldValue?
        var register: ColumnRegister?
    }

    /// Merges a column of the former generation.
    private func take(_ taken: Taken, written: Stamp, into state: inout ObjectState, _ writes: inout Writes) {
        let column = taken.column
        let stamp = Stamp(time: written.time, device: access.device)
        let isNewer = state.registers.stamp(of: column).map { $0.time < written.time } ?? true
        let policy = table.columns[column].policy
        if var register = taken.register, !register.isPlain || policy == .counter {
            // Parts name their writing devices, so each counts once, whoever sends the part. A plain write by a further
            // device would remove their base.
            if register.isPlain, let plain = register.plain {
                register.merge(.part(.counter(CounterPart(base: plain, totals: []))), at: plain.stamp)
            }
            var present = state.policies[column] ?? ColumnRegister()
            let known = present
            present.merge(register)
            if present == known, !isNewer { return }
            state.registers.mergeWrite(column, stamp)
            state.keep(present, column, policy)
            writes.taken.append(column)
            writes.byTime[written.time, default: .init()].parts += register.parts.map { part in
                EncodedPart(column: .init(number: column, kind: part.kind), bytes: PolicyCodec.encode(part, own: stamp))
            }
            return
        }
        guard isNewer, let value = taken.value else { return }
        if taken.register != nil || state.policies[column] != nil {
            var present = state.policies[column] ?? ColumnRegister()
            present.merge(.plain(value), at: stamp)
            state.keep(present, column, policy)
        }
        state.registers.mergeWrite(column, stamp)
        writes.taken.append(column)
        writes.byTime[written.time, default: .init()].values[column] = value
    }

    /// A row inserted again began anew.
    private func forget(before floor: Stamp, _ state: inout ObjectState) {
        for (column, stamp) in state.registers.fields.enumerated() {
            guard let stamp, stamp < floor, state.policies[column] == nil else { continue }
            state.forget(column)
        }
    }

    private mutating func append(_ writes: Writes, _ object: ObjectID, _ key: FieldValue?) {
        for (time, write) in writes.byTime.sorted(by: { $0.key < $1.key }) {
            if write.isInsertion || !write.values.isEmpty || !write.parts.isEmpty {
                builder.append(
                    object, write.isInsertion ? .insert : .update, time, key: write.isInsertion ? key : nil,
                    .init(values: write.values, parts: write.parts))
            }
            if write.isDeletion { builder.append(object, .delete, time) }
        }
    }

    // MARK: The former generation

    /// Saves an object of the former generation with all of its values.
    private func close(_ state: ObjectState, _ own: ColumnValues) throws {
        var state = state
        state.kept.fields = own
        if left.isMapped {
            state.kept.key = state.key.first ?? state.kept.key
            if left.identity.isSurrogate {
                state.kept.key = state.kept.key?.integerKey
                state.givenKey = state.givenKey?.integerKey
            }
        } else {
            state.key = []
        }
        state.shown = .none
        closed.renewCheck(of: &state)
        try closed.save(state)
    }

    /// Removes all display records: nothing of the former generation is shown any more.
    private func forgetExceptions() throws {
        try access.anomalies.forgetTable(left.id)
        try access.unified.forgetTable(left.id)
        try access.digests.save(access.connection)
        try access.connection.execute(
            "UPDATE ferry_digest SET shown = 0, exceptions = 0 WHERE \"table\" = ?", .integer(Int64(left.id)))
    }
}

extension FieldValue {
    /// The integer in a value of Ferry's tables; 0 for any different value.
    var number: Int { if case .integer(let integer) = self { Int(clamping: integer) } else { 0 } }
}
