import FerryCore
import FerryMerge

/// Lets the objects of one generation of a table pass over into another one, which this database shows from now on.
///
/// Every register gets the time that it had, so that what somebody wrote later still wins, in whichever generation, and two
/// devices that migrate the same rows come to the same objects. What is deleted stays deleted. The former generation stays in
/// the state, with all values, as that of a table which this database does not have: for devices that show it still.
struct GenerationChange {
    /// An object that was known of the present generation before.
    private struct Counterpart {
        var object: ObjectID
        var inserted: HybridTime
    }

    /// Objects and bytes of values in one changeset.
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
    private let travelling: Travelling
    /// The columns of the present generation by those of the former one, as far as it has them.
    private var columns: [Int: TrackedColumn] = [:]
    /// The present one's column of the former one's mapped key; how the present one's key is read of a row of the former one; and
    /// the number of its mapped key as a value of that.
    private var formerKeyColumn: TrackedColumn?
    private let formerKey: [String]
    private let keyOfRow: LazyStatement
    private var keyAsValue: Int?
    /// Objects that were known of the present generation before, by the keys that they would like to have.
    private var awaited: [FieldValue: [Counterpart]] = [:]
    /// Objects that were known of the present generation before, by the IDs that they have in the former one.
    private var counterparts: [ObjectID: [Counterpart]] = [:]
    /// Objects of the present generation that have rows.
    private var present: Set<ObjectID> = []
    /// Objects that the rules have to look at.
    private(set) var seeds: [RowToken] = []
    private var builder: TableChangesBuilder
    private var written = 0
    /// Whether the former generation was left before.
    private var isClosed = false

    /// - Parameters:
    ///   - former: works on the registry in which the rows belong to the former generation.
    ///   - access: works on the one in which they belong to the present one.
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
        travelling = Travelling(access)
        builder = TableChangesBuilder(table)
        for column in left.columns {
            // By its present name: one that means something else is not the same.
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

    /// - Parameter stage: takes the changes of one changeset.
    mutating func run(_ stage: (TableChanges) throws -> Void) throws {
        try findAwaited()
        let ids = try objects()
        // Those with rows first: what was deleted may have had a key that a row has now.
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

    /// Lets objects pass over of which others have written something, and that have no rows of their own any more.
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
        // What others write to a closed generation is little, and the present one may be large.
        if isClosed && !table.isMapped { return }
        var ids: [ObjectID] = []
        try access.connection.forEachRow("SELECT object FROM \(table.objectTable) WHERE state IS NOT NULL") { row in
            if let id: ObjectID = row.id(0) { ids.append(id) }
        }
        for id in ids {
            let state = try after.load(id)
            guard let inserted = state.registers.inserted else { continue }
            let known = Counterpart(object: id, inserted: inserted.time)
            // A mapped generation took the IDs of the one before it.
            counterparts[id, default: []].append(known)
            if let derived = derivedID(of: state), derived != id { counterparts[derived, default: []].append(known) }
            if table.isMapped, let key = state.kept.key { awaited[key, default: []].append(known) }
        }
    }

    /// The ID that an object of the present generation without a row has in the former one; `nil` where IDs do not follow
    /// from values there, or a value is not known.
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

    /// The object of the present generation that an object of the former one was when the present one was left; `nil` where
    /// there was none. A deleted object has no values: its ID alone tells which one it was.
    private func counterpart(of state: ObjectState) -> ObjectID? {
        let known = counterparts[state.object]?.filter { !present.contains($0.object) } ?? []
        let inserted = state.registers.inserted?.time
        return (known.first { $0.inserted == inserted } ?? known.max { $0.inserted < $1.inserted })?.object
    }

    // MARK: One object

    /// - Parameter row: what its row holds by the columns of the former generation; `nil` where it has none of its own.
    private mutating func pass(_ state: ObjectState, _ row: FieldValues?) throws {
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
            // Another object of the former generation has become the row.
            if self.present.contains(object) { return }
            if isClosed, try isOfAnother(object, state) { return }
        }
        try adopt(state, as: object, values, hasRow: present != nil, key: key)
        try deleteFormerSelves(of: state, besides: object)
        written += 1
    }

    /// Lets an object stay without a row whose row went along with its table in the former generation.
    private func leave(_ object: ObjectID) throws {
        let state = try after.load(object)
        if state.registers.isAlive, !state.shown.hasRow {
            try UnseenWrites(access, table, covered: []).leave(state)
        }
    }

