import ArgumentParser
import Ferry

/// `ferry init`.
struct InitCommand: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Make a container for a database and publish what is there.",
        usage: """
            ferry init <database> <container> [--name <name>] [--tables <a,b>]
            [--except <a,b>] [--identity <table=col,col>] ...
            [--reference <table.col=table>] ...
            [--plain-reference <table.col,col>] ...
            [--open | --recovery-to <file> | --no-recovery] [<options>]
            """,
        discussion: """
            The container is a folder that the other devices get through your file syncer. It is made where it is \
            missing; its parent must exist. Every table with a primary key travels, unless you choose otherwise; the \
            app's schema and rows are not changed. A foreign key that rows break, or that SQLite cannot use, counts as a plain \
            reference on all devices, and is named. Tables and triggers of Ferry's own, named ferry_…, are added to the \
            database; `ferry leave` removes them.

            Only members can read and write the container: other devices are let in by `ferry invite`. The recovery code is \
            shown once, on a terminal; with it a new device joins when all others are lost. --recovery-to writes it into a new \
            file, --no-recovery makes none. A script says one of them. With --open everybody who has the folder can read and \
            change all of it.

            Examples:
              ferry init music.sqlite ~/Sync/music
              ferry init music.sqlite ~/Sync/music --recovery-to ~/stick/music.recovery
              ferry init music.sqlite ~/Sync/music --name laptop --except cache,session
              ferry init music.sqlite ~/Sync/music --identity tag=name,color
              ferry init music.sqlite ~/Sync/music --reference track.album_id=album
              ferry init music.sqlite /mnt/ours/music --open

            Exit status 73 where the folder holds a container already, 69 where its parent is not there, 77 where others can \
            read the secret keys.
            """)

    @OptionGroup var argument: DatabaseArgument
    @OptionGroup var folder: ContainerArgument
    @OptionGroup var naming: DeviceNameOption
    @OptionGroup var selecting: TableSelectionOptions

    @Flag(help: "Let everybody who has the folder read and write the container.")
    var open = false

    @OptionGroup var recovery: RecoveryOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if open && recovery.isSaid {
            throw ValidationError("An --open container has no recovery code: whoever has the folder can join.")
        }
    }

    func perform(_ console: Console) throws {
        if !open {
            SecretInput.protectMemory()
            try recovery.check(
                console, for: argument.database, in: folder.container, command: command, canBeOpen: true)
        }
        let store = try Store(path: argument.database)
        let report = try ProgressBar.during(console) { progress in
            let sealing: ContainerSealing = open ? .open : .sealed(recovery: recovery.keeper(console))
            var report = try create(store, ReplicaSetup(progress: progress, sealing: sealing))
            if !open { report.recovery = recovery.word }
            return report
        }
        if console.isJSON { return try console.emit(report) }
        try tell(report, console)
    }

    private func create(_ store: Store, _ setup: ReplicaSetup) throws -> InitReport {
        do {
            return try setup.create(
                store, containerPath: folder.container, name: naming.name, selection: selecting.selection
            ).report
        } catch let error as FerryError {
            throw try selecting.explained(error, store)
        }
    }

    private func tell(_ report: InitReport, _ console: Console) throws {
        let style = console.style
        try console.say(
            style.green("Made the container \(report.container.name)") + " in \(report.path) and published "
                + Wording.count(report.published.changes, "change")
                + ". (\(Wording.duration(milliseconds: report.durationMilliseconds)))")
        try console.say("This device is called \(style.bold(report.device.name)).")
        try TableListing(report.tables, report.leftOut).say(console)
        RowsWithoutKey.warn(report.rowsWithoutKey, console)
        for table in report.tablesOfTheApp {
            console.warn(
                "\(table.table) travels, and this command cannot write to it (\(table.missing)). On each device the app itself has to "
                    + "sync. Rows that refer to it may come before it does; --except leaves tables out.")
        }
        try PlainReferenceListing(report.plainReferences).say(console)
        try reportCoreData(report, console)
        try reportReferences(report, console)
        try console.say()
        if report.sealed {
            try console.say("Sealed: only members can read it. To let another device in:")
            try console.say(style.bold("  ferry invite \(Wording.shellWord(argument.database))"))
        } else {
            let place = PlaceElsewhere(report.path)
            try console.say(
                "Open: everybody who \(place.isRemote ? "may use the storage" : "has the folder") can read and change all of it."
            )
            try console.say("On each other device\(place.isRemote ? "" : ", once the folder has arrived there"):")
            try console.say(style.bold("  ferry join \(Wording.shellWord(databaseName)) \(place.word)"))
        }
        try console.say("Here and there, to keep both in step:")
        try console.say(style.bold("  ferry watch \(Wording.shellWord(argument.database))"))
        try console.say("Every program that writes meanwhile waits for its turn with: PRAGMA busy_timeout = 5000")
        try console.say("One that reads before it writes in a transaction also needs: BEGIN IMMEDIATE")
        console.detail("Device \(report.device.id), container \(report.container.id).")
    }

    private func reportCoreData(_ report: InitReport, _ console: Console) throws {
        guard let advice = report.coreData else { return }
        try console.say()
        try console.say(
            console.style.bold("This is a store of Core Data's.")
                + " \(Wording.list(advice.staying)) belong to this file and "
                + "stay here: let Core Data make the store on each device before it joins.")
        if !advice.triggers.isEmpty {
            try console.say(
                "Core Data counts in Z_PRIMARYKEY which keys it gave, and rows from other devices take keys too. Before the "
                    + "others join, and in the store of each, make these triggers; else new rows meet taken keys:")
            for trigger in advice.triggers { try console.say(console.style.bold("  \(trigger)")) }
        }
        try console.say(
            "Core Data declares no foreign key. Each relationship needs its `--reference`, as in ZNOTE.ZFOLDER=ZFOLDER: "
                + "without it a column's keys mean other rows on other devices.")
    }

    private func reportReferences(_ report: InitReport, _ console: Console) throws {
        for reference in report.references where !reference.isTranslated {
            try console.say()
            try console.say(
                "The keys of \(reference.parent) are the same on every device, so the values of "
                    + "\(reference.table).\(reference.column) travel as they are.")
        }
        if report.hints.isEmpty { return }
        try console.say()
        try console.say(
            console.style.yellow("These columns look like references, and no foreign key declares them.")
                + " Their integers travel as they are, and other devices may number those rows otherwise. If they are "
                + "references, run `ferry leave`, remove the container, and make it again with")
        for hint in report.hints {
            let option = Wording.shellWord("\(hint.table).\(hint.column)") + "=" + Wording.shellWord(hint.parent)
            try console.say(console.style.bold("  --reference \(option)"))
        }
    }

    /// The person's command, without options.
    private var command: String {
        "ferry init \(Wording.shellWord(argument.database)) \(Wording.shellWord(folder.container))"
    }

    /// The database's file name, as good a proposal as any for the remaining devices.
    private var databaseName: String {
        argument.database.split(separator: "/").last.map(String.init) ?? argument.database
    }
}

