import ArgumentParser
import Ferry

/// The filters of `ferry conflicts list`.
struct ConflictListingOptions: ParsableArguments {
    @Option(name: .shortAndLong, help: "Only conflicts and hidden rows of this table.")
    var table: String?

    @Option(help: "Only conflicts of this kind: field, deleted, revived or joined.")
    var kind: Conflict.Kind?

    @Flag(help: "Conflicts that are resolved, in place of those that are not.")
    var resolved = false

    @Flag(help: "Only rows that are hidden, or joined to another row.")
    var hidden = false

    @Option(name: .shortAndLong, help: "The most conflicts, and the most hidden rows, to show.")
    var limit = 50

    @Flag(help: "All of them, whatever their number.")
    var all = false

    @Option(help: ArgumentHelp("Only conflicts before this number.", valueName: "number"))
    var before: Int64?

    func validate() throws {
        if limit < 1 { throw ValidationError("--limit is at least 1.") }
        if hidden && (resolved || kind != nil || before != nil) {
            throw ValidationError("--hidden lists hidden rows; --resolved, --kind and --before are about conflicts.")
        }
    }

    private struct Report: Encodable {
        var conflicts: [ConflictReport]
        var total: Int
        var hidden: [HiddenRowReport]
        var hiddenTotal: Int
    }

    func list(_ store: Store, _ database: String, _ console: Console) throws {
        let filter = ConflictFilter(table: table, kind: kind, resolution: resolved ? .resolved : .unresolved)
        let limit = all ? Int(Int32.max) : limit
        let conflicts = hidden ? [] : try store.conflicts(filter, limit: limit, before: before)
        let total = try store.conflictCount(filter)
        // A filter for conflicts alone leaves out hidden rows.
        let showsHidden = !resolved && kind == nil && before == nil
        let hiddenRows = showsHidden ? try store.hiddenRows(table: table, limit: limit) : []
        let hiddenTotal = try store.hiddenRowCount(table: table)
        if console.isJSON {
            return try console.emit(
                Report(
                    conflicts: conflicts.map(ConflictReport.init), total: total,
                    hidden: hiddenRows.map(HiddenRowReport.init), hiddenTotal: hiddenTotal))
        }
        let page = ConflictPage(style: console.style)
        if conflicts.isEmpty && hiddenRows.isEmpty { return try console.say("Nothing was lost, and no row is hidden.") }
        for line in conflicts.isEmpty ? [] : page.lines(conflicts) { try console.answer(line) }
        if let last = conflicts.last, conflicts.count == limit, total > limit {
            console.hint(
                "\(Wording.grouped(total)) in all; older ones with --before \(last.number), or --all of them.")
        }
        if !conflicts.isEmpty && !hiddenRows.isEmpty { try console.answer("") }
        for line in hiddenRows.isEmpty ? [] : page.lines(hiddenRows) { try console.answer(line) }
        if hiddenRows.count < hiddenTotal, !hiddenRows.isEmpty {
            console.hint("\(Wording.grouped(hiddenTotal)) hidden rows in all; --hidden --all lists them.")
        }
        if !conflicts.isEmpty, !resolved {
            let word = Wording.shellWord(database)
            console.hint(
                "`ferry conflicts \(word) restore <number>` brings back what was lost, `resolve <number>` settles it.")
        }
    }
}

extension Conflict.Kind: ExpressibleByArgument {}
