import ArgumentParser
import Ferry

/// `ferry leave`.
struct LeaveCommand: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "leave",
        abstract: "Stop, and remove every trace of Ferry's from the database.",
        discussion: """
            The app's rows stay as they are; so does, for the others, what this device published. Ferry's tables, its \
            triggers and the key-value store go, and with them the conflicts and whatever was hidden. Where triggers or \
            views of the app's ask ferry_replay, that one table stays and says 0. Changes that are \
            not published yet reach nobody any more: run `ferry sync` first if they should.

            Example:
              ferry sync music.sqlite && ferry leave music.sqlite
            """)

    @OptionGroup var argument: DatabaseArgument
    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        let replica: Replica
        do {
            replica = try Replica(path: argument.database)
        } catch let error as FerryError where error.code == .notTracked {
            if try removeRemains(console) { return }
            throw error
        }
        let name = Wording.shellWord(replica.identity.deviceName)
        // A copy that was never synced is nobody in the container.
        let hasOthers = try !replica.isCopied() && replica.devices().devices.count > 1
        let report = try replica.leave()
        if console.isJSON { return try console.emit(report) }
        try console.say(
            "\(argument.database) belongs to no container any more; its rows stay. "
                + "The container in \(report.container) stays for the other devices.")
        if !report.askers.isEmpty {
            try console.say(
                "The table ferry_replay stays, with a 0 in it, because the app asks it: "
                    + report.askers.joined(separator: ", ") + ".")
        }
        if report.unpublished > 0 {
            console.warn(
                Wording.count(report.unpublished, "change was", "changes were")
                    + " not published and will not reach the other devices.")
        }
        if hasOthers {
            console.hint("So that nothing is kept for it: `ferry devices … retire \(name)` on another device.")
        }
    }

    /// Where somebody dropped Ferry's tables, and its triggers are left.
    private func removeRemains(_ console: Console) throws -> Bool {
        guard let (count, report) = try Replica.leaveRemains(path: argument.database) else { return false }
        if console.isJSON {
            try console.emit(report)
        } else {
            try console.say(
                "Ferry's tables were gone from \(argument.database) already. "
                    + "\(Wording.count(count, "trigger", "triggers")) of Ferry's went now; the app's rows stay.")
        }
        return true
    }
}
