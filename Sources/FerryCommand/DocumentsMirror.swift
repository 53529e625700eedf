import ArgumentParser
import Ferry
import FerryDocuments
import FerryMirror

/// `ferry documents mirror`.
struct DocumentsMirror: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "mirror",
        abstract: "Keep a plain directory in step with the documents.",
        usage: """
            ferry documents <database> mirror [<directory>] [--prefer <side>]
            [--adopt] [--confirm-deletions | --bring-back | --stop] [<options>]
            """,
        discussion: """
            Makes the directory a mirror, and brings it and the documents into step. From then on `ferry sync` and `ferry watch` \
            do so. Without a directory the mirrors are listed.

            Rivals lie beside the file, as “report (conflict, phone 1 March 14.05).txt”. Deleting such a copy drops that version, \
            writing to it saves on top of it, renaming it makes it a document of its own. `.ferryignore` names what stays out, as \
            in git.

            Where most files are gone at once nothing is deleted before you say so. Exit status 65 then, and 69 where the \
            directory is away.

            Examples:
              ferry documents music.sqlite mirror ~/Papers
              ferry documents music.sqlite mirror
              ferry documents music.sqlite mirror ~/Papers --confirm-deletions
              ferry documents music.sqlite mirror ~/Papers --stop
            """)

    @OptionGroup var argument: DatabaseArgument
    @Argument(help: "The directory; it is made if need be.", completion: .directory) var directory: String?
    @Option(help: "Where a file and a document meet: both (versions), disk or documents.")
    var prefer: String?
    @Flag(help: "Take a directory that was another database's mirror, or begin anew.") var adopt = false
    @Flag(help: "The files that are gone are deleted.") var confirmDeletions = false
    @Flag(help: "The files that are gone come back.") var bringBack = false
    @Flag(help: "End the mirror. Files and documents stay.") var stop = false
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if [confirmDeletions, bringBack, stop].count(where: { $0 }) > 1 {
            throw ValidationError("Choose one of --confirm-deletions, --bring-back and --stop.")
        }
        if directory == nil, confirmDeletions || bringBack || stop || adopt || prefer != nil {
            throw ValidationError("Name the directory.")
        }
        if let prefer, IntakeWriter.Preference(rawValue: prefer) == nil {
            throw ValidationError("--prefer is both, disk or documents.")
        }
    }

    func perform(_ console: Console) throws {
        let mirrors = Mirrors(try Replica(path: argument.database))
        guard let directory else { return try MirrorPage.list(try mirrors.list(), console) }
        if stop {
            let mirror = try mirrors.mirror(in: directory)
            try mirrors.remove(mirror)
            if console.isJSON { return try console.emit(MirrorJSON(mirror, isStopped: true)) }
            return try console.say("\(Wording.oneLine(mirror.directory)) is no mirror any more. Its files stay.")
        }
        let preference = prefer.flatMap(IntakeWriter.Preference.init) ?? .both
        let mirror = try mirrors.add(directory, preferring: preference, adopting: adopt)
        let report = try ProgressBar.during(console) { progress in
            try mirrors.settle(
                mirror, held: confirmDeletions ? .confirm : bringBack ? .bringBack : .ask, progress: progress)
        }
        guard let report else {
            throw FerryError(
                .busy, "Another process keeps \(directory) in step at the moment. Nothing is to be done.",
                path: directory)
        }
        let held = report.held > 0 ? MirrorPage.held(report.held, mirror, argument.database) : nil
        if console.isJSON {
            try console.emit(ReportWithError(report: MirrorJSON(mirror, report), error: held))
        } else {
            try console.say(MirrorPage.sentence(report, mirror))
        }
        MirrorPage.warn(report, console)
        if let error = held {
            console.warn(error.message, isReason: true)
            throw ExitCode(ExitStatus(error.code).rawValue)
        }
    }
}

/// A mirror in the JSON output.
struct MirrorJSON: Encodable {
    struct Left: Encodable {
        var path: String
        var reason: String
    }

