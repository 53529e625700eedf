import CFerrySQLite
import FerryCore
import FerrySQL
import FerrySchema

/// Writes rows of a tracked table by prepared statements for the columns in use. Use `StoreAccess.writer(of:)`, so
/// statements are prepared once.
final class RowWriter {
    let table: TrackedTable
    private let observer: any RowWriteObserver
    private let connection: SQLConnection
    /// The table's part of the key-value store, if any.
    private let keyValueKind: KeyValueKind?
    /// The columns whose unwritten value differs from device to device.
    private let varyingDefaults: [Int]
    @exclusivity(unchecked) private var inserts: [Insertion: SQLStatement] = [:]
    @exclusivity(unchecked) private var updates: [Update: SQLStatement] = [:]
    /// The statements used last: the next row usually has the same columns.
    @exclusivity(unchecked) private var lastInsert: (insertion: Insertion, statement: SQLStatement)?
    @exclusivity(unchecked) private var lastUpdate: (update: Update, statement: SQLStatement)?
    private lazy var deletion = LazyStatement(
        "DELETE FROM \(table.quotedName) WHERE \(table.keyCondition(first: 1))", connection)
    /// Selects the parent key values of a row for local rows; `nil` if no local table refers to the table.
    private lazy var offer: LazyStatement? = {
        if table.localParentKeys.isEmpty { return nil }
        let columns = table.localParentColumns.map { quoted($0.name) }.joined(separator: ", ")
        return LazyStatement(
            "SELECT \(columns) FROM \(table.quotedName) WHERE \(table.keyCondition(first: 1))", connection)
    }()
    /// The parent key columns used by local rows; `nil` for any column, because some are generated.
    private lazy var offeredColumns: Set<Int>? = {
        let staying = table.localParentColumns
        if staying.contains(where: \.isGenerated) { return nil }
        return Set(staying.compactMap { table.columnID($0.name) })
    }()

    /// Returns the OR clause overruling the schema's constraints (`UNIQUE ON CONFLICT REPLACE`): only the rules may
    /// move a row in the way. The clause would also overrule the app's triggers
    /// (https://www.sqlite.org/lang_createtrigger.html). So the clause is empty if no constraint has a conflict clause.
    private func resolution() throws -> String {
        if let known = knownResolution { return known }
        let hasClause = try connection.count(
            "SELECT sql LIKE '%on%conflict%' FROM sqlite_schema WHERE type = 'table' AND name = ? COLLATE NOCASE",
            .text(table.localName))
        let resolution = hasClause == 0 ? "" : "OR ABORT "
        knownResolution = resolution
        return resolution
    }
    @exclusivity(unchecked) private var knownResolution: String?

    /// The columns set by an insertion.
    private struct Insertion: Hashable {
        var columns: [Int]
        /// True if a mapped table's key is set too.
        var hasKey: Bool
        /// True if the statement overrules the constraints' conflict clauses.
        var overrules: Bool
    }

    /// The columns set by an update.
    private struct Update: Hashable {
        var columns: [Int]
        var overrules: Bool
    }

    init(_ table: TrackedTable, _ connection: SQLConnection, _ observer: any RowWriteObserver) {
        self.table = table
        self.observer = observer
        self.connection = connection
        keyValueKind = KeyValueKind(table: table.name)
        varyingDefaults = table.varyingDefaults
    }

    /// SQLite's reason to refuse a row.
    struct Refusal: Error {
        /// SQLite's extended result code.
        var code: Int32
        var message: String

        // Macros Swift does not import: https://www.sqlite.org/rescode.html#extrc
        private static let primaryKey = SQLITE_CONSTRAINT | (6 << 8)
        private static let unique = SQLITE_CONSTRAINT | (8 << 8)
        private static let rowID = SQLITE_CONSTRAINT | (10 << 8)

        var isTakenKey: Bool { code == Self.primaryKey || code == Self.rowID }
        var isTakenValue: Bool { code == Self.unique || isTakenKey }
    }

