import ArgumentParser
import Ferry
import FerrySeal

/// `ferry devices`.
struct DevicesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices",
        abstract: "Show the devices of the container; rename this one, retire or remove another.",
        usage: """
            ferry devices <database> [list | rename <name> | retire <device> |
            remove <device> [--recovery -]] [<options>]
            """,
        discussion: """
            What a device has not replayed yet is kept for it, as long as it is active: its head changes at least once in \
            60 days, which it does by itself wherever Ferry runs. A silent device holds nothing back any more. `retire` \
            says at once that a device will not come back: one that was lost or sold. Either may return all the same: it \
            then starts from a snapshot, keeps its own unsent changes, and counts again.

            `remove` is for sealed containers: it locks a device out for good.

            Examples:
              ferry devices music.sqlite
              ferry devices music.sqlite rename 'Ada’s laptop'
              ferry devices music.sqlite retire phone
            """,
        subcommands: [DevicesList.self, DevicesRename.self, DevicesRetire.self, DevicesRemove.self],
        defaultSubcommand: DevicesList.self)
}

/// The JSON report of every `ferry devices`.
private struct DevicesJSON: Encodable {
    var devices: [DevicesReport.Device]
    var reachable: Bool
    var name: String?
    var retired: String?
    var removedDevices: [StatusReport.DeviceName]?

    init(_ report: DevicesReport) {
        devices = report.devices
        reachable = report.reachable
    }
}

/// `ferry devices … list`.
struct DevicesList: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Show the devices; without a sub-verb, too.",
        usage: "ferry devices <database> [list] [<options>]",
        discussion: """
            JSON: {"devices": [{"id", "name", "isThisDevice", "activity", "lastSeenMilliseconds", "behind", \
            "unacknowledged", "holdsBackSegments", "holdsBackBytes", "isLeftBehind", "successors"}], \
            "reachable"}; in a sealed container also "membership" (founder, member, copy, left or removed), "way", "admittedBy", \
            "admittedMilliseconds", "removedBy". "activity" is active, silent or retired.

            Example:
              ferry devices music.sqlite
            """)

    @OptionGroup var argument: DatabaseArgument
    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        let report = try Replica(path: argument.database).devices()
        if console.isJSON { return try console.emit(DevicesJSON(report)) }
        let now = ReplicaEnvironment.live.clock.milliseconds()
        for line in DevicesPage(report, now: now).lines(console) { try console.answer(line) }
    }
}

/// `ferry devices … rename`.
struct DevicesRename: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "rename", abstract: "Give this device another name.",
        usage: "ferry devices <database> rename <name> [<options>]",
        discussion: """
            The others hear of it with the next sync.

            JSON: as list, and "name", the new name.

            Example:
              ferry devices music.sqlite rename 'Ada’s laptop'
            """)

    @OptionGroup var argument: DatabaseArgument
    @Argument(help: "The new name.") var name: String
    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        let replica = try Replica(path: argument.database)
        try replica.rename(name)
        if console.isJSON {
            var report = try DevicesJSON(replica.devices())
            report.name = name
            return try console.emit(report)
        }
        try console.say("This device is called \(Wording.oneLine(name)) now.")
        DevicesCommand.hintAtSync(argument, console)
    }
}

/// `ferry devices … retire`.
struct DevicesRetire: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "retire", abstract: "Say that another device will not come back.",
        usage: "ferry devices <database> retire <device> [<options>]",
        discussion: """
            Nothing is kept for it any more. It may return all the same: it then starts from a snapshot, keeps its own \
            unsent changes, and counts again. The others hear of it with the next sync.

            JSON: as list, and "retired", the name.

            Example:
              ferry devices music.sqlite retire phone
            """)

    @OptionGroup var argument: DatabaseArgument
    @OptionGroup var device: DeviceArgument
    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        let replica = try Replica(path: argument.database)
        let name = try replica.retire(device.device)
        if console.isJSON {
            var report = try DevicesJSON(replica.devices())
            report.retired = name
            return try console.emit(report)
        }
        try console.say("\(name) is retired: nothing is kept for it any more.")
        DevicesCommand.hintAtSync(argument, console)
    }
}

/// `ferry devices … remove`.
struct DevicesRemove: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Lock a device out of a sealed container for good, and its copies.",
        usage: "ferry devices <database> remove <device> [--recovery -] [<options>]",
        discussion: """
            What it wrote up to now is kept, what it writes from now on is not read, and it cannot read what the others write. \
            A device that was let in before this one is removed by an older device, or with the recovery code (--recovery -). \
            A device that left can be removed too: a clone or backup of its computer may have its key still.

            JSON: as list, and "removedDevices": [{"id", "name"}].

            Examples:
              ferry devices music.sqlite remove phone
              ferry devices music.sqlite remove 3f2a9c04 --recovery -
            """)

    @OptionGroup var argument: DatabaseArgument
    @OptionGroup var device: DeviceArgument

    @Option(help: ArgumentHelp("Read the recovery code from standard input.", valueName: "-"))
    var recovery: String?

    @OptionGroup var output: OutputOptions

    func validate() throws {
        if let recovery, recovery != "-" {
            throw ValidationError(
                "--recovery takes no code but “-”, for standard input: other users of this computer see arguments.")
        }
    }

    func perform(_ console: Console) throws {
        let replica = try Replica(path: argument.database)
        let removal = try replica.remove(device.device, recovery: recoveryCode())
        if console.isJSON {
            var report = try DevicesJSON(replica.devices())
            report.removedDevices = removal.removed
            return try console.emit(report)
        }
        try tell(removal, console)
    }

    private func recoveryCode() throws -> SecretCode? {
        if recovery == nil { return nil }
        SecretInput.protectMemory()
        return try SecretCode(parsing: SecretInput.line(prompt: "Recovery code: "), as: .recovery)
    }

    private func tell(_ removal: RemovalReport, _ console: Console) throws {
        let copies = removal.removed.count - 1
        let who =
            (removal.removed.first?.name ?? "")
            + (copies > 0 ? " and \(Wording.count(copies, "copy", "copies")) of it" : "")
        try console.say(
            "\(who) \(copies > 0 ? "are" : "is") removed. What it wrote up to now is kept; what it writes from now on is not read. "
                + "\(Wording.count(removal.staying.count, "device has", "devices have")) a new key. What it has read cannot be taken "
                + "back; take away its access to the folder too.")
        if !removal.admittedByThem.isEmpty {
            console.warn(
                "It had let in \(Wording.list(removal.admittedByThem.map(\.name))). Remove what you do not know.")
        }
    }
}

/// A device of the container, except this device.
struct DeviceArgument: ParsableArguments {
    @Argument(help: "A device: its name, its ID or the beginning of the ID.") var device: String
}

extension DevicesCommand {
    fileprivate static func hintAtSync(_ argument: DatabaseArgument, _ console: Console) {
        console.hint("`ferry sync \(Wording.shellWord(argument.database))` tells the other devices.")
    }
}
