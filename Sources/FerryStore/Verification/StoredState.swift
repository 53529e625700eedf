import FerryCore
import FerryMerge
import FerryReferenceModel
import FerrySQL
import FerrySchema

/// All objects of a store with their rows, read at once for verification.
///
/// An object's own values are its shadow values and, for a shown object, the remaining values of its row.
struct StoredState {
    struct Object {
        var plain: ModelObject
        /// The object checksum in the state.
        var check: UInt64 = 0
        /// The state's mark.
        var shown: Visibility
        /// The key of the row; empty without a row.
        var key: [FieldValue]
        /// The row's portable values, by the table's local columns; `nil` if no row has the key.
        var row: [FieldValue]?
        /// Plain values by column the row may show instead of a reference: nothing distinguishes them.
        var plainValues: ColumnValues = [:]
    }

    struct Table {
        var table: TrackedTable
        var objects: [Object] = []
        /// The keys of rows without an object.
        var unknownRows: [[FieldValue]] = []
        var rowCount = 0
        /// The keys by which rows refer to objects without a row.
        var referredKeys: [ObjectID: FieldValue] = [:]
    }

    private(set) var tables: [Table] = []

    /// Reads the tables of this database.
    /// - Parameters:
    ///   - schema: the schema for verification, with the columns holding references.
    ///   - equality: decides the keys meant by references.
    init(_ access: StoreAccess, _ schema: ModelSchema, _ equality: ModelEquality) throws {
        let tracked = access.registry.parentsFirst.filter(\.isLocal)
        var targets: [Int: Target] = [:]
        for table in tracked {
            guard let place = schema.place(of: table.name), schema.tables[place].mappedKey != nil else { continue }
            targets[place] = try Target(schema.tables[place], table, equality, access)
        }
        for table in tracked {
            let plain = schema.place(of: table.name).map { schema.tables[$0] }
            let references = table.localColumns.map { column in
                plain.flatMap { table in table.column(column.name).flatMap { table.columns[$0].reference } }
                    .flatMap { targets[$0] }
            }
            tables.append(try Self.read(table, references, access))
        }
    }

    /// The objects of a mapped table, by their keys here.
    private struct Target {
        private let column: ModelSchema.Column
        private let collation: String
        private let equality: ModelEquality
        private var objects: [FieldValue: ObjectID] = [:]

        init(_ plain: ModelSchema.Table, _ table: TrackedTable, _ equality: ModelEquality, _ access: StoreAccess) throws
        {
            column = plain.columns[plain.key[0]]
            collation = plain.keyCollations[0]
            self.equality = equality
            try access.connection.forEachRow(
                "SELECT k0, object FROM \(table.objectTable) WHERE k0 IS NOT NULL"
            ) { row in objects[form(row.value(0))] = row.id(1) }
        }

        /// The object a column's value refers to. SQLite compares the value as the key column would store the value.
        func object(_ value: FieldValue) -> ObjectID? { value == .null ? nil : objects[form(value)] }

        private func form(_ value: FieldValue) -> FieldValue {
            equality.form(equality.kept(value, in: column), collation)
        }
    }

    private static func read(
        _ table: TrackedTable, _ references: [Target?], _ access: StoreAccess
    ) throws -> Table {
        var rows = try readRows(table, references, access.connection)
        var result = Table(table: table, rowCount: rows.count)
        let names = table.modelNames
        let width = Int32(table.keyColumns.count)
        let slots = (0..<width).map { "k\($0)" }.joined(separator: ", ")
        try access.connection.forEachRow(
            """
            SELECT object, shown, "check", state, kept, \(slots) FROM \(table.objectTable)
            """
        ) { statement in
            guard let id: ObjectID = statement.id(0), let shown = Visibility(code: statement.int(1)) else {
                throw FerryError(.internalInconsistency, "The state of \(table.name) holds an unreadable object.")
            }
            var object = Object(plain: ModelObject(table: foldedName(table.name), id: id), shown: shown, key: [])
            object.check = UInt64(bitPattern: statement.integer(2))
            let registers = try StateCodec.decode(
                statement.bytes(3), device: { try access.devices.device($0) }
            ).registers
            let stamps = registers.fields
            if table.isMapped, !shown.hasRow, !statement.isNull(5) { result.referredKeys[id] = statement.value(5) }
            object.plain.inserted = registers.inserted
            object.plain.deleted = registers.deleted
            // Only referred to so far.
            if object.plain.inserted == nil, object.plain.deleted == nil, stamps.allSatisfy({ $0 == nil }) { return }
            if shown.hasRow {
                object.key = (0..<width).map { statement.value(5 + $0) }
                // A 16-byte key equal to the ID is not stored twice.
                if object.key == [.null] { object.key = [.blob(id.bytes[...])] }
                if table.isMapped { object.plain.key = object.key[0] }
                let row = rows.removeValue(forKey: object.key)
                object.row = row?.values
                // A unified row may show the plain value of a further object.
                if shown == .anomalousRow { object.plainValues = row?.plain ?? [:] }
            }
            var kept: ColumnValues = [:]
            if !statement.isNull(4) {
                let (values, given) = try StateCodec.decodeKeptAndGiven(statement.bytes(4))
                kept = values.fields
                if table.isMapped, !shown.hasRow { object.plain.wantedKey = values.key ?? given }
                if table.isMapped { object.plain.givenKey = given ?? values.key ?? object.plain.key }
            } else if table.isMapped {
                object.plain.givenKey = object.plain.key
            }
            for (place, column) in table.localColumns.enumerated() where column.isUnchecked && shown == .row {
                // A plain value equal to a row's key here, written where no row had the key.
                guard let plain = kept[column.id], let taken = references[place]?.object(plain),
                    object.row?[place] == .reference(taken)
                else { continue }
                object.row?[place] = plain
            }
            var values: ColumnValues = [:]
            for (column, value) in zip(table.localColumns, object.row ?? []) { values[column.id] = value }
            values = values.overlaid(with: kept)
            for (column, stamp) in stamps.enumerated() where column < names.count {
                if let stamp { object.plain.fields[names[column]] = .init(stamp: stamp, value: values[column]) }
            }
            result.objects.append(object)
        }
        result.unknownRows = rows.keys.filter { !$0.contains(.null) }.sorted { $0.lexicographicallyPrecedes($1) }
        return result
    }

    private struct Row {
        /// Portable values by the table's local columns: references in place of mapped keys.
        var values: [FieldValue] = []
        /// The plain value by column, if `values` has an unchecked reference.
        var plain: ColumnValues = [:]
    }

    /// The rows by key.
    private static func readRows(
        _ table: TrackedTable, _ references: [Target?], _ connection: SQLConnection
    ) throws -> [[FieldValue]: Row] {
        var rows: [[FieldValue]: Row] = [:]
        let width = table.keyColumns.count
        let names = (table.keyColumns + table.localColumns.map(\.name)).map(quoted).joined(separator: ", ")
        try connection.forEachRow("SELECT \(names) FROM \(table.rows)") { row in
            let key = (0..<width).map { row.value(Int32($0)) }
            var made = Row()
            for (position, column) in table.localColumns.enumerated() {
                let value = row.value(Int32(width + position))
                let object = references[position]?.object(value)
                made.values.append(object.map { .reference($0) } ?? value)
                if object != nil, column.isUnchecked { made.plain[column.id] = value }
            }
            rows[key] = made
        }
        return rows
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
