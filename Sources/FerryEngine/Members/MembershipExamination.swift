import FerryContainer
import FerryCore
import FerryMembers
import FerrySeal
import FerryStore

/// Examines the membership of a sealed container for `doctor`: members, keys, records and claims.
struct MembershipExamination {
    let replica: Replica

    /// A member without the current epoch is told after so long, in milliseconds.
    private static let patienceMilliseconds: Int64 = 7 * 86_400_000
    /// The most directories of nobody that are named.
    private static let namedStrangers = 10

    func run(_ report: inout DoctorReport) throws {
        guard let membership = try replica.membership() else { return }
        let now = replica.environment.clock.milliseconds()
        let container = try replica.plainContainer()
        let look = try MemberReader(container: container, now: now, checking: .all).look(membership)
        report.examined.append(
            "\(DoctorReport.count(membership.graph.count, "record")) of "
                + DoctorReport.count(membership.roster.members.count, "member"))
        let names = try replica.store.reading().names
        try examineMembers(membership, names, now, &report)
        try examineFiles(look, membership, &report)
        try reportFilesOfGoneDevices(look, membership, names, &report)
        for (device, problem) in try disagreements() {
            report.add(
                .init(
                    .fault, names[device] ?? device.description, problem.message,
                    advice: "Update Ferry on both devices, and sync them."))
        }
    }

    private func examineMembers(
        _ membership: Membership, _ names: [DeviceID: String], _ now: Int64, _ report: inout DoctorReport
    ) throws {
        let roster = membership.roster
        // A device that is out founds nothing.
        if roster.recovery == nil, membership.isMember {
            report.add(
                .init(
                    .warning, "folder",
                    "There is no recovery code: where all devices are lost, nobody reads it any more.",
                    advice: "`ferry seal --anew` founds the membership anew, with a recovery code."))
        }
        if roster.needsUpdate {
            report.add(
                .init(
                    .fault, "folder", "A record is from a newer Ferry, so this one cannot tell who is a member.",
                    advice: "Update Ferry on this device: nothing is published until then."))
        }
        guard let epoch = roster.epoch else { return }
        if now.milliseconds(since: Int64(clamping: epoch.milliseconds)) > Self.patienceMilliseconds {
            for device in epoch.lacking {
                report.add(
                    .init(
                        .warning, names[device] ?? device.description, "It has not got the present key for a week.",
                        advice: "Run `ferry sync` on a device that has it."))
            }
        }
        if membership.keyring[epoch.id] == nil {
            report.add(
                .init(
                    .warning, "database", "The key under which files are sealed now has not arrived here.",
                    advice: "Run `ferry sync` on another device; nothing is published here until then."))
        }
        for (_, fault) in membership.keyring.faults.sorted(by: { $0.key < $1.key }) {
            report.add(
                .init(
                    .warning, "folder", "A record has a key that cannot be opened: \(fault.message)",
                    advice: "Somebody made it wrong. `ferry keys … rotate` makes another epoch."))
        }
    }

    private func examineFiles(
        _ look: MemberReader.Look, _ membership: Membership, _ report: inout DoctorReport
    ) throws {
        for claim in look.claims where claim.way == .words {
            report.add(
                .init(
                    .note, "folder", "A device asks to be let in: \(claim.words).",
                    advice: "`ferry approve` lets it in, if its own screen shows these words."))
        }
        for claim in CodeClaim.all(in: look, membership) {
            report.add(.init(.note, "folder", claim.problem, advice: claim.advice))
        }
        for claim in look.lateClaims {
            report.add(
                .init(
                    .note, "folder",
                    "A device's request to be let in is too old: its clock is wrong, or it asked long ago.",
                    advice: LateClaim.sentence(claim, now: replica.environment.clock.milliseconds())))
        }
        if let first = look.strangers.first {
            let count = look.strangers.count
            let place = try replica.place()
            let named = look.strangers.prefix(Self.namedStrangers).map(\.hex).joined(separator: ", ")
            report.add(
                .init(
                    .note, "folder",
                    count == 1
                        ? "A directory of devices/ is of nobody: \(named)."
                        : "\(count) directories of devices/ are of nobody: \(named)\(count > Self.namedStrangers ? ", …" : ".")",
                    advice: "Nothing of that is read. Delete what you do not know.",
                    file: place.describe(Container.directory(of: first))))
        }
        var after = membership
        try after.insert(look.records)
        // Records of a former membership stay where they are.
        let present = look.records.filter { $0.membership == membership.genesis }
        let refused = Set(present.map { RecordName($0.hash) }).filter { after.record(named: $0) == nil }.count
        if refused > 0 {
            report.add(
                .init(
                    .note, "folder",
                    "\(DoctorReport.count(refused, "record")) of others than members, or not whole yet.",
                    advice: "They count for nothing."))
        }
        for file in look.damaged {
            report.add(
                .init(
                    .warning, "folder", file.problem.message,
                    advice:
                        "This device has the record, and its next sync puts it back. If it cannot, move away what is in its place.",
                    file: file.problem.path, canBeRepaired: true))
        }
        for file in look.unread {
            report.add(
                .init(
                    .warning, "folder", file.problem.message,
                    advice:
                        "Wait until it has arrived whole, or run `ferry doctor --repair` on the other devices: one that has the record "
                        + "puts it back. If none has it, delete the file.",
                    file: file.problem.path))
        }
        for problem in look.problems {
            report.add(
                .init(
                    problem.code == .fileNotThereYet ? .note : .warning, "folder", problem.message,
                    advice: problem.code == .fileNotThereYet
                        ? "Wait until it has arrived."
                        : "Move away what does not belong there.",
                    file: problem.path))
        }
    }

