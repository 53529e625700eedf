import FerryCore
import FerrySQL
import FerrySchema

/// Reports the rows breaking foreign keys followed by the rules, and foreign keys of local tables.
struct ForeignKeyCheck {
    private let connection: SQLConnection

    init(_ connection: SQLConnection) { self.connection = connection }

    func run(_ report: inout VerificationReport) throws {
        let schema = try SchemaReader(connection: connection).read()
        let plain = try PlainReferenceList(connection).applied()
        for table in schema.tables where table.kind == .table && !table.foreignKeys.isEmpty {
            let working = table.foreignKeys.filter { schema.generatedColumn(of: $0, in: table) == nil }
                .compactMap { schema.declaredKey($0, of: table) }
                .filter { !plain.contains(exactKey($0.target)) }
            do {
                // SQLite checks all of a table's foreign keys at once, and fails if any of them is unusable.
                let areAllUsable =
                    working.count == table.foreignKeys.count
                    && !table.foreignKeys.contains { $0.hasVanishedParent }
                report.foreignKeys +=
                    areAllUsable
                    ? try checkAll(table) : try working.flatMap { try check($0, of: table) }
            } catch let error as FerryError where error.code == .missingFunction {
                report.addUnchecked(table.name, connection.lastMessage)
            }
        }
    }

    private func checkAll(_ table: SchemaTable) throws -> [VerificationReport.ForeignKeyViolation] {
        try connection.rows("PRAGMA foreign_key_check(\(table.quotedName))").map { row in
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
            "SELECT \(name.map { "child.\($0)" } ?? "NULL") FROM main.\(table.quotedName) AS child WHERE \(key.isBroken)"
        ).map { row in
            var rowID: Int64?
            if case .integer(let integer) = row[0] { rowID = integer }
            return .init(table: table.localName, rowID: rowID, parent: key.parent)
        }
    }
}
