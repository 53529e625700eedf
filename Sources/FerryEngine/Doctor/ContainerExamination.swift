import FerryContainer
import FerryCore
import FerryLog
import FerryStore

/// Examines every file of the container: heads and logs of all devices, and stray files.
struct ContainerExamination {
    let replica: Replica
    let container: Container
    /// The store's knowledge before the examination.
    private let known: StoreSummary
    /// Devices with a successor, and devices that write no more: the store may know more of them than their last heads say.
    private let superseded: Set<DeviceID>
    /// Devices whose logs have gaps without missing changes behind them (`LogReader.Batch.abandoned`).
    private let abandoned: Set<DeviceID>
    /// The last of this device's changesets without a whole file in the container, though a file should be there.
    private(set) var lost: UInt64 = 0
    private let progress: ProgressHandler?
    /// How many segments are examined, and how many there are.
    private var examined = (files: 0, total: 0)

    init(_ replica: Replica, _ container: Container, _ progress: ProgressHandler? = nil) throws {
        self.replica = replica
        self.container = container
        self.progress = progress
        known = try replica.store.reading()
        let look = try ContainerView(container, except: replica.identity.device)
        let successors = Successors(look.heads, self: replica.identity.device, known.formerDevices)
        superseded = try replica.endedDevices(known).union(successors.all.keys)
        abandoned =
            try superseded.isEmpty
            ? []
            : replica.reader(container, known).read(after: known.vector, known: known.checksums, isThorough: true)
                .abandoned
    }

    mutating func run(_ report: inout DoctorReport) throws {
        let names = known.names
        var files = 0
        let devices = try container.devices()
        if progress != nil { examined.total = try countSegments(of: devices) }
        for device in devices {
            let isSelf = device == replica.identity.device
            let name = isSelf ? "this device" : names[device] ?? device.description
            try examineHead(of: device, name, isSelf: isSelf, &report)
            files += try examineSegments(of: device, name, isSelf: isSelf, &report)
        }
        let snapshots = try SnapshotCatalog(container).entries().count
        report.examined.append(
            "\(DoctorReport.count(files, "segment")) and \(DoctorReport.count(snapshots, "snapshot")) of "
                + DoctorReport.count(devices.count, "device"))
        for (device, problem) in replica.clocksAhead(known) {
            report.add(
                .init(
                    .warning, names[device] ?? device.description, problem.message,
                    advice:
                        "A clock of Ferry's never goes back. `ferry doctor` on that device says how to begin with the right time."
                ))
        }
        if let days = replica.daysAhead(known.vector[replica.identity.device]) {
            report.add(
                .init(
                    .warning, "this device",
                    "The times of its changes are more than \(days == 1 ? "a day" : "\(days) days") ahead of its clock: the clock was "
                        + "ahead once. Its changes win over later ones until that time has come.",
                    advice:
                        "With the right date, `ferry sync`, `ferry leave` and then `ferry join … --match keys` begin with the right "
                        + "time; on another device, `ferry devices … retire` ends the warning about the former one. What was written before "
                        + "keeps its time."))
        }
        try reportRefusals(names, &report)
        if container.isSealed { try reportForkedViews(names, &report) }
        try reportWithheldLogs(names, &report)
        try recordActivity(&report)
    }

    /// The number of segments, for waiting people. An unreadable directory counts for nothing, and the examination tells of the directory.
    private func countSegments(of devices: [DeviceID]) throws -> Int {
        try devices.reduce(0) { sum, device in
            do {
                return try sum + container.segmentFiles(of: device).count
            } catch let error as FerryError where error.concernsOneFile {
                return sum
            }
        }
    }

    /// Adds logs of which another member replayed different changes under the same number.
    private func reportForkedViews(_ names: [DeviceID: String], _ report: inout DoctorReport) throws {
        let heads = try ContainerView(container, except: replica.identity.device).heads
        for view in ForkedViews(heads, known, except: superseded.union(abandoned)).all {
            let author =
                view.author == replica.identity.device ? "this device" : names[view.author] ?? view.author.description
            report.add(
                .init(
                    .fault, names[view.reader] ?? view.reader.description,
                    "It replayed other changes of \(author) than this device, up to the same number, \(view.sequence).",
                    advice:
                        "Look whether two computers write with the keys of \(author), and whether all devices share one folder. "
                        + "If somebody else may have its keys, remove it."))
        }
    }

    /// Adds logs with changes that other devices have had for long and this folder lacks.
    private func reportWithheldLogs(_ names: [DeviceID: String], _ report: inout DoctorReport) throws {
        let heads = try ContainerView(container, except: replica.identity.device).heads
        for (device, problem) in replica.withheldLogs(heads, known).sorted(by: { $0.key < $1.key }) {
            report.add(
                .init(
                    .warning, names[device] ?? device.description, problem.message,
                    advice:
                        "The other device publishes a snapshot that holds them, which may be kept back too. `ferry export` there and "
                        + "`ferry import` here bring them without the folder.",
                    since: known.undelivered.lacked[device]))
        }
    }

