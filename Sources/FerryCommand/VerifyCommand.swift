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

            JSON: {"integrity": [text], "foreignKeys": [{"table", "rowID", "parent"}], "plainReferences": [{"table", \
            "columns", "parent", "reason"}], "deep", "tables": [{"name", \
            "objects", "rows"}], "differences": [{"table", "key", "kind", "column", "problem"}], "differenceCount", \
            "seconds"}, and "error" where something is wrong. "kind" is missingRow, needlessRow, unknownRow, value, \
            lostValue, check, digest or mark.

            Examples:
              ferry verify music.sqlite
              ferry verify music.sqlite --deep --json | jq '.differences[] | .table'
            """)

    @OptionGroup var argument: DatabaseArgument

    @Flag(help: "Compute all rows anew from the state, and compare.")
    var deep = false

    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        let report = try Replica(path: argument.database).verify(deep: deep)
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
            + " should be. If the other devices are sound, move this file aside and run `ferry join` with a "
            + "new one."
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

    /// What is wrong; nothing where nothing is.
    func lines(_ style: Style) -> [String] {
        if report.isSound { return [] }
        var lines = [style.red(verdict)]
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