/// The device's name for people.
struct DeviceNameOption: ParsableArguments {
    @Option(help: "What this device is called on the others. Without it, the computer's name.")
    var name: String?
}

/// The travelling tables and the local tables, for `init`, `join` and `status`.
struct TableListing {
    let tables: [StatusReport.Table]
    let leftOut: [StatusReport.LeftOut]

    init(_ tables: [StatusReport.Table], _ leftOut: [StatusReport.LeftOut]) {
        self.tables = tables
        self.leftOut = leftOut
    }

    func say(_ console: Console) throws {
        for line in lines(console) { try console.say(line) }
    }

    func lines(_ console: Console) -> [String] {
        var travelling = TextTable("Travels", "Rows#", "Known by")
        for table in tables where table.isHere {
            travelling.add(table.name, Wording.grouped(table.objects), table.identity)
        }
        var lines = [""] + travelling.lines(console.style)
        let left = Set(leftOut.map { foldedName($0.name) })
        let missing = tables.filter { !$0.isHere && !left.contains(foldedName($0.name)) }
        if !missing.isEmpty {
            var elsewhere = TextTable("Not here", "Rows#", "Why")
            for table in missing {
                elsewhere.add(
                    table.name, Wording.grouped(table.objects),
                    "only other devices have this table; its rows are shown once the app makes it")
            }
            lines += [""] + elsewhere.lines(console.style)
        }
        if !leftOut.isEmpty {
            var staying = TextTable("Stays here", "Why")
            for table in leftOut { staying.add(table.name, table.reason) }
            lines += [""] + staying.lines(console.style)
        }
        return lines
    }
}

/// The foreign keys that may have no parent row, for `init`, `join`, `status` and `verify`.
struct PlainReferenceListing {
    let references: [PlainReference]

    init(_ references: [PlainReference]) { self.references = references }

    func say(_ console: Console) throws {
        for line in lines(console.style) { try console.say(line) }
    }

    func lines(_ style: Style) -> [String] {
        if references.isEmpty { return [] }
        var table = TextTable("Plain reference", "To", "Why")
        for reference in references {
            let columns = reference.columns.joined(separator: ", ")
            table.add("\(reference.table)(\(columns))", reference.parent, reference.reason)
        }
        return [""] + table.lines(style)
    }
}

/// Rows that stay behind because nothing distinguishes them.
enum RowsWithoutKey {
    static func warn(_ count: Int, _ console: Console) {
        if count == 0 { return }
        console.warn(
            Wording.count(count, "row has", "rows have")
                + " a NULL in the primary key and cannot travel. Give them a key, and they will.")
    }
}
