import ArgumentParser
import Ferry
import FerrySeal

/// `ferry invite`.
struct InviteCommand: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "invite",
        abstract: "Let another device into a sealed container, by a code.",
        usage: """
            ferry invite <database>... [--for <24h>] [--no-wait] [<options>]
            """,
        discussion: """
            Shows a code of nine words, which lets one device in, once. Only this device answers it: here, or with its next \
            sync. Several databases get one code for all. Without --no-wait it waits until the code is used. With --json it \
            does not wait.

            JSON: {"code": {"words", "text"}, "endMilliseconds"}; with --cancel {"cancelled"}, the number of invitations that were \
            taken back. "text" is for a QR code.

            Examples:
              ferry invite music.sqlite
              ferry invite music.sqlite photos.sqlite --for 2h
              ferry invite music.sqlite --cancel
            """)

    @Argument(help: "The SQLite databases.", completion: .file())
    var databases: [String]

    @Option(
        name: .customLong("for"), help: ArgumentHelp("How long the code lasts, as in 90m, 24h or 3d.", valueName: "24h")
    )
    var duration = "24h"

    @Flag(help: "Do not wait until the code is used.")
    var noWait = false

    @Flag(help: "Take back all invitations that nobody has used.")
    var cancel = false

    @OptionGroup var output: OutputOptions

    func validate() throws {
        if Self.milliseconds(duration) == nil {
            throw ValidationError("--for takes a number and m, h or d, as in 90m, 24h or 3d, up to 30d.")
        }
    }

    /// The longest time: an old code is a risk.
    private static let maximumMilliseconds: Int64 = 30 * 86_400_000

    static func milliseconds(_ text: String) -> Int64? {
        let units: [Character: Int64] = ["m": 60_000, "h": 3_600_000, "d": 86_400_000]
        guard let last = text.last, let unit = units[last], let number = Int64(text.dropLast()), number > 0 else {
            return nil
        }
        let (all, isTooLong) = number.multipliedReportingOverflow(by: unit)
        return isTooLong || all > maximumMilliseconds ? nil : all
    }

    private struct Report: Encodable {
        struct Code: Encodable {
            var words: String
            var text: String
        }

        var code: Code
        var endMilliseconds: Int64
    }

    private struct Cancellation: Encodable { var cancelled: Int }

    func perform(_ console: Console) throws {
        SecretInput.protectMemory()
        let replicas = try databases.map { try Replica(path: $0) }
        if cancel {
            let count = try replicas.reduce(0) { try $0 + $1.cancelInvitations() }
            if console.isJSON { return try console.emit(Cancellation(cancelled: count)) }
            return try console.say("\(Wording.count(count, "invitation was", "invitations were")) taken back.")
        }
        var code: SecretCode?
        var end: Int64 = 0
        for replica in replicas {
            let made = try replica.invite(forMilliseconds: Self.milliseconds(duration) ?? 0, code: code)
            (code, end) = (made.code, made.endMilliseconds)
        }
        guard let code else { throw FerryError(.invalidArgument, "Name a database.") }
        if console.isJSON {
            return try console.emit(Report(code: .init(words: code.words, text: code.text), endMilliseconds: end))
        }
        try console.say("Type these words on the other device within \(duration). They work once:")
        try console.answer("    " + console.style.bold(code.words))
        for (database, replica) in zip(databases, replicas) {
            let place = PlaceElsewhere(replica.identity.containerPath)
            try console.say(console.style.bold("  ferry join \(Wording.shellWord(database)) \(place.word) --code -"))
        }
        if noWait {
            return try console.say("The next sync of this device lets it in.")
        }
        try wait(for: replicas, code, until: end, console)
    }

    private func wait(for replicas: [Replica], _ code: SecretCode, until end: Int64, _ console: Console) throws {
        let wait = ContainerWait()
        let signals = TerminationSignals { wait.stop() }
        defer { signals.cancel() }
        try console.say("Waiting for it. Ctrl-C does no harm: the next sync lets it in.")
        var rest = replicas
        let remaining = Int(clamping: end - ReplicaEnvironment.live.clock.milliseconds())
        var isLateTold = false
        let isDone: Bool? = try wait.until(milliseconds: remaining) {
            try rest.flatMap { try $0.placesOfMembers() }
        } look: {
            rest = try rest.filter { replica in
                let report = try replica.sync()
                if let late = report.lateClaims, !isLateTold {
                    MembershipNews.warnOfLate(late, of: databases[0], console)
                    isLateTold = true
                }
                // A `ferry watch` of the same database may have answered before this sync.
                guard let guest = try replica.guest(of: code) else { return true }
                try console.say("A device is in: \(guest.description.prefix(8)).")
                return false
            }
            return rest.isEmpty ? true : nil
        }
        if isDone == true { return }
        if signals.haveCome { return try console.say("The code stays good: the next sync of this device lets it in.") }
        throw FerryError(.codeRefused, "Nobody has used the code in time. Invite again.")
    }
}
