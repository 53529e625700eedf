import ArgumentParser
import Ferry

/// `ferry restore`.
struct RestoreCommand: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Make one row what it was at a time.",
        usage: """
            ferry restore <database> <table> <key> ... --at <at> [--object <id>]
            [--allow-delete] [--dry-run] [<options>]
            """,
        discussion: """
            The row's values at that time are folded from the devices' logs and written as an ordinary change now, which \
            the next sync sends: a deleted row comes back, a changed one gets its former values. A row that was not \
            there then is deleted, but only with --allow-delete. Other rows stay as they are.

            --at takes how long ago (90s, 20min, 2h, 3d, 1w) or a time in ISO 8601, with or without a zone \
            (2026-03-01, "2026-03-01 14:05:09.120", 2026-03-01T13:05:09Z). Without a zone it is local time. `ferry \
            history` tells the times of a row's changes, and --at takes each of them as printed, also one ahead of this \
            clock; a change of exactly that time is included. How long ago counts by this clock: a change with a time \
            ahead of the clock is left out, and told.

            JSON: {"table", "key", "action", "columns", "withoutReference", "atMilliseconds", "dryRun"}. "action" is \
            inserted, updated, deleted or unchanged.

            Examples:
              ferry restore music.sqlite song 3 --at 2h
              ferry restore music.sqlite song 3 --at "2026-03-01 14:05" --dry-run

            Exit status 1 where no row has or had that key; 65 where the logs do not reach back that far or the schema \
            refuses the row.
            """)

    @OptionGroup var argument: DatabaseArgument
    @OptionGroup var row: RowArguments

    @Option(help: "The time: how long ago, or ISO 8601.")
    var at: String

    @Option(help: ArgumentHelp("Which of several rows that had the key: an object's ID.", valueName: "id"))
    var object: String?

    @Flag(help: "Delete the row where it was not there then.")
    var allowDelete = false

    @Flag(help: "Change no row; tell what would happen.")
    var dryRun = false

    @OptionGroup var output: OutputOptions

    func validate() throws {
        do throws(PointInTime.Refusal) {
            _ = try PointInTime(at, now: ReplicaEnvironment.live.clock.milliseconds())
        } catch {
            throw ValidationError(error.sentence(at))
        }
        if let object, ObjectID(object) == nil {
            throw ValidationError("--object takes an ID as `ferry history` tells it; not \"\(object)\".")
        }
    }

    func perform(_ console: Console) throws {
        let moment = try PointInTime(at, now: ReplicaEnvironment.live.clock.milliseconds())
        var options: RestoreOptions = []
        if allowDelete { options.insert(.allowsDeletion) }
        if dryRun { options.insert(.isDryRun) }
        let restoration = try Replica(path: argument.database).restoreRow(
            table: row.table, key: row.key, asOf: moment.time, object: object.flatMap { ObjectID($0) }, options: options
        )
        let restored = restoration.row
        if console.isJSON {
            try console.emit(RestoredRowReport(restored, atMilliseconds: moment.milliseconds, dryRun: dryRun))
        } else {
            try console.say(RestoredRowReport.sentence(restored, isDryRun: dryRun))
        }
        RestoredRowReport.warn(restored, console)
        for gap in restoration.gaps { console.warn("\(gap.device): \(gap.reason) What it wrote then may be missing.") }
        if restoration.ahead > 0 {
            console.warn(
                "Not included: \(Wording.count(restoration.ahead, "change")) of the row with a time ahead of this clock. "
                    + "`ferry history` tells the times.")
        }
        if !dryRun, restored.action != .unchanged {
            console.hint("`ferry sync \(Wording.shellWord(argument.database))` sends it.")
        }
    }
}
