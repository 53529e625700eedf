import CFerrySQLite
import FerryCore

/// What SQLite takes for equal, asked of SQLite: for each collation it keeps a table whose key has that collation, and values
/// are equal that find the same row of it.
///
/// https://www.sqlite.org/datatype3.html#comparison_expressions. Not thread-safe.
final class PlainEquality {
    private let connection: SQLConnection
    private var classes: [String: Classes] = [:]
    private var integers: [Double: FieldValue] = [:]
    /// By declared type, what a column of it made of the values that were asked for.
    private var columns: [String: Kept] = [:]
    /// The first error that SQLite gave. Who asks for forms looks at it at the end.
    private(set) var failure: (any Error)?

    /// The values of one collation that were asked for.
    ///
    /// A class, so that what is known is not copied whenever a value is added.
    private final class Classes {
        let table: String
        var forms: [FieldValue: FieldValue] = [:]

        init(table: String) { self.table = table }
    }

    /// What a column makes of values.
    private final class Kept {
        let table: String
        var values: [FieldValue: FieldValue] = [:]

        init(table: String) { self.table = table }
    }

    /// - Parameter connection: to a database of its own, in which tables may be made.
    init(_ connection: SQLConnection) throws {
        self.connection = connection
        try connection.executeScript("ATTACH ':memory:' AS equal")
    }

    /// A value that stands for all that SQLite takes for equal to this one. References stand for themselves.
    func form(_ value: FieldValue, _ collation: String) -> FieldValue {
        do {
            switch value {
            case .real(let real): return try number(real)
            case .text where collation != "BINARY": return try text(value, collation)
            default: return value
            }
        } catch {
            failure = failure ?? error
            return value
        }
    }

    /// A value as a column keeps it, by the column's affinity: a column of that type in SQLite is asked. References stay.
    ///
    /// https://www.sqlite.org/datatype3.html#type_affinity
    func kept(_ value: FieldValue, in column: PlainSchema.Column) -> FieldValue {
        switch value {
        // No affinity changes these: https://www.sqlite.org/datatype3.html#type_affinity
        case .null, .blob, .reference: return value
        case .integer, .real, .text: break
        }
        do {
            return try kept(value, as: column.scratchType)
        } catch {
            failure = failure ?? error
            return value
        }
    }

    private func kept(_ value: FieldValue, as type: String) throws -> FieldValue {
        let known = try columns[type] ?? makeColumn(type)
        if let form = known.values[value] { return form }
        try connection.execute("INSERT OR REPLACE INTO \(known.table) VALUES (1, ?)", value)
        let form = try connection.firstValue("SELECT value FROM \(known.table)") ?? .null
        known.values[value] = form
        return form
    }

    private func makeColumn(_ type: String) throws -> Kept {
        let made = Kept(table: "equal.kept_\(columns.count)")
        try connection.executeScript("CREATE TABLE \(made.table)(place INTEGER PRIMARY KEY, value \(type))")
        columns[type] = made
        return made
    }

    /// The integer that is equal to a real number, or that number.
    private func number(_ real: Double) throws -> FieldValue {
        if let known = integers[real] { return known }
        let form =
            try connection.rows("SELECT CAST(?1 AS INTEGER) WHERE CAST(?1 AS INTEGER) = ?1", .real(real)).first?[0]
            ?? .real(real)
        integers[real] = form
        return form
    }

    private func text(_ value: FieldValue, _ collation: String) throws -> FieldValue {
        let known = try classes[collation] ?? makeClasses(collation)
        if let form = known.forms[value] { return form }
        let form: FieldValue
        if let found = try connection.firstValue("SELECT value FROM \(known.table) WHERE value = ?", value) {
            form = found
        } else {
            try connection.execute("INSERT INTO \(known.table) VALUES (?)", value)
            form = value
        }
        known.forms[value] = form
        return form
    }
    private func makeClasses(_ collation: String) throws -> Classes {
        let made = Classes(table: "equal.class_\(classes.count)")
        try connection.executeScript(
            "CREATE TABLE \(made.table)(value COLLATE \(quoted(collation)) PRIMARY KEY) WITHOUT ROWID")
        classes[collation] = made
        return made
    }
}
