import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// Rows with a NULL in their key, which keep rows of other devices from being shown here.
package struct KeylessObstacle: Equatable, Sendable {
    package var table: String
    /// The columns or expressions of the UNIQUE index.
    package var terms: [String]
    /// The number of hidden rows.
    package var hidden: Int
    /// A statement that lists the rows in the way, among the table's rows with a NULL in their key.
    package var query: String
}

/// Objects hidden because of rows with a NULL in their key. Such a row stays on this device, and no object stands for the row. So the rules
/// cannot unify the row with an object of the same UNIQUE value: the object waits here, and is shown on all other devices.
///
/// The object counts as shown in the digest of rows (`RegionWriter`): state and rules are those of the other devices.
struct KeylessRows {
    private let access: StoreAccess

    init(_ access: StoreAccess) { self.access = access }

    /// The objects hidden because of such rows, by table and ID.
    /// - Parameter tables: `nil` for all tables.
    func hidden(in tables: Set<Int>? = nil) throws -> [RowToken] {
        if let tables, tables.isEmpty { return [] }
        return try entries().map(\.object).filter { tables?.contains($0.table) ?? true }
    }

    /// The rows in the way, by table and index.
    func obstacles() throws -> [KeylessObstacle] {
        var found: [KeylessObstacle] = []
        for (object, terms) in try entries() {
            guard let table = access.registry.tables[object.table] else { continue }
            if let place = found.firstIndex(where: {
                equalNames($0.table, table.localName) && [String].areEqualBytes($0.terms, terms)
            }) {
                found[place].hidden += 1
                continue
            }
            let conditions = table.keyColumns.map { "\(quoted($0)) IS NULL" }.joined(separator: " OR ")
            found.append(
                KeylessObstacle(
                    table: table.localName, terms: terms, hidden: 1,
                    query: "SELECT * FROM \(table.quotedName) WHERE \(conditions)"))
        }
        return found
    }

    private func entries() throws -> [(object: RowToken, terms: [String])] {
        try access.anomalies.entries(of: [.refused], table: nil, object: nil, limit: Int(Int32.max)).compactMap {
            entry in
            guard case .keylessRow(let terms) = RefusalCause(names: entry.reason.names) else { return nil }
            return (entry.object, terms)
        }
    }

    /// True if such a row has a UNIQUE value of a hidden object.
    func isHeld(_ object: RowToken) throws -> Bool {
        guard let table = access.registry.tables[object.table] else { return false }
        let state = try access.objects(of: table.id).load(object.id)
        let claims = UniqueClaims(access)
        return try table.uniqueIndexes.indices.contains { place in
            try claims.holders(table, place, state.kept.fields, of: UniqueClaims.Owner(state)).contains {
                $0.contains(.null)
            }
        }
    }
}
