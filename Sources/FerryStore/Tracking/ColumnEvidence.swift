import FerryCore
import FerrySQL
import FerrySchema

/// Tells by values which columns of a table made anew are which: nothing else does (`ColumnMatch`).
///
/// Rows are compared with their object checksums. Only a table that has other columns than before is looked at. Under the same
/// names, values that changed places are values that somebody wrote.
struct ColumnEvidence {
    /// The most pairs of a former and a present column: each is hashed for each row.
    private static let maximumPairs = 10_000

    private let connection: SQLConnection
    private let access: StoreAccess

    /// - Parameter registry: the present tables under the names until now.
    init(_ connection: SQLConnection, _ registry: Registry, _ surroundings: StoreAccess.Surroundings) throws {
        self.connection = connection
        access = try StoreAccess(connection, registry: registry, surroundings)
    }

    /// The travelling name of each column by its present name in lower case; `nil` where values prove nothing.
    /// - Parameter covered: the numbers of the columns at the last look.
    func signs(_ local: SchemaTable, _ number: Int, covered: [Int]) throws -> [String: String]? {
        guard let table = access.registry.tables[number], table.isLocal, !access.registry.leaving.contains(number)
        else {
            return nil
        }
        let columns = Columns(table, local, covered)
        guard columns.haveOtherNames, columns.former.count * columns.present.count <= Self.maximumPairs else {
            return nil
        }
        let match = ColumnMatch(
            named: columns.named, presentCount: columns.present.count, movable: columns.movable,
            try samples(table, columns, local))
        guard let found = match.proven() else { return nil }
        let pairs = zip(columns.former, found).compactMap { former, place in
            place.map { (foldedName(columns.present[$0].name), former.baseName) }
        }
        return Dictionary(pairs) { first, _ in first }
    }

    /// The columns outside of the key, before and now.
    private struct Columns {
        let covered: [Int]
        let former: [TrackedColumn]
        let present: [SchemaColumn]
        /// The present column of each former column by name; `nil` for a column whose name is gone.
        let named: [Int?]
        /// The former columns that may have become other ones: without a policy, and no reference under its former name.
        let movable: Set<Int>

        init(_ table: TrackedTable, _ local: SchemaTable, _ covered: [Int]) {
            let key = Set(table.keyColumnIDs)
            let former = covered.filter { table.columns.indices.contains($0) && !key.contains($0) }.map {
                table.columns[$0]
            }
            let present = local.columns.filter { column in
                !column.isGenerated && !local.primaryKey.contains { equalNames($0, column.name) }
            }
            let named = former.map { column in
                column.isLocal ? present.firstIndex { equalNames($0.name, column.name) } : nil
            }
            let referring = Set(local.foreignKeys.flatMap(\.columns).map(foldedName))
            self.covered = covered
            self.former = former
            self.present = present
            self.named = named
            movable = Set(
                former.indices.filter { place in
                    let isPlain = named[place].map { !referring.contains(foldedName(present[$0].name)) }
                    return !former[place].isVariant && former[place].policy == .lastWriterWins
                        && isPlain ?? !former[place].hasOtherMeanings
                })
        }

        var haveOtherNames: Bool { named.contains(nil) || Set(named).count < present.count }
    }