    var directory: String
    var taken: Int?
    var written: Int?
    var moved: Int?
    var removed: Int?
    /// How many files are gone and wait for a person's word.
    var gone: Int?
    /// Files in the middle of somebody's writing.
    var writing: Int?
    var conflicts: Int?
    /// Documents whose bytes are not on this device yet.
    var absent: Int?
    /// Documents that are not written, because something stands in their place. `left` names them.
    var blocked: Int?
    var left: [Left]?
    /// Documents shown under a changed name.
    var renamed: [Left]?
    var stopped: Bool?
    var sinceMilliseconds: Int64?
    var code: String?
    var reason: String?

    init(_ mirror: MirrorRecord, _ report: MirrorReport) {
        directory = mirror.directory
        (taken, written, moved, removed) = (report.taken, report.written, report.moved, report.removed)
        (gone, writing, conflicts) = (report.held, report.waiting, report.conflicts)
        (absent, blocked) = (report.missing, report.blocked.count)
        left = Self.left(report.blocked) + report.left.map { Left(path: $0.path, reason: $0.reason) }
        renamed = report.renamed.map { Left(path: $0.path, reason: $0.reason) }
    }

    private static func left(_ documents: [BlockedDocument]) -> [Left] {
        documents.map { Left(path: $0.path, reason: $0.reason) }
    }

    init(_ mirror: MirrorRecord, _ error: FerryError) {
        directory = mirror.directory
        (code, reason) = (error.code.rawValue, error.message)
    }

    init(_ mirror: MirrorRecord, isStopped: Bool? = nil) {
        directory = mirror.directory
        stopped = isStopped
        if isStopped != nil { return }
        gone = mirror.held
        let standing = mirror.standing
        (conflicts, absent, blocked) = (standing.rivals, standing.absent, standing.blocked)
        let stuck = standing.stuck.map { Left(path: $0.path, reason: $0.reason.words) }
        if !(standing.named.isEmpty && stuck.isEmpty) { left = Self.left(standing.named) + stuck }
        sinceMilliseconds = mirror.sinceMilliseconds
        code = mirror.problem?.code.rawValue
        reason = mirror.problem?.error().message
    }
}

/// Text and JSON about mirrors.
enum MirrorPage {
    private struct List: Encodable { var mirrors: [MirrorJSON] }

    static func list(_ mirrors: [MirrorRecord], _ console: Console) throws {
        if console.isJSON { return try console.emit(List(mirrors: mirrors.map { MirrorJSON($0) })) }
        if mirrors.isEmpty { return try console.answer("The database has no mirror on this device.") }
        let now = ReplicaEnvironment.live.clock.milliseconds()
        for mirror in mirrors {
            try console.answer(Wording.oneLine(mirror.directory))
            let age = Wording.waiting(sinceMilliseconds: mirror.sinceMilliseconds, now: now)
            if mirror.held > 0 {
                try console.answer("  rests: \(Wording.count(mirror.held, "file is", "files are")) gone\(age)")
            }
            if let problem = mirror.problem?.error() { try console.answer("  \(problem.message)\(age)") }
            let standing = mirror.standing
            for document in standing.named.prefix(named) {
                try console.answer("  not written: \(Wording.oneLine(document.path)): \(document.reason)")
            }
            for item in standing.stuck.prefix(named) {
                try console.answer("  left out: \(Wording.oneLine(item.path)): \(item.reason.words)")
            }
            let more = standing.blocked - min(standing.named.count, named)
            if more > 0 { try console.answer("  not written: \(Wording.count(more, "more document"))") }
            if standing.absent > 0 {
                try console.answer(
                    "  \(Wording.count(standing.absent, "document waits", "documents wait")) for their bytes")
            }
            if standing.rivals > 0 {
                try console.answer(
                    "  \(Wording.count(standing.rivals, "document has", "documents have")) rival versions beside")
            }
        }
    }

    /// Warns of a mirror that rests, or into which documents are not written.
    static func tellRest(_ mirror: MirrorRecord, _ database: String, _ console: Console) {
        let age = Wording.waiting(
            sinceMilliseconds: mirror.sinceMilliseconds, now: ReplicaEnvironment.live.clock.milliseconds())
        if mirror.held > 0 { console.warn(held(mirror.held, mirror, database).message + age) }
        if let problem = mirror.problem?.error() { console.warn(problem.message + age) }
        warnStanding(mirror, console)
    }

    /// Warns of documents that are not written, and of what cannot be brought into step.
    static func warnStanding(_ mirror: MirrorRecord, _ console: Console) {
        if mirror.standing.blocked > 0 {
            console.warn(mirror.standing.named.sentence(of: mirror.standing.blocked, in: mirror.directory))
        }
        warnStuck(mirror.standing.stuck, mirror, console)
    }

