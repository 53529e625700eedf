import FerryCore
import FerrySchema

/// The rows as they were when last packed, except for later changes that travel by themselves.
///
/// A pending change may have moved or removed a row, or may have cleared a reference by the parent's deletion. Such a change is no
/// operation on the columns of the row: packing keeps the former values. So nobody would ever send these values if the present row
/// stood for them.
///
/// A value written since the last packing is taken from the present row. Packing makes a later operation of the value.
struct PackedRows {
    /// What pending changes did to a row.
    private struct Fate {
        /// The present key; `nil` for the former one.
        var key: [FieldValue]?
        /// True if the row is gone.
        var isGone = false
        /// The sequence of the last before-image.
        var image: Int64?
        /// The references that were changed, under SET NULL or SET DEFAULT, with the values of the last packing.
        var references: [Int: FieldValue] = [:]
    }

    private let access: StoreAccess
    /// By table and the key of the last packing.
    private var fates: [Int: [[FieldValue]: Fate]] = [:]
    /// By table and key: the key of the last packing; `nil` for a row that was not packed yet, or no row.
    private var holders: [Int: [[FieldValue]: [FieldValue]?]] = [:]
    /// By table and mapped key: the key of the last packing of the row that was moved there last.
    private var origins: [Int: [FieldValue: FieldValue]] = [:]

    init(_ access: StoreAccess) throws {
        self.access = access
        let registry = access.registry
        typealias Column = PendingTable.Column
        try PendingTable(access.connection).forEach(width: registry.keyWidth, where: "1") { row in
            guard let table = registry.tables[row.int(Column.table)], table.isLocal,
                let event = PendingEvent(rawValue: row.int(Column.event))
            else { return }
            let key = (0..<table.keyColumns.count).map { row.value(Column.key + Int32($0)) }
            switch event {
            case .insert:
                remove(key, table.id, image: nil)
            case .delete:
                remove(key, table.id, image: row.integer(Column.sequence))
            case .examine:
                change(key, table.id) { $0.image = row.integer(Column.sequence) }
            case .reference:
                let (column, value) = (row.int(Column.mask), row.value(Column.value))
                change(key, table.id) { if $0.references[column] == nil { $0.references[column] = value } }
            case .rekey:
                move(row.value(Column.value), to: key, table.id)
            case .update, .review:
                break
            }
        }
    }

    // MARK: Pending changes

    /// The key under which the row with a key was packed last; `nil` for a row that was not packed.
    private func packedKey(_ key: [FieldValue], _ table: Int) -> [FieldValue]? {
        holders[table]?[key] ?? key
    }

    private mutating func change(_ key: [FieldValue], _ table: Int, _ body: (inout Fate) -> Void) {
        guard let packed = packedKey(key, table) else { return }
        body(&fates[table, default: [:]][packed, default: Fate()])
    }

    /// Ends the row with a key.
    /// - Parameter image: the row's before-image; `nil` if the row was displaced, so that an earlier examination has the image.
    private mutating func remove(_ key: [FieldValue], _ table: Int, image: Int64?) {
        change(key, table) { fate in
            fate.isGone = true
            fate.image = image ?? fate.image
        }
        holders[table, default: [:]].updateValue(nil, forKey: key)
    }

    private mutating func move(_ former: FieldValue, to key: [FieldValue], _ table: Int) {
        let packed = packedKey([former], table)
        remove(key, table, image: nil)
        holders[table, default: [:]].updateValue(nil, forKey: [former])
        holders[table, default: [:]].updateValue(packed, forKey: key)
        change(key, table) { fate in
            fate.key = key
            fate.isGone = false
        }
        if let packed { origins[table, default: [:]][key[0]] = packed[0] }
    }

    // MARK: Reading

    /// The portable values of a row, by its key of the last packing; `nil` if they are unknown.
    func read(_ key: [FieldValue], _ table: TrackedTable) throws -> ColumnValues? {
        let reader = access.reader(of: table.id)
        let fate = fates[table.id]?[key] ?? Fate()
        var row = fate.isGone ? nil : try reader.read(fate.key ?? key)
        if row == nil, let image = fate.image { row = try reader.readOld(image) }
        guard var row else { return nil }
        // The state knows moved parents by their keys of the last packing.
        for column in table.columns {
            if let parent = column.reference, let value = row[column.id],
                let origin = origins[parent]?[column.key(value)]
            {
                row[column.id] = column.kept(origin)
            }
        }
        // These are values of the last packing already.
        for (column, value) in fate.references where row[column] != nil { row[column] = value }
        return try ReferenceTranslator(access).values(row, table)
    }
}
