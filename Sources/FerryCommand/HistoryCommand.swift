import ArgumentParser
import Ferry

/// `ferry history`.
struct HistoryCommand: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "Show every change of one row that the devices' logs still hold.",
        discussion: """
            Oldest first: when, which device, what was done and which values were written. Rows that are deleted or \
            hidden have a history too. An integer key that SQLite handed out again leads to several rows; all are told. \
            A later change wins over an earlier one. `ferry restore --at` takes each time as printed; changes of the same \
            millisecond have a number behind the time. Changes nothing.

            The key of a table with several key columns is given as several words, in key order; x'00ff' is a blob. \
            A text that begins with a dash goes behind --.

            JSON: {"rows": [{"table", "key", "object", "presence", "changes": [{"timeMilliseconds" (absent for rows older \
            than the join), "at" (for `ferry restore --at`), "device", "sequence", "operation", "values"}]}], "gaps": [{"device", "reason"}], "unpacked"}. \
            "presence" is shown, hidden, joined, deleted or unknown.

            Examples:
              ferry history music.sqlite song 3
              ferry history music.sqlite song_genre 3 1
              ferry history music.sqlite song 3 --json | jq '.rows[].changes[].values.title'

            Exit status 1 where no row has or had that key.
            """)

    @OptionGroup var argument: DatabaseArgument
    @OptionGroup var row: RowArguments
    @OptionGroup var output: OutputOptions

    private struct Report: Encodable {
        var rows: [Row]
        var gaps: [RowHistories.Gap]
        var unpacked: Int
    }

    /// A row with the row's past, in the form for scripts.
    struct Row: Encodable {
        var table: String
        var key: [JSONValue]
        var object: String
        var presence: String
        var changes: [Change]
    }

    struct Change: Encodable {
        var timeMilliseconds: Int64?
        var at: String
        var device: String
        var sequence: UInt64
        var operation: ChangeKind
        var values: JSONValue
    }

    func perform(_ console: Console) throws {
        let histories = try Replica(path: argument.database).history(table: row.table, key: row.key)
        if console.isJSON {
            try console.emit(
                Report(rows: histories.rows.map(Self.report), gaps: histories.gaps, unpacked: histories.unpacked))
        } else {
            try show(histories, console)
        }
        for gap in histories.gaps { console.warn("\(gap.device): \(gap.reason)") }
        if histories.unpacked > 0 {
            console.hint("What was written since the last sync is not among it.")
        }
    }

    static func report(_ history: RowHistory) -> Row {
        let times = PointInTime.texts(history.changes.map(\.time), ISO8601.text)
        return Row(
            table: history.row.table, key: history.row.key.map { JSONValue($0) },
            object: history.row.object.description, presence: presence(history.row.presence).name,
            changes: zip(history.changes, times).map { change, time in
                Change(
                    timeMilliseconds: change.timeMilliseconds, at: time, device: change.deviceName,
                    sequence: change.sequence,
                    operation: change.kind, values: JSONValue(change.values))
            })
    }

    static func presence(_ presence: FoundRow.Presence) -> (name: String, sentence: String) {
        switch presence {
        case .shown: ("shown", "is there")
        case .hidden(let reason): ("hidden", "is hidden: \(reason)")
        case .joined(let key): ("joined", "is shown by row \(RowWords.key(key))")
        case .deleted: ("deleted", "is deleted")
        case .unknown: ("unknown", "is only referred to so far")
        }
    }

    private func show(_ histories: RowHistories, _ console: Console) throws {
        if histories.rows.count > 1 {
            try console.answer("\(histories.rows.count) rows have or had this key.")
            try console.answer("")
        }
        for (index, history) in histories.rows.enumerated() {
            if index > 0 { try console.answer("") }
            let name = RowWords.row(history.row.table, history.row.key, history.row.object)
            var heading = console.style.bold(name) + " " + Self.presence(history.row.presence).sentence
            if histories.rows.count > 1 || console.isVerbose { heading += " (object \(history.row.object))" }
            try console.answer(heading)
            var table = TextTable("When", "Device", "What", "Values")
            let times = PointInTime.texts(history.changes.map(\.time), Wording.exactTime)
            for (change, time) in zip(history.changes, times) {
                table.add(
                    time, Wording.oneLine(change.deviceName, limit: 24),
                    change.kind.rawValue, RowWords.values(change.values, limit: 200))
            }
            if !table.isEmpty { for line in table.lines(console.style) { try console.answer(line) } }
        }
    }
}

/// A row named by table and key.
struct RowArguments: ParsableArguments {
    @Argument(help: "The table.")
    var table: String

    // A negative number looks like an unknown option.
    @Argument(
        parsing: .allUnrecognized,
        help: ArgumentHelp("The row's key; one word for each of the key's columns.", valueName: "key"))
    var words: [String]

    var key: [String] { NegativeNumber.values(words) }

    func validate() throws { try NegativeNumber.refuseOptions(among: words) }
}