    /// Inserts a row. Columns without a value get their default.
    /// - Parameters:
    ///   - key: the key of a mapped table.
    ///   - values: values by column number, with references resolved to local keys.
    /// - Returns: `nil` on success, or SQLite's reason to refuse the row.
    func insert(key: FieldValue?, _ values: [(column: Int, value: FieldValue)]) throws -> Refusal? {
        let result = try write(.insert) { try insertOnce(key: key, values, overrules: $0) }
        if result == nil, let kind = keyValueKind, let column = table.keyColumnIDs.first {
            observer.recordChange(of: kind, values.first { $0.column == column }?.value)
        }
        if result == nil, observer.recordsRows {
            observer.recordRow(table.id, rowKey(key, values), isRemoved: false)
        }
        if result == nil, !varyingDefaults.isEmpty {
            let unwritten = varyingDefaults.filter { column in !values.contains { $0.column == column } }
            if !unwritten.isEmpty { observer.recordDefaults(table.id, rowKey(key, values), in: unwritten) }
        }
        return result
    }

    private func rowKey(_ key: FieldValue?, _ values: [(column: Int, value: FieldValue)]) -> [FieldValue] {
        if let key { return [key] }
        return table.keyColumnIDs.map { column in values.first { $0.column == column }?.value ?? .null }
    }

    /// Writes with the copies of the app's triggers, if there are any.
    /// - Parameter once: writes the row; the argument true overrules the constraints' conflict clauses.
    private func write(_ event: RowEvent, _ once: (Bool) throws -> Refusal?) throws -> Refusal? {
        guard let copies = observer.triggers, copies.concern(table, event) else { return try once(true) }
        // A clause overruling the constraints would overrule the triggers' own statements too.
        if try !resolution().isEmpty, let refusal = try copies.refusal(table, event, { try once(true) }) {
            return refusal
        }
        return try copies.write(table, event) { try once(false) }
    }

    private func insertOnce(
        key: FieldValue?, _ values: [(column: Int, value: FieldValue)], overrules: Bool
    ) throws -> Refusal? {
        let statement = try insertion(of: values, hasKey: key != nil, overrules: overrules)
        for index in values.indices { statement.bind(lasting: values[index].value, Int32(index + 1)) }
        if let key { statement.bind(key, Int32(values.count + 1)) }
        return refusal(try withExtendedLifetime(values) { try statement.runUnlessRefused() })
    }

    /// Updates columns of the row with a local key.
    /// - Parameter object: the row's object, so local rows can follow the change. `nil` if SQLite makes local rows
    ///   follow, or the row gets its former values back.
    func update(
        key: [FieldValue], _ values: [(column: Int, value: FieldValue)], of object: ObjectID?
    ) throws -> Refusal? {
        if key.isEmpty { return nil }
        if offer != nil, offeredColumns.map({ columns in values.contains { columns.contains($0.column) } }) ?? true {
            try recordFormer(key, of: object)
        }
        let result = try write(.update) { try updateOnce(key: key, values, overrules: $0) }
        if result == nil, let kind = keyValueKind { observer.recordChange(of: kind, key.first) }
        if result == nil, observer.recordsRows { reportChange(of: key, values) }
        return result
    }

    private func updateOnce(
        key: [FieldValue], _ values: [(column: Int, value: FieldValue)], overrules: Bool
    ) throws -> Refusal? {
        let statement = try self.statement(updating: values, overrules: overrules)
        for index in values.indices { statement.bind(lasting: values[index].value, Int32(index + 1)) }
        for index in key.indices { statement.bind(lasting: key[index], Int32(values.count + index + 1)) }
        return refusal(try withExtendedLifetime((values, key)) { try statement.runUnlessRefused() })
    }

    /// Reports an updated row. A row with a changed key is reported as removed under the former key.
    private func reportChange(of key: [FieldValue], _ values: [(column: Int, value: FieldValue)]) {
        var present = key
        for (place, column) in table.keyColumnIDs.enumerated() {
            if let value = values.first(where: { $0.column == column })?.value { present[place] = value }
        }
        if present != key { observer.recordRow(table.id, key, isRemoved: true) }
        observer.recordRow(table.id, present, isRemoved: false)
    }

