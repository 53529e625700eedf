import ArgumentParser
import Ferry
import FerryMirror

/// `ferry sync`.
struct SyncCommand: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Send and receive what is new, once.",
        discussion: """
            Local changes are packed and published, those of other devices are merged, in one pass both ways. A device \
            whose files have not all arrived yet waits, and is named as a warning; nobody else waits for it, and the \
            exit status is 0. Where a file of a device is damaged, foreign or of a newer format, everything else is \
            synced, that device waits, and the exit status is 65.

            A database that was copied, or restored from a backup, is recognised: it goes on as a device of its own, and \
            nothing is lost.

            JSON: {"published": {"segments", "changes"}, "replayed": {"segments", "changes"}, "hidden", "conflicts", \
            "waiting": [{"device", "reason", "code", "sinceMilliseconds", "file"}], \
            "tablesApart": [{"table", "here", "there", "devices"}] (only where there are some), \
            "waitingTables": [{"table", "rows", "unpacked", "missing"}] (only where there are some), "renewed": {"reason", "formerDevice", "device", "sentAgain"} (only then), "compaction" (as `compact` tells it, only then), "admitted": [id], "copies": [{"id", "of", "admittedMilliseconds"}], "claims", "held" (of sealed containers, only then), "mirrors" (those that rest, or leave something out of step), "durationMilliseconds"}

            Examples:
              ferry sync music.sqlite
              ferry sync music.sqlite --json | jq .replayed.changes
            """)

    @OptionGroup var argument: DatabaseArgument
    @OptionGroup var path: GeneralPathOption
    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        let start = ReplicaEnvironment.live.clock.milliseconds()
        let replica = try Replica(path: argument.database)
        path.apply(to: replica)
        var mirrors = MirrorSync()
        _ = try mirrors.run(replica, of: argument.database, settles: true, console)
        var report = try ProgressBar.during(console) { progress in
            var report = try replica.sync(progress: progress)
            // A pass fetches a part of the wanted documents.
            while report.documents?.remaining ?? 0 > 0 {
                let rest = try replica.sync(isThorough: false, progress: progress)
                report.add(rest)
                if rest.documents?.fetched ?? 0 == 0 { break }
            }
            return report
        }
        if try mirrors.run(replica, of: argument.database, settles: false, console) {
            report.add(try replica.sync(isThorough: false))
        }
        // The command's whole time: the mirrors take a part of it.
        report.durationMilliseconds = ReplicaEnvironment.live.clock.milliseconds() - start
        if console.isJSON {
            let left = try Mirrors(replica).list().filter(\.leavesSomething).map { MirrorJSON($0) }
            try console.emit(
                ReportWithFailure(report: report, waiting: report.waiting, mirrors: left.isEmpty ? nil : left))
        } else {
            if let renewed = report.renewed { try console.say(renewed.sentence) }
            try console.say(
                SyncSentence.of(report, console.style)
                    + " (\(Wording.duration(milliseconds: report.durationMilliseconds)))")
        }
        if let held = report.held { console.warn("Nothing is published for now: \(held)") }
        try MembershipNews.tell(report, of: argument.database, console)
        if report.compaction?.mended ?? false { console.warn(CompactionPage.mended) }
        for reason in report.compaction?.skipped ?? [] { console.warn(reason) }
        TablesApart.warn(report.tablesApart ?? [], console)
        for table in report.waitingTables ?? [] { console.warn(table.problem) }
        if report.waitingTables != nil { console.hint(WaitingTable.advice) }
        try WaitingDevices.tell(report.waiting, of: argument.database, console)
    }
}

/// A pass's effect, in a sentence or two.
enum SyncSentence {
    static func of(_ report: SyncReport, _ style: Style) -> String {
        var parts: [String] = []
        if report.published.changes > 0 { parts.append("sent \(Wording.count(report.published.changes, "change"))") }
        if report.replayed.changes > 0 { parts.append("received \(Wording.count(report.replayed.changes, "change"))") }
        if let documents = report.documents {
            if documents.publishedBytes > 0 {
                parts.append("sent \(Wording.bytes(documents.publishedBytes)) of documents")
            }
            if documents.fetched > 0 {
                parts.append(
                    "fetched \(Wording.count(documents.fetched, "document")) (\(Wording.bytes(documents.fetchedBytes)))"
                )
            }
        }
        var text: String
        if parts.isEmpty {
            // Only `status` compares the devices, so only `status` says "in step".
            text = "Nothing new."
        } else {
            text = Wording.list(parts) + "."
            text = style.green(text.prefix(1).uppercased() + text.dropFirst())
        }
        if report.conflicts > 0 {
            text +=
                " " + style.yellow(Wording.count(report.conflicts, "conflict")) + "; `ferry conflicts` shows what lost."
        }
        if report.hidden > 0 {
            text += " \(Wording.count(report.hidden, "row is", "rows are")) hidden; `ferry conflicts` shows them."
        }
        return text
    }
}

/// Tables with a different primary key on further devices.
enum TablesApart {
    /// Warns of each.
    static func warn(_ tables: [TableApart], _ console: Console) {
        for table in tables { console.warn(table.problem) }
        if !tables.isEmpty { console.hint(TableApart.advice) }
    }
}

/// Devices with logs that cannot be replayed further for now.
enum WaitingDevices {
    /// Warns of each.
    /// - Parameter isLast: true if the command ends with the status of a damaged file.
    static func warn(_ waiting: [SyncReport.Waiting], _ console: Console, isLast: Bool = false) {
        let now = ReplicaEnvironment.live.clock.milliseconds()
        for one in waiting {
            let age = Wording.waiting(sinceMilliseconds: one.sinceMilliseconds, now: now)
            console.warn("\(one.device): \(one.reason)\(age)", isReason: isLast && one.isDamage)
        }
    }

    /// Warns of each device, and ends the command if time alone will not help: a file is damaged, foreign or too new.
    static func tell(_ waiting: [SyncReport.Waiting], of database: String, _ console: Console) throws {
        warn(waiting, console, isLast: true)
        guard let code = waiting.first(where: \.isDamage)?.code else { return }
        console.hint("`ferry doctor \(Wording.shellWord(database))` says what to do.")
        throw ExitCode(ExitStatus(FerryError.Code(rawValue: code)).rawValue)
    }
}

/// A report and, if a device's log is at fault, the failure behind the exit status.
struct ReportWithFailure<Report: Encodable>: Encodable {
    let report: Report
    let waiting: [SyncReport.Waiting]
    /// The mirrors that rest, or that leave something out of step; `nil` without any.
    var mirrors: [MirrorJSON]?

    private enum CodingKeys: String, CodingKey { case error, mirrors }

    func encode(to encoder: any Encoder) throws {
        try report.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(mirrors, forKey: .mirrors)
        guard let faulty = waiting.first(where: \.isDamage) else { return }
        let failure = FerryError(FerryError.Code(rawValue: faulty.code), "\(faulty.device): \(faulty.reason)")
        try container.encode(FailureReport(failure).error, forKey: .error)
    }
}
