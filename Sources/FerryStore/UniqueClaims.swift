import FerryCore
import FerryMerge

/// What values claim under UNIQUE indexes. Expressions and conditions of indexes are computed by SQLite.
struct UniqueClaims {
    private let access: StoreAccess
    private let travelling: Travelling

    init(_ access: StoreAccess) {
        self.access = access
        travelling = Travelling(access)
    }

    /// The claims of an object with these values, as they travel: one for each index that they are in.
    func claims(_ table: TrackedTable, _ values: FieldValues) throws -> [RuleClaim] {
        try table.uniqueIndexes.indices.compactMap { place in
            try token(table, place, values).map {
                RuleClaim(token: $0, index: place, hidesLosers: table.uniqueIndexes[place].hidesLosers)
            }
        }
    }

    /// The token of a claim; `nil` where a NULL or a partial index makes it none.
    private func token(_ table: TrackedTable, _ place: Int, _ values: FieldValues) throws -> RowToken? {
        let index = table.uniqueIndexes[place]
        var terms = index.terms.map { term in term.column.map { values[$0] ?? .null } }
        if index.needsEvaluation {
            guard let computed = try evaluate(table, index, values.mapped(Self.standIn)) else { return nil }
            for (position, term) in computed.enumerated() { terms[position] = terms[position] ?? term }
        }
        return table.uniqueToken(
            terms.map { $0 ?? .null }, names: ["!\(index.name)"], collations: index.terms.map(\.collation)
        ).map { RowToken(table: table.id, id: $0) }
    }

    /// What stands for a reference where SQLite computes something of it: an integer that is the same on all devices.
    private static func standIn(_ value: FieldValue) -> FieldValue {
        guard case .reference(let object) = value else { return value }
        return .integer(Int64(bitPattern: object.low >> 16) + 1)
    }

    /// The terms of a partial or expression index for local values, as SQLite computes them of a row with the table's
    /// types, collations and generated columns; `nil` where the index leaves them out.
    private func evaluate(
        _ table: TrackedTable, _ index: TrackedUniqueIndex, _ local: FieldValues
    ) throws -> [FieldValue]? {
        let shape = try access.shape(of: table)
        let columns = table.localColumns
        let places = columns.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
        let names = columns.map { quoted($0.name) }.joined(separator: ", ")
        try access.connection.execute("DELETE FROM \(shape)")
        try access.connection.execute(
            "INSERT INTO \(shape)(\(names)) VALUES (\(places))", columns.map { local[$0.id] ?? .null })
        let terms = index.terms.map {
            $0.column.map { quoted(table.columns[$0].name) } ?? "(\($0.expression ?? "NULL"))"
        }
        return try access.connection.rows(
            "SELECT \(terms.joined(separator: ", ")) FROM \(shape)" + (index.condition.map { " WHERE \($0)" } ?? "")
        ).first
    }

    /// The terms of an index as rows hold them; `nil` where the index leaves the values out, or where a term refers to
    /// an object without a row.
    private func localTerms(
        _ table: TrackedTable, _ index: TrackedUniqueIndex, _ values: FieldValues
    ) throws -> [FieldValue]? {
        var local: FieldValues = [:]
        for column in table.localColumns {
            let value = values[column.id] ?? .null
            if let known = try travelling.local(value, column) {
                local[column.id] = known
            } else if index.terms.contains(where: { $0.column == column.id }) {
                return nil
            } else {
                local[column.id] = Self.standIn(value)
            }
        }
        if index.needsEvaluation { return try evaluate(table, index, local) }
        return index.terms.map { $0.column.flatMap { local[$0] } ?? .null }
    }

    /// The keys of the rows that show what these values claim under an index.
    func holders(_ table: TrackedTable, _ place: Int, _ values: FieldValues) throws -> [[FieldValue]] {
        let index = table.uniqueIndexes[place]
        guard let terms = try localTerms(table, index, values) else { return [] }
        let conditions = index.terms.enumerated().map { position, term in
            let text = term.column.map { quoted(table.columns[$0].name) } ?? "(\(term.expression ?? "NULL"))"
            return "\(text) COLLATE \(quoted(term.collation)) = ?\(position + 1)"
        }
        let condition = (conditions + (index.condition.map { ["(\($0))"] } ?? [])).joined(separator: " AND ")
        return try access.connection.rows(
            "SELECT \(table.keyList) FROM \(quoted(table.name)) WHERE \(condition)", values: terms)
    }
}