    /// Deletes objects of the present generation that an object of the former one was, and is no more: a write in the former
    /// generation gave its row another key of the present one.
    private mutating func deleteFormerSelves(of state: ObjectState, besides object: ObjectID) throws {
        guard !table.isMapped, state.registers.isAlive, let known = counterparts[state.object] else { return }
        let key = Set(table.keyColumnIDs)
        let written = state.registers.fields.enumerated().compactMap { column, stamp in
            columns[column].map { key.contains($0.id) } ?? false ? stamp : nil
        }.max()
        // A value that passed over with an object has the object's time, and nobody wrote another one since.
        guard let written, !known.contains(where: { $0.inserted == written.time }) else { return }
        for other in known where other.object != object && !present.contains(other.object) {
            var former = try after.load(other.object)
            guard former.registers.isAlive, other.inserted < written.time else { continue }
            let row = former.shown.hasRow ? try access.reader(of: table.id).read(former.key) : nil
            former.registers.mergeDeletion(Stamp(time: written.time, device: access.device))
            after.renewCheck(of: &former, row: try row.map { try travelling.values($0, table) } ?? [:])
            try after.save(former)
            seeds.append(RowToken(table: table.id, id: other.object))
            builder.append(other.object, .delete, written.time)
        }
    }

    /// The values of a row as they travelled in the former generation.
    private func former(_ row: FieldValues) throws -> FieldValues { try Travelling(former).values(row, left) }

