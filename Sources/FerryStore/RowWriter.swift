import CFerrySQLite
import FerryCore

/// Writes rows of a tracked table: prepared one-row statements for the columns in use.
struct RowWriter {
    let table: TrackedTable
    let access: StoreAccess
    /// Which part of the key-value store the table is, if it is one.
    private let keyValueKind: KeyValueKind?
    private var connection: SQLConnection { access.connection }

    init(_ table: TrackedTable, _ access: StoreAccess) {
        self.table = table
        self.access = access
        keyValueKind = KeyValueKind(table: table.name)
    }

    /// Why SQLite refused a row.
    struct Refusal: Error {
        /// SQLite's extended result code.
        var code: Int32
        var message: String

        // Macros that Swift does not import: https://www.sqlite.org/rescode.html#extrc
        private static let primaryKey = SQLITE_CONSTRAINT | (6 << 8)
        private static let unique = SQLITE_CONSTRAINT | (8 << 8)
        private static let rowID = SQLITE_CONSTRAINT | (10 << 8)

        var isTakenKey: Bool { code == Self.primaryKey || code == Self.rowID }
        var isTakenValue: Bool { code == Self.unique || isTakenKey }
    }

    /// Inserts a row. Columns without a value get their default.
    /// - Parameters:
    ///   - key: the key of a mapped table.
    ///   - values: by column number, references resolved to local keys.
    /// - Returns: `nil`, or why SQLite refused the row.
    func insert(key: FieldValue?, _ values: [(column: Int, value: FieldValue)]) throws -> Refusal? {
        var names = values.map { quoted(table.columns[$0.column].name) }
        if key != nil { names.append(table.keyList) }
        let places = Array(repeating: "?", count: names.count).joined(separator: ", ")
        let sql =
            names.isEmpty
            ? "INSERT INTO \(quoted(table.name)) DEFAULT VALUES"
            : "INSERT INTO \(quoted(table.name))(\(names.joined(separator: ", "))) VALUES (\(places))"
        let statement = try connection.prepare(sql)
        for (index, entry) in values.enumerated() { statement.bind(entry.value, Int32(index + 1)) }
        if let key { statement.bind(key, Int32(values.count + 1)) }
        let result = refusal(try statement.runUnlessRefused())
        if result == nil, let kind = keyValueKind, let column = table.keyColumnIDs.first {
            access.keyValueChanges.note(kind, values.first { $0.column == column }?.value)
        }
        if result == nil, access.intents != nil {
            let derived = table.keyColumnIDs.map { column in values.first { $0.column == column }?.value ?? .null }
            access.intents?.write(table.id, key.map { [$0] } ?? derived, values, isNew: true)
        }
        return result
    }

    /// Updates columns of the row with a local key.
    func update(key: [FieldValue], _ values: [(column: Int, value: FieldValue)]) throws -> Refusal? {
        let assignments = values.enumerated().map { "\(quoted(table.columns[$1.column].name)) = ?\($0 + 1)" }
        let statement = try connection.prepare(
            "UPDATE \(quoted(table.name)) SET \(assignments.joined(separator: ", ")) "
                + "WHERE \(table.keyCondition(first: values.count + 1))")
        for (index, entry) in values.enumerated() { statement.bind(entry.value, Int32(index + 1)) }
        for (index, value) in key.enumerated() { statement.bind(value, Int32(values.count + index + 1)) }
        let result = refusal(try statement.runUnlessRefused())
        if result == nil, let kind = keyValueKind { access.keyValueChanges.note(kind, key.first) }
        if result == nil { access.intents?.write(table.id, key, values, isNew: false) }
        return result
    }

    func delete(key: [FieldValue]) throws -> Refusal? {
        let statement = try connection.prepare(
            "DELETE FROM \(quoted(table.name)) WHERE \(table.keyCondition(first: 1))")
        for (index, value) in key.enumerated() { statement.bind(value, Int32(index + 1)) }
        let result = refusal(try statement.runUnlessRefused())
        if result == nil, let kind = keyValueKind { access.keyValueChanges.note(kind, key.first) }
        if result == nil { access.intents?.delete(table.id, key) }
        return result
    }

    private func refusal(_ code: Int32?) -> Refusal? {
        code.map { Refusal(code: $0, message: String(cString: sqlite3_errmsg(connection.handle))) }
    }

    /// The local key for an object of a mapped table that gets a row: the author's where it is free.
    /// - Returns: `nil` where the key is taken and SQLite cannot choose another (it is no integer).
    func allocateKey(wish: FieldValue?) throws -> FieldValue? {
        if let wish, wish != .null, try isFree(wish) { return wish }
        guard try isIntegerKey(wish) else { return nil }
        let key = table.keyList
        let highest = try connection.count(
            "SELECT max(coalesce((SELECT max(\(key)) FROM \(quoted(table.name))), 0), "
                + "coalesce((SELECT max(k0) FROM \(table.objectTable) WHERE k0 IS NOT NULL), 0))")
        let issued =
            table.isAutoincrement
            ? try connection.count("SELECT seq FROM sqlite_sequence WHERE name = ?", .text(table.name)) : 0
        let next = Int64(max(highest, issued))
        guard next < .max else { return nil }
        return .integer(next + 1)
    }

    private func isFree(_ key: FieldValue) throws -> Bool {
        if try access.objects(of: table.id).object(forKey: key) != nil { return false }
        let taken = try connection.count(
            "SELECT EXISTS(SELECT 1 FROM \(quoted(table.name)) WHERE \(table.keyCondition(first: 1)))", key)
        return taken == 0
    }

    private func isIntegerKey(_ wish: FieldValue?) throws -> Bool {
        switch wish {
        case nil, .null, .integer: true
        default: false
        }
    }
}