    /// Deletes the row with a local key.
    /// - Parameter object: as for `update`.
    func delete(key: [FieldValue], of object: ObjectID?) throws -> Refusal? {
        if key.isEmpty { return nil }
        try recordFormer(key, of: object)
        let result = try write(.delete) { _ in
            let statement = try deletion.prepared()
            for (index, value) in key.enumerated() { statement.bind(value, Int32(index + 1)) }
            return refusal(try statement.runUnlessRefused())
        }
        if result == nil, let kind = keyValueKind { observer.recordChange(of: kind, key.first) }
        if result == nil, observer.recordsRows { observer.recordRow(table.id, key, isRemoved: true) }
        return result
    }

    private func recordFormer(_ key: [FieldValue], of object: ObjectID?) throws {
        guard offer != nil, let object else { return }
        try observer.recordFormer(object, key, of: table.id) { try offered(by: key) }
    }

    /// The parent key values for local rows, from the row with a local key, in the order of the table's
    /// `localParentColumns`. `nil` without such a row, or if no local table refers to the table.
    func offered(by key: [FieldValue]) throws -> [FieldValue]? {
        guard let offer else { return nil }
        let statement = try offer.prepared()
        defer { statement.rewind() }
        for (index, value) in key.enumerated() { statement.bind(value, Int32(index + 1)) }
        guard try statement.step() else { return nil }
        return (0..<statement.columnCount).map { statement.value($0) }
    }

    private func insertion(
        of values: [(column: Int, value: FieldValue)], hasKey: Bool, overrules: Bool
    ) throws -> SQLStatement {
        if let last = lastInsert, last.insertion.hasKey == hasKey, last.insertion.overrules == overrules,
            Self.are(last.insertion.columns, thoseOf: values)
        {
            return last.statement
        }
        let insertion = Insertion(columns: values.map(\.column), hasKey: hasKey, overrules: overrules)
        if let known = inserts[insertion] {
            lastInsert = (insertion, known)
            return known
        }
        var names = insertion.columns.map { quoted(table.columns[$0].name) }
        if hasKey { names.append(table.keyList) }
        let places = Array(repeating: "?", count: names.count).joined(separator: ", ")
        let resolution = overrules ? try resolution() : ""
        let statement = try connection.makeStatement(
            names.isEmpty
                ? "INSERT \(resolution)INTO \(table.quotedName) DEFAULT VALUES"
                : "INSERT \(resolution)INTO \(table.quotedName)(\(names.joined(separator: ", "))) VALUES (\(places))")
        inserts[insertion] = statement
        lastInsert = (insertion, statement)
        return statement
    }

    private static func are(_ columns: [Int], thoseOf values: [(column: Int, value: FieldValue)]) -> Bool {
        columns.count == values.count && columns.indices.allSatisfy { columns[$0] == values[$0].column }
    }

    private func statement(
        updating values: [(column: Int, value: FieldValue)], overrules: Bool
    ) throws -> SQLStatement {
        if let last = lastUpdate, last.update.overrules == overrules, Self.are(last.update.columns, thoseOf: values) {
            return last.statement
        }
        let columns = values.map(\.column)
        let update = Update(columns: columns, overrules: overrules)
        if let known = updates[update] {
            lastUpdate = (update, known)
            return known
        }
        let assignments = columns.enumerated().map { "\(quoted(table.columns[$1].name)) = ?\($0 + 1)" }
        let statement = try connection.makeStatement(
            "UPDATE \(overrules ? resolution() : "")\(table.quotedName) SET \(assignments.joined(separator: ", ")) "
                + "WHERE \(table.keyCondition(first: columns.count + 1))")
        updates[update] = statement
        lastUpdate = (update, statement)
        return statement
    }

    private func refusal(_ code: Int32?) -> Refusal? {
        code.map { Refusal(code: $0, message: String(cString: sqlite3_errmsg(connection.handle))) }
    }
}
