import FerryCore

/// Asks SQLite for equality of values. Each collation has a table with a key of that collation; values finding the same
/// row are equal.
///
/// https://www.sqlite.org/datatype3.html#comparison_expressions. Not thread-safe.
package final class ModelEquality {
    private let connection: any ModelDatabase
    private var classes: [String: Classes] = [:]
    private var integers: [Double: FieldValue] = [:]
    /// The converted values by declared type.
    private var columns: [String: Kept] = [:]
    /// SQLite's first error. Callers of `form` must check this at the end.
    package private(set) var failure: (any Error)?

    /// How many answers of SQLite are remembered that SQLite gives again.
    private static let maximumKnown = 20_000

    /// The values of a collation asked for.
    ///
    /// A class, so adding a value copies nothing.
    private final class Classes {
        package let table: String
        package var forms: [FieldValue: FieldValue] = [:]

        package init(table: String) { self.table = table }
    }

    /// The values as a column converts them.
    private final class Kept {
        package let table: String
        package var values: [FieldValue: FieldValue] = [:]

        package init(table: String) { self.table = table }
    }

    /// - Parameter connection: a connection to a private database, where tables may be made.
    package init(_ connection: any ModelDatabase) throws {
        self.connection = connection
        try connection.executeScript("ATTACH ':memory:' AS equal")
    }

    /// A representative for all values equal in SQLite. References represent themselves.
    /// - Parameter isKept: false if only values that are kept need the same representative.
    package func form(_ value: FieldValue, _ collation: String, isKept: Bool = true) -> FieldValue {
        do {
            switch value {
            case .real(let real): return try number(real)
            case .text where collation != "BINARY": return try text(value, collation, isKept: isKept)
            default: return value
            }
        } catch {
            failure = failure ?? error
            return value
        }
    }

    /// The value as a column stores it, by the column's affinity: a scratch column of the type converts the value.
    /// References stay.
    ///
    /// https://www.sqlite.org/datatype3.html#type_affinity
    package func kept(_ value: FieldValue, in column: ModelSchema.Column) -> FieldValue {
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

    /// The value that a row shows of a written one: as the column stores it, and NULL for a reference in a column without references.
    package func shown(_ value: FieldValue, in column: ModelSchema.Column) -> FieldValue {
        if case .reference = value, column.reference == nil { return .null }
        return kept(value, in: column)
    }

    private func kept(_ value: FieldValue, as type: String) throws -> FieldValue {
        let known = try columns[exactKey(type)] ?? makeColumn(type)
        if let form = known.values[value] { return form }
        try connection.run("INSERT OR REPLACE INTO \(known.table) VALUES (1, ?)", value)
        let form = try connection.firstValue("SELECT value FROM \(known.table)") ?? .null
        if known.values.count >= Self.maximumKnown { known.values = [:] }
        known.values[value] = form
        return form
    }

    private func makeColumn(_ type: String) throws -> Kept {
        let made = Kept(table: "equal.kept_\(columns.count)")
        try connection.executeScript("CREATE TABLE \(made.table)(place INTEGER PRIMARY KEY, value \(type))")
        columns[exactKey(type)] = made
        return made
    }

    /// The integer equal to a real number, or the number itself.
    private func number(_ real: Double) throws -> FieldValue {
        if let known = integers[real] { return known }
        let form =
            try connection.rows("SELECT CAST(?1 AS INTEGER) WHERE CAST(?1 AS INTEGER) = ?1", values: [.real(real)])
            .first?[0]
            ?? .real(real)
        if integers.count >= Self.maximumKnown { integers = [:] }
        integers[real] = form
        return form
    }

    private func text(_ value: FieldValue, _ collation: String, isKept: Bool) throws -> FieldValue {
        let known = try classes[exactKey(collation)] ?? makeClasses(collation)
        if let form = known.forms[value] { return form }
        if !isKept {
            return try connection.firstValue("SELECT value FROM \(known.table) WHERE value = ?", value) ?? value
        }
        let form: FieldValue
        if let found = try connection.firstValue("SELECT value FROM \(known.table) WHERE value = ?", value) {
            form = found
        } else {
            try connection.run("INSERT INTO \(known.table) VALUES (?)", value)
            form = value
        }
        known.forms[value] = form
        return form
    }

    /// A name as SQL writes it.
    private static func quoted(_ name: String) -> String {
        ModelSchema.quoted(name)
    }

    private func makeClasses(_ collation: String) throws -> Classes {
        let made = Classes(table: "equal.class_\(classes.count)")
        try connection.executeScript(
            "CREATE TABLE \(made.table)(value COLLATE \(Self.quoted(collation)) PRIMARY KEY) WITHOUT ROWID")
        classes[exactKey(collation)] = made
        return made
    }
}

extension ModelDatabase {
    /// The first value of a query's first row; `nil` where it has none.
    func firstValue(_ sql: String, _ values: FieldValue...) throws -> FieldValue? {
        try rows(sql, values: values).first?.first
    }

    /// Runs a statement that writes.
    func run(_ sql: String, _ values: FieldValue...) throws { _ = try rows(sql, values: values) }
}
