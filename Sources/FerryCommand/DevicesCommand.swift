import ArgumentParser
import Ferry
import FerrySeal

/// `ferry devices`.
struct DevicesCommand: DatabaseCommand {
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

            `remove` is for sealed containers. It locks a device out for good, and its copies with it: what it wrote up to now is \
            kept, what it writes from now on is not read, and it cannot read what the others write. A device that was let in \
            before this one is removed by an older device, or with the recovery code (--recovery -).

            <device> is a name, an ID or the beginning of one. What is renamed or retired the others hear of with the \
            next sync.

            JSON: {"devices": [{"id", "name", "isThisDevice", "activity", "lastHeardMilliseconds", "behind", \
            "unacknowledged", "holdsBackSegments", "holdsBackBytes", "isLeftBehind", "successors"}], \
            "reachable"}; in a sealed container also "membership" (founder, member, copy, left or removed), "way", "admittedBy", \
            "admittedMilliseconds", "removedBy". rename adds \
            "renamed", retire "retired", the name; remove adds "removed": [{"id", "name"}]. "activity" is active, silent or retired.

            Examples:
              ferry devices music.sqlite
              ferry devices music.sqlite rename 'Ada’s laptop'
              ferry devices music.sqlite retire phone
            """)

    enum Verb: String, CaseIterable, ExpressibleByArgument {
        case list, rename, retire, remove
    }

    @OptionGroup var argument: DatabaseArgument

    @Argument(help: "list, rename, retire or remove.")
    var verb = Verb.list

    @Argument(help: ArgumentHelp("The new name, or the device to retire or remove.", valueName: "name"))
    var word: String?

    @Option(help: ArgumentHelp("With remove: read the recovery code from standard input.", valueName: "-"))
    var recovery: String?

    @OptionGroup var output: OutputOptions

    func validate() throws {
        if let recovery, recovery != "-" {
            throw ValidationError(
                "--recovery takes no code but “-”, for standard input: other users of this computer see arguments.")
        }
        if recovery != nil && verb != .remove { throw ValidationError("--recovery goes with remove.") }
        switch verb {
        case .list: if let word { throw ValidationError("list takes no “\(word)”.") }
        case .rename: if word == nil { throw ValidationError("Say the new name, as in: rename laptop") }
        case .retire: if word == nil { throw ValidationError("Say which device, as in: retire phone") }
        case .remove: if word == nil { throw ValidationError("Say which device, as in: remove phone") }
        }
    }

    private struct Report: Encodable {
        var devices: [DevicesReport.Device]
        var reachable: Bool
        var renamed: String?
        var retired: String?
        var removed: [StatusReport.DeviceName]?
    }

    func perform(_ console: Console) throws {
        let replica = try Replica(path: argument.database)
        var renamed: String?
        var retired: String?
        var removal: RemovalReport?
        switch verb {
        case .list: break
        case .rename:
            try replica.rename(word ?? "")
            renamed = word
        case .retire: retired = try replica.retire(word ?? "")
        case .remove: removal = try replica.remove(word ?? "", recovery: recoveryCode())
        }
        let report = try replica.devices()
        if console.isJSON {
            return try console.emit(
                Report(
                    devices: report.devices, reachable: report.reachable, renamed: renamed, retired: retired,
                    removed: removal?.removed))
        }
        if let removal { return try tell(removal, console) }
        if let renamed { try console.say("This device is called \(renamed) now.") }
        if let retired { try console.say("\(retired) is retired: nothing is kept for it any more.") }
        if verb == .list {
            let now = ReplicaEnvironment.live.clock.milliseconds()
            for line in DevicesPage(report, now: now).lines(console) { try console.answer(line) }
        } else {
            console.hint("`ferry sync \(Wording.shellWord(argument.database))` tells the other devices.")
        }
    }
}

extension DevicesCommand {
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

/// The devices as a page of text: a pure function of the report and the time.
struct DevicesPage {
    let report: DevicesReport
    let now: Int64

    init(_ report: DevicesReport, now: Int64) {
        self.report = report
        self.now = now
    }

    func lines(_ console: Console) -> [String] {
        var table = TextTable("Device", "ID", "Last seen", "Behind#", "Unacknowledged#", "Holds back", "State")
        for device in report.devices {
            let id = console.isVerbose ? device.id : String(device.id.prefix(8))
            if device.isThisDevice {
                table.add(device.name, id, "", "", "", "", "this device")
                continue
            }
            let age = device.lastHeardMilliseconds.map { Wording.age(sinceMilliseconds: $0, now: now) } ?? "never"
            let held =
                device.holdsBackSegments == 0
                ? "" : "\(Wording.count(device.holdsBackSegments, "file")), \(Wording.bytes(device.holdsBackBytes))"
            table.add(
                device.name, id, age, Wording.grouped(device.behind), Wording.grouped(device.unacknowledged), held,
                state(device))
        }
        var lines = table.lines(console.style)
        if !report.reachable {
            lines.append("The container is not reachable; this is what was known at the last sync.")
        }
        return lines
    }

    private func state(_ device: DevicesReport.Device) -> String {
        let labels = DeviceLabels(report.devices.map { ($0.id, $0.name) })
        let successors = device.successors.map { "; copied or restored as " + Wording.list($0.map { labels[$0] }) }
        if let membership = device.membership, membership == "removed" || membership == "left" { return membership }
        return device.activity.rawValue + (device.membership == "copy" ? ", a copy" : "")
            + (device.isLeftBehind ? ", starts from a snapshot when it returns" : "")
            + (successors ?? "")
    }
}