    /// Adds logs with whole files that cannot be replayed.
    private func reportRefusals(_ names: [DeviceID: String], _ report: inout DoctorReport) throws {
        let batch = try replica.reader(container, known).read(
            after: known.vector, known: known.checksums, isThorough: true)
        for (device, problem) in try replica.refusals(of: batch, known).sorted(by: { $0.key < $1.key }) {
            let name = names[device] ?? device.description
            if report.findings.contains(where: { $0.subject == name && $0.file == problem.path }) { continue }
            report.add(
                .init(
                    .fault, name, problem.message,
                    advice: Self.advice(problem.code), file: problem.path,
                    since: known.waiting[device].flatMap { $0.isSame(as: problem) ? $0.sinceMilliseconds : nil }))
        }
    }

    private static func advice(_ code: FerryError.Code) -> String {
        switch code {
        case .incompatibleSchema: "Run the same version of the app on both devices. All others go on meanwhile."
        case .unknownPolicy: "Sync from an app that knows the policy, or update Ferry here. All others go on meanwhile."
        default:
            "All others go on meanwhile. If the device is one of yours, update Ferry there, and let its database join anew. If "
                + "nobody knows it, `ferry devices … retire` takes it off; then delete its directory."
        }
    }

    /// Adds devices silent for long, and files kept for a device that may not come back.
    private func recordActivity(_ report: inout DoctorReport) throws {
        for device in try replica.devices().devices where !device.isThisDevice {
            if device.activity == .silent {
                report.add(
                    .init(
                        .note, device.name, "Nothing was heard of it for long, so nothing is kept for it any more.",
                        advice:
                            "When it returns it starts from a snapshot. If it will not, `ferry devices … retire` takes it off.",
                        since: device.lastSeenMilliseconds))
            } else if device.holdsBackBytes > Self.manyBytes {
                report.add(
                    .init(
                        .note, device.name, "\(device.holdsBackBytes >> 20) MiB are kept for it alone until it syncs.",
                        advice: "If it will not come back, `ferry devices … retire` lets them go.",
                        since: device.lastSeenMilliseconds))
            }
        }
    }

    /// What to do with a file of another container or another device.
    private static let foreignAdvice = "Nothing of it is used. Move it away, with all that came along from there."

    /// Bytes kept for a single device from which a note is worthwhile.
    private static let manyBytes = 16 << 20

    private func examineHead(
        of device: DeviceID, _ name: String, isSelf: Bool, _ report: inout DoctorReport
    ) throws {
        do {
            if let head = try container.readHead(of: device) {
                let known = isSelf ? 0 : self.known.vector[device].sequence
                if !superseded.contains(device), let older = Replica.older(head, than: known) {
                    report.add(
                        .init(
                            .warning, name, older.message,
                            advice: "Look whether the container was restored from a backup, or is another copy of it."))
                }
                return
            }
            report.add(
                .init(
                    isSelf ? .note : .warning, name, "Its head is missing.",
                    advice: isSelf
                        ? "The next sync writes it." : "Its log is read all the same. Its next sync writes it.",
                    canBeRepaired: isSelf))
        } catch let error as FerryError where error.concernsOneFile {
            let passes = [FerryError.Code.formatTooNew, .fileNotThereYet].contains(error.code)
            report.add(
                .init(
                    passes || isSelf ? .warning : .fault, name, "Its head: " + error.message,
                    advice: isSelf ? "The next sync writes it anew." : Self.adviceForHead(error.code),
                    file: error.path, canBeRepaired: isSelf))
        }
    }

    private static func adviceForHead(_ code: FerryError.Code) -> String {
        switch code {
        case .foreignFile: foreignAdvice
        case .fileNotThereYet: "`ferry sync` takes what has arrived. " + waitingAdvice
        default: "Its log is read all the same. Its next sync writes the head anew."
        }
    }

    private static let waitingAdvice =
        "Wait until it is there whole; let a folder's syncer finish here and on its device."

    /// Reads the parts of a segment's large values.
    /// - Throws: `damagedFile`, and `fileNotThereYet` for a part that a different device's syncer may still bring.
    private func examineParts(of header: SegmentHeader, under epoch: EpochID?, isSelf: Bool) throws {
        for part in Set(header.largeValues.flatMap(\.parts)) {
            guard let file = try container.readPart(part.checksum, of: header.device, under: epoch) else {
                throw FerryError(
                    isSelf ? .damagedFile : .fileNotThereYet, "a part of a large value is missing.",
                    path: try container.partPath(part.checksum, of: header.device, under: epoch))
            }
            guard try PartFile.verify(file, container: container.id) == part.checksum else {
                throw ByteReader.malformed("a part of a large value is another than its name says")
            }
        }
    }

