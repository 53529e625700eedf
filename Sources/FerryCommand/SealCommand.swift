import ArgumentParser
import Ferry
import FerrySeal

/// `ferry seal`.
struct SealCommand: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "seal",
        abstract: "Seal an open container, so that its members alone can read and write it.",
        usage: """
            ferry seal <database> [--anew] [--anyway] [<options>]
            ferry seal <database> --clean [--anyway] [<options>]
            """,
        discussion: """
            This device is the only member then: every other one runs `ferry enrol`, and nothing is lost that its database has. \
            It cannot be undone: leave, and make a new container.

            What was published before lies in the folder still, for everybody to read. Each device removes its own files with a sync, an \
            hour after it became a member. --clean removes those of computers that are gone, as far as members have all that is in \
            them; with --anyway also files with changes that no member has. `ferry doctor` names what is left.

            With --anew the membership of a sealed container is founded anew, as where its recovery code is lost. Documents are \
            packed again under the new one. It is refused while a device's files have not all arrived; --anyway does not wait.

            The recovery code is shown once, on a terminal. --recovery-to writes it into a new file.

            JSON: {"device", "formerDevice", "accepted": [{"device", "sequence"}], "sealed", "recovery", "waitingPacks"}; "recovery" is \
            file or none; "waitingPacks" is there where packs of documents have not arrived. \
            With --clean: {"cleaned": [{"id", "name", "files"}], "keptFiles": [{"id", "name", "reason"}]}.

            Examples:
              ferry seal music.sqlite
              ferry seal music.sqlite --recovery-to ~/stick/music.recovery
              ferry seal music.sqlite --clean
            """)

    @OptionGroup var argument: DatabaseArgument

    @Flag(help: "Found the membership of a sealed container anew.")
    var anew = false

    @Flag(help: "Remove files from before the sealing, also those of computers that are gone.")
    var clean = false

    @Flag(help: "Do not wait for files that have not arrived; with --clean, remove also what no member has.")
    var anyway = false

    @OptionGroup var recovery: RecoveryOptions
    @OptionGroup var output: OutputOptions

    private struct Report: Encodable {
        let report: SealReport
        let recovery: String

        private enum CodingKeys: String, CodingKey {
            case sealed, recovery, device, formerDevice, accepted, waitingPacks
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(true, forKey: .sealed)
            try container.encode(recovery, forKey: .recovery)
            try container.encode(report.device, forKey: .device)
            try container.encode(report.formerDevice, forKey: .formerDevice)
            try container.encode(report.accepted, forKey: .accepted)
            if report.waitingPacks > 0 { try container.encode(report.waitingPacks, forKey: .waitingPacks) }
        }
    }

    func validate() throws {
        if clean && (anew || recovery.isSaid) {
            throw ValidationError("--clean goes with --anyway alone: it seals nothing.")
        }
    }

    func perform(_ console: Console) throws {
        if clean { return try removeFormerFiles(console) }
        SecretInput.protectMemory()
        let replica = try Replica(path: argument.database)
        try recovery.check(
            console, for: argument.database, in: replica.identity.containerPath,
            command: "ferry seal \(Wording.shellWord(argument.database))" + (anew ? " --anew" : ""), canBeOpen: false)
        let report = try replica.seal(recovery: recovery.keeper(console), anew: anew, anyway: anyway)
        if console.isJSON { return try console.emit(Report(report: report, recovery: recovery.word)) }
        let others = report.others
        try console.say(
            console.style.green("Sealed.") + " Only members can read and write what is published from now on.")
        if report.waitingPacks > 0 {
            try console.say(
                "\(Wording.count(report.waitingPacks, "pack")) of documents have not arrived, and are sealed anew once they have: "
                    + "sync again here.")
        }
        if others > 0 {
            try console.say(
                "\(Wording.count(others, "other device")) had published here. On each, with a code of `ferry invite`:")
            try console.say(console.style.bold("  ferry enrol <database> --code -"))
        }
        console.hint(
            "What was published before can be read by "
                + (anew ? "the former members who have the folder." : "everybody who has the folder.")
                + " Each device removes its own an hour after it became a member, with a sync.")
    }

    private func removeFormerFiles(_ console: Console) throws {
        let report = try Replica(path: argument.database).removeFormerFiles(anyway: anyway)
        if console.isJSON { return try console.emit(report) }
        if report.cleaned.isEmpty && report.keptFiles.isEmpty {
            return try console.say("Nothing from before the sealing is in the container.")
        }
        for removed in report.cleaned {
            try console.say(
                "\(Wording.count(removed.files, "file")) of \(removed.name) from before the sealing removed.")
        }
        for kept in report.keptFiles { try console.say("Files of \(kept.name) stay. \(kept.reason)") }
    }
}
