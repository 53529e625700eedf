import FerryCore

/// A foreign key of the schema ignored by the rules. The column keeps the written value, and the row is shown whether
/// or not the parent row exists. The JSON keys are fixed: scripts rely on them.
public struct PlainReference: Codable, Equatable, Sendable {
    public var table: String
    public var columns: [String]
    /// The parent table.
    public var parent: String
    /// The reason, as a sentence without a full stop.
    public var reason: String
}

/// A foreign key named by a person by table and columns, to be a plain reference from the beginning.
public struct PlainReferenceName: Hashable, Sendable {
    public var table: String
    /// In any order.
    public var columns: [String]

    public init(table: String, columns: [String]) {
        self.table = table
        self.columns = columns
    }

    /// True if this name means the given foreign key.
    func names(_ key: DeclaredKey) -> Bool {
        equalNames(table, key.child) && Set(columns.map(foldedName)) == Set(key.columns.map(foldedName))
    }
}

extension Store {
    /// Returns the foreign keys of travelling tables counted as plain references. SQLite cannot use them, some device's
    /// data broke them, or a person named them.
    public func plainReferences() throws -> [PlainReference] {
        try readAccess { try $0.plainReferences() }
    }
}

extension StoreAccess {
    func plainReferences() throws -> [PlainReference] {
        let schema = try SchemaReader(connection: connection).read()
        let words = try PolicyList(connection).applied()
        var found: [PlainReference] = []
        for table in schema.tables where registry.table(named: table.name)?.isLocal ?? false {
            for key in table.foreignKeys {
                guard let reason = reason(key, of: table, schema, words) else { continue }
                found.append(
                    PlainReference(table: table.name, columns: key.columns, parent: key.parentTable, reason: reason))
            }
        }
        return found
    }

    private func reason(
        _ key: SchemaForeignKey, of table: SchemaTable, _ schema: Schema, _ words: [String: String]
    ) -> String? {
        if let flaw = schema.flaw(of: key, in: table) { return "SQLite cannot use it: \(flaw)" }
        guard let word = schema.declaredKey(key, of: table).flatMap({ words[$0.target] }) else { return nil }
        return word == DeclaredKey.namedWord ? "somebody said so" : "rows were written that refer to nothing"
    }

    /// Reports the rows breaking foreign keys followed by the rules, and foreign keys of local tables.
    func checkForeignKeys(_ report: inout VerificationReport) throws {
        let schema = try SchemaReader(connection: connection).read()
        let plain = try PlainReferenceList(connection).applied()
        for table in schema.tables where table.kind == .table && !table.foreignKeys.isEmpty {
            let working = table.foreignKeys.compactMap { schema.declaredKey($0, of: table) }
                .filter { !plain.contains($0.target) }
            do {
                // SQLite checks all of a table's foreign keys at once, and fails if any of them is unusable.
                report.foreignKeys +=
                    working.count == table.foreignKeys.count
                    ? try checkAll(table) : try working.flatMap { try check($0, of: table) }
            } catch let error as FerryError where error.code == .missingFunction {
                report.addUnchecked(table.name, connection.lastMessage)
            }
        }
    }

    private func checkAll(_ table: SchemaTable) throws -> [VerificationReport.ForeignKeyViolation] {
        try connection.rows("PRAGMA foreign_key_check(\(quoted(table.name)))").map { row in
            var rowID: Int64?
            if case .integer(let integer) = row[1] { rowID = integer }
            return .init(table: row[0].text, rowID: rowID, parent: row[2].text)
        }
    }

    private func check(
        _ key: DeclaredKey, of table: SchemaTable
    ) throws -> [VerificationReport.ForeignKeyViolation] {
        let name = table.isWithoutRowID ? nil : rowIDNames(besides: table.columns.map(\.name)).first
        return try connection.rows(
            "SELECT \(name.map { "child.\($0)" } ?? "NULL") FROM main.\(quoted(table.name)) AS child WHERE \(key.isBroken)"
        ).map { row in
            var rowID: Int64?
            if case .integer(let integer) = row[0] { rowID = integer }
            return .init(table: table.name, rowID: rowID, parent: key.parent)
        }
    }
}
