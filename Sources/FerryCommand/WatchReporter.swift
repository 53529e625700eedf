import ArgumentParser
import Ferry
import FerryMirror
import Synchronization

/// Reports a watch's events, as lines for people or objects for scripts. Called on the watching thread; a lock guards
/// the state all the same.
final class WatchReporter: Sendable {
    private struct State {
        var container = ""
        var lastFailure: FerryError?
        var waiting: [SyncReport.Waiting] = []
        var claims: Int?
        var lateClaims: Int?
        var held: String?
        /// What cannot be brought into step, by the directory of the mirror.
        var stuck: [String: [StuckItem]] = [:]
        var hasSynced = false
        var hasStarted = false
        /// True once the watch was asked to end.
        var isEnding = false
    }

    private let output: LoopOutput
    private var console: Console { output.console }
    private let database: String
    /// Stands before lines for people.
    private let prefix: String
    private let isOneOfSeveral: Bool
    private let state = Mutex(State())

    /// - Parameter isOneOfSeveral: true: lines for people begin with the database.
    init(_ console: Console, database: String, isOneOfSeveral: Bool = false) {
        output = LoopOutput(console, database: database)
        self.database = database
        self.isOneOfSeveral = isOneOfSeveral
        prefix = isOneOfSeveral ? Wording.oneLine(database) + ": " : ""
    }

    /// Says where the container is before the watch of a database begins.
    func willWatch(container: String) { state.withLock { $0.container = container } }

    /// From now on the end of a loop is the end of the watch. Before, one of several databases is away, and comes back.
    func isEnding() { state.withLock { $0.isEnding = true } }

    /// The exit status for the last failure without a later success. The failed pass was reported already.
    var failure: ExitCode? { state.withLock { $0.lastFailure }.map { ExitCode(ExitStatus($0.code).rawValue) } }

    /// The code of that failure.
    var failureCode: FerryError.Code? { state.withLock { $0.lastFailure?.code } }

    func tell(_ event: SyncEvent) { output.tell { try console.isJSON ? emit(event) : say(event) } }

    func tell(_ event: MirrorEvent) { output.tell { try console.isJSON ? emit(event) : say(event) } }

    private func emit(_ event: MirrorEvent) throws {
        switch event {
        case .passed(let mirror, let report): try output.emit("mirrored", MirrorJSON(mirror, report))
        case .failed(let mirror, let error): try output.emit("mirrorRests", MirrorJSON(mirror, error))
        case .withoutWatches: break
        }
    }

    private func say(_ event: MirrorEvent) throws {
        switch event {
        case .passed(let mirror, let report):
            if report.held > 0 { console.warn(prefix + MirrorPage.held(report.held, mirror, database).message) }
            if !report.blocked.isEmpty {
                console.warn(prefix + report.blocked.sentence(of: report.blocked.count, in: mirror.directory))
            }
            let isKnown = state.withLock { state in
                state.stuck.updateValue(report.stuck, forKey: mirror.directory) ?? [] == report.stuck
            }
            for sentence in isKnown ? [] : report.stuck.sentences(in: mirror.directory) {
                console.warn(prefix + sentence)
            }
            if report.hasNews { try console.say("\(head)\(MirrorPage.sentence(report, mirror))") }
        case .failed(_, let error): output.warn("\(prefix)\(error)")
        case .withoutWatches(let folders):
            console.warn(
                "\(prefix)The system has no watches left for \(Wording.count(folders, "folder")): changes there are found within a minute. "
                    + "More watches: `sysctl fs.inotify.max_user_watches=524288`.")
        }
    }

    private func emit(_ event: SyncEvent) throws {
        switch event {
        case .started: try output.emit("started")
        case .following: try output.emit("following")
        case .leading: try output.emit("leading")
        case .reopened: try output.emit("reopened")
        case .synced(let report):
            recordSuccess()
            try output.emit("synced", report)
        case .databaseChanged: try output.emit("databaseChanged")
        case .failed(let error):
            note(error)
            try output.emit(failed: error)
        case .stopped: try output.emit("stopped")
        }
    }

    private func say(_ event: SyncEvent) throws {
        switch event {
        case .started:
            let (isBack, container) = state.withLock { state in
                defer { (state.hasStarted, state.lastFailure) = (true, nil) }
                return (state.hasStarted, state.container)
            }
            try console.say(
                isBack
                    ? "\(head)The database is back, and is kept in step again."
                    : "Keeping \(database) in step with \(container). Press Ctrl-C to end.")
        case .following:
            try console.say(
                "\(head)Another process keeps this database in step already. This one waits, and takes over when that ends."
            )
        case .leading:
            try console.say("\(head)The other process has ended; this one keeps the database in step now.")
        case .synced(let report): try say(report)
        case .reopened:
            try console.say("\(head)Another file was put in the database's place. This one goes on with that.")
        case .databaseChanged: break
        case .failed(let error):
            note(error)
            output.warn("\(prefix)\(error)\(afterwards(error))")
        case .stopped:
            // The failure was told, and the watch waits for the database.
            if !isOneOfSeveral || state.withLock({ $0.isEnding }) { try console.say("\(head)Ended.") }
        }
    }

    private func say(_ report: SyncReport) throws {
        var news = report
        let (isFirst, wasFailing, isOtherWaiting, isOtherHeld) = state.withLock { state in
            defer {
                state.hasSynced = true
                (state.waiting, state.claims, state.held) = (report.waiting, report.claims, report.held)
                state.lateClaims = report.lateClaims
            }
            // Known claims are no news.
            if state.claims == report.claims { news.claims = nil }
            if state.lateClaims == report.lateClaims { news.lateClaims = nil }
            return (
                !state.hasSynced, state.lastFailure != nil, state.waiting != report.waiting, state.held != report.held
            )
        }
        recordSuccess()
        if let renewed = report.renewed { try console.say("\(head)\(renewed.sentence)") }
        // A pass without anybody's changes, such as a schema alone, is no news.
        if isFirst || wasFailing || report.published.changes > 0 || report.replayed.changes > 0 {
            try console.say("\(head)\(SyncSentence.of(report, console.style))")
        }
        try MembershipNews.tell(news, of: database, at: time, console)
        if isOtherHeld, let held = report.held { console.warn("\(prefix)Nothing is published for now: \(held)") }
        if isOtherWaiting { WaitingDevices.warn(report.waiting, console) }
    }

    /// Who goes on once a lost database is back: this watch, or a person by a new one.
    private func afterwards(_ error: FerryError) -> String {
        guard [.databaseMissing, .databaseReplaced].contains(error.code) else { return "" }
        return isOneOfSeveral ? " This watch goes on with it then." : " Then begin the watch again."
    }

    private func note(_ error: FerryError) { state.withLock { $0.lastFailure = error } }
    private func recordSuccess() { state.withLock { $0.lastFailure = nil } }

    /// The beginning of a line for people.
    private var head: String { "\(output.time) \(prefix)" }

    private var time: String { console.style.dim(Wording.time(ReplicaEnvironment.live.clock.milliseconds())) }
}
