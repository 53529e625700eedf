import ArgumentParser
import Ferry

/// `ferry watch`.
struct WatchCommand: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Stay, and keep in step.",
        discussion: """
            Sends what any process commits to the database and merges what arrives in the container, within \
            milliseconds where the file system tells of changes, and by looking now and then where it does not. Ends \
            cleanly with Ctrl-C or a SIGTERM; what was committed by then and not sent yet goes with the next sync. \
            Where the container is away it waits, and goes on when it is back.

            Where another process keeps the database in step already, an app or another watch, this one waits and \
            takes over when that ends.

            Where the folder cannot be written, it tries again after 1 to 8 seconds. Where another file is put in the \
            database's place, a backup for one, it goes on with that if it belongs to the container. Otherwise, and where \
            the file is gone, it ends with status 66.

            With --json, one object per line: {"event": "started"}, {"event": "synced", … as sync …}, \
            {"event": "databaseChanged"}, {"event": "failed", "error": {…}}, {"event": "following"} (another process \
            keeps it in step), {"event": "leading"} (this one does from now on), {"event": "reopened"} (goes on with \
            another file in the database's place), {"event": "stopped"}.

            Examples:
              ferry watch music.sqlite
              ferry watch music.sqlite --json | while read -r event; do …; done
            """)

    @OptionGroup var argument: DatabaseArgument
    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        let replica = try Replica(path: argument.database)
        let teller = WatchReporter(console, database: argument.database, container: replica.identity.containerPath)
        let loop = WatchLoop(replica) { event in teller.tell(event) }
        let signals = TerminationSignals { loop.stop() }
        teller.stopWhenNobodyListens { loop.stop() }
        loop.run()
        signals.cancel()
        // Asked to end, the watch ends well, also while the container is away.
        if let failure = teller.failure, failure.isOfOutput || !signals.haveCome { throw failure.error }
    }
}
