import ArgumentParser
import Ferry

/// `ferry devices`.
struct DevicesCommand: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices",
        abstract: "Show the devices of the container; rename this one, retire another.",
        usage: """
            ferry devices <database> [list | rename <name> | retire <device>]
            [<options>]
            """,
        discussion: """
            What a device has not replayed yet is kept for it, as long as it is active: its head changes at least once in \
            60 days, which it does by itself wherever Ferry runs. A silent device holds nothing back any more. `retire` \
            says at once that a device will not come back: one that was lost or sold. Either may return all the same: it \
            then starts from a snapshot, keeps its own unsent changes, and counts again.

            <device> is a name, an ID or the beginning of one. What is renamed or retired the others hear of with the \
            next sync.

            JSON: {"devices": [{"id", "name", "isThisDevice", "activity", "lastHeardMilliseconds", "behind", \
            "unacknowledged", "holdsBackSegments", "holdsBackBytes", "isLeftBehind", "successors"}], \
            "reachable"}; rename adds \
            "renamed", retire "retired", the name. "activity" is active, silent or retired.

            Examples:
              ferry devices music.sqlite
              ferry devices music.sqlite rename 'Ada’s laptop'
              ferry devices music.sqlite retire phone
            """)

    enum Verb: String, CaseIterable, ExpressibleByArgument {
        case list, rename, retire
    }

    @OptionGroup var argument: DatabaseArgument

    @Argument(help: "list, rename or retire.")
    var verb = Verb.list

    @Argument(help: ArgumentHelp("The new name, or the device to retire.", valueName: "name"))
    var word: String?

    @OptionGroup var output: OutputOptions

    func validate() throws {
        switch verb {
        case .list: if let word { throw ValidationError("list takes no “\(word)”.") }
        case .rename: if word == nil { throw ValidationError("Say the new name, as in: rename laptop") }
        case .retire: if word == nil { throw ValidationError("Say which device, as in: retire phone") }
        }
    }

    private struct Report: Encodable {
        var devices: [DevicesReport.Device]
        var reachable: Bool
        var renamed: String?
        var retired: String?
    }

    func perform(_ console: Console) throws {
        let replica = try Replica(path: argument.database)
        var renamed: String?
        var retired: String?
        switch verb {
        case .list: break
        case .rename:
            try replica.rename(word ?? "")
            renamed = word
        case .retire: retired = try replica.retire(word ?? "")
        }
        let report = try replica.devices()
        if console.isJSON {
            return try console.emit(
                Report(devices: report.devices, reachable: report.reachable, renamed: renamed, retired: retired))
        }
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
        return device.activity.rawValue + (device.isLeftBehind ? ", starts from a snapshot when it returns" : "")
            + (successors ?? "")
    }
}
