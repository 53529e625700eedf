import FerryCore
import FerryMerge
import FerryReferenceModel
import FerrySQL
import FerrySchema

/// A travelling table with its state, read object by object for verification, each with its row.
///
/// Not thread-safe; belongs to a reading transaction.
final class StoredTable {
    /// What the state and the table hold of an object.
    struct Entry {
        var id: ObjectID
        var shown: Visibility
        /// The object checksum in the state.
        var check: UInt64
        var registers: ObjectRegisters
        /// The registers of columns under a policy.
        var policies: [Int: ColumnRegister]
        /// Shadow values; `nil` without any.
        var kept: ShadowValues?
        /// The key that the author gave, if the shadow values have one.
        var given: FieldValue?
        /// The key of the row; empty without a row.
        var key: [FieldValue] = []
        /// The row's own values, by the table's local columns; `nil` if no row has the key.
        var row: [FieldValue]?
        /// The key by which rows refer to an object without a row.
        var referredKey: FieldValue?

        /// False for an object that is only referred to so far.
        var isKnown: Bool {
            registers.inserted != nil || registers.deleted != nil || registers.fields.contains { $0 != nil }
        }
    }

    let table: TrackedTable
    /// The table's position in the model's schema.
    let place: Int
    private let access: StoreAccess
    private let schema: ModelSchema
    /// By the table's local columns: the table that a value refers to.
    let references: [KeyedObjects?]
    /// The columns of foreign keys with several columns: such a column shows what the key of the foreign key's target shows.
    private let sharedColumns: Set<Int>
    /// By the model's columns: the position among the local columns.
    private let positions: [Int?]
    private let width: Int32
    private let names: [String]
    /// The objects with their rows, for `forEachEntry`.
    private let query: String

    /// The tables of this database that travel, parents first. A table that stays here, as after the loss of its parent, tells Ferry
    /// nothing of its writes.
    static func all(_ access: StoreAccess, _ schema: ModelSchema, _ equality: ModelEquality) throws -> [StoredTable] {
        var targets: [Int: KeyedObjects] = [:]
        let local = try SchemaReader(connection: access.connection).read()
        let staying = Set(try TrackingPlan(kept: access.connection, local).leftOut.map { foldedName($0.name) })
        let tracked = access.registry.parentsFirst.compactMap { table in
            table.isLocal && !staying.contains(foldedName(table.localName))
                ? schema.place(of: table.name).map { (table, $0) } : nil
        }
        for (table, place) in tracked where schema.tables[place].mappedKey != nil {
            targets[place] = try KeyedObjects(schema.tables[place], table, equality, access.connection)
        }
        return tracked.map { table, place in
            let references = table.localColumns.map { column in
                schema.tables[place].column(column.name).flatMap { schema.tables[place].columns[$0].reference }
                    .flatMap { targets[$0] }
            }
            return StoredTable(access, schema, table, place, references)
        }
    }

    private init(
        _ access: StoreAccess, _ schema: ModelSchema, _ table: TrackedTable, _ place: Int, _ references: [KeyedObjects?]
    ) {
        self.access = access
        self.schema = schema
        self.table = table
        self.place = place
        self.references = references
        width = Int32(table.keyColumns.count)
        names = table.modelNames
        sharedColumns = Set(table.foreignKeys.flatMap { $0.columns.count > 1 ? $0.columns : [] })
        let model = schema.tables[place]
        positions = model.columns.map { column in
            table.localColumns.firstIndex { equalNames($0.name, column.name) }
        }
        let slots = (0..<Int(width)).map { "o.k\($0)" }
        // A 16-byte key equal to the ID is not stored twice. The index of the key has the collations of the key.
        let keys = slots.count == 1 && !table.isMapped ? ["coalesce(o.k0, o.object)"] : slots
        let conditions = zip(table.keyColumns, keys).enumerated().map { position, pair in
            let collation = model.hasIntegerKey ? "" : " COLLATE \(quoted(model.keyCollations[position]))"
            return "r.\(quoted(pair.0)) = \(pair.1)\(collation)"
        }
        let columns = (table.keyColumns + table.localColumns.map(\.name)).map { "r.\(quoted($0))" }
        query = """
            SELECT o.object, o.shown, o."check", o.state, o.kept, \((slots + columns).joined(separator: ", "))
            FROM \(table.objectTable) AS o LEFT JOIN \(table.rows) AS r ON \(conditions.joined(separator: " AND "))
            """
    }

    // MARK: Reading

