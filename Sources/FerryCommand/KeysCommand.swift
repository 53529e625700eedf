import ArgumentParser
import Ferry
import FerrySeal

/// `ferry keys`.
struct KeysCommand: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "Show the epochs of a sealed container, make a new one, or give this device new keys.",
        usage: """
            ferry keys <database> [list | rotate | renew | check-recovery] [--json]
            """,
        discussion: """
            Files are sealed under an epoch, a secret that all members have. `rotate` makes a new epoch; a removal does so by \
            itself, and no key wears out. `renew` gives this device new keys under a new ID and removes the former ones: for keys \
            that somebody may have seen. `check-recovery` reads a code from standard input and says whether it is the right one.

            JSON: {"epoch": {"number", "id", "madeBy", "milliseconds"}, "epochs", "recovery", "members"}; renew: {"reason", \
            "formerDevice", "device", "sentAgain"}; check-recovery: {"isRight"}

            Examples:
              ferry keys music.sqlite
              ferry keys music.sqlite rotate
              ferry keys music.sqlite check-recovery
            """)

    enum Verb: String, CaseIterable, ExpressibleByArgument {
        case list, rotate, renew
        case checkRecovery = "check-recovery"
    }

    @OptionGroup var argument: DatabaseArgument

    @Argument(help: "list, rotate, renew or check-recovery.")
    var verb = Verb.list

    @OptionGroup var output: OutputOptions

    private struct Check: Encodable { var isRight: Bool }

    func perform(_ console: Console) throws {
        let replica = try Replica(path: argument.database)
        switch verb {
        case .list: try tell(replica.keys(), console)
        case .rotate: try tell(replica.rotateKeys(), console)
        case .renew:
            let renewal = try replica.renewKeys()
            if console.isJSON { return try console.emit(renewal) }
            try console.say("This device has new keys; the former ones are removed.")
        case .checkRecovery:
            SecretInput.protectMemory()
            let code = try SecretCode(parsing: SecretInput.line(prompt: "Recovery code: "), as: .recovery)
            let isRight = try replica.isRecoveryCode(code)
            if console.isJSON {
                try console.emit(Check(isRight: isRight))
            } else {
                try console.answer(
                    isRight ? "This is the recovery code." : "This is not the recovery code of this container.")
            }
            if !isRight { throw ExitCode(ExitStatus.noPermission.rawValue) }
        }
    }

    private func tell(_ report: KeysReport, _ console: Console) throws {
        if console.isJSON { return try console.emit(report) }
        if let epoch = report.epoch {
            let now = ReplicaEnvironment.live.clock.milliseconds()
            try console.answer(
                "Sealed under epoch \(epoch.number), made \(Wording.age(sinceMilliseconds: epoch.milliseconds, now: now))."
            )
        } else {
            try console.answer("No epoch is clean; the next sync makes one.")
        }
        try console.answer(
            "\(Wording.count(report.members, "member")); this device can open \(Wording.count(report.epochs, "epoch")). "
                + (report.recovery ? "There is a recovery code." : "There is no recovery code."))
    }
}
