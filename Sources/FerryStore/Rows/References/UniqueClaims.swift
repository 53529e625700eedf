import FerryCore
import FerryMerge

/// What values claim under UNIQUE indexes. Expressions and conditions of indexes are computed by SQLite.
///
/// Where they name a mapped key, they are computed of the key that the object has on this device, so that a row claims what
/// SQLite counts it for here. An object without a row counts with the key that it had, or would like to have.
struct UniqueClaims {
    private let access: StoreAccess
    private let travelling: Travelling
    private let givenKeys: GivenKeys

    init(_ access: StoreAccess) {
        self.access = access
        travelling = Travelling(access)
        givenKeys = GivenKeys(access)
    }

    /// Whose values they are.
    struct Owner {
        var object: ObjectID
        /// Its key, in a mapped table.
        var key: FieldValue?

        init(_ object: ObjectID, key: FieldValue?) {
            self.object = object
            self.key = key
        }

        init(_ state: ObjectState) {
            self.init(
                state.object, key: state.shown.hasRow ? state.key.first : state.kept.key ?? state.givenKey)
        }
    }

    /// The claims of an object with these values, as they travel: one for each index that they are in.
    func claims(_ table: TrackedTable, _ values: FieldValues, of owner: Owner) throws -> [RuleClaim] {
        let values = try givenKeys.claimed(values, table)
        return try table.uniqueIndexes.indices.compactMap { place in
            try token(table, place, values, owner).map {
                RuleClaim(token: $0, index: place, hidesLosers: table.uniqueIndexes[place].hidesLosers)
            }
        }
    }

    /// The token of a claim; `nil` where a NULL or a partial index makes it none.
    private func token(
        _ table: TrackedTable, _ place: Int, _ values: FieldValues, _ owner: Owner
    ) throws -> RowToken? {
        let index = table.uniqueIndexes[place]
        var terms = index.terms.map { term in term.column.map { values[$0] ?? .null } }
        if index.needsEvaluation || index.terms.contains(where: { isUnsettled($0, values, table) }) {
            guard let computed = try evaluate(table, index, values.mapped { Self.standIn($0, owner) }, owner) else {
                return nil
            }
            for (position, term) in computed.enumerated() {
                // A reference is more than the integer that stands for it.
                if case .reference? = terms[position] { continue }
                terms[position] = term
            }
        }
        return table.uniqueToken(
            terms.map { $0 ?? .null }, names: ["!\(index.name)"], collations: index.terms.map(\.collation)
        ).map { RowToken(table: table.id, id: $0) }
    }

    /// Whether the column of a term would hold a value otherwise than its author had it, whose schema was another: then SQLite
    /// says what it makes of the value. https://www.sqlite.org/datatype3.html#type_affinity
    private func isUnsettled(_ term: TrackedUniqueIndex.Term, _ values: FieldValues, _ table: TrackedTable) -> Bool {
        guard let column = term.column, let value = values[column] else { return false }
        switch (table.columns[column].affinity, value) {
        case (.text, .integer), (.text, .real), (.real, .integer): return true
        case (.integer, .text), (.numeric, .text), (.real, .text): return true
        default: return false
        }
    }

    /// What stands for a reference where SQLite computes something of it: an integer that is the same on all devices, and
    /// its own key for one to itself.
    private static func standIn(_ value: FieldValue, _ owner: Owner) -> FieldValue {
        guard case .reference(let object) = value else { return value }
        return object == owner.object ? owner.key ?? standIn(object) : standIn(object)
    }

    private static func standIn(_ object: ObjectID) -> FieldValue { .integer(Int64(bitPattern: object.low >> 16) + 1) }

    /// A mapped key as SQLite takes it.
    private static func key(of owner: Owner, _ table: TrackedTable) -> FieldValue {
        guard let key = owner.key else { return standIn(owner.object) }
        // Nothing else can be a rowid, whatever another device's file says.
        if table.keyIsRowID { if case .integer = key { return key } else { return standIn(owner.object) } }
        return key
    }

    /// The terms of a partial or expression index for local values, as SQLite computes them of a row with the table's
    /// types, collations and generated columns; `nil` where the index leaves them out.
    private func evaluate(
        _ table: TrackedTable, _ index: TrackedUniqueIndex, _ local: FieldValues, _ owner: Owner
    ) throws -> [FieldValue]? {
        let shape = try access.shape(of: table)
        var names = table.localColumns.map(\.name)
        var row = table.localColumns.map { local[$0.id] ?? .null }
        if table.isMapped {
            names += table.keyColumns
            row.append(Self.key(of: owner, table))
        }
        let places = row.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
        try access.connection.execute("DELETE FROM \(shape)")
        try access.connection.execute(
            "INSERT INTO \(shape)(\(names.map(quoted).joined(separator: ", "))) VALUES (\(places))", row)
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
        _ table: TrackedTable, _ index: TrackedUniqueIndex, _ values: FieldValues, _ owner: Owner
    ) throws -> [FieldValue]? {
        var local: FieldValues = [:]
        for column in table.localColumns {
            let value = values[column.id] ?? .null
            if let known = try travelling.local(value, column) {
                local[column.id] = known
            } else if index.terms.contains(where: { $0.column == column.id }) {
                return nil
            } else {
                local[column.id] = Self.standIn(value, owner)
            }
        }
        if index.needsEvaluation { return try evaluate(table, index, local, owner) }
        return index.terms.map { $0.column.flatMap { local[$0] } ?? .null }
    }

    /// The keys of the rows that show what these values claim under an index.
    func holders(
        _ table: TrackedTable, _ place: Int, _ values: FieldValues, of owner: Owner
    ) throws -> [[FieldValue]] {
        var found: [[FieldValue]] = []
        let claimed = try givenKeys.claimed(values, table)
        for values in claimed == values ? [values] : [values, claimed] {
            guard let terms = try localTerms(table, table.uniqueIndexes[place], values, owner) else { continue }
            found += try rows(of: table, holding: terms, under: table.uniqueIndexes[place])
        }
        return found
    }

    /// The keys of the rows that have what a row with these values, as they would lie in it, has under an index.
    func holders(
        _ table: TrackedTable, _ place: Int, showing local: FieldValues, of owner: Owner
    ) throws -> [[FieldValue]] {
        let index = table.uniqueIndexes[place]
        let terms: [FieldValue]
        if index.needsEvaluation {
            guard let computed = try evaluate(table, index, local, owner) else { return [] }
            terms = computed
        } else {
            terms = index.terms.map { $0.column.flatMap { local[$0] } ?? .null }
        }
        return try rows(of: table, holding: terms, under: index)
    }

    private func rows(
        of table: TrackedTable, holding terms: [FieldValue], under index: TrackedUniqueIndex
    ) throws -> [[FieldValue]] {
        let conditions = index.terms.enumerated().map { position, term in
            let text = term.column.map { quoted(table.columns[$0].name) } ?? "(\(term.expression ?? "NULL"))"
            return "\(text) COLLATE \(quoted(term.collation)) = ?\(position + 1)"
        }
        let condition = (conditions + (index.condition.map { ["(\($0))"] } ?? [])).joined(separator: " AND ")
        return try access.connection.rows(
            "SELECT \(table.keyList) FROM \(quoted(table.name)) WHERE \(condition)", values: terms)
    }
}
