import FerryCore
import FerryMerge

/// The list of anomalous objects, with reasons and dependency tokens.
struct AnomalyTable {
    private let connection: SQLConnection
    private let digests: StateDigests
    private let tokens: AnomalyTokens

    init(_ connection: SQLConnection, _ digests: StateDigests, _ tokens: AnomalyTokens) {
        self.connection = connection
        self.digests = digests
        self.tokens = tokens
    }

    /// The number of anomalous objects by kind.
    static func counts(_ connection: SQLConnection) throws -> [AnomalyKind: Int] {
        var counts: [AnomalyKind: Int] = [:]
        try connection.forEachRow("SELECT kind, count(*) FROM ferry_exception GROUP BY kind") { row in
            if let kind = AnomalyKind(rawValue: row.int(0)) { counts[kind] = row.int(1) }
        }
        return counts
    }

    /// Records an object's display: lists an anomalous object, and removes any other object from the list.
    /// - Parameters:
    ///   - reason: why the object is listed; `nil` if the object is not anomalous.
    ///   - concerned: the tokens that lead to the object.
    ///   - check: the checksum of the object's display (`VisibilityChecksums`).
    func record(_ object: RowToken, _ reason: AnomalyReason?, tokens concerned: Set<RowToken>, check: UInt64) throws {
        let former = try forget(object)
        digests.recordShown(object.table, from: former, to: check)
        guard let reason else { return }
        try connection.execute(
            "INSERT INTO ferry_exception VALUES (?, ?, ?, ?, ?)", .integer(Int64(object.table)),
            .blob(object.id.bytes[...]), .integer(Int64(reason.kind.rawValue)), .text(reason.text),
            .integer(Int64(bitPattern: check)))
        for token in concerned { try tokens.note(token, concerns: object) }
    }

    /// Lists an object with a row waiting for an equipped process. The object's tokens stay.
    /// - Parameter causes: `WaitingTables.causes`.
    func recordWaiting(_ object: RowToken, isHidden: Bool, causes: [String], check: UInt64) throws {
        let (table, id) = (FieldValue.integer(Int64(object.table)), FieldValue.blob(object.id.bytes[...]))
        let former = try connection.firstValue(
            "SELECT \"check\" FROM ferry_exception WHERE \"table\" = ? AND object = ?", table, id)
        var known: UInt64 = 0
        if case .integer(let check)? = former { known = UInt64(bitPattern: check) }
        digests.recordShown(object.table, from: known, to: check)
        let reason = AnomalyReason(isHidden ? .awaitingApp : .outdated, causes)
        try connection.execute(
            "INSERT OR REPLACE INTO ferry_exception VALUES (?, ?, ?, ?, ?)", table, id,
            .integer(Int64(reason.kind.rawValue)), .text(reason.text), .integer(Int64(bitPattern: check)))
    }

    /// True if an object's row waits for an equipped process.
    func isWaiting(_ object: RowToken) throws -> Bool {
        try connection.count(
            "SELECT EXISTS(SELECT 1 FROM ferry_exception WHERE \"table\" = ? AND object = ? AND kind IN "
                + "(\(AnomalyKind.ofWaiting)))", .integer(Int64(object.table)), .blob(object.id.bytes[...])) != 0
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

    /// Removes an object the store no longer knows from the list.
    func remove(_ object: RowToken) throws {
        digests.recordShown(object.table, from: try forget(object), to: 0)
    }

    /// Removes an object from the list.
    /// - Returns: the checksum of how the object was shown.
    private func forget(_ object: RowToken) throws -> UInt64 {
        let (table, id) = (FieldValue.integer(Int64(object.table)), FieldValue.blob(object.id.bytes[...]))
        let former = try connection.firstValue(
            "SELECT \"check\" FROM ferry_exception WHERE \"table\" = ? AND object = ?", table, id)
        if former != nil {
            try connection.execute("DELETE FROM ferry_exception WHERE \"table\" = ? AND object = ?", table, id)
        }
        // Parent keys of a deleted object leave tokens, too.
        try connection.execute("DELETE FROM ferry_exception_token WHERE \"table\" = ? AND object = ?", table, id)
        if case .integer(let check)? = former { return UInt64(bitPattern: check) }
        return 0
    }
}

/// The dependency tokens of anomalous objects (`ferry_exception_token`): everything an object refers to or claims, and
/// its parent keys. A token finds the object when a related object comes, goes or changes.
final class AnomalyTokens {
    private let connection: SQLConnection
    private let insert: LazyStatement
    private let select: LazyStatement
    @exclusivity(unchecked) private var tables: Set<Int>?

