import ArgumentParser
import Ferry
import FerryContainer

extension JoinOptions.Rows: ExpressibleByArgument {}
extension JoinOptions.Match: ExpressibleByArgument {}

/// `ferry join`.
struct JoinCommand: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "join",
        abstract: "Join a container that another device made.",
        usage: """
            ferry join <database> <container> [--name <name>]
            [--rows <merge|theirs|mine>] [--match keys] [--dry-run]
            [--code - | --code-file <file> | --recovery - [--remove-others]]
            [--no-wait] [<options>]
            """,
        discussion: """
            The database and the tables it lacks are made from the container. Where both have rows they merge: a row \
            that only one of them has comes to both; where both have a row and differ, the container's values are \
            shown and this database's are kept as conflicts. --rows chooses otherwise: with theirs, rows that only this \
            database has are deleted from it; with mine, its values are shown where both differ. What is deleted or \
            replaced is kept as a conflict. --dry-run tries it on a copy and counts what would happen.

            Rows under integer keys are the container's only where --identity was given at init, or here with \
            --match keys, for a database that is a copy of one in the container. A database that left the container has \
            <database>-ferry-keys beside it, and joins by that file without --match keys. Rows inserted since are new rows, \
            under any integer.

            A sealed container lets in who has a code of `ferry invite`, which is read from standard input (--code -), from a file, \
            or from FERRY_CODE. Without a code it shows six words, which somebody types into `ferry approve` on a member; with \
            --json it ends with 75 then, and {"words"} beside the error. The recovery code needs no other device. An \
            interrupted join goes on when it is run again.

            Examples:
              ferry join music.sqlite ~/Sync/music --code -
              ferry join music.sqlite ~/Sync/music
              ferry join music.sqlite ~/Sync/music --recovery - < music.recovery
              ferry join music.sqlite ~/Sync/music --name phone
              ferry join music.sqlite ~/Sync/music --dry-run
              ferry join copy.sqlite ~/Sync/music --match keys --rows theirs

            Exit status 73 where the database belongs to a container already, 69 where the folder is not there or holds \
            no container yet.
            """)

    @OptionGroup var argument: DatabaseArgument
    @OptionGroup var folder: ContainerArgument
    @OptionGroup var naming: DeviceNameOption

    @Option(
        help: ArgumentHelp(
            """
            Whose rows count: merge keeps both sides' and shows the container's values where they differ, theirs deletes \
            here what the container does not have, mine shows this database's values where they differ.
            """, valueName: "merge|theirs|mine"))
    var rows: JoinOptions.Rows = .merge

    @Option(
        help: ArgumentHelp(
            """
            With keys, equal integer keys mean the same row: the database is a copy of one that the container has. \
            Without it such rows are kept twice.
            """, valueName: "keys"))
    var match: JoinOptions.Match?

    @Flag(help: "Change nothing; count what would happen.")
    var dryRun = false

    @OptionGroup var enrolling: EnrolmentOptions
    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        // Nobody is let in for a database that belongs to a container already.
        try ReplicaSetup.refuseTracked(databasePath: argument.database, containerPath: folder.container)
        let rehearsal = dryRun ? try enrolling.rehearsal(in: folder.container) : nil
        let enrolment = dryRun ? nil : try enrolling.enrolment(in: folder.container, console)
        let (replica, report) = try ProgressBar.during(console) { progress in
            var setup = ReplicaSetup(progress: progress, enrolment: enrolment?.0 ?? rehearsal?.enrolment)
            setup.rehearsalCode = rehearsal?.recovery
            return try setup.join(
                databasePath: argument.database, containerPath: folder.container, name: naming.name,
                options: JoinOptions(rows: rows, match: match), isDryRun: dryRun)
        }
        try enrolling.finish(replica, enrolment?.1, console)
        if console.isJSON {
            try console.emit(ReportWithFailure(report: report, waiting: report.waiting))
        } else {
            try tell(report, console)
        }
        try WaitingDevices.tell(report.waiting, of: argument.database, console)
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
            if report.removed > 0 {
                try console.say("  delete \(Wording.count(report.removed, "row")) that only this database has,")
            }
            try console.say(
                "  show \(winner) values in \(Wording.count(report.conflicts, "field")) that differ, "
                    + "and hide \(Wording.count(report.hidden, "row")).")
        } else {
            try console.say(
                style.green("Joined the container \(report.container.name)")
                    + " in \(report.path): received \(received), "
                    + "brought along \(sent). (\(Wording.duration(milliseconds: report.durationMilliseconds)))")
            try console.say("This device is called \(style.bold(report.device.name)).")
            if !report.createdTables.isEmpty { try console.say("Made \(Self.tables(report.createdTables)).") }
            if report.conflicts > 0 {
                try console.say(
                    Wording.count(report.conflicts, "field") + " differed: \(winner) values are shown, "
                        + "\(rows == .mine ? "the container's" : "this database's") are kept as conflicts.")
            }
            if report.removed > 0 {
                try console.say(
                    Wording.count(report.removed, "row") + " that only this database had "
                        + (report.removed == 1 ? "was" : "were") + " deleted and kept as conflicts.")
            }
            if report.hidden > 0 {
                try console.say(
                    Wording.count(report.hidden, "row is", "rows are") + " hidden; `ferry conflicts` shows them.")
            }
        }
        try reportRows(report, console)
        try TableListing(report.tables, report.leftOut).say(console)
        try warnOfEmptyNotes(report, console)
        RowsWithoutKey.warn(report.rowsWithoutKey, console)
        for table in report.waitingTables { console.warn(table.problem) }
        if !report.waitingTables.isEmpty { console.hint(WaitingTable.advice) }
        try PlainReferenceListing(report.plainReferences).say(console)
        try reportKnownKeys(report, console)
        try reportMatchingKeys(report, console)
        try reportAssumedKeys(report, console)
        for schema in report.refusedSchemas {
            console.warn(
                "The newest schema of \(schema.device) cannot be made here, so an older schema was taken. \(schema.reason)"
            )
        }
        if !report.dryRun {
            try console.say()
            try console.say("To keep in step from now on:")
            try console.say(style.bold("  ferry watch \(Wording.shellWord(argument.database))"))
        }
        console.detail("Device \(report.device.id), container \(report.container.id).")
    }

    private var winner: String { rows == .mine ? "this database's" : "the container's" }

    /// Compares the rows of both sides, if both had some.
    private func reportRows(_ report: JoinReport, _ console: Console) throws {
        let compared = report.compared.filter { $0.same + $0.onlyHere + $0.different > 0 }
        if compared.isEmpty { return }
        var table = TextTable("Rows", "Same#", "Differ#", "Only here#", "Only there#")
        for rows in compared {
            table.add(
                rows.table, Wording.grouped(rows.same), Wording.grouped(rows.different), Wording.grouped(rows.onlyHere),
                Wording.grouped(rows.onlyThere))
        }
        for line in [""] + table.lines(console.style) { try console.say(line) }
    }

    /// The database left this container before: nobody has to say `--match keys`.
    private func reportKnownKeys(_ report: JoinReport, _ console: Console) throws {
        guard let known = report.knownKeys else { return }
        try console.say()
        try console.say(
            "The database left this container before, and \(argument.database)-ferry-keys says which rows are the container's: "
                + "\(Wording.count(known, "row", "rows")) under integer keys \(report.dryRun ? "would count" : "count") as the same "
                + "rows, as with `--match keys`.")
    }

    private func reportMatchingKeys(_ report: JoinReport, _ console: Console) throws {
        if report.matchingKeys == 0 { return }
        try console.say()
        try console.say(
            Wording.count(report.matchingKeys, "integer key stands", "integer keys stand")
                + " for a row here and for another one in the container, and "
                + (report.dryRun ? "both would be kept." : "both were kept.")
                + " If the database is a copy of one in the container, or left it, "
                + (report.dryRun
                    ? "join with `--match keys`: then they are the same rows."
                    : "join a copy from before this with `--match keys`: then they are the same rows."))
    }

    /// Nothing but the integers said that the rows are the same, and some differ.
    private func reportAssumedKeys(_ report: JoinReport, _ console: Console) throws {
        guard let assumed = report.assumedKeys, report.compared.contains(where: { $0.different > 0 }) else { return }
        try console.say()
        try console.say(
            "Only the integer keys say that \(Wording.count(assumed, "row", "rows")) here and in the container are the same: no "
                + "\(DatabaseFiles(of: argument.database).shownPath(.keys)) of this container lies beside the database. Where both "
                + "sides have inserted a row under the same integer, the two "
                + (report.dryRun
                    ? "would count as one." : "count as one; `ferry conflicts` has the values that are not shown."))
    }

    /// A database that was made here has the whole schema. Without the notes of the app's migration tool the app does its migrations again.
    private func warnOfEmptyNotes(_ report: JoinReport, _ console: Console) throws {
        guard let notes = report.emptyNotes else { return }
        let tables = notes.joined(separator: ", ")
        console.warn(
            "\(tables) \(notes.count == 1 ? "is" : "are") empty here, so the app may run its migrations again and fail. Copy the rows "
                + "from another device before the app starts: sqlite3 other.sqlite '.dump \(notes[0]) --data-only' | sqlite3 "
                + "\(argument.database)")
    }

    private static func tables(_ names: [String]) -> String {
        "the " + (names.count == 1 ? "table " : "tables ") + Wording.list(names)
    }
}