    /// True if SQLite cannot compare keys of the table here, for lack of a collation: then its rows are held in memory.
    private var isGiven: Bool { schema.tables[place].isGiven }

    /// The rows of a table whose keys cannot be compared, by the keys as they are.
    private func givenRows() throws -> [[FieldValue]: [FieldValue]] {
        var rows: [[FieldValue]: [FieldValue]] = [:]
        let names = (table.keyColumns + table.localColumns.map(\.name)).map(quoted).joined(separator: ", ")
        try access.connection.forEachRow("SELECT \(names) FROM \(table.rows)") { row in
            rows[(0..<width).map { row.keyValue($0) }] = table.localColumns.indices.map { row.value(width + Int32($0)) }
        }
        return rows
    }

    /// The number of rows.
    func rowCount() throws -> Int {
        if isGiven { return try givenRows().count }
        return try access.connection.count("SELECT count(*) FROM \(table.rows)")
    }

    /// The keys of all rows.
    func forEachKey(_ body: ([FieldValue]) -> Void) throws {
        if isGiven { return try givenRows().keys.forEach(body) }
        let keys = table.keyColumns.map(quoted).joined(separator: ", ")
        try access.connection.forEachRow("SELECT \(keys) FROM \(table.rows)") { row in
            body((0..<width).map { row.keyValue($0) })
        }
    }

    /// Reads all objects in the order of their IDs.
    func forEachEntry(_ body: (Entry) throws -> Void) throws {
        guard isGiven else { return try access.connection.forEachRow(query) { try body(entry($0)) } }
        let rows = try givenRows()
        try forEachEntryWithoutRow { entry in
            var entry = entry
            entry.row = rows[entry.key]
            try body(entry)
        }
    }

    /// Reads all objects without their rows, in the order of their IDs.
    func forEachEntryWithoutRow(_ body: (Entry) throws -> Void) throws {
        let slots = (0..<width).map { "k\($0)" }.joined(separator: ", ")
        let query = "SELECT object, shown, \"check\", state, kept, \(slots) FROM \(table.objectTable)"
        try access.connection.forEachRow(query) { try body(entry($0, hasRow: false)) }
    }

    /// An object; `nil` if the state does not have it.
    func entry(of id: ObjectID) throws -> Entry? {
        var found: Entry?
        try access.connection.forEachRow(query + " WHERE o.object = ?", [.blob(id.bytes[...])]) {
            found = try entry($0)
        }
        return found
    }

    private func entry(_ statement: SQLStatement, hasRow: Bool = true) throws -> Entry {
        guard let id: ObjectID = statement.id(0), let shown = Visibility(code: statement.int(1)) else {
            throw FerryError(.internalInconsistency, "The state of \(table.name) holds an unreadable object.")
        }
        let (stored, policies) = try statement.withBytes(3) { bytes in
            try StateCodec.decode(bytes, device: { try access.devices.device($0) })
        }
        var registers = stored
        registers.deletionWins = table.deletionWins
        var entry = Entry(
            id: id, shown: shown, check: UInt64(bitPattern: statement.integer(2)), registers: registers,
            policies: policies)
        if !statement.isNull(4) {
            let (values, given) = try StateCodec.decodeKeptAndGiven(statement.bytes(4))
            (entry.kept, entry.given) = (values, given)
        }
        if !shown.hasRow {
            if table.isMapped, !statement.isNull(5) { entry.referredKey = statement.value(5) }
            return entry
        }
        entry.key = (0..<width).map { statement.keyValue(5 + $0) }
        if entry.key == [.null] { entry.key = [.blob(id.bytes[...])] }
        guard hasRow else { return entry }
        let start = 5 + width
        // SQLite may take two keys for equal that are not the same.
        guard entry.key.indices.allSatisfy({ statement.keyValue(start + Int32($0)) == entry.key[$0] }) else {
            return entry
        }
        entry.row = table.localColumns.indices.map { statement.value(start + width + Int32($0)) }
        return entry
    }

    // MARK: Objects of the model

    /// A simply shown object for `ModelRegion`, without the cost of all values; `nil` for others.
    func candidate(_ entry: Entry) -> ModelRegion.Candidate? {
        guard entry.shown == .row, let row = entry.row, entry.kept?.fields.isEmpty ?? true else { return nil }
        let registers = entry.registers
        return ModelRegion.Candidate(
            table: place, id: entry.id, isAlive: registers.isAlive, key: table.isMapped ? entry.key.first : nil
        ) { [positions, references, columns = table.localColumns] column in
            guard let position = positions[column], registers.stamp(of: columns[position].id) != nil else { return nil }
            return try references[position]?.object(row[position]).map { .reference($0) } ?? row[position]
        }
    }

