import Ferry

/// Conflicts and rows that are hidden or unified, as text.
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

    /// A conflict, with all values in full.
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

    /// A hidden row, with all values in full.
    func lines(_ row: HiddenRow) -> [String] {
        list(
            [
                ("hidden row", RowWords.row(row.table, row.key, row.object)), ("object", row.object.description),
                ("why", row.reason),
            ] + row.values.map { ($0.column, $0.value.text) })
    }

    private func list(_ rows: [(String, String)]) -> [String] {
        let width = rows.map(\.0.cellWidth).max() ?? 0
        return rows.map { name, text in
            "  " + style.dim(name.padded(to: width)) + "   " + text
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