    static func warnStuck(_ items: [StuckItem], _ mirror: MirrorRecord, _ console: Console) {
        for sentence in items.sentences(in: mirror.directory) { console.warn(Wording.oneLine(sentence, limit: 500)) }
    }

    /// Warns of documents that are not written, because something stands in their place.
    static func warnBlocked(_ report: MirrorReport, _ mirror: MirrorRecord, _ console: Console) {
        warnStuck(report.stuck, mirror, console)
        if report.blocked.isEmpty { return }
        console.warn(report.blocked.sentence(of: report.blocked.count, in: mirror.directory))
    }

    /// The result of a pass, in a sentence.
    static func sentence(_ report: MirrorReport, _ mirror: MirrorRecord) -> String {
        var parts: [String] = []
        if report.taken > 0 { parts.append("took \(Wording.count(report.taken, "file"))") }
        if report.written > 0 { parts.append("wrote \(Wording.count(report.written, "file"))") }
        if report.moved > 0 { parts.append("moved \(Wording.count(report.moved, "file"))") }
        if report.removed > 0 { parts.append("removed \(Wording.count(report.removed, "file"))") }
        let place = Wording.oneLine(mirror.directory)
        return parts.isEmpty ? "\(place): nothing new." : "\(place): \(Wording.list(parts))."
    }

    /// How many files are named one by one.
    private static let named = 10

    static func warn(_ report: MirrorReport, _ console: Console) {
        let blocked = report.blocked.map { DiskScan.Left(path: $0.path, reason: $0.reason) }
        let all = blocked + report.left + report.renamed
        for item in all.prefix(named) {
            console.warn("\(Wording.oneLine(item.path)): \(Wording.oneLine(item.reason, limit: 200))")
        }
        let more = all.count - named
        if more > 0 { console.warn("\(Wording.count(more, "more file")) like that; --json lists all.") }
        if report.waiting > 0 {
            console.warn(
                "\(Wording.count(report.waiting, "file is", "files are")) being written, and come with a later pass.")
        }
        if report.conflicts > 0 {
            console.hint(
                "\(Wording.count(report.conflicts, "document has", "documents have")) rival versions, which lie beside as “(conflict, …)”."
            )
        }
    }

    static func held(_ count: Int, _ mirror: MirrorRecord, _ database: String) -> FerryError {
        let command =
            "ferry documents \(Wording.shellWord(database)) mirror \(Wording.shellWord(mirror.directory))"
        return FerryError(
            .deletionsHeld,
            "\(mirror.directory) rests: \(Wording.count(count, "file is", "files are")) gone, more than half. Nothing was deleted. "
                + "`\(command) --confirm-deletions` deletes the documents, `--bring-back` writes the files again.",
            path: mirror.directory)
    }
}

/// Mirrors beside `ferry sync`: a run before the pass, and a run after. Each warning comes once.
struct MirrorSync {
    private var told: Set<String> = []

    /// Runs all mirrors until folders and documents are equal, and warns of the mirrors with a failure.
    /// - Returns: true if documents changed, and there is something to send.
    mutating func run(_ replica: Replica, of database: String, settles: Bool, _ console: Console) throws -> Bool {
        let mirrors = Mirrors(replica)
        var hasNews = false
        for mirror in try mirrors.list() {
            do {
                let result = try ProgressBar.during(console) { progress in
                    try settles ? mirrors.settle(mirror, progress: progress) : mirrors.pass(mirror, progress: progress)
                }
                guard let report = result else { continue }
                if report.held > 0 { warn(MirrorPage.held(report.held, mirror, database).message, console) }
                // The second pass, after the container's news, tells what is left.
                if !settles { MirrorPage.warnBlocked(report, mirror, console) }
                if report.hasNews, !console.isJSON { try console.say(MirrorPage.sentence(report, mirror)) }
                if report.taken + report.moved + report.removed > 0 { hasNews = true }
            } catch let error as FerryError {
                warn(error.message, console)
            }
        }
        return hasNews
    }

    private mutating func warn(_ text: String, _ console: Console) {
        if told.insert(text).inserted { console.warn(text) }
    }
}
