import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// Fast path: inserts rows of new objects that were inserted once and concern no further object. Several rows and
/// states are written by a statement each, without reading a state or a row first.
///
/// Accepts only insertions `MergedRows` would write as plain rows (`take`). If SQLite refuses a row, stops there, and
/// `MergedRows` handles the row. While rows wait in the batch, nothing else may be written to the table: call `write`
/// first.
///
/// Invariants:
/// - The waiting `rows` are bound to `statement` and to the statement of `states`, in order, all with the same
///   `columns`.
/// - No row or state of a mapped table has a key above `highestKey`.
final class BulkRowInserter {
    /// A candidate insertion.
    struct Insertion {
        var object: ObjectID
        var stamp: Stamp
        /// The author's key of a mapped table.
        var key: FieldValue?
        /// The numbers of the columns with values.
        var columns: [Int]
        var values: ArraySlice<FieldValue>
    }

    /// Bounds the parameters of a statement, even if SQLite's limit was lowered.
    private static let maximumColumns = 50
    /// A row with more bytes is written alone.
    private static let maximumBytes = 64 << 10

    private let access: StoreAccess
    private let table: TrackedTable
    private let objects: ObjectTable
    private let references: ReferenceCache
    private let states: BulkStateInserter
    /// True if some foreign key refers to columns other than a mapped key.
    private let hasKeysByValue: Bool
    /// True if an object's ID is derived from its key alone.
    private let checksIDs: Bool
    /// True if the key is a single column that stores bytes as they are.
    private let keysAreBytes: Bool
    /// True by column for columns holding mapped keys, where a plain value refers to nothing.
    private let holdsKeys: [Bool]
    /// The columns whose unwritten value differs from device to device (`VaryingDefaults`).
    private let varyingDefaults: [Int]
    /// By column.
    private let affinities: [SchemaColumn.Affinity]
    /// The highest integer key of any row or state of a mapped table: all integers above are free.
    @exclusivity(unchecked) private var highestKey: Int64
    /// The conflict resolution after a refused row. FAIL keeps the preceding rows, and the change count is their
    /// number.
    ///
    /// ABORT undoes the statement. For that SQLite copies every changed page, into a file if there are many. ABORT is
    /// used for tables whose rows may be refused for their values' types, because that is always ABORT. Triggers need
    /// ABORT too: their effects must not be done by half.
    private let resolution: String
    /// True if the insertion runs the app's triggers.
    private let runsTriggers: Bool
    /// The waiting rows, bound to `statement` and to the statement of `states`.
    @exclusivity(unchecked) private var rows: [Waiting] = []
    @exclusivity(unchecked) private var columns: [Int] = []
    @exclusivity(unchecked) private var statement: SQLStatement?
    /// The position in `columns` by column number.
    @exclusivity(unchecked) private var columnPlaces: [Int?] = []
    /// The position in `columns` of each key column of an unmapped table.
    @exclusivity(unchecked) private var keyPlaces: [Int?] = []

    private struct Waiting {
        var object: ObjectID
        var stamp: Stamp
        /// Portable values in the order of `columns`. Bound bytes stay valid as long as this slice.
        var values: ArraySlice<FieldValue>
        /// The author's key of a mapped table, used for the row here too.
        var key: FieldValue?
        var check: UInt64
    }

    /// Returns nil if inserting a row could affect further rows, or if an observer needs every row.
    init?(_ access: StoreAccess, _ table: TrackedTable, _ references: ReferenceCache) throws {
        if let reason = try Self.decline(access, table) {
            access.fastPathLog.decline(.bulkRowInsert, reason)
            return nil
        }
        runsTriggers = access.triggerCopies?.concern(table, .insert) ?? false
        self.access = access
        self.table = table
        self.references = references
        objects = access.objects(of: table.id)
        states = BulkStateInserter(access.objects(of: table.id), atOnce: access.newRowsAtOnce)
        hasKeysByValue = table.foreignKeys.contains { if case .mapped = $0.target { false } else { true } }
        holdsKeys = table.columns.map { $0.reference != nil }
        checksIDs = !table.isMapped && !table.keyColumnIDs.isEmpty && !table.hasReferencesInKey
        keysAreBytes = table.keyColumnIDs.count == 1 && table.columns[table.keyColumnIDs[0]].affinity == .blob
        affinities = table.columns.map(\.affinity)
        varyingDefaults = table.varyingDefaults
        highestKey = table.isMapped ? try access.keys(of: table.id).highestKey() : 0
        let isStrict = try access.connection.count(
            "SELECT strict FROM pragma_table_list WHERE schema = 'main' AND name = ? COLLATE NOCASE",
            .text(table.localName))
        resolution = isStrict != 0 || runsTriggers || table.isIntegerKey && !table.isMapped ? "ABORT" : "FAIL"
        rows.reserveCapacity(access.newRowsAtOnce)
    }