    /// True if a device's files are sealed: under a former membership, since nobody reads them any more.
    private func isSealed(_ remains: Container.Remains, _ container: Container) throws -> Bool {
        guard let file = remains.files.first ?? remains.copies.first else { return false }
        return try container.backend.read(file, range: 0..<Envelope.magic.count) == Envelope.magic
    }

    private func reportFilesOfGoneDevices(
        _ look: MemberReader.Look, _ membership: Membership, _ names: [DeviceID: String], _ report: inout DoctorReport
    ) throws {
        let container = try replica.openContainer()
        let reading = try replica.store.reading()
        let own = Set(reading.formerDevices.map(\.device))
        let heads = try ContainerView(container, except: replica.identity.device).heads
        let rule = FormerFiles(
            container, membership, heads: heads, forked: reading.forkedLogs,
            needsPacks: replica.store.hasPacks)
        for device in look.directories
        where FormerFiles.isFormer(device, membership)
            && (membership.roster.removed[device] != nil || own.contains(device))
        {
            let remains = try container.remains(of: device)
            if remains.isEmpty { continue }
            if remains.files.isEmpty && remains.copies.isEmpty {
                report.add(
                    .init(
                        .note, names[device] ?? device.description,
                        "Its files from before the container was sealed are gone. "
                            + FormerFiles.foreign(remains.others),
                        advice: "Delete its directory, unless you need something in it.",
                        file: container.backend.describe(Container.directory(of: device))))
                continue
            }
            let obstacle = try rule.obstacle(to: remains)
            report.add(
                .init(
                    .warning, names[device] ?? device.description,
                    "Its files are from before the container was sealed"
                        + (try isSealed(remains, container)
                            ? " anew: the former members can read them."
                            : ": everybody who has the folder can read them.")
                        + (obstacle.map { " " + $0.sentence(names) } ?? ""),
                    advice: obstacle?.advice
                        ?? (own.contains(device)
                            ? "They go with a sync of this device, an hour after it became a member and once nothing else is said here."
                            : "They go an hour after its database was enrolled (`ferry enrol`). Where its computer is gone for good, "
                                + "`ferry seal … --clean` removes them."),
                    file: obstacle.flatMap(\.file)))
        }
        for (device, removed) in membership.roster.removed.sorted(by: { $0.key < $1.key }) {
            guard look.directories.contains(device), removed.end != nil else { continue }
            let name = names[device] ?? device.description
            if removed.removedMilliseconds != nil {
                report.add(
                    .init(
                        .note, name, "It was removed, and its files are in the container still.",
                        advice: try replica.store.hasPacks(of: device)
                            ? "Its packs have bytes of documents, so its directory has to stay."
                            : "Nobody reads them any more. Its directory may be deleted: lost records are put back."))
            }
        }
    }

    private func disagreements() throws -> [(DeviceID, FerryError)] {
        let container = try replica.openContainer()
        let heads = try ContainerView(container, except: replica.identity.device).heads
        return try replica.disagreements(heads, with: replica.membership()).sorted { $0.key < $1.key }
    }
}
