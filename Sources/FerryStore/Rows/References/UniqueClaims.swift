import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// Computes the claims of values under UNIQUE indexes. SQLite computes expressions and conditions of indexes.
///
/// An index on a mapped key uses the object's key on this device, so a row claims what SQLite counts for the row here.
/// An object without a row counts with its former or wished key.
struct UniqueClaims {
    private let access: StoreAccess
    private let translator: ReferenceTranslator
    private let givenKeys: GivenKeys

    init(_ access: StoreAccess) {
        self.access = access
        translator = ReferenceTranslator(access)
        givenKeys = GivenKeys(access)
    }

    /// The object owning the values.
    struct Owner {
        var object: ObjectID
        /// The object's key, in a mapped table.
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

    /// The claims of an object with these portable values: a claim for each index containing the values.
    func claims(_ table: TrackedTable, _ values: ColumnValues, of owner: Owner) throws -> [RuleClaim] {
        let values = try givenKeys.claimed(values, table)
        return try table.uniqueIndexes.indices.compactMap { place in
            try token(table, place, values, owner).map {
                RuleClaim(token: $0, index: place, hidesLosers: table.uniqueIndexes[place].hidesLosers)
            }
        }
    }

    /// The token of a claim; `nil` if a NULL or a partial index prevents the claim.
    private func token(
        _ table: TrackedTable, _ place: Int, _ values: ColumnValues, _ owner: Owner
    ) throws -> RowToken? {
        let index = table.uniqueIndexes[place]
        var terms = index.terms.map { term in term.column.map { values[$0] ?? .null } }
        if index.needsEvaluation || index.terms.contains(where: { isUnsettled($0, values, table) }) {
            guard let computed = try evaluate(table, index, values.mapped { Self.standIn($0, owner) }, owner) else {
                return nil
            }
            for (position, term) in computed.enumerated() {
                // A reference stays a reference: the substitute integer has less information.
                if case .reference? = terms[position] { continue }
                terms[position] = term
            }
        }
        return table.uniqueToken(
            terms.map { $0 ?? .null }, names: ["!\(index.name)"], collations: index.terms.map(\.collation)
        ).map { RowToken(table: table.id, id: $0) }
    }

    /// True if this column would store the value differently from its author's column, because of a different schema.
    /// Then SQLite computes the stored value. https://www.sqlite.org/datatype3.html#type_affinity
    private func isUnsettled(_ term: TrackedUniqueIndex.Term, _ values: ColumnValues, _ table: TrackedTable) -> Bool {
        guard let column = term.column, let value = values[column] else { return false }
        switch (table.columns[column].affinity, value) {
        case (.text, .integer), (.text, .real), (.real, .integer): return true
        case (.integer, .text), (.numeric, .text), (.real, .text): return true
        default: return false
        }
    }

    /// Substitutes an integer for a reference when SQLite computes with the reference. The integer is the same on all
    /// devices; a reference to the owner itself becomes the owner's key.
    private static func standIn(_ value: FieldValue, _ owner: Owner) -> FieldValue {
        guard case .reference(let object) = value else { return value }
        return object == owner.object ? owner.key ?? standIn(object) : standIn(object)
    }

    /// 60 bits of all of the ID: the IDs of a flush differ in a few bits alone.
    private static func standIn(_ object: ObjectID) -> FieldValue {
        var hash = WordHash()
        hash.absorb(object.high)
        hash.absorb(object.low)
        return .integer(Int64(hash.value >> 4) + 1)
    }

    /// The value of a mapped key in SQLite.
    private static func key(of owner: Owner, _ table: TrackedTable) -> FieldValue {
        guard let key = owner.key else { return standIn(owner.object) }
        // Only an integer can be a rowid, whatever a remote file says.
        if table.keyIsRowID { if case .integer = key { return key } else { return standIn(owner.object) } }
        return key
    }

    /// The terms of an index for local values; `nil` if the index omits the row. SQLite computes the terms on a row
    /// with the table's types, collations and generated columns.
    private func evaluate(
        _ table: TrackedTable, _ index: TrackedUniqueIndex, _ local: ColumnValues, _ owner: Owner
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

    /// The local values of an index's terms; `nil` if the index omits the values, or a term refers to an object without
    /// a row.
    private func localTerms(
        _ table: TrackedTable, _ index: TrackedUniqueIndex, _ values: ColumnValues, _ owner: Owner
    ) throws -> [FieldValue]? {
        var local: ColumnValues = [:]
        for column in table.localColumns {
            let value = values[column.id] ?? .null
            if let known = try translator.local(value, column) {
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

    /// The keys of the rows holding a claim of these portable values under an index.
    func holders(
        _ table: TrackedTable, _ place: Int, _ values: ColumnValues, of owner: Owner
    ) throws -> [[FieldValue]] {
        var found: [[FieldValue]] = []
        let claimed = try givenKeys.claimed(values, table)
        for values in claimed == values ? [values] : [values, claimed] {
            guard let terms = try localTerms(table, table.uniqueIndexes[place], values, owner) else { continue }
            found += try rows(of: table, holding: terms, under: table.uniqueIndexes[place])
        }
        return found
    }

    /// The keys of the rows holding the claim of a row with these local values under an index.
    func holders(
        _ table: TrackedTable, _ place: Int, showing local: ColumnValues, of owner: Owner
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
            "SELECT \(table.keyList) FROM \(table.quotedName) WHERE \(condition)", values: terms)
    }
}
