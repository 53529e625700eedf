import ArgumentParser
import Ferry
import Foundation

/// `ferry watch`.
struct WatchCommand: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Stay, and keep in step.",
        usage: "ferry watch <database> ... [--metrics <file>] [<options>]",
        discussion: """
            Sends what any process commits to the database and merges what arrives in the container, within \
            milliseconds where the file system tells of changes, and by looking now and then where it does not. Ends \
            cleanly with Ctrl-C or a SIGTERM; what was committed by then and not sent yet goes with the next sync. \
            Where the container is away it waits, and goes on when it is back.

            Where another process keeps the database in step already, an app or another watch, this one waits and \
            takes over when that ends.

            Where the folder cannot be written, it tries again after 1 to 8 seconds. Where another file is put in the \
            database's place, a backup for one, it goes on with that if it belongs to the container. Otherwise, and where \
            the file is gone, it ends with status 66. Of several databases the others go on then, and this one is taken up again \
            once it is back: the watch looks after 1 to 8 seconds. One of several may be missing at the start, too.

            --metrics writes figures for monitoring into a file, as Prometheus reads them by the node exporter's textfile \
            collector: anew after every event and every 30 seconds, always whole. The file's name ends in .prom.

            With --json, one object per line, each with "database": {"event": "started"}, {"event": "synced", … as sync …}, \
            {"event": "databaseChanged"}, {"event": "failed", "error": {…}}, {"event": "following"} (another process \
            keeps it in step), {"event": "leading"} (this one does from now on), {"event": "reopened"} (goes on with \
            another file in the database's place), {"event": "stopped"}.

            Examples:
              ferry watch music.sqlite
              ferry watch music.sqlite photos.sqlite --quiet
              ferry watch music.sqlite --metrics /var/lib/node_exporter/ferry.prom
              ferry watch music.sqlite --json | while read -r event; do …; done
            """)

    @Argument(help: ArgumentHelp("The SQLite databases.", valueName: "database"), completion: .file())
    var databases: [String]

    @Option(
        help: ArgumentHelp("Keep figures for Prometheus in this file, which ends in .prom.", valueName: "file"),
        completion: .file(extensions: ["prom"]))
    var metrics: String?

    @OptionGroup var output: OutputOptions

    func validate() throws {
        if databases.contains("") { throw ValidationError("Name the database first.") }
        if Set(databases.map(exactKey)).count < databases.count { throw ValidationError("Name each database once.") }
        try Self.checkMetrics(metrics)
    }

    static func checkMetrics(_ file: String?) throws {
        if let file, !file.hasSuffix(".prom") || file.hasSuffix("/.prom") || file == ".prom" {
            throw ValidationError("The node exporter reads files that end in .prom only. Name the file so.")
        }
    }

    func perform(_ console: Console) throws {
        // An unwatchable database is reported before any watch begins.
        let (starts, left) = try starts()
        let file = try metrics.map { try MetricsFile(path: $0, console: console) }
        let watches = starts.map { database, start in
            PatientWatch(
                database, start,
                WatchReporter(console, database: database, isOneOfSeveral: databases.count > 1),
                file?.recorder(of: database, start.replica?.store), isPatient: databases.count > 1)
        }
        let signals = TerminationSignals { for watch in watches { watch.stop() } }
        let timer = file?.writeRepeatedly()
        for (database, error) in left { tell(error, of: database, console) }
        Self.run(watches)
        timer?.cancel()
        signals.cancel()
        // Asked to end, the watch ends well, also while the container is away.
        if signals.haveCome { return }
        if let failure = watches.compactMap(\.reporter.failure).first { throw failure }
        if let (_, error) = left.first { throw ExitCode(ExitStatus(error.code).rawValue) }
    }

    /// Opens the databases as far as the limit of open files allows. Of several, a watch waits for the missing ones while one is there.
    /// - Returns: also the databases beyond the limit, with the failure of each.
    /// - Throws: where a database cannot be opened for another reason, and where none is there or has room.
    private func starts() throws -> (starts: [(String, PatientWatch.Start)], left: [(String, FerryError)]) {
        var (starts, left): ([(String, PatientWatch.Start)], [(String, FerryError)]) = ([], [])
        for database in databases {
            guard ProcessLimits.hasRoom(forWatchBeside: starts.count) else {
                let error = ProcessLimits.tooManyOpenFiles("This database is not kept in step.", path: database)
                if databases.count == 1 { throw error }
                left.append((database, error))
                continue
            }
            do {
                starts.append((database, .present(try Replica(path: database))))
            } catch let error as FerryError where error.code == .databaseMissing {
                starts.append((database, .missing(error)))
            }
        }
        if starts.allSatisfy({ $0.1.replica == nil }) {
            if case .missing(let error)? = starts.first?.1 { throw error }
            if let (_, error) = left.first { throw error }
        }
        return (starts, left)
    }

    private func tell(_ error: FerryError, of database: String, _ console: Console) {
        let output = LoopOutput(console, database: database)
        if console.isJSON { return output.tell { try output.emit(failed: error) } }
        output.warn("\(Wording.oneLine(database)): \(error)")
    }

    /// Runs all until the last watch ends: the first on this thread, each further watch on a new thread.
    private static func run(_ watches: [PatientWatch]) {
        let others = DispatchGroup()
        for watch in watches.dropFirst() {
            others.enter()
            let thread = Thread {
                watch.run()
                others.leave()
            }
            thread.name = "ferry watch"
            // As much as the first thread has.
            thread.stackSize = 8 << 20
            thread.start()
        }
        watches.first?.run()
        others.wait()
    }
}
