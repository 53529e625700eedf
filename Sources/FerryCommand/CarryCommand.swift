import ArgumentParser
import Ferry
import FerryContainer

/// `ferry carry`.
struct CarryCommand: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "carry",
        abstract: "Copy a container between two places, and keep both alike.",
        usage: "ferry carry <from> <to> [--watch | --dry-run] [<options>]",
        discussion: """
            Copies what either place lacks, both ways: a folder, a bucket (s3://…), a remote of rclone's (rclone:…), in any pairing. A place without a container gets one. \
            No database is needed and no key: a sealed container goes through as it is. No file's content changes, and every \
            file is checked before it is copied. What is damaged stays behind and is named.

            To move a container: carry, tell each device (`ferry relocate`), carry once more, remove the old place. To let some devices \
            use a folder and some a bucket, run `ferry carry --watch` on a computer that reaches both. Devices may go on meanwhile in \
            both places. An interrupted copy goes on when it is repeated, and nobody can join the new place before it is whole.

            What a device removed in its place, as `ferry compact` does, is removed from the other place after an hour. Nothing else is \
            removed.

            --endpoint, --region, --profile, --style, --ca-file and --plain-http are for the place in a bucket. With two buckets, write \
            them into the locations: 's3://bucket/music?endpoint=https://objects.example.net'.

            JSON: {"from", "to", "there": {"files", "bytes"}, "back": {"files", "bytes"}, "removed", "leftBehind": [{"path", "code", \
            "reason"}], "openTimeFiles", "deviceCount", "isNew", "dryRun", "durationMilliseconds"}. With --watch an object per line: {"event": "started"}, \
            {"event": "carried", …}, {"event": "failed", "error": {…}}, {"event": "stopped"}.

            Examples:
              ferry carry ~/Sync/music s3://music-bucket/music
              ferry carry ~/Sync/music s3://music-bucket/music --endpoint https://objects.example.net --watch
              ferry carry s3://music-bucket/music /media/stick/music

            Exit status 65 where a file was left behind, 69 where a place cannot be reached, holds no container or another one, 73 \
            where the second place has devices of an unknown container, 77 where the storage refuses.
            """)

    @Argument(help: "Where the container is: a folder, s3://bucket/path or rclone:remote:path.", completion: .directory)
    var from: String

    @Argument(help: "Where to carry it: a folder, s3://bucket/path or rclone:remote:path.", completion: .directory)
    var to: String

    @OptionGroup var bucket: BucketOptions

    @Flag(help: "Stay, and keep both places alike until Ctrl-C.")
    var watch = false

    @Flag(help: "Only say what would be copied.")
    var dryRun = false

    @OptionGroup var output: OutputOptions

    func validate() throws {
        if from.isEmpty || to.isEmpty {
            throw ValidationError("Name two places: where the container is, and where to carry it.")
        }
        if watch, dryRun { throw ValidationError("--watch and --dry-run contradict each other. Choose one.") }
        let areBuckets = [from, to].map { $0.lowercased().hasPrefix("s3://") }
        if bucket.areSaid, areBuckets == [true, true] {
            throw ValidationError(
                "With two buckets, write what belongs to each into its location: s3://bucket/music?region=…")
        }
        for (place, isBucket) in zip([from, to], areBuckets) {
            let options = isBucket || areBuckets == [false, false] ? bucket : BucketOptions.none
            try options.check(place)
        }
    }

    private func text(_ place: String) throws -> String {
        let isBucket = place.lowercased().hasPrefix("s3://")
        return try (isBucket ? bucket : BucketOptions.none).location(of: place).text
    }

    func perform(_ console: Console) throws {
        let carrier = try Carrier(from: text(from), to: text(to))
        if watch { return try stay(carrier, console) }
        let report = try ProgressBar.during(console) { try carrier.carry(dryRun: dryRun, progress: $0) }
        let sentence = CarrySentence(report)
        if console.isJSON {
            try console.emit(report)
        } else {
            try console.say(sentence.text(console.style))
            sentence.warn(console)
        }
        if !report.leftBehind.isEmpty { throw ExitCode(ExitStatus.badData.rawValue) }
    }

    private func stay(_ carrier: Carrier, _ console: Console) throws {
        let output = LoopOutput(console)
        let reporter = CarryReporter(output: output)
        let loop = CarryLoop(carrier) { event in reporter.tell(event) }
        let signals = TerminationSignals { loop.stop() }
        loop.run()
        signals.cancel()
    }
}

/// The words for a carry's result.
struct CarrySentence {
    private let report: CarryReport

    init(_ report: CarryReport) { self.report = report }

    func text(_ style: Style) -> String {
        let places = "\(report.from) and \(report.to)"
        guard report.hasNews else {
            return report.leftBehind.isEmpty
                ? "\(places) hold the same: nothing to copy." : "\(places): nothing else to copy."
        }
        let verb = report.isDryRun ? "Would copy" : "Copied"
        var parts: [String] = []
        if report.there.files > 0 { parts.append("\(amount(report.there)) to \(report.to)") }
        if report.back.files > 0 { parts.append("\(amount(report.back)) to \(report.from)") }
        var sentences = parts.isEmpty ? [] : [style.green("\(verb) \(parts.joined(separator: " and ")).")]
        if report.removed > 0 {
            sentences.append("Removed \(Wording.count(report.removed, "file")) that nobody reads any more.")
        }
        if report.isNew, !report.isDryRun { sentences.append("The container is there now.") }
        return sentences.joined(separator: " ") + " (\(Wording.duration(milliseconds: report.durationMilliseconds)))"
    }

    private func amount(_ way: CarryReport.Way) -> String {
        Wording.count(way.files, "file") + (report.isDryRun ? "" : ", \(Wording.bytes(way.bytes)),")
    }

    /// Names the files left behind.
    func warn(_ console: Console) {
        if let files = report.openTimeFiles {
            console.hint(
                "\(Wording.count(files, "file")) of the time before the container was sealed \(files == 1 ? "stays where it is" : "stay where they are"). "
                    + "`ferry enrol` on their devices sends the changes again; `ferry seal … --clean` removes the files."
            )
        }
        for file in report.leftBehind { console.warn("Left behind: \(file.path). \(file.reason)") }
    }
}

/// Reports the events of `ferry carry --watch`.
private struct CarryReporter {
    let output: LoopOutput
    private var console: Console { output.console }

    func tell(_ event: CarryEvent) { output.tell { try console.isJSON ? emit(event) : say(event) } }

    private func emit(_ event: CarryEvent) throws {
        switch event {
        case .started: try output.emit("started")
        case .carried(let report): try output.emit("carried", report)
        case .failed(let error): try output.emit(failed: error)
        case .stopped: try output.emit("stopped")
        }
    }

    private func say(_ event: CarryEvent) throws {
        switch event {
        case .started: try console.say("Keeping both places alike. Press Ctrl-C to end.")
        case .carried(let report):
            try console.say("\(output.time) \(CarrySentence(report).text(console.style))")
            CarrySentence(report).warn(console)
        case .failed(let error): output.warn("\(error)")
        case .stopped: try console.say("\(output.time) Ended.")
        }
    }
}
