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
            try samples(table, columns))
        guard let found = match.proven() else { return nil }
        return Dictionary(
            zip(columns.former, found).map { (foldedName(columns.present[$1].name), $0.baseName) }
        ) { first, _ in first }
    }

    /// The columns outside of the key, before and now.
    private struct Columns {
        let covered: [Int]
        let former: [TrackedColumn]
        let present: [SchemaColumn]
        /// The present column of each former column by name; `nil` for a column whose name is gone.
        let named: [Int?]
        /// The former columns that may have become other ones: not references, and without a policy.
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

    private func samples(_ table: TrackedTable, _ columns: Columns) throws -> [ColumnMatch.Sample] {
        let (former, present) = (columns.former, columns.present)
        let hashes = ObjectChecksums(table, covering: Set(columns.covered))
        let moving = Set(former.map(\.id))
        let translator = ReferenceTranslator(access)
        let reader = access.reader(of: table.id)
        let list = present.map { quoted($0.name) }.joined(separator: ", ")
        let query = "SELECT \(list) FROM \(table.quotedName) WHERE \(table.keyCondition(first: 1))"
        let defaults = try present.map(value(ofDefault:))
        var samples: [ColumnMatch.Sample] = []
        for (id, state) in try SampledObjects(access).rows(of: table, covering: Set(columns.covered)) {
            guard let own = try reader.read(state.key), let row = try connection.rows(query, values: state.key).first
            else { continue }
            let portable = try translator.values(own, table)
            let rest = hashes.check(id, state.registers) { moving.contains($0) ? nil : portable[$0] }
            let shares = former.enumerated().map { place, column in
                present.indices.map { index -> UInt64 in
                    guard let stamp = state.registers.stamp(of: column.id) else { return 0 }
                    let value = columns.named[place] == index ? portable[column.id] ?? row[index] : row[index]
                    return hashes.field(id, column.id, stamp, value)
                }
            }
            samples.append(
                .init(
                    sum: state.check &- rest, shares: shares,
                    isUsual: present.indices.map { row[$0] == defaults[$0] || Self.usual.contains(row[$0]) }))
        }
        return samples
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

    private static let usual: Set<FieldValue> = [.null, .integer(0), .integer(1), .text([]), .real(0), .blob([])]
}