    /// The reason the general path must write the rows of a table: they may affect further rows, or an observer needs every
    /// row. `nil` without a reason.
    private static func decline(_ access: StoreAccess, _ table: TrackedTable) throws -> FastPathDecline? {
        if !access.fastPaths.contains(.bulkRowInsert) { return .off }
        if !table.isLocal || table.columns.count > maximumColumns { return .shape }
        if table.columns.contains(where: { !$0.isLocal }) { return .shape }
        if table.hasColumnPolicies { return .policies }
        if table.hasUncheckedReferences || table.columns.contains(where: \.isUnchecked) { return .uncheckedReferences }
        if table.isMapped, !table.isIntegerKey || table.isWithoutRowID { return .key }
        // An OR clause here would also overrule the triggers' own statements.
        if let copies = access.triggerCopies, copies.concern(table, .insert), copies.resolvesConflicts {
            return .observed
        }
        if access.obligations.recordsRows || KeyValueKind(table: table.name) != nil { return .observed }
        return try access.anomalyTokens.areAny(of: table.id) ? .anomalies : nil
    }

    /// True if the batch is complete.
    var isFull: Bool { rows.count == access.newRowsAtOnce }

    /// True if an insertion must wait until the batch is written, because its columns differ.
    func isOther(_ insertion: Insertion) -> Bool { !rows.isEmpty && insertion.columns != columns }

    /// Adds an insertion to the batch, to be written by `write`.
    /// - Returns: false if the insertion needs the general path.
    func take(_ insertion: Insertion) throws -> Bool {
        if let reason = try add(insertion) {
            access.fastPathLog.decline(.bulkRowInsert, reason)
            return false
        }
        access.fastPathLog.count(.bulkRowInsert)
        return true
    }

    /// Adds an insertion to the batch.
    /// - Returns: the reason the insertion needs the general path; `nil` if the insertion is in the batch.
    private func add(_ insertion: Insertion) throws -> FastPathDecline? {
        if insertion.columns != columns || statement == nil {
            // Column names of the author unknown to this database, or indistinguishable here.
            guard insertion.columns.allSatisfy({ $0 >= 0 }),
                Set(insertion.columns).count == insertion.columns.count,
                varyingDefaults.allSatisfy(insertion.columns.contains)
            else { return .shape }
            try prepare(insertion.columns)
        }
        var wish: Int64?
        if table.isMapped {
            guard case .integer(let key)? = insertion.key, key > highestKey else { return .key }
            wish = key
        } else if insertion.key != nil {
            return .key
        }
        for place in keyPlaces {
            guard let place, insertion.values[insertion.values.startIndex + place] != .null else { return .key }
        }
        if checksIDs, !hasOwnID(insertion) { return .key }
        if try hasKeysByValue && !targetsAreShown(insertion) { return .missingTarget }
        guard let statement, try bind(insertion, wish, to: statement) else { return .missingTarget }
        let check = objects.checks.check(
            insertion.object, insertedAt: insertion.stamp, columns, insertion.values)
        if rows.isEmpty { try states.begin(columns) }
        if let key = insertion.key {
            try states.append(insertion.object, key: CollectionOfOne(key), insertion.stamp, check: check)
        } else {
            let key = try localKey(insertion.values)
            try states.append(insertion.object, key: key, insertion.stamp, check: check)
        }
        if let wish { highestKey = wish }
        rows.append(
            Waiting(
                object: insertion.object, stamp: insertion.stamp, values: insertion.values, key: insertion.key,
                check: check))
        return nil
    }

    /// True if an object has the ID of its key (`StoreAccess.keyRefusal`). A key of 16 bytes is the ID itself.
    private func hasOwnID(_ insertion: Insertion) -> Bool {
        let first = insertion.values.startIndex
        if keysAreBytes, let place = keyPlaces[0], case .blob(let bytes) = insertion.values[first + place],
            ObjectID(bytes: bytes) == insertion.object
        {
            return true
        }
        return table.isID(insertion.object, ofKey: keyPlaces.compactMap { $0.map { insertion.values[first + $0] } })
    }

