import ArgumentParser
import Ferry
import FerryMirror

/// `ferry doctor`.
struct DoctorCommand: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Say in plain words what is wrong with database and folder, and what to do.",
        usage: "ferry doctor <database> [--repair] [--general-path] [<options>]",
        discussion: """
            Looks at every row as `ferry verify --deep` does, and reads every file of the container; changes that wait are \
            packed first. In a storage, packs of documents are looked at by name and length; --repair reads them. With \
            --repair, mends what can be mended without a risk: a missing or damaged head of this device, files of its own \
            log that are gone or damaged, packs of documents whose bytes this device has. Everything else is for a person \
            to decide. Exit status 65 where something is broken that was not repaired.

            JSON: {"examined": [text], "findings": [{"severity", "subject", "problem", "advice", "file", \
            "canBeRepaired", "isRepaired", "sinceMilliseconds"}], "durationMilliseconds"}, and "error" where something is broken. \
            "severity" is fault, warning or note; "subject" is database, folder, documents, mirror or a device's name.

            Examples:
              ferry doctor music.sqlite
              ferry doctor music.sqlite --repair
              ferry doctor music.sqlite --json | jq '.findings[] | select(.severity == "fault")'
            """)

    @OptionGroup var argument: DatabaseArgument

    @Flag(help: "Mend what can be mended without a risk.")
    var repair = false

    @OptionGroup var path: GeneralPathOption
    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        let replica = try Replica(path: argument.database)
        path.apply(to: replica)
        var report = try ProgressBar.during(console) { try replica.examine(isRepairing: repair, progress: $0) }
        try MirrorExamination(replica).run(&report)
        let page = DoctorPage(report, now: ReplicaEnvironment.live.clock.milliseconds(), hasRepaired: repair)
        if console.isJSON {
            try console.emit(ReportWithError(report: report, error: page.failure))
        } else {
            for line in page.lines(console.style) { try console.answer(line) }
        }
        if !report.isHealthy { throw ExitCode(ExitStatus.badData.rawValue) }
    }
}

/// An examination's findings, as text. A pure function of the report and the time.
struct DoctorPage {
    let report: DoctorReport
    let now: Int64
    /// True if a repair was requested: then the findings left are for a person.
    let hasRepaired: Bool

    init(_ report: DoctorReport, now: Int64, hasRepaired: Bool = false) {
        self.report = report
        self.now = now
        self.hasRepaired = hasRepaired
    }

    /// The failure behind the exit status; `nil` if nothing is broken.
    var failure: FerryError? {
        report.isHealthy ? nil : FerryError(.verificationFailed, verdict)
    }

    private var verdict: String {
        let faults = report.findings.filter { $0.severity == .fault && !$0.isRepaired }.count
        return Wording.count(faults, "thing is broken", "things are broken") + "."
    }

    func lines(_ style: Style) -> [String] {
        var lines = [
            "Examined \(Wording.list(report.examined)). (\(Wording.duration(milliseconds: report.durationMilliseconds)))"
        ]
        for finding in report.findings { lines += [""] + self.lines(finding, style) }
        let repairable = !hasRepaired && report.findings.contains { $0.canBeRepaired && !$0.isRepaired }
        lines.append("")
        if report.isHealthy {
            let isClean = !report.findings.contains { $0.severity != .note }
            lines.append(style.green(isClean ? "Everything is well." : "Nothing is broken."))
        } else {
            lines.append(style.red(verdict) + (repairable ? " `ferry doctor --repair` mends a part of it." : ""))
        }
        return lines
    }

    private func lines(_ finding: DoctorReport.Finding, _ style: Style) -> [String] {
        let mark =
            switch finding.severity {
            case _ where finding.isRepaired: style.green("repaired")
            case .fault: style.red("fault")
            case .warning: style.yellow("warning")
            case .note: style.dim("note")
            }
        let age = Wording.waiting(sinceMilliseconds: finding.sinceMilliseconds, now: now)
        var lines = ["\(mark)  \(style.bold(finding.subject)): \(finding.problem)\(age)"]
        if !finding.isRepaired { lines.append("    " + finding.advice) }
        if let file = finding.file { lines.append("    " + style.dim(file)) }
        return lines
    }
}