    /// The object, with its values by name and references in place of mapped keys.
    func object(_ entry: Entry) throws -> StoredState.Object {
        var object = StoredState.Object(
            plain: ModelObject(table: schema.tables[place].name, id: entry.id), shown: entry.shown, key: entry.key)
        object.check = entry.check
        object.plain.inserted = entry.registers.inserted
        object.plain.deleted = entry.registers.deleted
        if table.isMapped {
            object.plain.key = entry.key.first
            object.plain.wantedKey = entry.shown.hasRow ? nil : entry.kept.flatMap { $0.key ?? entry.given }
            object.plain.givenKey = entry.given ?? entry.kept?.key ?? entry.key.first
        }
        let kept = entry.kept?.fields ?? [:]
        if let row = entry.row {
            object.row = try zip(row, references).map { value, target in
                try target?.object(value).map { .reference($0) } ?? value
            }
            for (position, column) in table.localColumns.enumerated() {
                guard case .reference? = object.row?[position] else { continue }
                // A unified row may show the plain value of a further object, and a foreign key the plain value in the key of its target.
                if entry.shown == .anomalousRow || kept[column.id] != nil || sharedColumns.contains(column.id) {
                    object.plainValues[column.id] = row[position]
                }
                // A plain value equal to a row's key here, written where no row had the key.
                guard column.isUnchecked, entry.shown == .row, let plain = kept[column.id],
                    let taken = try references[position]?.object(plain), object.row?[position] == .reference(taken)
                else { continue }
                object.row?[position] = plain
            }
        }
        var values: ColumnValues = [:]
        for (column, value) in zip(table.localColumns, object.row ?? []) { values[column.id] = value }
        values = values.overlaid(with: kept)
        for (column, stamp) in entry.registers.fields.enumerated() where column < names.count {
            guard let stamp else { continue }
            let choice = ColumnRegister.choice(
                of: column, entry.registers, entry.policies[column], under: table.columns[column].policy)
            object.plain.fields[names[column]] = .init(stamp: stamp, value: values[column], choice: choice)
        }
        return object
    }
}

/// The objects of a mapped table, by their keys here. Not thread-safe.
final class KeyedObjects {
    private let column: ModelSchema.Column
    private let collation: String
    private let equality: ModelEquality
    /// Finds an integer key; `nil` if `objects` has all keys.
    private let search: SQLStatement?
    private var objects: [FieldValue: ObjectID] = [:]

    init(
        _ plain: ModelSchema.Table, _ table: TrackedTable, _ equality: ModelEquality, _ connection: SQLConnection
    ) throws {
        column = plain.columns[plain.key[0]]
        collation = plain.keyCollations[0]
        self.equality = equality
        if plain.hasIntegerKey {
            search = try connection.makeStatement("SELECT object FROM \(table.objectTable) WHERE k0 = ?")
            return
        }
        search = nil
        // Other keys are compared by their collation: SQLite's index has another one.
        try connection.forEachRow("SELECT k0, object FROM \(table.objectTable) WHERE k0 IS NOT NULL") { row in
            objects[form(row.value(0))] = row.id(1)
        }
    }

    /// The object a column's value refers to. SQLite compares the value as the key column would store the value.
    func object(_ value: FieldValue) throws -> ObjectID? {
        if value == .null { return nil }
        guard let search else { return objects[form(value)] }
        var key: Int64
        if case .integer(let integer) = value {
            key = integer
        } else {
            guard case .integer(let integer) = form(value) else { return nil }
            key = integer
        }
        search.rewind()
        search.bind(key, 1)
        defer { search.rewind() }
        return try search.step() ? search.id(0) : nil
    }

    private func form(_ value: FieldValue) -> FieldValue { equality.form(equality.kept(value, in: column), collation) }
}

extension SQLStatement {
    /// A value of a key. SQLite takes −0.0 and 0.0 for the same, so no trigger tells of a change from one to the other.
    fileprivate func keyValue(_ column: Int32) -> FieldValue {
        let value = value(column)
        return value == .real(-0.0) ? .real(0.0) : value
    }
}

extension TrackedTable {
    /// The name of each column in a model: the name in the database. A column that is not there may have the name of one that
    /// is.
    var modelNames: [String] {
        let local = Set(localColumns.map { foldedName($0.name) })
        return columns.map { column in
            let name = foldedName(column.name)
            return !column.isLocal && local.contains(name) ? "\(name) (gone \(column.id))" : name
        }
    }
}
