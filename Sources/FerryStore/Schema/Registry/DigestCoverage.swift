import FerryCore

/// The coverage of a table's digest: the columns, and the schema that shows the rows. `StateDigests` keeps the sums in
/// the same table, `ferry_digest`.
enum DigestCoverage {
    /// Enters the coverage of a table's digest; the sum of a new table is 0.
    /// - Returns: true if the object checksums must be computed anew, because columns are gone.
    static func enter(_ table: TrackedTable, _ shape: TableShape?, _ connection: SQLConnection) throws -> Bool {
        let number = FieldValue.integer(Int64(table.id))
        let columns = table.isLocal ? table.localColumns : []
        let list = columns.map { "\($0.id)" }.joined(separator: ",")
        var former: Set<Substring> = []
        let known = try connection.firstValue("SELECT columns FROM ferry_digest WHERE \"table\" = ?", number)
        if case .text(let bytes)? = known {
            let text = String(decoding: bytes, as: UTF8.self)
            former = Set(text.split(separator: ","))
        }
        try connection.execute(
            """
            INSERT INTO ferry_digest("table", token, columns, sum, count, shape) VALUES (?1, ?2, ?3, 0, 0, ?4)
            ON CONFLICT("table") DO UPDATE
            SET token = excluded.token, columns = excluded.columns, shape = excluded.shape
            """, number, table.isLocal ? .integer(Int64(token(table))) : .null, .text(list),
            shape.map { .integer(Int64(bitPattern: $0.value)) } ?? .null)
        return !former.isSubset(of: list.split(separator: ","))
    }

    /// Identifies a table with the digest's covered columns. Only digests with equal tokens are comparable.
    private static func token(_ table: TrackedTable) -> UInt32 {
        var hash = WordHash()
        hash.absorb(foldedName(table.name))
        for column in table.localColumns.sorted(by: { foldedName($0.name) < foldedName($1.name) }) {
            hash.absorb(foldedName(column.travellingName))
            hash.absorb("\(column.affinity)")
        }
        return UInt32(truncatingIfNeeded: hash.value)
    }
}
