import FerryCore
import FerrySQL

/// The coverage of a table's digest: the columns, and the schema that shows the rows (`DigestTable`).
package enum DigestCoverage {
    /// Enters the coverage of a table's digest; the sum of a new table is 0.
    /// - Returns: true if the object checksums must be computed anew, because columns are gone.
    package static func enter(_ table: TrackedTable, _ shape: TableShape?, _ connection: SQLConnection) throws -> Bool {
        let digests = DigestTable(connection)
        let columns = table.isLocal ? table.localColumns.map(\.id) : []
        let former = Set(try digests.columns(of: table.id))
        try digests.enter(
            table.id, token: table.isLocal ? token(table) : nil, columns: columns, shape: shape.map(\.value))
        return !former.isSubset(of: columns)
    }

    /// Identifies a table with the digest's covered columns. Only digests with equal tokens are comparable.
    private static func token(_ table: TrackedTable) -> UInt32 {
        var hash = WordHash()
        hash.absorb(foldedText(table.name))
        let columns = table.localColumns.map { (name: foldedText($0.travellingName), column: $0) }
        for (name, column) in columns.sorted(by: { textOrder($0.name, $1.name) }) {
            hash.absorb(name)
            hash.absorb("\(column.affinity)")
        }
        return UInt32(truncatingIfNeeded: hash.value)
    }
}
