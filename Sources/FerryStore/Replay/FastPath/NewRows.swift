import FerryCore
import FerryMerge

/// Writes the rows of objects that were inserted once, that nothing was known of and that concern nobody else, several at a
/// time: row and state by one statement each, without a look at the state or at the row before.
///
/// It takes only what `MergedRows` would write as a plain row (`take`), and stops where SQLite refuses one, so that
/// `MergedRows` deals with it. While rows wait for others to go with them, nothing else may be written to the table: what
/// is to be is preceded by `write`.
final class NewRows {
    /// An insertion that may be taken.
    struct Insertion {
        var object: ObjectID
        var stamp: Stamp
        /// The author's key of a mapped table.
        var key: FieldValue?
        /// The numbers of the columns that have values.
        var columns: [Int]
        var values: ArraySlice<FieldValue>
    }

    /// So many rows are written by one statement, where `Store.newRowsAtOnce` is not another number. More save little, and
    /// what is not so many is written one by one.
    static let usualNumber = 16
    /// So that a statement has no more parameters than SQLite allows, whoever lowered that.
    private static let maximumColumns = 50
    /// A row of more is written alone.
    private static let maximumBytes = 64 << 10

    private let access: StoreAccess
    private let table: TrackedTable
    private let objects: ObjectTable
    private let references: LocalReferences
    private let states: NewStates
    /// The columns of foreign keys that refer to other columns than a mapped key.
    private let hasKeysByValue: Bool
    /// By column: whether it holds mapped keys, so that a plain value refers to nothing.
    private let holdsKeys: [Bool]
    /// The highest integer that a row or a state of a mapped table has for its key: what is above is free.
    @exclusivity(unchecked) private var highestKey: Int64
    /// What becomes of a statement one of whose rows is refused: FAIL leaves those before it, and tells how many they are.
    /// ABORT takes them back, for which SQLite keeps a copy of every page that it changes, in a file if they are many; it is
    /// for tables whose rows may be refused for their values' types, since that is always ABORT, or for what a trigger does, which
    /// must not be done by half.
    private let resolution: String
    /// Whether triggers of the app's are run by it, whatever they fail for.
    private let runsTriggers: Bool
    /// The rows that wait. What they are is bound to `statement` and to the one of `states`.
    @exclusivity(unchecked) private var rows: [Waiting] = []
    @exclusivity(unchecked) private var columns: [Int] = []
    @exclusivity(unchecked) private var statement: SQLStatement?
    /// By column: its place in `columns`.
    @exclusivity(unchecked) private var columnPlaces: [Int?] = []
    /// By place in the key of a table that is not mapped: the place in `columns` of its column.
    @exclusivity(unchecked) private var keyPlaces: [Int?] = []

    private struct Waiting {
        var object: ObjectID
        var stamp: Stamp
        /// In the order of `columns`, as they travel. What is bound lasts as long as they are kept.
        var values: ArraySlice<FieldValue>
        /// The author's key of a mapped table, which the row has here too.
        var key: FieldValue?
        var check: UInt64
    }

    /// - Returns: `nil` where rows of the table may concern others, or somebody is to be told of each.
    init?(_ access: StoreAccess, _ table: TrackedTable, _ references: LocalReferences) throws {
        let isPlain =
            table.isLocal && !table.hasColumnPolicies && !table.hasUncheckedReferences
            && table.columns.allSatisfy { $0.isLocal && !$0.isUnchecked }
            && (!table.isMapped || table.isIntegerKey && !table.isWithoutRowID)
        runsTriggers = access.triggerCopies?.concern(table, .insert) ?? false
        // What is said here of rows that are in the way would be said to the triggers' own statements too.
        if runsTriggers, access.triggerCopies?.resolvesConflicts ?? false { return nil }
        guard isPlain, table.columns.count <= Self.maximumColumns,
            access.changedRows == nil, KeyValueKind(table: table.name) == nil,
            try !access.exceptionTokens.areAny(of: table.id)
        else { return nil }
        self.access = access
        self.table = table
        self.references = references
        objects = access.objects(of: table.id)
        states = NewStates(access, table, atOnce: access.newRowsAtOnce)
        hasKeysByValue = table.foreignKeys.contains { if case .mapped = $0.target { false } else { true } }
        holdsKeys = table.columns.map { $0.reference != nil }
        highestKey = table.isMapped ? try access.writer(of: table.id).highestKey() : 0
        let isStrict = try access.connection.count(
            "SELECT strict FROM pragma_table_list WHERE schema = 'main' AND name = ? COLLATE NOCASE", .text(table.name))
        resolution = isStrict != 0 || runsTriggers || table.isIntegerKey && !table.isMapped ? "ABORT" : "FAIL"
        rows.reserveCapacity(access.newRowsAtOnce)
    }