    /// Examines the segments of a device.
    /// - Returns: the number of examined segments.
    private mutating func examineSegments(
        of device: DeviceID, _ name: String, isSelf: Bool, _ report: inout DoctorReport
    ) throws -> Int {
        let files: [SegmentFile]
        do {
            files = try container.segmentFiles(of: device)
        } catch let error as FerryError where error.concernsOneFile {
            report.add(
                .init(.fault, name, error.message, advice: "Move away what does not belong there.", file: error.path))
            return 0
        }
        var whole: [SegmentHeader] = []
        for file in files {
            progress?(SyncProgress(phase: .examining, completed: examined.files, total: examined.total))
            examined.files += 1
            if let header = try examineSegment(file, of: device, name, isSelf: isSelf, &report) {
                whole.append(header)
            } else if isSelf, !file.isCopy {
                lost = max(lost, file.name.last)
            }
        }
        reportCopies(files, name, device, &report)
        try reportGaps(whole, of: device, name, isSelf: isSelf, &report)
        return files.count
    }

    private func examineSegment(
        _ file: SegmentFile, of device: DeviceID, _ name: String, isSelf: Bool, _ report: inout DoctorReport
    ) throws -> SegmentHeader? {
        let path = container.path(of: file, device)
        do {
            guard let (bytes, epoch) = try container.readSegmentFile(file, of: device) else { return nil }
            if SegmentDecoder.isIncomplete(bytes) {
                report.add(
                    .init(
                        .warning, name, "\(file.fileName) has not arrived whole: \(bytes.count) bytes so far.",
                        advice: Self.waitingAdvice,
                        file: path))
                return nil
            }
            let header = try SegmentDecoder.decode(bytes, container: container.id, device: device, parts: .leftOut).0
            try examineParts(of: header, under: epoch, isSelf: isSelf)
            return header
        } catch let error as FerryError {
            if file.isCopy { return nil }
            if error.code == .fileNotThereYet {
                report.add(
                    .init(
                        .warning, name, "\(file.fileName): \(error.message)",
                        advice: Self.waitingAdvice,
                        file: error.path ?? path))
                return nil
            }
            report.add(
                .init(
                    .fault, name, "\(file.fileName): \(error.message)",
                    advice: isSelf
                        ? "A snapshot in its place lets the other devices go on."
                        : error.code == .foreignFile
                            ? Self.foreignAdvice
                            : "Bring the file back from another device's folder, or run `ferry doctor --repair` on that device.",
                    file: error.path ?? path, canBeRepaired: isSelf))
            return nil
        }
    }

    private func reportCopies(
        _ files: [SegmentFile], _ name: String, _ device: DeviceID, _ report: inout DoctorReport
    ) {
        let copies = files.filter(\.isCopy)
        guard let first = copies.first else { return }
        report.add(
            .init(
                .note, name, "\(copies.count) files look like a syncer's conflicted copies.",
                advice: "They do no harm, and can be deleted where the proper file is there.",
                file: container.path(of: first, device)))
    }

    /// Adds numbers in no whole segment and not replayed by this database.
    private mutating func reportGaps(
        _ segments: [SegmentHeader], of device: DeviceID, _ name: String, isSelf: Bool, _ report: inout DoctorReport
    ) throws {
        if abandoned.contains(device) { return }
        let head = isSelf ? nil : try? container.readHead(of: device)  // a faulty head is already reported
        let start = isSelf ? self.known.logStart : head?.logStart ?? 0
        let known = isSelf ? 0 : self.known.vector[device].sequence
        let end =
            isSelf
            ? try replica.store.ownSegments().filter { $0.replacedMilliseconds == nil }.map(\.last).max() ?? 0
            : segments.map(\.lastSequence).max() ?? 0
        let names = try segments.map {
            try SegmentName(first: $0.firstSequence, last: $0.lastSequence, checksum: $0.checksum)
        }
        let missing = CompactionFacts.lastMissing(in: names, from: max(start, known + 1), through: end)
        if missing > 0 {
            if isSelf { lost = max(lost, missing) }
            report.add(
                .init(
                    isSelf ? .fault : .warning, name,
                    "Some of its changes, up to number \(missing), are not in the container, though later ones are or should be.",
                    advice: isSelf
                        ? "A snapshot in their place lets the other devices go on."
                        : "Wait until they have arrived. If they are lost, run `ferry doctor --repair` on that device.",
                    canBeRepaired: isSelf))
        }
        let needed = max(start, 1) - 1
        if needed > known {
            let catalog = SnapshotCatalog(container)
            let isCovered = try catalog.entries().contains {
                try $0.manifest.vector[device].sequence >= needed && catalog.isWhole($0)
            }
            if !isCovered {
                report.add(
                    .init(
                        .fault, name,
                        "Its changes up to number \(needed) are in no file any more, and in no whole snapshot.",
                        advice: isSelf
                            ? "A new snapshot lets the other devices go on."
                            : "Wait until they have arrived. If they are lost, run `ferry doctor --repair` on that device.",
                        canBeRepaired: isSelf))
            }
        }
    }
}