    private func samples(_ table: TrackedTable, _ columns: Columns, _ local: SchemaTable) throws -> [ColumnMatch.Sample]
    {
        let (former, present) = (columns.former, columns.present)
        let hashes = ObjectChecksums(table, covering: Set(columns.covered))
        let moving = Set(former.map(\.id))
        let translator = ReferenceTranslator(access)
        let reader = access.reader(of: table.id)
        let types = try UnseenTables(connection).types(of: table.id)
        let parents = present.map { parent(of: $0, local) }
        // A rebuild may have dropped every column beside the key.
        let list = present.isEmpty ? "1" : present.map { quoted($0.name) }.joined(separator: ", ")
        let query = "SELECT \(list) FROM \(table.quotedName) WHERE \(table.keyCondition(first: 1))"
        let defaults = try present.map(value(ofDefault:))
        var samples: [ColumnMatch.Sample] = []
        let objects = try SampledObjects(access).rows(of: table, covering: Set(columns.covered), mayConvert: true)
        for (id, state) in objects {
            guard let own = try reader.read(state.key), let row = try connection.rows(query, values: state.key).first
            else { continue }
            let portable = try translator.values(own, table)
            let rest = hashes.check(id, state.registers) { moving.contains($0) ? nil : portable[$0] }
            let shown = try present.indices.map { index in
                let reference = try parents[index].flatMap { try target(of: row[index], in: $0) }
                return Shown(
                    column: present[index], value: row[index], reference: reference,
                    isUsual: reference == nil && (row[index] == defaults[index] || Self.usual.contains(row[index])))
            }
            func shares(_ column: TrackedColumn, _ values: [FieldValue]) -> [UInt64] {
                guard let stamp = state.registers.stamp(of: column.id) else { return [0] }
                return values.map { hashes.field(id, column.id, stamp, $0) }
            }
            let all = former.enumerated().map { place, column in
                present.indices.map { index -> [UInt64] in
                    let type = types["\(column.id)"]
                    if let kept = state.kept.fields[column.id] {
                        let isShown = columns.named[place] == index || shown[index].mayShow(kept)
                        return isShown ? shares(column, [kept]) : shares(column, [shown[index].value])
                    }
                    let known = columns.named[place] == index ? portable[column.id] : nil
                    return shares(column, shown[index].formers(known, type))
                }
            }
            samples.append(
                .init(
                    sum: state.check &- rest, shares: all,
                    dropped: former.map { column in
                        shares(column, state.kept.fields[column.id].map { [$0] } ?? FieldValue.withoutContent)
                    }, isUsual: shown.map(\.isUsual)))
        }
        return samples
    }

    /// What a row shows in a present column.
    private struct Shown {
        var column: SchemaColumn
        var value: FieldValue
        /// The object that the value refers to by a foreign key.
        var reference: FieldValue?
        var isUsual: Bool

        /// True if the column shows a value that it converts.
        func mayShow(_ kept: FieldValue) -> Bool {
            kept.taken(by: column.affinity) == value || value.underOtherTypes.contains(kept)
        }

        /// The values that a former column may have had, the likeliest first.
        /// - Parameters:
        ///   - known: the portable value, where the column has the former name.
        ///   - type: the former column's affinity, if known.
        func formers(_ known: FieldValue?, _ type: SchemaColumn.Affinity?) -> [FieldValue] {
            if let known, reference != nil { return [known] }
            var values = [reference, known ?? value].compactMap { $0 }
            if let type, type != column.affinity { values += value.formers(under: type) }
            // Whoever forbids NULL fills the column in the same migration.
            if column.isNotNull, isUsual, !values.contains(.null) { values.append(.null) }
            return values
        }
    }

    /// The table of mapped keys that a column refers to by a foreign key of its own.
    private func parent(of column: SchemaColumn, _ local: SchemaTable) -> TrackedTable? {
        let key = local.foreignKeys.first { $0.columns.count == 1 && equalNames($0.columns[0], column.name) }
        guard let key, let parent = access.registry.table(named: key.parentTable), parent.isLocal, parent.isMapped,
            key.parentColumns.first.map({ equalNames($0, parent.keyColumns[0]) }) ?? true
        else { return nil }
        return parent
    }

    private func target(of value: FieldValue, in parent: TrackedTable) throws -> FieldValue? {
        if value == .null { return nil }
        return try access.objects(of: parent.id).object(forKey: value.taken(by: parent.mappedKey.affinity)).map {
            .reference($0)
        }
    }

    /// The default of a column; NULL where this process cannot compute it.
    private func value(ofDefault column: SchemaColumn) throws -> FieldValue {
        do {
            let value = try column.defaultSQL.flatMap { try connection.firstValue("SELECT \($0)") } ?? .null
            return value.taken(by: column.affinity)
        } catch let error as FerryError where [.missingFunction, .database].contains(error.code) {
            return .null
        }
    }

    private static let usual = Set(FieldValue.withoutContent)
}