    /// Whether as many rows wait as are written at once.
    var isFull: Bool { rows.count == access.newRowsAtOnce }

    /// Whether an insertion has to wait until the others are written, because it has other columns.
    func isOther(_ insertion: Insertion) -> Bool { !rows.isEmpty && insertion.columns != columns }

    /// Takes an insertion, to be written by `write`.
    /// - Returns: whether it is one that is simply written.
    func take(_ insertion: Insertion) throws -> Bool {
        if insertion.columns != columns || statement == nil {
            // Names of the author's that this database does not know, or does not tell apart.
            guard insertion.columns.allSatisfy({ $0 >= 0 }),
                Set(insertion.columns).count == insertion.columns.count
            else { return false }
            try prepare(insertion.columns)
        }
        var wish: Int64?
        if table.isMapped {
            guard case .integer(let key)? = insertion.key, key > highestKey else { return false }
            wish = key
        } else if insertion.key != nil {
            return false
        }
        if try hasKeysByValue && !targetsAreShown(insertion) { return false }
        guard let statement, try bind(insertion, wish, to: statement) else { return false }
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
        return true
    }

    /// Binds a row behind those that wait.
    /// - Returns: whether it can be taken; not where it has too many bytes or refers to what has no row. What is bound then is
    ///   bound anew for the next one.
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
                    if holdsKeys[column] { return false }
                    bytes += value.byteCount
                    statement.bind(lasting: value, place)
                }
            }
            return true
        }
        if let wish { statement.bind(wish, place + 1) }
        return areBound && bytes <= Self.maximumBytes
    }

    /// The local key of a row with these values, in a table that is not mapped.
    private func localKey(_ values: ArraySlice<FieldValue>) throws -> [FieldValue] {
        try keyPlaces.enumerated().map { part, place in
            guard let place else { return .null }
            let value = values[values.startIndex + place]
            guard case .reference(let target) = value else { return value }
            return try local(target, table.keyColumnIDs[part]) ?? .null
        }
    }

    /// A reference as it lies in the row; `nil` where what it refers to has none.
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
        var own = FieldValues(width: table.columns.count)
        for (column, value) in zip(insertion.columns, insertion.values) { own[column] = value }
        return try references.targetsAreShown(own) { target in rows.contains { $0.object == target } }
    }

    /// A key that a row was given by somebody else.
    func note(key: FieldValue?) {
        if case .integer(let key)? = key { highestKey = max(highestKey, key) }
    }

    /// Writes the rows that wait, if they are as many as are written at once. None waits any more.
    /// - Returns: how many were written: all, none, or those before one that SQLite refused.
    func write() throws -> Int {
        defer { rows.removeAll(keepingCapacity: true) }
        guard isFull, let statement else { return 0 }
        if try isRefused(statement) {
            let written = access.connection.changedRowCount
            for row in rows[..<written] { try saveAlone(row) }
            return written
        }
        try states.write()
        for row in rows { noteKey(of: row) }
        return rows.count
    }

    private func isRefused(_ statement: SQLStatement) throws -> Bool {
        guard runsTriggers, let copies = access.triggerCopies else { return try statement.runUnlessRefused() != nil }
        return try !copies.isDone { try statement.runUnlessRefused() == nil }
    }

    private func saveAlone(_ row: Waiting) throws {
        var state = objects.new(row.object)
        state.registers.mergeInsertion(row.stamp)
        for column in columns { state.registers.noteWrite(column, row.stamp) }
        state.key = try row.key.map { [$0] } ?? localKey(row.values)
        state.givenKey = row.key
        state.shown = .row
        state.check = row.check
        try objects.save(state)
        noteKey(of: row)
    }

    private func noteKey(of row: Waiting) {
        if case .integer(let key)? = row.key { references.note(row.object, key: key) }
    }

    /// Makes the statement for rows with values in these columns.
    private func prepare(_ columns: [Int]) throws {
        var names = columns.map { quoted(table.columns[$0].name) }
        if table.isMapped { names.append(table.keyList) }
        let row = "(" + Array(repeating: "?", count: names.count).joined(separator: ", ") + ")"
        // Whatever the schema's constraints ask for.
        statement = try access.connection.makeStatement(
            "INSERT OR \(resolution) INTO \(quoted(table.name))(\(names.joined(separator: ", "))) VALUES "
                + Array(repeating: row, count: access.newRowsAtOnce).joined(separator: ", "))
        self.columns = columns
        columnPlaces = Array(repeating: nil, count: table.columns.count)
        for (place, column) in columns.enumerated() { columnPlaces[column] = place }
        keyPlaces = table.keyColumnIDs.map { columnPlaces[$0] }
    }
}
