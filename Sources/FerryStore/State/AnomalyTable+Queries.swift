import FerryCore
import FerryMerge
import FerrySQL

extension AnomalyTable {
    /// An entry of the list.
    struct Entry {
        var object: RowToken
        var reason: AnomalyReason
    }

    /// `(1, 2)`. Each pass asks for such lists: appending takes a fourth of the time of joining.
    private static func list(_ kinds: [AnomalyKind]) -> String {
        var text = "("
        for (place, kind) in kinds.enumerated() {
            if place > 0 { text += ", " }
            text += String(kind.rawValue)
        }
        return text + ")"
    }

    // MARK: Objects

    /// The listed objects of a table, by ID.
    func objects(in table: Int, of kinds: [AnomalyKind] = AnomalyKind.allCases) throws -> [RowToken] {
        try Self.objects(in: table, of: kinds, connection)
    }

    /// As `objects(in:of:)`, for a connection without an access.
    static func objects(in table: Int, of kinds: [AnomalyKind], _ connection: SQLConnection) throws -> [RowToken] {
        var found: [RowToken] = []
        try connection.forEachRow(
            "SELECT object FROM ferry_exception WHERE \"table\" = ? AND kind IN \(Self.list(kinds)) ORDER BY object",
            [.integer(Int64(table))]
        ) { if let id: ObjectID = $0.id(0) { found.append(RowToken(table: table, id: id)) } }
        return found
    }

    /// The listed objects of a kind in all tables.
    func objects(of kind: AnomalyKind) throws -> [RowToken] {
        var found: [RowToken] = []
        try connection.forEachRow("SELECT \"table\", object FROM ferry_exception WHERE kind = \(kind.rawValue)") {
            if let id: ObjectID = $0.id(1) { found.append(RowToken(table: $0.int(0), id: id)) }
        }
        return found
    }

    /// The tables with listed objects of some kinds.
    func tables(of kinds: [AnomalyKind]) throws -> Set<Int> {
        var tables: Set<Int> = []
        try connection.forEachRow(
            "SELECT DISTINCT \"table\" FROM ferry_exception WHERE kind IN \(Self.list(kinds))"
        ) { tables.insert($0.int(0)) }
        return tables
    }

    /// Runs `body` for each listed object, with its kind and the checksum of its display. An unknown kind is `nil`.
    /// - Parameter hasChecks: false for tables of a version without checksums.
    func forEach(hasChecks: Bool, _ body: (RowToken, AnomalyKind?, _ check: UInt64) -> Void) throws {
        try connection.forEachRow(
            "SELECT \"table\", object, kind, \(hasChecks ? "\"check\"" : "0") FROM ferry_exception"
        ) { row in
            guard let id: ObjectID = row.id(1) else { return }
            body(
                RowToken(table: row.int(0), id: id), AnomalyKind(rawValue: row.int(2)),
                UInt64(bitPattern: row.integer(3)))
        }
    }

    /// Entries of some kinds, by table and object.
    /// - Parameters:
    ///   - table: `nil` for all tables.
    ///   - object: `nil` for all objects.
    func entries(of kinds: [AnomalyKind], table: Int?, object: ObjectID?, limit: Int) throws -> [Entry] {
        var conditions = ["kind IN \(Self.list(kinds))"]
        var values: [FieldValue] = []
        if let table {
            conditions.append("\"table\" = ?")
            values.append(.integer(Int64(table)))
        }
        if let object {
            conditions.append("object = ?")
            values.append(.blob(object.bytes[...]))
        }
        var found: [Entry] = []
        try connection.forEachRow(
            "SELECT \"table\", object, kind, reason FROM ferry_exception WHERE \(conditions.joined(separator: " AND ")) "
                + "ORDER BY \"table\", object LIMIT ?", values + [.integer(Int64(limit))]
        ) { row in
            guard let object: ObjectID = row.id(1), let kind = AnomalyKind(rawValue: row.int(2)) else { return }
            found.append(
                Entry(
                    object: RowToken(table: row.int(0), id: object), reason: AnomalyReason(kind, stored: row.string(3)))
            )
        }
        return found
    }

    /// The number of listed objects of some kinds.
    /// - Parameter table: `nil` for all tables.
    func count(of kinds: [AnomalyKind], table: Int? = nil) throws -> Int {
        let counted = "SELECT count(*) FROM ferry_exception WHERE kind IN \(Self.list(kinds))"
        guard let table else { return try connection.count(counted) }
        return try connection.count(counted + " AND \"table\" = ?", .integer(Int64(table)))
    }

    // MARK: An object

    /// True if an object is listed.
    func contains(_ object: RowToken) throws -> Bool {
        try connection.count(
            "SELECT EXISTS(SELECT 1 FROM ferry_exception WHERE \"table\" = ? AND object = ?)",
            .integer(Int64(object.table)), .blob(object.id.bytes[...])) != 0
    }

    /// True if an object's row waits for an equipped process.
    func isWaiting(_ object: RowToken) throws -> Bool {
        try connection.count(
            "SELECT EXISTS(SELECT 1 FROM ferry_exception WHERE \"table\" = ? AND object = ? AND kind IN "
                + "\(Self.list(AnomalyKind.ofWaiting)))", .integer(Int64(object.table)), .blob(object.id.bytes[...]))
            != 0
    }

    /// The reason an object is listed; `nil` if the object is not listed.
    func reason(of object: RowToken) throws -> AnomalyReason? {
        var found: AnomalyReason?
        try connection.forEachRow(
            "SELECT kind, reason FROM ferry_exception WHERE \"table\" = ? AND object = ?",
            [.integer(Int64(object.table)), .blob(object.id.bytes[...])]
        ) { row in
            found = AnomalyKind(rawValue: row.int(0)).map { AnomalyReason($0, stored: row.string(1)) }
        }
        return found
    }

    /// The number of objects by table and reason, in the order of tables and kinds.
    static func groups(_ connection: SQLConnection) throws -> [(table: Int, reason: AnomalyReason, count: Int)] {
        var groups: [(table: Int, reason: AnomalyReason, count: Int)] = []
        // A sentence of an earlier Ferry and a list of names may be one reason.
        try connection.forEachRow(
            "SELECT \"table\", kind, reason, count(*) FROM ferry_exception GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
        ) { row in
            // A kind of a later Ferry: the object is listed, and the reason is unknown here.
            let reason = AnomalyReason(AnomalyKind(rawValue: row.int(1)) ?? .refused, stored: row.string(2))
            if let place = groups.firstIndex(where: { $0.table == row.int(0) && $0.reason == reason }) {
                groups[place].count += row.int(3)
            } else {
                groups.append((row.int(0), reason, row.int(3)))
            }
        }
        return groups
    }

    // MARK: Counts

    /// The numbers of rows waiting for an equipped process, by table.
    static func waitingCounts(_ connection: SQLConnection) throws -> [Int: Int] {
        var counts: [Int: Int] = [:]
        try connection.forEachRow(
            "SELECT \"table\", count(*) FROM ferry_exception WHERE kind IN \(list(AnomalyKind.ofWaiting)) GROUP BY 1"
        ) { counts[$0.int(0)] = $0.int(1) }
        return counts
    }

    /// The number of anomalous objects by kind.
    static func counts(_ connection: SQLConnection) throws -> [AnomalyKind: Int] {
        var counts: [AnomalyKind: Int] = [:]
        try connection.forEachRow("SELECT kind, count(*) FROM ferry_exception GROUP BY kind") { row in
            if let kind = AnomalyKind(rawValue: row.int(0)) { counts[kind] = row.int(1) }
        }
        return counts
    }
}
