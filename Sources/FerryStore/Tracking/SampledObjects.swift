import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// Some objects of a table whose rows are as packed: evidence of what a migration did (`ColumnEvidence`, `TableEvidence`).
struct SampledObjects {
    /// The most rows that are compared.
    static let maximumRows = 64

    private let access: StoreAccess

    init(_ access: StoreAccess) { self.access = access }

    /// Objects with plain rows, without pending changes, spread over the table by their IDs.
    /// - Parameters:
    ///   - covered: the numbers of the columns that the rows had at the last look. Values for other columns may wait in the state.
    ///   - mayConvert: true for rows that may show a value as their column converts it.
    func rows(
        of table: TrackedTable, covering covered: Set<Int>, mayConvert: Bool = false
    ) throws -> [(ObjectID, ObjectState)] {
        let pending = try PendingKeys(table, access.connection)
        var found: [(ObjectID, ObjectState)] = []
        for id in try objects(of: table) {
            let state = try access.objects(of: table.id).load(id)
            guard state.shown == .row, state.policies.isEmpty,
                mayConvert || state.kept.fields.keys.allSatisfy({ !covered.contains($0) }), !pending.mention(state.key)
            else { continue }
            found.append((id, state))
        }
        return found
    }

    /// The keys of some objects with plain rows, whatever changed since.
    func keys(of table: TrackedTable) throws -> [[FieldValue]] {
        try objects(of: table).map { try access.objects(of: table.id).load($0).key }
    }

    private func objects(of table: TrackedTable) throws -> [ObjectID] {
        var ids: [ObjectID] = []
        try access.connection.forEachRow(
            "SELECT object FROM \(table.objectTable) WHERE \(Visibility.way) = \(Visibility.row.rawValue) "
                + "ORDER BY object LIMIT \(Self.maximumRows)"
        ) { if let id: ObjectID = $0.id(0) { ids.append(id) } }
        return ids
    }
}
