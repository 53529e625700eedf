import FerryCore
import FerryMerge
import FerrySQL

/// The list of anomalous objects, with reasons and dependency tokens: the owner of `ferry_exception`
/// (`AnomalyTable+Queries` reads it).
struct AnomalyTable {
    let connection: SQLConnection
    private let digests: StateDigests
    private let tokens: AnomalyTokens

    init(_ connection: SQLConnection, _ digests: StateDigests, _ tokens: AnomalyTokens) {
        self.connection = connection
        self.digests = digests
        self.tokens = tokens
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
        digests.recordShown(object.table, from: try self.check(of: object) ?? 0, to: check)
        let reason = AnomalyReason(isHidden ? .awaitingApp : .outdated, causes)
        try connection.execute(
            "INSERT OR REPLACE INTO ferry_exception VALUES (?, ?, ?, ?, ?)", table, id,
            .integer(Int64(reason.kind.rawValue)), .text(reason.text), .integer(Int64(bitPattern: check)))
    }

    /// Removes an object the store no longer knows from the list.
    func remove(_ object: RowToken) throws {
        digests.recordShown(object.table, from: try forget(object), to: 0)
    }

    /// Removes an object from the list, and leaves the digest of rows to the caller.
    func forgetSilently(_ object: RowToken) throws { _ = try forget(object) }

    /// Removes all objects of a table, and leaves the digest of rows to the caller.
    func forgetTable(_ table: Int) throws {
        try connection.execute("DELETE FROM ferry_exception WHERE \"table\" = ?", .integer(Int64(table)))
        try tokens.forgetTable(table)
    }

    /// Removes an object from the list.
    /// - Returns: the checksum of how the object was shown.
    private func forget(_ object: RowToken) throws -> UInt64 {
        let former = try check(of: object)
        if former != nil {
            try connection.execute(
                "DELETE FROM ferry_exception WHERE \"table\" = ? AND object = ?", .integer(Int64(object.table)),
                .blob(object.id.bytes[...]))
        }
        // Parent keys of a deleted object leave tokens, too.
        try tokens.forget(object)
        return former ?? 0
    }

    /// The recorded checksum of an object's display; `nil` if the object is not listed.
    func check(of object: RowToken) throws -> UInt64? {
        let value = try connection.firstValue(
            "SELECT \"check\" FROM ferry_exception WHERE \"table\" = ? AND object = ?", .integer(Int64(object.table)),
            .blob(object.id.bytes[...]))
        guard let value else { return nil }
        if case .integer(let check) = value { return UInt64(bitPattern: check) }
        return 0
    }
}
