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

            A table whose schema needs a collation or a function of the app's own cannot be looked at here. It is named, all \
            others are looked at, and the exit status is 69 where nothing is wrong in those. `Replica.verify` in the app looks at all.

            A row may differ because somebody wrote it without a trigger: sqlite3_blob_write, an edited schema, a page \
            that was restored. --take takes such rows as changes of this device, which the next sync sends, and then \
            looks deep. Where it is not known which column was written, the whole row travels as written just after its \
            former values, so that nothing that others wrote since is overwritten.

            JSON: {"integrity": [text], "foreignKeys": [{"table", "rowID", "parent"}], "plainReferences": [{"table", \
            "columns", "parent", "reason"}], "deep", "tables": [{"name", \
            "objects", "rows"}], "unchecked": [{"table", "reason"}], "differences": [{"table", "row", "kind", "column", \
            "problem", "remedy"}], "differenceCount", "remedies": [text], \
            "takenTables": [{"table", "changed", "inserted", "deleted", "gone"}] with --take, "durationMilliseconds"}, and "error" where \
            something is wrong or not everything was looked at. "kind" is missingRow, needlessRow, unknownRow, value, lostValue, \
            check, digest, identity or mark; a remedy is replaceFile, reindex, sync, take, mend, rejoin or checkInApp.

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
        var report = try ProgressBar.during(console) { try replica.verify(deep: deep || take, progress: $0) }
        report.takenTables = taken
        if console.isJSON {
            try console.emit(ReportWithError(report: report, error: VerificationPage(report).failure))
        } else {
            for line in VerificationPage(report).lines(console.style) { try console.answer(line) }
            if report.isReadable { try PlainReferenceListing(report.plainReferences).say(console) }
        }
        if let failure = VerificationPage(report).failure { throw ExitCode(ExitStatus(failure.code).rawValue) }
        try console.say(VerificationPage(report).success(console.style))
    }
}

/// A verification's findings, as text. A pure function of the report.
struct VerificationPage {
    let report: VerificationReport

    init(_ report: VerificationReport) { self.report = report }

    /// The failure behind the exit status; `nil` if everything was looked at and nothing is wrong.
    var failure: FerryError? {
        if report.isSound { return nil }
        let message = ([verdict] + report.remedies.map(\.advice)).joined(separator: " ")
        return FerryError(report.hasFindings ? .verificationFailed : .notAllVerified, message)
    }

    private var verdict: String {
        if report.hasFindings {
            let count = report.integrity.count + report.foreignKeys.count + report.differenceCount
            return Wording.count(count, "thing is not as it", "things are not as they") + " should be."
        }
        let tables = Wording.count(report.unchecked.count, "table")
        return "Not everything in \(tables) was checked. Nothing wrong was found in the rest."
    }

    func success(_ style: Style) -> String {
        // Tables of Ferry's own are compared too, and are no news.
        let tables = report.tables.filter { !isFerryName($0.name) }
        let rows = tables.reduce(0) { $0 + $1.objects }
        let what =
            report.deep
            ? "The file is sound, and \(Wording.count(rows, "row")) in \(Wording.count(tables.count, "table")) "
                + "\(rows == 1 ? "shows what it" : "show what they") should."
            : "The file is sound, and every foreign key leads somewhere."
        return style.green(what) + " (\(Wording.duration(milliseconds: report.durationMilliseconds)))"
    }

    /// The rows taken as changes; no lines if nobody asked for `--take`.
    private func takenLines(_ style: Style) -> [String] {
        guard let taken = report.takenTables else { return [] }
        if taken.isEmpty { return ["There was nothing to take: every row is what the state says."] }
        var table = TextTable("Taken", "Changed#", "New#", "Deleted#", "Left#")
        for one in taken {
            table.add(
                one.table, Wording.grouped(one.changed), Wording.grouped(one.inserted), Wording.grouped(one.deleted),
                Wording.grouped(one.gone))
        }
        return table.lines(style) + ["`ferry sync` sends them.", ""]
    }

    /// The rows taken, and the faults found; no lines if there are none.
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
        if !report.unchecked.isEmpty {
            var table = TextTable("Not checked", "Why")
            for one in report.unchecked { table.add(one.table, one.reason) }
            lines += [""] + table.lines(style)
        }
        return lines + [""] + report.remedies.map(\.advice)
    }
}