    /// An object's values by the columns of the present generation.
    /// - Parameter row: what its row holds by those columns.
    private func values(of state: ObjectState, _ own: FieldValues, _ row: FieldValues?) throws -> FieldValues {
        var values = try row.map { try travelling.values($0, table) } ?? [:]
        for (number, column) in columns where row == nil || state.kept.fields[number] != nil {
            guard let value = own[number] else { continue }
            // What refers to an object means nothing where the column refers to none, and the other way round.
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

    /// The key by which the row of an object is told now; `nil` where it has none, or a part of it is NULL.
    private func presentKey(of state: ObjectState) throws -> [FieldValue]? {
        let statement = try keyOfRow.prepared()
        defer { statement.rewind() }
        for (place, value) in state.key.enumerated() { statement.bind(value, Int32(place + 1)) }
        guard try statement.step() else { return nil }
        let key = table.keyColumns.indices.map { statement.value(Int32($0)) }
        return key.contains(.null) ? nil : key
    }

    /// The mapped key that an object without a row would like to have.
    private func wish(of state: ObjectState, _ own: FieldValues) -> FieldValue? {
        if left.isMapped, let name = formerKey.first, equalNames(name, table.keyColumns[0]) {
            return state.key.first ?? state.kept.key ?? state.givenKey
        }
        guard let value = keyAsValue.flatMap({ own[$0] }), value != .null else { return nil }
        return value
    }

    /// The object of the present generation that an object of the former one is; `nil` where its key is not known.
    private func object(for state: ObjectState, _ values: FieldValues, _ key: FieldValue?) throws -> ObjectID? {
        guard table.isMapped else {
            let parts = table.keyColumnIDs.map { values[$0] ?? .null }
            return parts.contains(.null) || parts.isEmpty ? counterpart(of: state) : table.derivedID(parts)
        }
        // From one mapped key to another an object stays what it is.
        if left.isMapped { return state.object }
        guard let key else { return counterpart(of: state) ?? state.object }
        // One that this database showed before by the same key, or that was inserted at the same time under it.
        if let known = try after.object(forKey: key), !present.contains(known) { return known }
        // Devices that number the rows each in its own order give one key to several.
        if try !present.contains(state.object) && after.load(state.object).registers.newest != nil {
            return state.object
        }
        let same = awaited[key]?.first { $0.inserted == state.registers.inserted?.time && !present.contains($0.object) }
        return same?.object ?? counterpart(of: state) ?? state.object
    }

    /// Whether an object of the present generation was inserted as another one than this, whose deletion does not concern it.
    private func isOfAnother(_ object: ObjectID, _ state: ObjectState) throws -> Bool {
        guard let inserted = try after.load(object).registers.inserted, let own = state.registers.inserted else {
            return false
        }
        return inserted.time != own.time && inserted.time.isKnown
    }

    // MARK: The present generation

    private mutating func adopt(
        _ former: ObjectState, as object: ObjectID, _ values: FieldValues, hasRow: Bool, key: [FieldValue]
    ) throws {
        var state = try after.load(object)
        var writes = Writes()
        // One that came before may have a row already.
        var shown: FieldValues = [:]
        if !hasRow, state.shown.hasRow, let present = try access.reader(of: table.id).read(state.key) {
            shown = try travelling.values(present, table)
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
            // Of what others wrote only that waits which the row does not show.
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

    /// What is said of one object in the present generation, by time.
    private struct Writes {
        struct Write {
            var isInsertion = false
            var values: FieldValues = [:]
            var parts: [EncodedPart] = []
            var isDeletion = false
        }

        var byTime: [HybridTime: Write] = [:]
        /// Columns whose values are those of the former generation.
        var taken: [Int] = []
    }

    /// Takes the registers of the former generation into account, as far as nobody has said as much before.
    private func take(
        _ registers: ObjectRegisters, of former: ObjectState, _ values: FieldValues, into state: inout ObjectState,
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
            take(written, present.id, values[present.id], former.policies[column], into: &state, &writes)
        }
        if let formerKeyColumn, let inserted = registers.inserted {
            take(inserted, formerKeyColumn.id, values[formerKeyColumn.id], nil, into: &state, &writes)
        }
        if let now = state.registers.floor, now != floor { forget(before: now, &state) }
    }

    /// Takes what the row holds in columns of which the former generation says nothing: as written with the row.
    private func takeRest(
        _ registers: ObjectRegisters, _ values: FieldValues, into state: inout ObjectState, _ writes: inout Writes
    ) throws {
        guard let inserted = registers.inserted else { return }
        let told = Set(columns.filter { registers.stamp(of: $0.key) != nil }.map(\.value.id))
        for column in table.localColumns where !told.contains(column.id) && column.id != formerKeyColumn?.id {
            guard let value = values[column.id] else { continue }
            // A column that is there by another meaning was written when that was.
            let former = left.columns.first { equalNames($0.name, column.name) }.flatMap { registers.stamp(of: $0.id) }
            if former == nil, try value == access.defaultValue(of: column) ?? .null { continue }
            take(former ?? inserted, column.id, value, nil, into: &state, &writes)
        }
    }

    private func take(
        _ written: Stamp, _ column: Int, _ value: FieldValue?, _ register: ColumnRegister?,
        into state: inout ObjectState, _ writes: inout Writes
    ) {
        let stamp = Stamp(time: written.time, device: access.device)
        let isNewer = state.registers.stamp(of: column).map { $0.time < written.time } ?? true
        let policy = table.columns[column].policy
        if var register, !register.isPlain || policy == .counter {
            // Parts name the devices that wrote them, so that each counts once, whoever sends it. A plain write by another
            // device would take away what they stand on.
            if register.isPlain, let plain = register.plain {
                register.merge(.part(.counter(CounterPart(base: plain, totals: []))), at: plain.stamp)
            }
            var present = state.policies[column] ?? ColumnRegister()
            let known = present
            present.merge(register)
            if present == known, !isNewer { return }
            state.registers.noteWrite(column, stamp)
            state.keep(present, column, policy)
            writes.taken.append(column)
            writes.byTime[written.time, default: .init()].parts += register.parts.map { part in
                EncodedPart(column: .init(number: column, kind: part.kind), bytes: PolicyCodec.encode(part, own: stamp))
            }
            return
        }
        guard isNewer, let value else { return }
        if register != nil || state.policies[column] != nil {
            var present = state.policies[column] ?? ColumnRegister()
            present.merge(.plain(value), at: stamp)
            state.keep(present, column, policy)
        }
        state.registers.noteWrite(column, stamp)
        writes.taken.append(column)
        writes.byTime[written.time, default: .init()].values[column] = value
    }

    /// A row that was inserted again began anew.
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
                    values: write.values, parts: write.parts)
            }
            if write.isDeletion { builder.append(object, .delete, time) }
        }
    }

    // MARK: The former generation

    /// Keeps an object of the former generation with all of its values.
    private func close(_ state: ObjectState, _ own: FieldValues) throws {
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

    /// Nothing of the former generation is shown any more.
    private func forgetExceptions() throws {
        let number = FieldValue.integer(Int64(left.id))
        for list in ["ferry_exception", "ferry_exception_token", "ferry_joined"] {
            try access.connection.execute("DELETE FROM \(list) WHERE \"table\" = ?", number)
        }
        try access.digests.save(access.connection)
        try access.connection.execute(
            "UPDATE ferry_digest SET shown = 0, exceptions = 0 WHERE \"table\" = ?", number)
    }
}

extension FieldValue {
    /// A number that one of Ferry's tables holds; 0 for anything else.
    var number: Int { if case .integer(let integer) = self { Int(clamping: integer) } else { 0 } }
}
