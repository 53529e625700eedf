import ArgumentParser
import Ferry
import FerrySeal

/// `ferry keys`.
struct KeysCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "Show the epochs of a sealed container, make a new one, or give this device new keys.",
        usage: """
            ferry keys <database> [list | rotate | renew | check-recovery]
            [<options>]
            """,
        discussion: """
            Files are sealed under an epoch, a secret that all members have. `rotate` makes a new epoch; a removal does so by \
            itself, and no key wears out. `renew` gives this device new keys under a new ID and removes the former ones: for keys \
            that somebody may have seen. `check-recovery` reads a code from standard input and says whether it is the right one.

            Examples:
              ferry keys music.sqlite
              ferry keys music.sqlite rotate
              ferry keys music.sqlite check-recovery
            """,
        subcommands: [KeysList.self, KeysRotate.self, KeysRenew.self, KeysCheckRecovery.self],
        defaultSubcommand: KeysList.self)
}

/// `ferry keys … list`.
struct KeysList: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Show the present epoch and the number of members; without a sub-verb, too.",
        usage: "ferry keys <database> [list] [<options>]",
        discussion: """
            JSON: {"currentEpoch": {"number", "id", "madeBy", "madeMilliseconds"}, "epochs", "hasRecovery", "members"}

            Example:
              ferry keys music.sqlite
            """)

    @OptionGroup var argument: DatabaseArgument
    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        try KeysCommand.tell(Replica(path: argument.database).keys(), console)
    }
}

/// `ferry keys … rotate`.
struct KeysRotate: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate", abstract: "Make a new epoch.",
        usage: "ferry keys <database> rotate [<options>]",
        discussion: """
            What is published from now on is sealed under the new epoch. A removal makes one by itself.

            JSON: as list.

            Example:
              ferry keys music.sqlite rotate
            """)

    @OptionGroup var argument: DatabaseArgument
    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        try KeysCommand.tell(Replica(path: argument.database).rotateKeys(), console)
    }
}

/// `ferry keys … renew`.
struct KeysRenew: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "renew", abstract: "Give this device new keys, and remove the former ones.",
        usage: "ferry keys <database> renew [<options>]",
        discussion: """
            For keys that somebody may have seen. The device goes on under a new ID, and changes that nobody has yet are sent again.

            Open invitations end: their codes may be known, too.

            JSON: {"reason", "formerDevice", "device", "sentAgain", "endedInvitations"}

            Example:
              ferry keys music.sqlite renew
            """)

    @OptionGroup var argument: DatabaseArgument
    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        let renewal = try Replica(path: argument.database).renewKeys()
        if console.isJSON { return try console.emit(renewal) }
        try console.say("This device has new keys; the former ones are removed.")
        if let ended = renewal.endedInvitations {
            console.warn(
                "\(Wording.count(ended, "open invitation has", "open invitations have")) ended with the former keys. `ferry invite` makes "
                    + "another code.")
        }
    }
}

/// `ferry keys … check-recovery`.
struct KeysCheckRecovery: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "check-recovery", abstract: "Say whether a code is the recovery code.",
        usage: "ferry keys <database> check-recovery [<options>]",
        discussion: """
            Reads the code at a prompt, or from standard input. Exit status 77 where the code is wrong.

            JSON: {"isRight"}

            Example:
              ferry keys music.sqlite check-recovery
            """)

    @OptionGroup var argument: DatabaseArgument
    @OptionGroup var output: OutputOptions

    private struct Report: Encodable { var isRight: Bool }

    func perform(_ console: Console) throws {
        let replica = try Replica(path: argument.database)
        SecretInput.protectMemory()
        let code = try SecretCode(parsing: SecretInput.line(prompt: "Recovery code: "), as: .recovery)
        let isRight = try replica.isRecoveryCode(code)
        if console.isJSON {
            try console.emit(Report(isRight: isRight))
        } else {
            try console.answer(
                isRight ? "This is the recovery code." : "This is not the recovery code of this container.")
        }
        if !isRight { throw ExitCode(ExitStatus.noPermission.rawValue) }
    }
}

extension KeysCommand {
    fileprivate static func tell(_ report: KeysReport, _ console: Console) throws {
        if console.isJSON { return try console.emit(report) }
        if let epoch = report.epoch {
            let now = ReplicaEnvironment.live.clock.milliseconds()
            try console.answer(
                "Sealed under epoch \(epoch.number), made \(Wording.age(sinceMilliseconds: epoch.madeMilliseconds, now: now))."
            )
        } else {
            try console.answer("No epoch is clean; the next sync makes one.")
        }
        try console.answer(
            "\(Wording.count(report.members, "member")); this device can open \(Wording.count(report.epochs, "epoch")). "
                + (report.recovery ? "There is a recovery code." : "There is no recovery code."))
    }
}
