import FerryCore
import FerrySQL

/// The table `ferry_pending`: what triggers recorded since the last flush.
///
/// `Schema/Triggers/CaptureTriggers.swift` writes into the table, and the flush reads it (`PendingLog`).
package struct PendingTable {
    package let connection: SQLConnection
    package static let name = "ferry_pending"
    /// A query for the sequences of all pending changes.
    package static let sequences = "SELECT sequence FROM ferry_pending"

    package init(_ connection: SQLConnection) { self.connection = connection }

    package var isEmpty: Bool {
        get throws { try connection.count("SELECT EXISTS(SELECT 1 FROM ferry_pending)") == 0 }
    }

    /// True if all pending changes are of these tables.
    package func isEmpty(besides tables: some Collection<Int>) throws -> Bool {
        let list = tables.map { "\($0)" }.joined(separator: ", ")
        return try connection.count(
            "SELECT EXISTS(SELECT 1 FROM ferry_pending WHERE \"table\" NOT IN (\(list)))") == 0
    }

    package func count() throws -> Int { try connection.count("SELECT count(*) FROM ferry_pending") }

    /// True if a pending change is of the row with a key.
    package func mentions(_ table: Int, key: [FieldValue]) throws -> Bool {
        let conditions = key.indices.map { "k\($0) IS ?\($0 + 1)" }.joined(separator: " AND ")
        if conditions.isEmpty { return false }
        return try connection.count(
            "SELECT EXISTS(SELECT 1 FROM ferry_pending WHERE \"table\" = \(table) AND \(conditions))", values: key) != 0
    }

    /// A query for the keys in the pending changes of a table.
    package static func keys(of table: Int, width: Int) -> String {
        "SELECT \(slots(width)) FROM ferry_pending WHERE \"table\" = \(table)"
    }

    /// The number of pending changes of each table.
    package func counts() throws -> [Int: Int] {
        var counts: [Int: Int] = [:]
        try connection.forEachRow("SELECT \"table\", count(*) FROM ferry_pending GROUP BY \"table\"") {
            counts[$0.int(0)] = $0.int(1)
        }
        return counts
    }

    /// The number of pending changes that came from a statement's own rows, without candidates of OR REPLACE.
    package func countWritten() throws -> Int {
        try connection.count(
            "SELECT count(*) FROM ferry_pending WHERE event <> \(PendingEvent.examine.rawValue) OR mask IS NULL")
    }

    /// An upper bound of the number of pending changes, without counting; 1 for an empty table.
    package func span() throws -> Int {
        try connection.count("SELECT max(sequence) FROM ferry_pending")
            - connection.count("SELECT min(sequence) FROM ferry_pending") + 1
    }

    /// Records a change that no trigger sees.
    package func note(_ event: PendingEvent, in table: Int, _ key: [FieldValue], mask: Int64? = nil) throws {
        let slots = key.indices.map { "k\($0)" }.joined(separator: ", ")
        let places = key.map { _ in "?" }.joined(separator: ", ")
        try connection.execute(
            "INSERT INTO ferry_pending(\"table\", event, mask, at, \(slots)) "
                + "VALUES (\(table), \(event.rawValue), ?, julianday('now'), \(places))",
            [mask.map { .integer($0) } ?? .null] + key)
    }

    /// A query for the keys of rows, and the number of key columns.
    package struct Keys {
        package var query: String
        package var width: Int

        package init(query: String, width: Int) {
            self.query = query
            self.width = width
        }
    }

    /// Records a change of many rows that no trigger sees.
    /// - Parameter isOld: true if the time of the change is unknown.
    package func note(
        _ event: PendingEvent, in table: Int, _ keys: Keys, mask: Int64? = nil, isOld: Bool = false
    ) throws {
        try connection.executeScript(
            """
            INSERT INTO ferry_pending("table", event, mask, at, \(Self.slots(keys.width)))
            SELECT \(table), \(event.rawValue), \(mask.map { "\($0)" } ?? "NULL"),
                \(isOld ? "NULL" : "julianday('now')"), * FROM (\(keys.query))
            """)
    }

    private static func slots(_ width: Int) -> String { (0..<width).map { "k\($0)" }.joined(separator: ", ") }

    // MARK: Reading

    /// The columns that `forEach` gives: these, and from `key` on the columns of the key.
    package enum Column {
        package static let sequence: Int32 = 0
        package static let table: Int32 = 1
        package static let event: Int32 = 2
        package static let mask: Int32 = 3
        package static let time: Int32 = 4
        package static let value: Int32 = 5
        package static let key: Int32 = 6
    }

    /// Calls `body` with each pending change, in their order.
    /// - Parameters:
    ///   - width: the number of key columns that are read.
    ///   - condition: an SQL condition; `values` are its parameters.
    package func forEach(
        width: Int, where condition: String, _ values: [FieldValue] = [], _ body: (SQLStatement) throws -> Void
    ) throws {
        try connection.forEachRow(
            """
            SELECT sequence, "table", event, mask, at, value, \(Self.slots(width)) FROM ferry_pending
            WHERE \(condition) ORDER BY sequence
            """, values, body)
    }

    /// The sequences of the first and the last pending change, and the first one's event; `nil` without any.
    package func ends() throws -> (first: Int64, last: Int64, event: PendingEvent?)? {
        guard
            let ends = try connection.rows(
                """
                SELECT (SELECT min(sequence) FROM ferry_pending), (SELECT max(sequence) FROM ferry_pending),
                    (SELECT event FROM ferry_pending ORDER BY sequence LIMIT 1)
                """
            ).first, case .integer(let first) = ends[0], case .integer(let last) = ends[1]
        else { return nil }
        guard case .integer(let event) = ends[2] else { return (first, last, nil) }
        return (first, last, PendingEvent(rawValue: Int(event)))
    }

    /// The sequence of the last of the oldest pending changes; `nil` without any.
    package func end(ofOldest limit: Int) throws -> Int64? {
        let end = try connection.firstValue(
            "SELECT max(sequence) FROM (SELECT sequence FROM ferry_pending ORDER BY sequence LIMIT ?)",
            .integer(Int64(limit)))
        if case .integer(let end)? = end { return end }
        return nil
    }

    /// True if a condition holds for any of a table's pending changes up to a sequence.
    /// - Parameter condition: an SQL condition; `gone` is the pending change.
    package func isAny(of table: Int, through end: Int64, where condition: String) throws -> Bool {
        try connection.count(
            """
            SELECT EXISTS(SELECT 1 FROM ferry_pending AS gone
            WHERE gone."table" = \(table) AND gone.sequence <= ? AND \(condition))
            """, .integer(end)) != 0
    }

    // MARK: Columns and other tables

    /// Adds columns for the widest key.
    package func widen(to width: Int) throws {
        let present = try connection.count(
            "SELECT count(*) FROM pragma_table_info('ferry_pending') WHERE name LIKE 'k%'")
        for slot in present..<max(present, width) {
            try connection.executeScript("ALTER TABLE ferry_pending ADD COLUMN k\(slot)")
        }
    }

    /// The keys and times of updates of a column, as SQL values in the order of `restore`.
    package func texts(ofUpdatesOf column: Int, in table: Int, width: Int) throws -> [String] {
        let slots = (0..<width).map { "quote(k\($0))" }.joined(separator: " || ', ' || ")
        let mask = ColumnMask.mask(of: column)
        let bit = mask & (1 << Int64(ColumnMask.groupSize) - 1)
        return try connection.rows(
            """
            SELECT DISTINCT \(slots) || ', ' || quote(at) FROM ferry_pending WHERE "table" = \(table)
                AND event = \(PendingEvent.update.rawValue)
                AND mask >> \(ColumnMask.groupSize) = \(mask >> Int64(ColumnMask.groupSize)) AND mask & \(bit)
            """
        ).map { $0[0].text }
    }

    /// Records an update of a column again, by the SQL values of its key and time.
    package func restore(_ text: String, ofUpdateOf column: Int, in table: Int, width: Int) throws {
        try connection.executeScript(
            "INSERT INTO ferry_pending(\"table\", event, mask, \(Self.slots(width)), at) "
                + "VALUES (\(table), \(PendingEvent.update.rawValue), \(ColumnMask.mask(of: column)), \(text))")
    }

    /// Sets the pending changes of some tables aside, until `putBack` in the same transaction.
    package func putAside(_ tables: [Int]) throws {
        let condition = "\"table\" IN (\(tables.map { "\($0)" }.joined(separator: ", ")))"
        try connection.executeScript(
            """
            DROP TABLE IF EXISTS temp.ferry_held;
            CREATE TEMP TABLE ferry_held AS SELECT * FROM ferry_pending WHERE \(condition);
            DELETE FROM ferry_pending WHERE \(condition)
            """)
    }

    package func putBack() throws {
        try connection.executeScript(
            "INSERT INTO ferry_pending SELECT * FROM temp.ferry_held; DROP TABLE temp.ferry_held")
    }
}
