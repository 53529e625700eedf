import ArgumentParser
import Ferry

/// `ferry verify`.
struct VerifyCommand: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Look whether the database is sound.",
        discussion: """
            Asks SQLite whether the file is sound and every foreign key leads somewhere, but for plain references, which \
            it lists. With --deep, computes every row anew from the state that Ferry keeps and names what differs; changes that wait are packed first. Mends \
            nothing. The container is not needed. Exit status 65 where something is wrong.

            A row may differ because somebody wrote it without a trigger: sqlite3_blob_write, an edited schema, a page \
            that was restored. --take takes such rows as changes of this device, which the next sync sends, and then \
            looks deep. Where it is not known which column was written, the whole row travels as written just after its \
            former values, so that nothing that others wrote since is overwritten.

            JSON: {"integrity": [text], "foreignKeys": [{"table", "rowID", "parent"}], "plainReferences": [{"table", \
            "columns", "parent", "reason"}], "deep", "tables": [{"name", \
            "objects", "rows"}], "differences": [{"table", "key", "kind", "column", "problem"}], "differenceCount", \
            "taken": [{"table", "changed", "inserted", "deleted", "left"}] with --take, "seconds"}, and "error" where \
            something is wrong. "kind" is missingRow, needlessRow, unknownRow, value, lostValue, check, digest or mark.

            Examples:
              ferry verify music.sqlite
              ferry verify music.sqlite --deep --json | jq '.differences[] | .table'
              ferry verify music.sqlite --take
            """)

    @OptionGroup var argument: DatabaseArgument

    @Flag(help: "Compute all rows anew from the state, and compare.")
    var deep = false

    @Flag(help: "Take rows that are not what the state says as changes of this device, and look deep.")
    var take = false

    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        let replica = try Replica(path: argument.database)
        let taken = take ? try replica.takeUnseenWrites() : nil
        var report = try replica.verify(deep: deep || take)
        report.taken = taken
        if console.isJSON {
            try console.emit(ReportWithError(report: report, error: VerificationPage(report).failure))
        } else {
            for line in VerificationPage(report).lines(console.style) { try console.answer(line) }
            if report.integrity.isEmpty { try PlainReferenceListing(report.plainReferences).say(console) }
        }
        if !report.isSound { throw ExitCode(ExitStatus.badData.rawValue) }
        try console.say(VerificationPage(report).success(console.style))
    }
}

/// What a verification found, as text. A pure function of the report.
struct VerificationPage {
    let report: VerificationReport

    init(_ report: VerificationReport) { self.report = report }

    /// The failure that the exit status tells of; `nil` where nothing is wrong.
    var failure: FerryError? { report.isSound ? nil : FerryError(.verificationFailed, verdict) }

    private var verdict: String {
        if !report.integrity.isEmpty {
            return "SQLite finds the file damaged. Move it aside, and run `ferry join` with a new one."
        }
        let count = report.foreignKeys.count + report.differenceCount
        return Wording.count(count, "thing is not as it", "things are not as they")
            + " should be. "
            + (report.mayBeTaken
                ? "If this database's rows are right, `ferry verify --take` sends them as changes. Otherwise, and if the "
                    + "other devices are sound, move this file aside and run `ferry join` with a new one."
                : "If the other devices are sound, move this file aside and run `ferry join` with a new one.")
    }

    func success(_ style: Style) -> String {
        let objects = report.tables.reduce(0) { $0 + $1.objects }
        let what =
            report.deep
            ? "The file is sound, and \(Wording.count(objects, "object")) in "
                + "\(Wording.count(report.tables.count { $0.objects > 0 }, "table")) show what they should."
            : "The file is sound, and every foreign key leads somewhere."
        return style.green(what) + " (\(Wording.duration(report.seconds)))"
    }

    /// What was taken as changes; nothing where nobody asked for that.
    private func takenLines(_ style: Style) -> [String] {
        guard let taken = report.taken else { return [] }
        if taken.isEmpty { return ["There was nothing to take: every row is what the state says."] }
        var table = TextTable("Taken", "Changed#", "New#", "Deleted#", "Left#")
        for one in taken {
            table.add(
                one.table, Wording.grouped(one.changed), Wording.grouped(one.inserted), Wording.grouped(one.deleted),
                Wording.grouped(one.left))
        }
        return table.lines(style) + ["`ferry sync` sends them.", ""]
    }

    /// What was taken, and what is wrong; nothing where nothing is.
    func lines(_ style: Style) -> [String] {
        var lines = takenLines(style)
        if report.isSound { return lines }
        lines.append(style.red(verdict))
        if !report.integrity.isEmpty { lines += [""] + report.integrity.map { "  " + $0 } }
        if !report.foreignKeys.isEmpty {
            var table = TextTable("Table", "Row", "Refers to nothing in")
            for one in report.foreignKeys { table.add(one.table, one.rowID.map { "\($0)" } ?? "", one.parent) }
            lines += [""] + table.lines(style)
        }
        if !report.differences.isEmpty {
            var table = TextTable("Table", "Key", "What is wrong")
            for one in report.differences { table.add(one.table, one.key, one.problem) }
            lines += [""] + table.lines(style)
            let rest = report.differenceCount - report.differences.count
            if rest > 0 { lines.append("  and \(Wording.grouped(rest)) more") }
        }
        return lines
    }
}
