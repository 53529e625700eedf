import FerryCore

/// The table `ferry_pending`: what triggers recorded since the last flush.
///
/// `Schema/Triggers/CaptureTriggers.swift` writes into the table, and the flush reads it (`PendingLog`).
struct PendingTable {
    let connection: SQLConnection

    init(_ connection: SQLConnection) { self.connection = connection }

    var isEmpty: Bool {
        get throws { try connection.count("SELECT EXISTS(SELECT 1 FROM ferry_pending)") == 0 }
    }

    /// True if all pending changes are of these tables.
    func isEmpty(besides tables: some Collection<Int>) throws -> Bool {
        let list = tables.map { "\($0)" }.joined(separator: ", ")
        return try connection.count(
            "SELECT EXISTS(SELECT 1 FROM ferry_pending WHERE \"table\" NOT IN (\(list)))") == 0
    }

    func count() throws -> Int { try connection.count("SELECT count(*) FROM ferry_pending") }

    /// The number of pending changes of each table.
    func counts() throws -> [Int: Int] {
        var counts: [Int: Int] = [:]
        try connection.forEachRow("SELECT \"table\", count(*) FROM ferry_pending GROUP BY \"table\"") {
            counts[$0.int(0)] = $0.int(1)
        }
        return counts
    }

    /// The number of pending changes that came from a statement's own rows, without candidates of OR REPLACE.
    func countWritten() throws -> Int {
        try connection.count(
            "SELECT count(*) FROM ferry_pending WHERE event <> \(PendingEvent.examine.rawValue) OR mask IS NULL")
    }

    /// An upper bound of the number of pending changes, without counting; 1 for an empty table.
    func span() throws -> Int {
        try connection.count("SELECT max(sequence) FROM ferry_pending")
            - connection.count("SELECT min(sequence) FROM ferry_pending") + 1
    }

    /// Records a change that no trigger sees.
    func note(_ event: PendingEvent, in table: Int, _ key: [FieldValue], mask: Int64? = nil) throws {
        let slots = key.indices.map { "k\($0)" }.joined(separator: ", ")
        let places = key.map { _ in "?" }.joined(separator: ", ")
        try connection.execute(
            "INSERT INTO ferry_pending(\"table\", event, mask, at, \(slots)) "
                + "VALUES (\(table), \(event.rawValue), ?, julianday('now'), \(places))",
            [mask.map { .integer($0) } ?? .null] + key)
    }
}