    /// Binds a row behind the waiting rows.
    /// - Returns: false for too many bytes, a reference to an object without a row, or a value that the column would
    ///   convert. The next row overwrites these bindings.
    private func bind(_ insertion: Insertion, _ wish: Int64?, to statement: SQLStatement) throws -> Bool {
        let columns = columns
        let width = columns.count + (wish == nil ? 0 : 1)
        var place = Int32(rows.count * width)
        var bytes = 0
        let areBound = try insertion.values.withUnsafeBufferPointer { values in
            for index in columns.indices {
                place += 1
                let column = columns[index]
                switch values[index] {
                case .null: statement.bindNull(place)
                case .reference(let target):
                    bytes += 16
                    guard let local = try local(target, column) else { return false }
                    statement.bind(local, place)
                case let value:
                    if holdsKeys[column] || !value.isStored(by: affinities[column]) { return false }
                    bytes += value.byteCount
                    statement.bind(lasting: value, place)
                }
            }
            return true
        }
        if let wish { statement.bind(wish, place + 1) }
        return areBound && bytes <= Self.maximumBytes
    }

    /// The local key of a row with these values, in an unmapped table.
    private func localKey(_ values: ArraySlice<FieldValue>) throws -> [FieldValue] {
        try keyPlaces.enumerated().map { part, place in
            guard let place else { return .null }
            let value = values[values.startIndex + place]
            guard case .reference(let target) = value else { return value }
            return try local(target, table.keyColumnIDs[part]) ?? .null
        }
    }

    /// The local value of a reference; `nil` if the target has no row.
    private func local(_ target: ObjectID, _ column: Int) throws -> FieldValue? {
        if table.columns[column].reference == table.id, let waiting = rows.first(where: { $0.object == target }) {
            return waiting.key
        }
        return try references.local(target, column)
    }

    private func targetsAreShown(_ insertion: Insertion) throws -> Bool {
        let first = insertion.values.startIndex
        if references.targetsAreKnown({ column in columnPlaces[column].map { insertion.values[first + $0] } }) {
            return true
        }
        var own = ColumnValues(width: table.columns.count)
        for (column, value) in zip(insertion.columns, insertion.values) { own[column] = value }
        return try references.targetsAreShown(own) { target in rows.contains { $0.object == target } }
    }

    /// Records a key given to a row outside of this batch.
    func note(key: FieldValue?) {
        if case .integer(let key)? = key { highestKey = max(highestKey, key) }
    }

    /// Writes a complete batch. No row waits afterward.
    /// - Returns: the number of written rows: all, none, or the rows before a refused row.
    func write() throws -> Int {
        defer { rows.removeAll(keepingCapacity: true) }
        guard isFull, let statement else { return 0 }
        if try isRefused(statement) {
            let written = access.connection.changedRowCount
            for row in rows[..<written] { try saveAlone(row) }
            return written
        }
        try states.write()
        for row in rows { recordKey(of: row) }
        return rows.count
    }

    private func isRefused(_ statement: SQLStatement) throws -> Bool {
        guard runsTriggers, let copies = access.triggerCopies else { return try statement.runUnlessRefused() != nil }
        return try !copies.isDone { try statement.runUnlessRefused() == nil }
    }

    private func saveAlone(_ row: Waiting) throws {
        var state = objects.new(row.object)
        state.registers.mergeInsertion(row.stamp)
        for column in columns { state.registers.mergeWrite(column, row.stamp) }
        state.key = try row.key.map { [$0] } ?? localKey(row.values)
        state.givenKey = row.key
        state.shown = .row
        state.check = row.check
        try objects.save(state)
        recordKey(of: row)
    }

    private func recordKey(of row: Waiting) {
        if case .integer(let key)? = row.key { references.note(row.object, key: key) }
    }

    /// Makes the statement for rows with values in these columns.
    private func prepare(_ columns: [Int]) throws {
        var names = columns.map { quoted(table.columns[$0].name) }
        if table.isMapped { names.append(table.keyList) }
        let row = "(" + Array(repeating: "?", count: names.count).joined(separator: ", ") + ")"
        // Overrules the schema's conflict clauses.
        statement = try access.connection.makeStatement(
            "INSERT OR \(resolution) INTO \(table.quotedName)(\(names.joined(separator: ", "))) VALUES "
                + Array(repeating: row, count: access.newRowsAtOnce).joined(separator: ", "))
        self.columns = columns
        columnPlaces = Array(repeating: nil, count: table.columns.count)
        for (place, column) in columns.enumerated() { columnPlaces[column] = place }
        keyPlaces = table.keyColumnIDs.map { columnPlaces[$0] }
    }
}
