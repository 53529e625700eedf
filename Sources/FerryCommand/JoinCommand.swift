import ArgumentParser
import Ferry

/// `ferry join`.
struct JoinCommand: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "join",
        abstract: "Join a container that another device made.",
        discussion: """
            The database and the tables it lacks are made from the container. Where both have rows they merge: a row \
            that only one of them has comes to both; where both have a row and differ, the container's values are \
            shown and this database's are kept as conflicts. --dry-run tries it on a copy and counts what would happen.

            Examples:
              ferry join music.sqlite ~/Sync/music
              ferry join music.sqlite ~/Sync/music --name phone
              ferry join music.sqlite ~/Sync/music --dry-run

            Exit status 73 where the database belongs to a container already, 69 where the folder is not there or holds \
            no container yet.
            """)

    @OptionGroup var argument: DatabaseArgument
    @OptionGroup var folder: ContainerArgument
    @OptionGroup var naming: DeviceNameOption

    @Flag(help: "Change nothing; count what would happen.")
    var dryRun = false

    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        let report = try ProgressBar.during(console) { progress in
            try Replica.join(
                databasePath: argument.database, containerPath: folder.container, name: naming.name, isDryRun: dryRun,
                progress: progress
            ).report
        }
        if console.isJSON {
            try console.emit(ReportWithFailure(report: report, waiting: report.waiting))
        } else {
            try tell(report, console)
        }
        try WaitingDevices.tell(report.waiting, console)
    }

    private func tell(_ report: JoinReport, _ console: Console) throws {
        let style = console.style
        let received = Wording.count(report.replayed.changes, "change")
        let sent = Wording.count(report.published.changes, "change")
        if report.dryRun {
            try console.say(style.bold("Nothing was changed.") + " Joining \(report.container.name) would")
            try console.say("  bring \(received) from the container,")
            try console.say("  bring along \(sent) from this database,")
            if !report.createdTables.isEmpty { try console.say("  make \(Self.tables(report.createdTables)),") }
            try console.say(
                "  show the container's values in \(Wording.count(report.conflicts, "field")) that differ, "
                    + "and hide \(Wording.count(report.hidden, "row")).")
        } else {
            try console.say(
                style.green("Joined the container \(report.container.name)")
                    + " in \(report.path): received \(received), "
                    + "brought along \(sent). (\(Wording.duration(report.seconds)))")
            try console.say("This device is called \(style.bold(report.device.name)).")
            if !report.createdTables.isEmpty { try console.say("Made \(Self.tables(report.createdTables)).") }
            if report.conflicts > 0 {
                try console.say(
                    Wording.count(report.conflicts, "field") + " differed: the container's values are shown, "
                        + "this database's are kept as conflicts.")
            }
            if report.hidden > 0 {
                try console.say(
                    Wording.count(report.hidden, "row is", "rows are") + " hidden; `ferry conflicts` shows them.")
            }
        }
        try TableListing(report.tables, report.leftOut).say(console)
        RowsWithoutKey.warn(report.rowsWithoutKey, console)
        if !report.dryRun {
            try console.say()
            try console.say("To keep in step from now on:")
            try console.say(style.bold("  ferry watch \(Wording.shellWord(argument.database))"))
        }
        console.detail("Device \(report.device.id), container \(report.container.id).")
    }

    private static func tables(_ names: [String]) -> String {
        "the " + (names.count == 1 ? "table " : "tables ") + Wording.list(names)
    }
}
