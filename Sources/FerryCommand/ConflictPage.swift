import Ferry

/// Conflicts and hidden rows, as text and as JSON.
struct ConflictPage {
    let style: Style

    /// The list of conflicts, newest first.
    func lines(_ conflicts: [Conflict]) -> [String] {
        var table = TextTable("No.#", "Noticed", "Row", "What", "Lost", "Of", "Kept instead", "Of")
        for conflict in conflicts {
            table.add(
                "\(conflict.number)", Wording.dateAndTime(conflict.noticedMilliseconds),
                RowWords.row(conflict.table, conflict.key, conflict.object), Self.what(conflict),
                Self.lost(conflict), Wording.oneLine(conflict.lost.deviceName, limit: 20), Self.kept(conflict),
                Wording.oneLine(conflict.kept.deviceName, limit: 20))
        }
        return table.lines(style)
    }

    /// One conflict, with its values in full.
    func lines(_ conflict: Conflict) -> [String] {
        var rows = [
            ("conflict", "\(conflict.number)"),
            ("row", RowWords.row(conflict.table, conflict.key, conflict.object)),
            ("object", conflict.object.description),
            ("what", Self.what(conflict)),
            ("lost", Self.full(conflict.lost) ?? Self.lost(conflict)),
            ("", "by \(conflict.lost.deviceName), \(RowWords.time(conflict.lost.timeMilliseconds))"),
            ("kept instead", Self.full(conflict.kept) ?? Self.kept(conflict)),
            ("", "by \(conflict.kept.deviceName), \(RowWords.time(conflict.kept.timeMilliseconds))"),
            ("noticed", Wording.dateAndTime(conflict.noticedMilliseconds)),
        ]
        if let resolved = conflict.resolvedMilliseconds { rows.append(("resolved", Wording.dateAndTime(resolved))) }
        return list(rows)
    }

    /// The list of hidden rows.
    func lines(_ hidden: [HiddenRow]) -> [String] {
        var table = TextTable("Hidden or joined", "Why", "Values")
        for row in hidden {
            table.add(
                RowWords.row(row.table, row.key, row.object), Wording.oneLine(row.reason), RowWords.values(row.values))
        }
        return table.lines(style)
    }

    /// One hidden row, with its values in full.
    func lines(_ row: HiddenRow) -> [String] {
        list(
            [
                ("hidden row", RowWords.row(row.table, row.key, row.object)), ("object", row.object.description),
                ("why", row.reason),
            ] + row.values.map { ($0.column, $0.value.text) })
    }

    private func list(_ rows: [(String, String)]) -> [String] {
        let width = rows.map(\.0.count).max() ?? 0
        return rows.map { name, text in
            "  " + style.dim(name + String(repeating: " ", count: width - name.count)) + "   " + text
        }
    }

    private static func what(_ conflict: Conflict) -> String {
        switch conflict.kind {
        case .field: conflict.column ?? "a column"
        case .joined: (conflict.column ?? "a column") + " (joined)"
        case .deleted, .revived: "the row"
        }
    }

    private static func full(_ side: Conflict.Side) -> String? { side.value?.text }

    private static func lost(_ conflict: Conflict) -> String {
        switch conflict.kind {
        case .field, .joined: conflict.lost.value.map { RowWords.value($0, limit: 32) } ?? ""
        case .deleted: "its changes"
        case .revived: "its deletion"
        }
    }

    private static func kept(_ conflict: Conflict) -> String {
        switch conflict.kind {
        case .field, .joined: conflict.kept.value.map { RowWords.value($0, limit: 32) } ?? ""
        case .deleted: "its deletion"
        case .revived: "its changes"
        }
    }
}

/// A conflict as scripts read it.
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

/// A hidden row as scripts read it.
struct HiddenRowReport: Encodable {
    var table: String
    var key: [JSONValue]
    var object: String
    /// `waiting`, `outranked`, `refused` or `joined`.
    var kind: String
    var reason: String
    var values: JSONValue

    init(_ row: HiddenRow) {
        table = row.table
        key = row.key.map { JSONValue($0) }
        object = row.object.description
        kind = row.kind.name
        reason = row.reason
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

    /// What was done, in a sentence.
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

    /// Warns of references that could not come back.
    static func warn(_ row: RestoredRow, _ console: Console) {
        if row.withoutReference.isEmpty { return }
        console.warn(
            "\(Wording.list(row.withoutReference)) referred to "
                + "\(row.withoutReference.count == 1 ? "a row that is" : "rows that are") gone, and was left out.")
    }
}
