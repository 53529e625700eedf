import FerryCore
import FerryMerge

/// Writes new rows of one table as `InsertionCapture` found them: the changes, and the states of objects that have none. First
/// all are read, in the order in which that is done best, then all are written in the order of their objects.
struct InsertionWriter {
    private(set) var changes: TableChanges
    private var gathered: GatheredRows
    private let access: StoreAccess
    private let rows: InsertionCapture.Insertions
    private var table: TrackedTable { rows.table }
    private let cursor: RowCursor
    private let states: NewStates
    /// For those that are left in the end.
    private let singleState: NewStates
    /// The places of the rows whose states wait, and their checks.
    private var waiting: [(place: Int, check: UInt64)] = []
    private let checks: TableChecks
    private let columns: [Int]
    /// The columns that refer to mapped tables, by place.
    private let references: [ReferenceColumn?]
    /// Foreign keys by value that must have a target.
    private let valueKeys: [Int]
    private let targets: InsertionTargets
    private let keyWidth: Int
    private let isMapped: Bool

    /// - Parameter all: what the flush inserts, by table.
    init(
        _ access: StoreAccess, _ rows: InsertionCapture.Insertions, among all: [Int: InsertionCapture.Insertions]
    ) throws {
        self.access = access
        self.rows = rows
        let table = rows.table
        keyWidth = table.keyColumns.count
        isMapped = table.isMapped
        cursor = try RowCursor(table, access.connection)
        checks = access.objects(of: table.id).checks
        columns = table.localColumns.map(\.id)
        targets = InsertionTargets(access)
        references = table.localColumns.map { column in
            column.reference.map { ReferenceColumn(column, of: table, to: $0, among: all[$0]) }
        }
        valueKeys = table.foreignKeys.indices.filter { place in
            if case .mapped = table.foreignKeys[place].target { return false }
            return table.foreignKeys[place].action != .none
        }
        states = NewStates(access, table, atOnce: access.newRowsAtOnce)
        singleState = NewStates(access, table, atOnce: 1)
        changes = TableChanges(
            name: table.name, identity: table.identity, columns: table.localColumns.map(\.travellingName),
            shapes: [Array(columns.indices)])
        gathered = GatheredRows(width: columns.count)
        gathered.reserveRows(rows.objects.count)
    }

    /// Reads the rows and writes them.
    /// - Parameters:
    ///   - order: their places, in the order of their objects.
    ///   - maximumBytes: of values; with more of them it throws `limitExceeded`.
    /// - Returns: how many bytes their values have.
    mutating func write(in order: [Int], maximumBytes: Int) throws -> Int {
        // Rows under minted IDs were noted in their order.
        let isInOrderOfNotes = !isMapped && cursor.isOrderedByInsertion
        for index in order.indices {
            try read(isInOrderOfNotes ? index : order[index])
            guard gathered.valueBytes <= maximumBytes else {
                throw FerryError(.limitExceeded, "The changes have more than \(maximumBytes) bytes.")
            }
        }
        changes.values = gathered.values(in: isInOrderOfNotes ? order : nil)
        let valueBytes = gathered.valueBytes
        gathered = GatheredRows(width: columns.count)
        changes.operations.reserveCapacity(order.count)
        for place in order { try write(place) }
        for place in waiting.indices { try save(waiting[place...place], by: singleState) }
        waiting = []
        return valueBytes
    }

    /// Reads a row's values as they travel.
    private mutating func read(_ place: Int) throws {
        // Displaced by OR REPLACE, or moved while no trigger ran.
        guard let row = try cursor.row(rows.keys, at: place * keyWidth) else { throw InsertionCapture.Unsuited() }
        if !valueKeys.isEmpty { try checkTargets(row) }
        let first = cursor.firstColumn
        for column in columns.indices {
            if let reference = references[column] {
                gathered.append(try reference.travelling(row.value(first + Int32(column)), targets))
            } else {
                gathered.append(row, first + Int32(column))
            }
        }
    }

    /// Writes one row, whose values are next.
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

    /// Writes as many states as `states` writes at once.
    private func save(_ waiting: ArraySlice<(place: Int, check: UInt64)>, by states: NewStates) throws {
        try states.begin(columns)
        for (place, check) in waiting {
            let first = place * keyWidth
            let inserted = Stamp(time: rows.times[place], device: access.device)
            try states.append(rows.objects[place], key: rows.keys[first..<first + keyWidth], inserted, check: check)
        }
        if try !states.writeUnlessKnown() { throw InsertionCapture.Unsuited() }
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

/// What rows refer to by one column, and the objects that these values mean.
final class ReferenceColumn {
    private let table: TrackedTable
    private let column: TrackedColumn
    private let parent: Int
    private let fresh: InsertionCapture.Insertions?
    /// The foreign keys of which the column is one, and which must have a target.
    private let keys: [Int]
    @exclusivity(unchecked) private var stored: [FieldValue: ObjectID] = [:]

    /// - Parameter fresh: what the flush inserts into the parent.
    init(
        _ column: TrackedColumn, of table: TrackedTable, to parent: Int, among fresh: InsertionCapture.Insertions?
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

    /// A value of the column as it travels.
    /// - Throws: `Unsuited` where it has no target.
    func travelling(_ value: FieldValue, _ targets: InsertionTargets) throws -> FieldValue {
        if case .null = value { return value }
        // Whether the row that the flush inserted is still there is seen when it is written.
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

/// Looks up what rows refer to in the store.
final class InsertionTargets {
    private let access: StoreAccess
    private var lookup: TargetLookup

    init(_ access: StoreAccess) {
        self.access = access
        lookup = TargetLookup(access)
    }

    /// The object that has a key.
    func object(of parent: Int, _ key: FieldValue) throws -> ObjectID {
        guard access.registry[parent].isMapped, let object = try access.objects(of: parent).object(forKey: key)
        else { throw InsertionCapture.Unsuited() }
        return object
    }

    /// Makes sure that the target of a foreign key is there.
    func check(_ table: TrackedTable, _ place: Int, _ values: [FieldValue]) throws {
        guard try lookup.isThere(table, place, values) else { throw InsertionCapture.Unsuited() }
    }
}