    init(_ connection: SQLConnection) {
        self.connection = connection
        insert = LazyStatement("INSERT OR IGNORE INTO ferry_exception_token VALUES (?, ?, ?, ?)", connection)
        select = LazyStatement(
            "SELECT \"table\", object FROM ferry_exception_token WHERE token_table = ? AND token = ?", connection)
    }

    /// True if a table has any token. Otherwise no object of the table needs a lookup by tokens.
    func areAny(of table: Int) throws -> Bool {
        if let tables { return tables.contains(table) }
        var found: Set<Int> = []
        try connection.forEachRow("SELECT DISTINCT token_table FROM ferry_exception_token") { found.insert($0.int(0)) }
        tables = found
        return found.contains(table)
    }

    /// The anomalous objects concerned by a token.
    func objects(concernedBy token: RowToken) throws -> [RowToken] {
        guard try areAny(of: token.table) else { return [] }
        let statement = try select.prepared()
        defer { statement.reset() }
        statement.bind(token.table, 1)
        statement.bind(token.id, 2)
        var found: [RowToken] = []
        while try statement.step() {
            if let id: ObjectID = statement.id(1) { found.append(RowToken(table: statement.int(0), id: id)) }
        }
        return found
    }

    func note(_ token: RowToken, concerns object: RowToken) throws {
        let statement = try insert.prepared()
        statement.bind(token.table, 1)
        statement.bind(token.id, 2)
        statement.bind(object.table, 3)
        statement.bind(object.id, 4)
        try statement.run()
        tables?.insert(token.table)
    }
}

/// The reason for an object not to be shown as written (the column `kind` of `ferry_exception`).
public enum AnomalyKind: Int, Sendable, Codable, CaseIterable {
    /// Hidden until the object's target is shown.
    case waiting = 1
    /// Hidden because an older row has the same UNIQUE value.
    case outranked = 2
    /// Hidden because the schema refuses the row.
    case refused = 3
    /// Deleted and retained by referring rows.
    case heldBack = 4
    /// Shown with a cleared reference.
    case clearedReference = 5
    /// Without an own row: an older object's row with the same UNIQUE value or key stands for both.
    case joined = 6
    /// Shown by a row that also stands for younger objects with the same UNIQUE value.
    case joining = 7
    /// Shown with a key value of the row that stands for the object's target. Or, under a UNIQUE index, with a part of
    /// that key.
    case resolvedKey = 8
    /// Hidden until the target by RESTRICT or NO ACTION is known here. The target may have been forgotten.
    case missing = 9
    /// Hidden until a pass of a process with the app's collation or function.
    case awaitingApp = 10
    /// Shown with former values until such a pass.
    case outdated = 11

    package var isHidden: Bool {
        switch self {
        case .waiting, .outranked, .refused, .missing, .awaitingApp: true
        case .heldBack, .clearedReference, .joined, .joining, .resolvedKey, .outdated: false
        }
    }

    /// The kinds following from rule 3, as a list in SQL.
    static let ofClasses = [joined, .joining, .resolvedKey].map { "\($0.rawValue)" }.joined(separator: ", ")

    /// The kinds of rows waiting for an equipped process, as a list in SQL.
    static let ofWaiting = [awaitingApp, .outdated].map { "\($0.rawValue)" }.joined(separator: ", ")

    /// True if the entry may interest a person. Mere consequences of a different entry do not.
    var isListed: Bool { self != .joining && self != .resolvedKey }
}
