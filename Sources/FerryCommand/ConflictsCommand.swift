import ArgumentParser
import Ferry

/// `ferry conflicts`.
struct ConflictsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conflicts",
        abstract: "Show what concurrent writes lost, and bring it back.",
        usage: """
            ferry conflicts <database> [list | show <what> | resolve <number> ... |
            restore <number> | bring-back [<table>]] [<options>]
            """,
        discussion: """
            list      conflicts that nobody has resolved, the newest first, then the rows that are \
            hidden, or joined to another one, and why
            show      one conflict in full, by its number; or a hidden row with all its values, by table and key
            resolve   take conflicts off the list: they are settled. Only this device notes that
            restore   bring back what was lost, as an ordinary change that the next sync sends: a value, a deleted \
            row; or delete a row again that came back
            bring-back  bring back the rows that `status` counts as “not here”, or delete them everywhere

            Examples:
              ferry conflicts music.sqlite
              ferry conflicts music.sqlite list --table song --all
              ferry conflicts music.sqlite show 12
              ferry conflicts music.sqlite show song 3
              ferry conflicts music.sqlite restore 12
              ferry conflicts music.sqlite resolve 13 14 15

            Exit status 1 where there is no such conflict or hidden row; 65 where it cannot be brought back.
            """,
        subcommands: [
            ConflictsList.self, ConflictsShow.self, ConflictsResolve.self, ConflictsRestore.self,
            ConflictsBringBack.self,
        ],
        defaultSubcommand: ConflictsList.self)

    fileprivate static func number(_ word: String) throws -> Int64 {
        guard let number = Int64(word) else {
            throw ValidationError("\"\(word)\" is no number of a conflict. `ferry conflicts` lists them.")
        }
        return number
    }
}

/// `ferry conflicts … list`.
struct ConflictsList: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List conflicts and hidden rows; without a sub-verb, too.",
        usage: "ferry conflicts <database> [list] [<options>]",
        discussion: """
            JSON: {"conflicts": [{"number", "table", "key", "object", "column", "kind", "lost" {"value", "device", \
            "timeMilliseconds"}, "kept" (the same), "noticedMilliseconds", "resolvedMilliseconds"}], "total", "hidden": \
            [{"table", "key", "object", "kind", "reason", "columns", "values"}], "hiddenTotal"}. "kind" is field, deleted, \
            revived or joined.

            Examples:
              ferry conflicts music.sqlite
              ferry conflicts music.sqlite list --table song --all
              ferry conflicts music.sqlite list --hidden
            """)

    @OptionGroup var argument: DatabaseArgument
    @OptionGroup var listing: ConflictListingOptions
    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        try listing.list(Replica(path: argument.database).store, argument.database, console)
    }
}

/// `ferry conflicts … show`.
struct ConflictsShow: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show a conflict in full, or a hidden row with all its values.",
        usage: "ferry conflicts <database> show <number> | <table> <key> ... [<options>]",
        discussion: """
            JSON: {"conflict"}, or {"hidden"}, as in list.

            Examples:
              ferry conflicts music.sqlite show 12
              ferry conflicts music.sqlite show song 3

            Exit status 1 where there is no such conflict or hidden row.
            """)

    @OptionGroup var argument: DatabaseArgument

    // A negative number looks like an unknown option.
    @Argument(
        parsing: .allUnrecognized,
        help: ArgumentHelp("The number of a conflict; or a table, and a key of a hidden row.", valueName: "what"))
    var given: [String]

    private var words: [String] { NegativeNumber.values(given) }

    @OptionGroup var output: OutputOptions

    func validate() throws {
        try NegativeNumber.refuseOptions(among: given)
        if words.count == 1 { _ = try ConflictsCommand.number(words[0]) }
    }

    private struct Report: Encodable {
        var conflict: ConflictReport?
        var hidden: [HiddenRowReport]?
    }

    func perform(_ console: Console) throws {
        let store = try Replica(path: argument.database).store
        let page = ConflictPage(style: console.style)
        if words.count == 1 {
            let conflict = try store.conflict(ConflictsCommand.number(words[0]))
            if console.isJSON { return try console.emit(Report(conflict: ConflictReport(conflict))) }
            for line in page.lines(conflict) { try console.answer(line) }
            return
        }
        let found = try store.findRows(table: words[0], key: Array(words.dropFirst()))
        let hidden = try found.flatMap { try store.hiddenRows(table: $0.table, object: $0.object) }
        if hidden.isEmpty {
            throw FerryError(.nothingFound, "No row of \(found[0].table) with that key is hidden.")
        }
        if console.isJSON { return try console.emit(Report(hidden: hidden.map(HiddenRowReport.init))) }
        for (index, row) in hidden.enumerated() {
            if index > 0 { try console.answer("") }
            for line in page.lines(row) { try console.answer(line) }
        }
    }
}

/// `ferry conflicts … resolve`.
struct ConflictsResolve: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "resolve", abstract: "Take conflicts off the list: they are settled.",
        usage: "ferry conflicts <database> resolve <number> ... [<options>]",
        discussion: """
            Only this device notes that. `list --resolved` shows them.

            JSON: {"resolved"}

            Example:
              ferry conflicts music.sqlite resolve 13 14 15
            """)

    @OptionGroup var argument: DatabaseArgument
    @Argument(help: ArgumentHelp("Numbers of conflicts.", valueName: "number")) var words: [String]
    @OptionGroup var output: OutputOptions

    private struct Report: Encodable { var resolved: Int }

    func validate() throws { _ = try words.map(ConflictsCommand.number) }

    func perform(_ console: Console) throws {
        let store = try Replica(path: argument.database).store
        let count = try store.resolveConflicts(try words.map(ConflictsCommand.number))
        if console.isJSON { return try console.emit(Report(resolved: count)) }
        try console.say("Resolved \(Wording.count(count, "conflict")).")
    }
}

/// `ferry conflicts … restore`.
struct ConflictsRestore: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Bring back what was lost, as an ordinary change.",
        usage: "ferry conflicts <database> restore <number> [<options>]",
        discussion: """
            A value, or a deleted row; or a row that came back is deleted again. The next sync sends it.

            JSON: {"table", "key", "action", "columns", "withoutReference"}. "action" is inserted, updated, deleted or unchanged.

            Example:
              ferry conflicts music.sqlite restore 12

            Exit status 1 where there is no such conflict; 65 where it cannot be brought back.
            """)

    @OptionGroup var argument: DatabaseArgument
    @Argument(help: ArgumentHelp("The number of the conflict.", valueName: "number")) var word: String
    @OptionGroup var output: OutputOptions

    func validate() throws { _ = try ConflictsCommand.number(word) }

    func perform(_ console: Console) throws {
        let row = try Replica(path: argument.database).restoreConflict(ConflictsCommand.number(word))
        if console.isJSON {
            try console.emit(RestoredRowReport(row))
        } else {
            try console.say(RestoredRowReport.sentence(row) + " The conflict is resolved.")
        }
        RestoredRowReport.warn(row, console)
        console.hint("`ferry sync \(Wording.shellWord(argument.database))` sends it.")
    }
}
