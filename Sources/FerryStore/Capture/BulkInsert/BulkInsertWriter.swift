import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// Writes a table's new rows found by `BulkInsertCapture`: the changes, and the states of the new objects. First reads
/// all rows in the fastest order, then writes all in the order of their objects.
struct BulkInsertWriter {
    private(set) var changes: TableChanges
    private var gathered: ColumnBuffer
    private let access: StoreAccess
    private let rows: BulkInsertCapture.Insertions
    private var table: TrackedTable { rows.table }
    private let cursor: RowCursor
    private let states: BulkStateInserter
    /// Writes the states left at the end, singly.
    private let singleState: BulkStateInserter
    /// The positions of rows with waiting states, and their object checksums.
    private var waiting: [(place: Int, check: UInt64)] = []
    private let checks: ObjectChecksums
    private let columns: [Int]
    /// The columns referring to mapped tables, by position.
    private let references: [ReferenceColumn?]
    /// Foreign keys by value that must have a target.
    private let valueKeys: [Int]
    private let targets: BulkInsertTargets
    private let keyWidth: Int
    private let isMapped: Bool

    /// - Parameter all: the flush's insertions, by table.
    init(
        _ access: StoreAccess, _ rows: BulkInsertCapture.Insertions, among all: [Int: BulkInsertCapture.Insertions]
    ) throws {
        self.access = access
        self.rows = rows
        let table = rows.table
        keyWidth = table.keyColumns.count
        isMapped = table.isMapped
        cursor = try RowCursor(table, access.connection)
        checks = access.objects(of: table.id).checks
        columns = table.localColumns.map(\.id)
        targets = BulkInsertTargets(access)
        references = table.localColumns.map { column in
            column.reference.map { ReferenceColumn(column, of: table, to: $0, among: all[$0]) }
        }
        valueKeys = table.foreignKeys.indices.filter { place in
            if case .mapped = table.foreignKeys[place].target { return false }
            return table.foreignKeys[place].action != .none
        }
        states = BulkStateInserter(access.objects(of: table.id), atOnce: access.newRowsAtOnce)
        singleState = BulkStateInserter(access.objects(of: table.id), atOnce: 1)
        changes = TableChanges(
            name: table.name, identity: table.identity, columns: table.localColumns.map(\.travellingName),
            shapes: [Array(columns.indices)])
        gathered = ColumnBuffer(width: columns.count)
        gathered.reserveRows(rows.objects.count)
    }

    /// Reads the rows and writes them.
    /// - Parameters:
    ///   - order: the rows' positions, in the order of their objects.
    ///   - maximumBytes: maximum bytes of values; beyond them `limitExceeded` is thrown.
    /// - Returns: bytes of the values.
    mutating func write(in order: [Int], maximumBytes: Int) throws -> Int {
        // Rows under minted IDs were recorded in the order of IDs.
        let isInOrderOfNotes = !isMapped && cursor.isOrderedByInsertion
        for index in order.indices {
            try read(isInOrderOfNotes ? index : order[index])
            guard gathered.valueBytes <= maximumBytes else {
                throw FerryError(.limitExceeded, "The changes have more than \(maximumBytes) bytes.")
            }
        }
        changes.values = gathered.values(in: isInOrderOfNotes ? order : nil)
        let valueBytes = gathered.valueBytes
        gathered = ColumnBuffer(width: columns.count)
        changes.operations.reserveCapacity(order.count)
        for place in order { try write(place) }
        for place in waiting.indices { try save(waiting[place...place], by: singleState) }
        waiting = []
        return valueBytes
    }

    /// Reads a row's portable values.
    private mutating func read(_ place: Int) throws {
        // Displaced by OR REPLACE, or moved while no trigger ran.
        guard let row = try cursor.row(rows.keys, at: place * keyWidth) else { throw FastPathDecline.missingRow }
        if !valueKeys.isEmpty { try checkTargets(row) }
        let first = cursor.firstColumn
        for column in columns.indices {
            if let reference = references[column] {
                gathered.append(try reference.portable(row.value(first + Int32(column)), targets))
            } else {
                gathered.append(row, first + Int32(column))
            }
        }
    }

