import ArgumentParser
import Ferry

/// `ferry compact`.
struct CompactCommand: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact",
        abstract: "Make this device's files in the container fewer and smaller, now.",
        discussion: """
            `sync` and `watch` do the same by themselves whenever there is enough to do. Small segments are put together \
            into larger ones. Where the log has outgrown the data, a snapshot is published. What every active device has \
            replayed and a snapshot holds is removed, and so are the traces of deleted rows that everybody knows of. A \
            device that was silent for 60 days, or was retired, holds nothing back (`ferry devices`).

            A plan is written down first, so that an interruption at any point does no harm: the next run goes on.

            JSON: {"dryRun", "rolledUp": {"segments", "into"}, "snapshot": {"name", "bytes"}, "removedFiles": {"segments", \
            "bytes", "snapshots"}, "tombstones", "mended", "skipped": [text], "heldBackBy": [name], "segments", "bytes", \
            "durationMilliseconds"}. "segments" and "bytes" tell what this device's log takes now. "snapshot" is left out where none \
            is written. In a dry run "tombstones" counts all there are; some of them may have to stay.

            Examples:
              ferry compact music.sqlite --dry-run
              ferry compact music.sqlite --json | jq .removedFiles.bytes
            """)

    @OptionGroup var argument: DatabaseArgument

    @Flag(help: "Tell what would be done, and do nothing.")
    var dryRun = false

    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        let report = try Replica(path: argument.database).compact(isDryRun: dryRun)
        if console.isJSON {
            try console.emit(report)
        } else {
            for line in CompactionPage(report).lines(console.style) { try console.say(line) }
        }
        if report.mended { console.warn(CompactionPage.mended) }
        for reason in report.skipped { console.warn(reason) }
    }
}

/// A compaction as text: a pure function of the report.
struct CompactionPage {
    /// For `CompactionReport.mended`.
    static let mended =
        "Files that this device wrote were gone from the folder, or damaged. All that was in them is published again as a "
        + "whole, so the other devices can go on."

    let report: CompactionReport

    init(_ report: CompactionReport) { self.report = report }

    func lines(_ style: Style) -> [String] {
        var lines = steps.map { (report.dryRun ? "Would " + $0 : $0.prefix(1).uppercased() + $0.dropFirst()) + "." }
        if lines.isEmpty { lines.append(style.green("There is nothing to do.")) }
        let size = "\(Wording.count(report.segments, "file")), \(Wording.bytes(report.bytes))"
        lines.append("This device's log \(report.dryRun ? "takes" : "now takes") \(size).")
        if !report.heldBackBy.isEmpty {
            let names = Wording.list(report.heldBackBy)
            lines.append("More can go when \(names) \(report.heldBackBy.count == 1 ? "has" : "have") replayed it.")
        }
        return lines
    }

    /// The steps done, each with a verb at the beginning that also serves for a dry run.
    private var steps: [String] {
        var steps: [String] = []
        let rolled = report.rolledUp
        if rolled.into > 0 {
            steps.append("put \(Wording.count(rolled.segments, "file")) together into \(Wording.grouped(rolled.into))")
        }
        if let snapshot = report.snapshot {
            let size = snapshot.bytes.map { " (\(Wording.bytes($0)))" } ?? ""
            steps.append("\(report.dryRun ? "write" : "wrote") a snapshot of all rows\(size)")
        }
        let removed = report.removed
        let remove = report.dryRun ? "remove" : "removed"
        if removed.segments > 0 {
            steps.append(
                "\(remove) \(Wording.count(removed.segments, "file")) that nobody needs any more (\(Wording.bytes(removed.bytes)))"
            )
        }
        if removed.snapshots > 0 { steps.append("\(remove) \(Wording.count(removed.snapshots, "former snapshot"))") }
        if report.tombstones > 0 {
            let most = report.dryRun ? "forget up to " : "forgot "
            steps.append(most + Wording.count(report.tombstones, "deleted row"))
        }
        return steps
    }
}
