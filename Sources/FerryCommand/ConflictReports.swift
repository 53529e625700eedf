import Ferry

/// A conflict in the form for scripts.
struct ConflictReport: Encodable {
    struct Side: Encodable {
        var value: JSONValue?
        var device: String
        var timeMilliseconds: Int64?

        init(_ side: Conflict.Side) {
            value = side.value.map { JSONValue($0) }
            device = side.deviceName
            timeMilliseconds = side.timeMilliseconds
        }
    }

    var number: Int64
    var table: String
    var key: [JSONValue]
    var object: String
    var column: String?
    var kind: Conflict.Kind
    var lost: Side
    var kept: Side
    var noticedMilliseconds: Int64
    var resolvedMilliseconds: Int64?

    init(_ conflict: Conflict) {
        number = conflict.number
        table = conflict.table
        key = conflict.key.map { JSONValue($0) }
        object = conflict.object.description
        column = conflict.column
        kind = conflict.kind
        lost = Side(conflict.lost)
        kept = Side(conflict.kept)
        noticedMilliseconds = conflict.noticedMilliseconds
        resolvedMilliseconds = conflict.resolvedMilliseconds
    }
}

/// A hidden row in the form for scripts.
struct HiddenRowReport: Encodable {
    var table: String
    var key: [JSONValue]
    var object: String
    /// `waiting`, `outranked`, `refused` or `joined`.
    var kind: StatusReport.Exceptional.Kind
    var reason: String
    /// The columns behind the reason; absent for a kind without columns.
    var columns: [String]?
    var values: JSONValue

    init(_ row: HiddenRow) {
        table = row.table
        key = row.key.map { JSONValue($0) }
        object = row.object.description
        kind = StatusReport.Exceptional.Kind(row.kind)
        reason = row.reason
        columns = row.columns.isEmpty ? nil : row.columns
        values = JSONValue(row.values)
    }
}

/// A restored row, told to people and scripts.
struct RestoredRowReport: Encodable {
    var table: String
    var key: [JSONValue]
    var action: RestoredRow.Action
    var columns: [String]
    var withoutReference: [String]
    var atMilliseconds: Int64?
    var dryRun: Bool?

    init(_ row: RestoredRow, atMilliseconds: Int64? = nil, dryRun: Bool? = nil) {
        table = row.table
        key = row.key.map { JSONValue($0) }
        action = row.action
        columns = row.columns
        withoutReference = row.withoutReference
        self.atMilliseconds = atMilliseconds
        self.dryRun = dryRun
    }

    /// The effect of a restoration, in a sentence.
    static func sentence(_ row: RestoredRow, isDryRun: Bool = false) -> String {
        let name = row.table + " " + Wording.oneLine(RowWords.key(row.key), limit: 36)
        switch (row.action, isDryRun) {
        case (.inserted, false): return "\(name) is back."
        case (.inserted, true): return "\(name) would be back."
        case (.updated, false): return "\(name): restored \(Wording.list(row.columns))."
        case (.updated, true): return "\(name): \(Wording.list(row.columns)) would be restored."
        case (.deleted, false): return "\(name) is deleted."
        case (.deleted, true): return "\(name) would be deleted."
        case (.unchanged, _): return "\(name) is that already; nothing to do."
        }
    }

    /// Warns of references without a row to come back to.
    static func warn(_ row: RestoredRow, _ console: Console) {
        if row.withoutReference.isEmpty { return }
        console.warn(
            "\(Wording.list(row.withoutReference)) referred to "
                + "\(row.withoutReference.count == 1 ? "a row that is" : "rows that are") gone, and was left out.")
    }
}
