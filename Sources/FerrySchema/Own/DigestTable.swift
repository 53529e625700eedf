import FerryCore
import FerrySQL

/// The table `ferry_digest`: for each table the sums of its objects' checksums, and what they cover.
///
/// `StateDigests` gathers changes of the sums, `DigestCoverage` decides what they cover.
package struct DigestTable {
    package let connection: SQLConnection

    package init(_ connection: SQLConnection) { self.connection = connection }

    package struct Entry {
        /// The table's number.
        package var table: Int
        /// Identifies the table with the covered columns; `nil` for a table that this database does not show.
        package var token: UInt32?
        /// The covered columns, by number.
        package var columns: [Int]
        /// The sum and the number of the checksums of living objects.
        package var sum: UInt64
        package var count: Int64
        /// The sum and the number of the checksums of objects not shown as written.
        package var shown: UInt64
        package var exceptions: Int64
        /// The schema that shows the rows; `nil` if unknown.
        package var shape: UInt64?
    }

    /// All digests, by table.
    /// - Parameter tellsRows: false for a store of an earlier version, which lacks the sums of rows.
    package func all(tellsRows: Bool) throws -> [Entry] {
        let rest = tellsRows ? "shown, exceptions, shape" : "0, 0, NULL"
        var entries: [Entry] = []
        try connection.forEachRow(
            "SELECT \"table\", token, columns, sum, count, \(rest) FROM ferry_digest ORDER BY \"table\""
        ) { row in
            entries.append(
                Entry(
                    table: row.int(0), token: row.isNull(1) ? nil : UInt32(truncatingIfNeeded: row.integer(1)),
                    columns: Self.columns(row.string(2)), sum: UInt64(bitPattern: row.integer(3)),
                    count: row.integer(4), shown: UInt64(bitPattern: row.integer(5)), exceptions: row.integer(6),
                    shape: row.isNull(7) ? nil : UInt64(bitPattern: row.integer(7))))
        }
        return entries
    }

    private static func columns(_ list: String) -> [Int] { list.split(separator: ",").compactMap { Int($0) } }

    /// The columns that a table's digest covers; empty for an unknown table.
    package func columns(of table: Int) throws -> [Int] {
        let list = try connection.firstValue("SELECT columns FROM ferry_digest WHERE \"table\" = ?", number(table))
        return list.map { Self.columns($0.text) } ?? []
    }

    /// The number of living objects in all tables.
    package func allLivingObjects() throws -> Int {
        try connection.count("SELECT coalesce(sum(count), 0) FROM ferry_digest")
    }

    /// The number of living objects of each table.
    package func livingObjects() throws -> [Int: Int] {
        var counts: [Int: Int] = [:]
        try connection.forEachRow("SELECT \"table\", count FROM ferry_digest") { counts[$0.int(0)] = $0.int(1) }
        return counts
    }

    /// The number of living objects of a table; 0 for an unknown table.
    package func livingObjects(of table: Int) throws -> Int {
        try connection.count("SELECT count FROM ferry_digest WHERE \"table\" = ?", number(table))
    }

    /// True if this database shows a table.
    package func isShown(_ table: Int) throws -> Bool {
        try connection.count(
            "SELECT count(*) FROM ferry_digest WHERE \"table\" = ? AND token IS NOT NULL", number(table)) != 0
    }

    /// Enters what a table's digest covers. The sums of a new table are 0.
    package func enter(_ table: Int, token: UInt32?, columns: [Int], shape: UInt64?) throws {
        try connection.execute(
            """
            INSERT INTO ferry_digest("table", token, columns, sum, count, shape) VALUES (?1, ?2, ?3, 0, 0, ?4)
            ON CONFLICT("table") DO UPDATE
            SET token = excluded.token, columns = excluded.columns, shape = excluded.shape
            """, number(table), token.map { .integer(Int64($0)) } ?? .null,
            .text(columns.map { "\($0)" }.joined(separator: ",")),
            shape.map { .integer(Int64(bitPattern: $0)) } ?? .null)
    }

    /// Records that this database shows no rows of a table any more.
    package func leave(_ table: Int) throws {
        try connection.execute(
            "UPDATE ferry_digest SET token = NULL, shape = NULL WHERE \"table\" = ?", number(table))
    }

    /// Forgets the checksums of a table's objects that are not shown as written.
    package func forgetShown(_ table: Int) throws {
        try connection.execute("UPDATE ferry_digest SET shown = 0, exceptions = 0 WHERE \"table\" = ?", number(table))
    }

    /// The sums of a table: of living objects, and of objects not shown as written, each with a number.
    package struct Sums {
        package var sum: Int64
        package var count: Int64
        package var shown: Int64
        package var exceptions: Int64
    }

    /// Changes the sums of a table.
    /// - Throws: `internalInconsistency` for a table without a digest.
    package func change(_ table: Int, _ change: (inout Sums) -> Void) throws {
        let present = try connection.rows(
            "SELECT sum, count, shown, exceptions FROM ferry_digest WHERE \"table\" = ?", number(table)
        ).first
        guard case .integer(let sum)? = present?[0], case .integer(let count)? = present?[1],
            case .integer(let shown)? = present?[2], case .integer(let exceptions)? = present?[3]
        else { throw FerryError(.internalInconsistency, "A table has no digest.") }
        var sums = Sums(sum: sum, count: count, shown: shown, exceptions: exceptions)
        change(&sums)
        try connection.execute(
            "UPDATE ferry_digest SET sum = ?, count = ?, shown = ?, exceptions = ? WHERE \"table\" = ?",
            .integer(sums.sum), .integer(sums.count), .integer(sums.shown), .integer(sums.exceptions), number(table))
    }

    private func number(_ table: Int) -> FieldValue { .integer(Int64(table)) }
}