    /// Writes a row with the next values.
    private mutating func write(_ place: Int) throws {
        let object = rows.objects[place]
        let time = rows.times[place]
        let firstValue = changes.operations.count * columns.count
        changes.operations.append(
            ObjectOperation(
                object: object, kind: .insert, time: time, key: isMapped ? rows.keys[place] : nil, shape: 0,
                firstValue: firstValue))
        let check = checks.check(
            object, insertedAt: Stamp(time: time, device: access.device), columns,
            changes.values[firstValue..<firstValue + columns.count])
        waiting.append((place, check))
        if waiting.count < access.newRowsAtOnce { return }
        try save(waiting[...], by: states)
        waiting.removeAll(keepingCapacity: true)
    }

    /// Writes a batch of states of the size of `states`.
    private func save(_ waiting: ArraySlice<(place: Int, check: UInt64)>, by states: BulkStateInserter) throws {
        try states.begin(columns)
        for (place, check) in waiting {
            let first = place * keyWidth
            let inserted = Stamp(time: rows.times[place], device: access.device)
            try states.append(rows.objects[place], key: rows.keys[first..<first + keyWidth], inserted, check: check)
        }
        if try !states.writeUnlessKnown() { throw FastPathDecline.known }
    }

    private func checkTargets(_ row: SQLStatement) throws {
        for place in valueKeys {
            let values = table.foreignKeys[place].columns.map { number in
                columns.firstIndex(of: number).map { row.value(cursor.firstColumn + Int32($0)) } ?? .null
            }
            try targets.check(table, place, values)
        }
    }
}

/// The references of a column, and the objects meant by their values.
final class ReferenceColumn {
    private let table: TrackedTable
    private let column: TrackedColumn
    private let parent: Int
    private let fresh: BulkInsertCapture.Insertions?
    /// The foreign keys of the column that must have a target.
    private let keys: [Int]
    @exclusivity(unchecked) private var stored: [FieldValue: ObjectID] = [:]

    /// - Parameter fresh: the flush's insertions into the parent.
    init(
        _ column: TrackedColumn, of table: TrackedTable, to parent: Int, among fresh: BulkInsertCapture.Insertions?
    ) {
        self.table = table
        self.column = column
        self.parent = parent
        self.fresh = fresh
        keys = table.foreignKeys.indices.filter { place in
            guard case .mapped = table.foreignKeys[place].target else { return false }
            return table.foreignKeys[place].action != .none && table.foreignKeys[place].columns == [column.id]
        }
    }

    /// The portable value of a column's value.
    /// - Throws: `FastPathDecline` without a target.
    func portable(_ value: FieldValue, _ targets: BulkInsertTargets) throws -> FieldValue {
        if case .null = value { return value }
        // A target inserted by this flush is verified at its own writing.
        if case .integer(let key) = column.key(value), let fresh, let place = fresh.places.place(of: key) {
            return .reference(fresh.objects[place])
        }
        if let known = stored[value] { return .reference(known) }
        let object = try targets.object(of: parent, column.key(value))
        for place in keys { try targets.check(table, place, [value]) }
        stored[value] = object
        return .reference(object)
    }
}

/// Looks up targets in the store.
final class BulkInsertTargets {
    private let access: StoreAccess
    private var lookup: TargetLookup

    init(_ access: StoreAccess) {
        self.access = access
        lookup = TargetLookup(access)
    }

    /// The object with a key.
    func object(of parent: Int, _ key: FieldValue) throws -> ObjectID {
        guard access.registry[parent].isMapped, let object = try access.objects(of: parent).object(forKey: key)
        else { throw FastPathDecline.missingTarget }
        return object
    }

    /// Ensures that the target of a foreign key exists.
    func check(_ table: TrackedTable, _ place: Int, _ values: [FieldValue]) throws {
        guard try lookup.isThere(table, place, values) else { throw FastPathDecline.missingTarget }
    }
}
