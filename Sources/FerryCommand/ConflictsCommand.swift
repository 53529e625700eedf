import ArgumentParser
import Ferry

/// `ferry conflicts`.
struct ConflictsCommand: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "conflicts",
        abstract: "Show what concurrent writes lost, and bring it back.",
        usage: """
            ferry conflicts <database> [list | show <what> | resolve <number> ... |
            restore <number>] [<options>]
            """,
        discussion: """
            list      conflicts that nobody has resolved, the newest first, then the rows that are \
            hidden, or joined to another one, and why
            show      one conflict in full, by its number; or a hidden row with all its values, by table and key
            resolve   take conflicts off the list: they are settled. Only this device notes that
            restore   bring back what was lost, as an ordinary change that the next sync sends: a value, a deleted \
            row; or delete a row again that came back

            JSON: list {"conflicts": [{"number", "table", "key", "object", "column", "kind", "lost" {"value", "device", \
            "timeMilliseconds"}, "kept" (the same), "noticedMilliseconds", "resolvedMilliseconds"}], "total", "hidden": \
            [{"table", "key", "object", "kind", "reason", "columns", "values"}], "hiddenTotal"}; show {"conflict"} or {"hidden"}; \
            resolve {"resolved"}; restore {"table", "key", "action", "columns", "withoutReference"}. "kind" is field, \
            deleted, revived or joined; "action" is inserted, updated, deleted or unchanged.

            Examples:
              ferry conflicts music.sqlite
              ferry conflicts music.sqlite list --table song --all
              ferry conflicts music.sqlite show 12
              ferry conflicts music.sqlite show song 3
              ferry conflicts music.sqlite restore 12
              ferry conflicts music.sqlite resolve 13 14 15

            Exit status 1 where there is no such conflict or hidden row; 65 where it cannot be brought back.
            """)

    enum Verb: String, CaseIterable, ExpressibleByArgument {
        case list, show, resolve, restore
    }

    @OptionGroup var argument: DatabaseArgument

    @Argument(help: "list, show, resolve or restore.")
    var verb = Verb.list

    @Argument(help: ArgumentHelp("Numbers of conflicts; for show also a table and a key.", valueName: "what"))
    var words: [String] = []

    @OptionGroup var listing: ConflictListingOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        switch verb {
        case .list:
            if let word = words.first { throw ValidationError("list takes no \"\(word)\". Narrow it by --table.") }
        case .show:
            if words.isEmpty { throw ValidationError("Say which: a number, or a table and a key.") }
            if words.count == 1 { _ = try number(words[0]) }
        case .resolve:
            if words.isEmpty { throw ValidationError("Say which conflicts, by their numbers.") }
            for word in words { _ = try number(word) }
        case .restore:
            guard words.count == 1 else { throw ValidationError("Restore one conflict at a time, by its number.") }
            _ = try number(words[0])
        }
    }

    private func number(_ word: String) throws -> Int64 {
        guard let number = Int64(word) else {
            throw ValidationError("\"\(word)\" is no number of a conflict. `ferry conflicts` lists them.")
        }
        return number
    }

    private struct ShowReport: Encodable {
        var conflict: ConflictReport?
        var hidden: [HiddenRowReport]?
    }

    private struct ResolveReport: Encodable {
        var resolved: Int
    }

    func perform(_ console: Console) throws {
        let replica = try Replica(path: argument.database)
        switch verb {
        case .list: try listing.list(replica.store, argument.database, console)
        case .show: try show(replica.store, console)
        case .resolve:
            let count = try replica.store.resolveConflicts(try words.map(number))
            if console.isJSON { return try console.emit(ResolveReport(resolved: count)) }
            try console.say("Resolved \(Wording.count(count, "conflict")).")
        case .restore:
            let row = try replica.restoreConflict(number(words[0]))
            if console.isJSON {
                try console.emit(RestoredRowReport(row))
            } else {
                try console.say(RestoredRowReport.sentence(row) + " The conflict is resolved.")
            }
            RestoredRowReport.warn(row, console)
            console.hint("`ferry sync \(Wording.shellWord(argument.database))` sends it.")
        }
    }

    private func show(_ store: Store, _ console: Console) throws {
        let page = ConflictPage(style: console.style)
        if words.count == 1 {
            let conflict = try store.conflict(number(words[0]))
            if console.isJSON { return try console.emit(ShowReport(conflict: ConflictReport(conflict))) }
            for line in page.lines(conflict) { try console.answer(line) }
            return
        }
        let found = try store.findRows(table: words[0], key: Array(words.dropFirst()))
        let hidden = try found.flatMap { try store.hiddenRows(table: $0.table, object: $0.object) }
        if hidden.isEmpty {
            throw FerryError(.nothingFound, "No row of \(found[0].table) with that key is hidden.")
        }
        if console.isJSON { return try console.emit(ShowReport(hidden: hidden.map(HiddenRowReport.init))) }
        for (index, row) in hidden.enumerated() {
            if index > 0 { try console.answer("") }
            for line in page.lines(row) { try console.answer(line) }
        }
    }
}

/// The filters of `ferry conflicts list`.
struct ConflictListingOptions: ParsableArguments {
    @Option(name: .shortAndLong, help: "list: only conflicts and hidden rows of this table.")
    var table: String?

    @Option(help: "list: only conflicts of this kind: field, deleted, revived or joined.")
    var kind: Conflict.Kind?

    @Flag(help: "list: conflicts that are resolved, in place of those that are not.")
    var resolved = false

    @Flag(help: "list: only rows that are hidden, or joined to another row.")
    var hidden = false

    @Option(name: .shortAndLong, help: "list: the most conflicts, and the most hidden rows, to show.")
    var limit = 50

    @Flag(help: "list: all of them, whatever their number.")
    var all = false

    @Option(help: ArgumentHelp("list: only conflicts before this number.", valueName: "number"))
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
        // A filter that only conflicts have leaves out hidden rows.
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
