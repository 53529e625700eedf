import ArgumentParser
import Ferry

/// `ferry log`.
struct LogCommand: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Show the newest changes of all devices.",
        usage: "ferry log <database> [--limit <limit>] [--table <table>] [<options>]",
        discussion: """
            Newest first: when, which device, which table, which row, and what was done to it. What waits to be \
            published is not in the log yet.

            JSON: {"changes": [{"timeMilliseconds" (absent for rows older than the join), "device", "sequence", "table", "key", "object", "operation", "columns"}]}. "key" is an array, empty where the key is not known here

            Examples:
              ferry log music.sqlite
              ferry log music.sqlite --table song --limit 10
            """)

    @OptionGroup var argument: DatabaseArgument

    @Option(name: .shortAndLong, help: "The most changes to show.")
    var limit = 50

    @Option(name: .shortAndLong, help: "Only changes of this table.")
    var table: String?

    @OptionGroup var output: OutputOptions

    func validate() throws {
        if limit < 1 { throw ValidationError("--limit is at least 1.") }
    }

    private struct Report: Encodable {
        var changes: [Change]
    }

    /// A change in the form for scripts.
    struct Change: Encodable {
        var timeMilliseconds: Int64?
        var device: String
        var sequence: UInt64
        var table: String
        var key: [JSONValue]
        var object: String
        var operation: ChangeKind
        var columns: [String]

        init(_ entry: LogEntry) {
            timeMilliseconds = entry.timeMilliseconds
            device = entry.device
            sequence = entry.sequence
            table = entry.table
            key = entry.key.map { JSONValue($0) }
            object = entry.object.description
            operation = entry.operation
            columns = entry.columns
        }
    }

    func perform(_ console: Console) throws {
        let replica = try Replica(path: argument.database)
        if let table { try check(table, replica.store) }
        let changes = try replica.log(limit: limit, table: table)
        if console.isJSON { return try console.emit(Report(changes: changes.map(Change.init))) }
        if changes.isEmpty { try console.say("No changes.") } else { try show(changes, console) }
        let waiting = try replica.store.waitingChanges()
        if waiting.pending + waiting.outbox > 0 {
            console.hint(
                Wording.count(waiting.pending + waiting.outbox, "change waits", "changes wait")
                    + " to be published; `ferry sync` does it, and then the log shows them.")
        }
    }

    /// - Throws: `invalidArgument` for a table that does not travel.
    private func check(_ table: String, _ store: Store) throws {
        let names = try store.status(counting: false).tables.map(\.name)
        if names.contains(where: { equalNames($0, table) }) { return }
        let near = NearName.question(table, among: names)
        throw FerryError(
            .invalidArgument,
            "No table “\(table)” travels." + (near.isEmpty ? " These do: \(Wording.list(names))." : near))
    }

    private func show(_ changes: [LogEntry], _ console: Console) throws {
        var listing = TextTable("When", "Device", "What", "Table", "Key", "Columns")
        for change in changes {
            let columns = change.operation == .update ? change.columns.joined(separator: ", ") : ""
            listing.add(
                change.timeMilliseconds.map(Wording.dateAndTime) ?? "before joining",
                Wording.oneLine(change.device, limit: 24),
                change.operation.rawValue,
                change.table,
                Wording.oneLine(change.key.isEmpty ? change.object.description : RowWords.key(change.key), limit: 36),
                Wording.oneLine(columns))
        }
        for line in listing.lines(console.style) { try console.answer(line) }
    }
}
