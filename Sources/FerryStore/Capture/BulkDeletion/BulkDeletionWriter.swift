import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// Writes a table's deletions found by `BulkDeletionCapture`: the changes, and the states of the deleted objects.
struct BulkDeletionWriter {
    private(set) var changes: TableChanges
    private let access: StoreAccess
    private let rows: BulkDeletionCapture.Deletions
    private var table: TrackedTable { rows.table }
    private let objects: ObjectTable
    /// Reads an object's plain state, its checksum, and the before-image of its row.
    private let selection: SQLStatement
    private static let firstColumn: Int32 = 2
    private let columns: [Column]
    /// The positions of the key's columns in `columns`, in a table without mapped keys.
    private let keyPlaces: [Int]
    private let tombstones: TombstoneWriter
    private let owners: FormerOwners
    /// The last key found in each column of references, and its owner.
    private var last: [(key: Int64, owner: ObjectID)?]

    private struct Column {
        var number: Int
        /// The mapped table that the column refers to.
        var parent: Int?
        /// True if an integer in the column is the parent's key as it is.
        var hasIntegerKeys: Bool
    }

    init(_ access: StoreAccess, _ rows: BulkDeletionCapture.Deletions, _ owners: FormerOwners) throws {
        self.access = access
        self.rows = rows
        self.owners = owners
        let table = rows.table
        objects = access.objects(of: table.id)
        columns = table.localColumns.map {
            Column(number: $0.id, parent: $0.reference, hasIntegerKeys: $0.keyAffinity == .integer)
        }
        keyPlaces = table.keyColumnIDs.compactMap { number in table.localColumns.firstIndex { $0.id == number } }
        let values = table.localColumns.map { ", old.c\($0.id)" }.joined()
        selection = try access.connection.makeStatement(
            """
            SELECT CASE WHEN states.shown = \(Visibility.row.rawValue) AND states.kept IS NULL THEN states.state END,
                states."check"\(values)
            FROM \(table.objectTable) AS states CROSS JOIN \(table.beforeImageTable) AS old
            WHERE states.object = ?1 AND old.sequence = ?2
            """)
        tombstones = TombstoneWriter(objects)
        last = Array(repeating: nil, count: columns.count)
        changes = TableChanges(
            name: table.name, identity: table.identity, columns: table.localColumns.map(\.travellingName),
            shapes: [[]])
    }

    /// Writes the rows.
    /// - Parameter order: the rows' positions, in the order of their objects.
    mutating func write(in order: [Int], _ clock: inout HybridClock) throws {
        changes.operations.reserveCapacity(order.count)
        for place in order {
            let time = try write(place, &clock)
            changes.operations.append(
                ObjectOperation(
                    object: rows.objects[place], kind: .delete, time: time, key: nil, shape: 0, firstValue: 0))
        }
        tombstones.finish()
    }

    /// Writes the state of a deleted object.
    /// - Returns: the time of the deletion.
    private mutating func write(_ place: Int, _ clock: inout HybridClock) throws -> HybridTime {
        let object = rows.objects[place]
        selection.rewind()
        selection.bind(object, 1)
        selection.bind(rows.sequences[place], 2)
        // The object is unknown, or no trigger kept the row.
        guard try selection.step() else { throw FastPathDecline.missingRow }
        try checkKey(place)
        guard let newest = try selection.withBytes(0, { try tombstones.take($0) }) else {
            return try writeWhole(place, &clock)
        }
        let time = try later(rows.times[place], than: newest.time, &clock)
        let check = UInt64(bitPattern: selection.integer(1))
        tombstones.beginValues(key: table.isMapped ? rows.key(place).first : nil)
        for index in columns.indices {
            let (number, source) = (columns[index].number, Self.firstColumn + Int32(index))
            if let owner = try owner(index, source) {
                tombstones.append(number, .reference(owner))
            } else {
                tombstones.append(number, selection, source)
            }
        }
        selection.rewind()
        try tombstones.write(object, Stamp(time: time, device: access.device), check: check)
        return time
    }

    /// Ensures that the before-image is of the row with the recorded key.
    private func checkKey(_ place: Int) throws {
        if table.isMapped { return }
        let key = rows.key(place)
        for (part, column) in keyPlaces.enumerated()
        where selection.value(Self.firstColumn + Int32(column)) != key[key.startIndex + part] {
            throw FastPathDecline.key
        }
    }

    /// The object that a value of the before-image refers to; `nil` for a value that is no reference.
    private mutating func owner(_ index: Int, _ source: Int32) throws -> ObjectID? {
        let column = columns[index]
        guard let parent = column.parent else { return nil }
        let value = selection.value(source)
        if case .null = value { return nil }
        if case .integer(let key) = value, column.hasIntegerKeys, let last = last[index], last.key == key {
            return last.owner
        }
        let key = table.columns[column.number].key(value)
        guard let owner = try owners.object(parent, key) else { throw FastPathDecline.missingTarget }
        if case .integer(let key) = value, column.hasIntegerKeys { last[index] = (key, owner) }
        return owner
    }

    /// Writes the state of an object that was deleted before, or whose row does not show all of its values.
    private mutating func writeWhole(_ place: Int, _ clock: inout HybridClock) throws -> HybridTime {
        var row = ColumnValues(width: table.columns.count)
        for index in columns.indices {
            let source = Self.firstColumn + Int32(index)
            let owner = try owner(index, source)
            row[columns[index].number] = owner.map { .reference($0) } ?? selection.value(source)
        }
        selection.rewind()
        var state = try objects.load(rows.objects[place])
        guard state.shown == .row, state.policies.isEmpty, let newest = state.registers.newest else {
            throw FastPathDecline.state
        }
        let time = try later(rows.times[place], than: newest.time, &clock)
        state.registers.mergeDeletion(Stamp(time: time, device: access.device))
        state.kept.fields = row.overlaid(with: state.kept.fields)
        if table.isMapped { state.kept.key = rows.key(place).first }
        state.key = []
        state.shown = .none
        state.check = 0
        try objects.save(state)
        return time
    }

    /// Makes a deletion effective (`HybridClock.effective`).
    private func later(
        _ time: HybridTime, than newest: HybridTime, _ clock: inout HybridClock
    ) throws -> HybridTime {
        if !time.isKnown { throw FastPathDecline.older }
        let effective = clock.effective(
            time, after: newest, former: newest, wallMilliseconds: access.clock.milliseconds)
        if effective <= newest { throw FastPathDecline.older }
        return effective
    }
}
