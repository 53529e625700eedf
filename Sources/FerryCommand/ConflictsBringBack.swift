import ArgumentParser
import Ferry

/// `ferry conflicts … bring-back`.
struct ConflictsBringBack: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "bring-back",
        abstract: "Bring back rows that are “not here”, or delete them everywhere.",
        usage: "ferry conflicts <database> bring-back [<table>] [--delete] [<options>]",
        discussion: """
            Where a table was dropped or emptied without a deletion, its rows stay on the other devices, and `ferry status` counts \
            them as “not here”. Their values are read from the logs and snapshots in the container. The rows come back as \
            ordinary changes that the next sync sends. With --delete they are deleted again, which deletes them on all devices.

            JSON: {"tables": [{"table", "rows", "unsettled", "reason"}], "gaps": [{"device", "reason"}]}. "rows" came back, or \
            were deleted; "unsettled" are still not here, and "reason" says why of the first.

            Examples:
              ferry conflicts music.sqlite bring-back
              ferry conflicts music.sqlite bring-back song --delete

            Exit status 1 where no row is “not here”; 65 where a row cannot be brought back.
            """)

    @OptionGroup var argument: DatabaseArgument
    @Argument(help: "Rows of this table alone.") var table: String?
    @Flag(help: "Delete the rows on all devices.") var delete = false
    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        let report = try Replica(path: argument.database).bringBackRows(ofTable: table, isDeleting: delete)
        if report.tables.isEmpty {
            throw FerryError(
                .nothingFound, table.map { "No row of \($0) is “not here”." } ?? "No row is “not here”.")
        }
        let left = report.tables.reduce(0) { $0 + $1.left }
        let failure =
            left == 0
            ? nil
            : FerryError(
                .restoreRefused,
                "\(Wording.count(left, "row is", "rows are")) still not here. \(report.tables.compactMap(\.reason).first ?? "")"
            )
        if console.isJSON {
            try console.emit(ReportWithError(report: report, error: failure))
        } else {
            for table in report.tables where table.rows > 0 {
                let rows = Wording.count(table.rows, "row")
                try console.say("\(table.table): \(rows) \(delete ? "deleted" : "brought back").")
            }
            if let failure { console.warn(failure.message, isReason: true) }
        }
        for gap in report.gaps { console.warn("\(gap.device): \(gap.reason) What it wrote may be missing.") }
        if let failure { throw ExitCode(ExitStatus(failure.code).rawValue) }
        console.hint("`ferry sync \(Wording.shellWord(argument.database))` sends it.")
    }
}
