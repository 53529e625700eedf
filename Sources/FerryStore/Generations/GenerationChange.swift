import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// Passes objects of a table's former generation over into the present generation, shown by this database from now on.
///
/// Every register keeps its time. So later writes still win, in either generation, and two devices migrating the same
/// rows come to the same objects. Deleted objects stay deleted. The former generation stays in the state, with all
/// values, like a table missing from this database. Devices still showing that generation need it.
///
/// Invariant: `builder` holds the changes since the last staged changeset.
struct GenerationChange {
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
    private let columns: GenerationColumns
    private let transfer: RegisterTransfer
    private var counterparts: GenerationCounterparts
    /// Reads a row's present key by its former key.
    private let keyOfRow: LazyStatement
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
        columns = GenerationColumns(left, table, formerKey: formerKey)
        transfer = RegisterTransfer(access, columns)
        counterparts = GenerationCounterparts(access, columns)
        keyOfRow = LazyStatement(
            "SELECT \(table.keyList) FROM \(left.rows) WHERE \(left.keyCondition(first: 1))", access.connection
        )
    }

    /// Passes all objects over.
    /// - Parameter stage: stages the changes of a changeset.
    mutating func run(_ stage: (TableChanges) throws -> Void) throws {
        try counterparts.find(isClosed: isClosed)
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
        try counterparts.find(isClosed: isClosed)
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
        guard let object = try counterparts.object(for: state, values, table.isMapped ? key.first : nil) else { return }
        if row == nil, !isClosed, state.isLeft { return try leave(object) }
        if present == nil, !state.registers.isAlive {
            // A different object of the former generation has become the row.
            if counterparts.present.contains(object) { return }
            if isClosed, try counterparts.isOfAnother(object, state) { return }
        }
        try adopt(state, as: object, values, hasRow: present != nil, key: key)
        try deleteFormerSelves(of: state, besides: object)
        written += 1
    }

    /// Leaves an object without a row whose row went with its table in the former generation.
    private func leave(_ object: ObjectID) throws {
        let state = try after.load(object)
        if state.registers.isAlive, !state.shown.hasRow {
            try UnseenWrites(access, table, UnseenTable(table: table.id, covered: [], wasAbsent: false)).leave(state)
        }
    }

    /// Deletes an object's outdated counterparts in the present generation: a write in the former generation gave the
    /// row a new key of the present generation.
    private mutating func deleteFormerSelves(of state: ObjectState, besides object: ObjectID) throws {
        guard !table.isMapped, state.registers.isAlive, let known = counterparts.known[state.object] else { return }
        let key = Set(table.keyColumnIDs)
        let written = state.registers.fields.enumerated().compactMap { column, stamp in
            columns.present[column].map { key.contains($0.id) } ?? false ? stamp : nil
        }.max()
        // A passed value keeps the object's time; no newer write to the key exists.
        guard let written, !known.contains(where: { $0.inserted == written.time }) else { return }
        for other in known where other.object != object && !counterparts.present.contains(other.object) {
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
        for (number, column) in columns.present where row == nil || state.kept.fields[number] != nil {
            guard let value = own[number] else { continue }
            // A reference has no meaning in a column without references, and a plain value none in a checked reference
            // column.
            if case .reference = value, column.reference == nil { continue }
            if column.reference != nil, !column.isUnchecked, value != .null {
                guard case .reference = value else { continue }
            }
            values[column.id] = value
        }
        if row == nil, let formerKeyColumn = columns.formerKeyColumn,
            let key = state.key.first ?? state.kept.key ?? state.givenKey
        {
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
        if left.isMapped, let name = columns.formerKey.first, equalNames(name, table.keyColumns[0]) {
            return state.key.first ?? state.kept.key ?? state.givenKey
        }
        guard let value = columns.keyAsValue.flatMap({ own[$0] }), value != .null else { return nil }
        return value
    }

    // MARK: The present generation

    private mutating func adopt(
        _ former: ObjectState, as object: ObjectID, _ values: ColumnValues, hasRow: Bool, key: [FieldValue]
    ) throws {
        var state = try after.load(object)
        var writes = RegisterTransfer.Writes()
        // An earlier object may have a row already.
        var shown: ColumnValues = [:]
        if !hasRow, state.shown.hasRow, let present = try access.reader(of: table.id).read(state.key) {
            shown = try translator.values(present, table)
        }
        transfer.take(former.registers, of: former, values, into: &state, &writes)
        if hasRow { try transfer.takeRest(former.registers, values, into: &state, &writes) }
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
            counterparts.present.insert(object)
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

    private mutating func append(_ writes: RegisterTransfer.Writes, _ object: ObjectID, _ key: FieldValue?) {
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
        try DigestTable(access.connection).forgetShown(left.id)
    }
}

extension FieldValue {
    /// The integer in a value of Ferry's tables; 0 for any different value.
    var number: Int { if case .integer(let integer) = self { Int(clamping: integer) } else { 0 } }
}
