import FerryContainer
import FerryCore
import FerryLog
import FerryStore

/// Looks at every file of the container: heads and logs of all devices, and what lies beside them.
struct ContainerExamination {
    let replica: Replica
    let container: Container

    func run(_ report: inout DoctorReport) throws {
        let names = Dictionary(
            try replica.store.deviceNames().map { ($0.id, $0.name) }, uniquingKeysWith: { first, _ in first })
        var files = 0
        let devices = try container.devices()
        for device in devices {
            let isSelf = device == replica.identity.device
            let name = isSelf ? "this device" : names[device].flatMap { $0.isEmpty ? nil : $0 } ?? device.description
            try noteHead(of: device, name, isSelf: isSelf, &report)
            files += try noteSegments(of: device, name, isSelf: isSelf, &report)
        }
        report.examined.append("\(files) segments of \(devices.count) devices")
    }

    private func noteHead(
        of device: DeviceID, _ name: String, isSelf: Bool, _ report: inout DoctorReport
    ) throws {
        do {
            if let head = try container.readHead(of: device) {
                let known = isSelf ? 0 : try replica.store.versionVector()[device].sequence
                if let older = Replica.older(head, than: known) {
                    report.add(
                        .warning, name, older.message,
                        advice: "Look whether the folder was restored from a backup, or is another copy of it.")
                }
                return
            }
            report.add(
                isSelf ? .note : .warning, name, "Its head is missing.",
                advice: isSelf
                    ? "The next sync writes it." : "Its log is read all the same. Its next sync writes it.",
                canBeRepaired: isSelf)
        } catch let error as FerryError where LogReader.concernsOneDevice(error) {
            report.add(
                error.code == .formatTooNew || isSelf ? .warning : .fault, name, "Its head: " + error.message,
                advice: isSelf
                    ? "The next sync writes it anew."
                    : "Its log is read all the same. Its next sync writes the head anew.",
                file: error.path, canBeRepaired: isSelf)
        }
    }

    /// - Returns: the number of segments looked at.
    private func noteSegments(
        of device: DeviceID, _ name: String, isSelf: Bool, _ report: inout DoctorReport
    ) throws -> Int {
        let files: [SegmentFile]
        do {
            files = try container.segmentFiles(of: device)
        } catch let error as FerryError where LogReader.concernsOneDevice(error) {
            report.add(.fault, name, error.message, advice: "Move away what does not belong there.", file: error.path)
            return 0
        }
        var whole: [SegmentHeader] = []
        for file in files {
            if let header = try noteSegment(file, of: device, name, isSelf: isSelf, &report) { whole.append(header) }
        }
        noteCopies(files, name, device, &report)
        try noteGaps(whole, of: device, name, isSelf: isSelf, &report)
        return files.count
    }

    private func noteSegment(
        _ file: SegmentFile, of device: DeviceID, _ name: String, isSelf: Bool, _ report: inout DoctorReport
    ) throws -> SegmentHeader? {
        let path = container.path(of: file, device)
        do {
            guard let bytes = try container.readSegment(file, of: device) else { return nil }
            if SegmentDecoder.isIncomplete(bytes) {
                report.add(
                    .warning, name, "\(file.fileName) has not arrived whole: \(bytes.count) bytes so far.",
                    advice: "Let the folder's syncer finish, on this device and on the one that wrote it.", file: path)
                return nil
            }
            return try SegmentDecoder.decode(bytes, container: container.id, device: device).0
        } catch let error as FerryError {
            if file.isCopy { return nil }
            report.add(
                .fault, name, "\(file.fileName): \(error.message)",
                advice: isSelf
                    ? "A snapshot in its place lets the other devices go on."
                    : "Bring the file back from another device's folder, or let that device run `ferry doctor --repair`.",
                file: path, canBeRepaired: isSelf)
            return nil
        }
    }

    private func noteCopies(
        _ files: [SegmentFile], _ name: String, _ device: DeviceID, _ report: inout DoctorReport
    ) {
        let copies = files.filter(\.isCopy)
        guard let first = copies.first else { return }
        report.add(
            .note, name, "\(copies.count) files look like a syncer's conflicted copies.",
            advice: "They do no harm, and can be deleted where the proper file is there.",
            file: container.path(of: first, device))
    }

    /// Numbers that no whole segment has, and that this database has not replayed.
    private func noteGaps(
        _ segments: [SegmentHeader], of device: DeviceID, _ name: String, isSelf: Bool, _ report: inout DoctorReport
    ) throws {
        let known = isSelf ? 0 : try replica.store.versionVector()[device].sequence
        var next = known + 1
        for segment in segments.sorted(by: { $0.firstSequence < $1.firstSequence }) {
            if segment.firstSequence > next {
                report.add(
                    isSelf ? .fault : .warning, name,
                    "Its changes \(next) to \(segment.firstSequence - 1) are not in the folder, though later ones are.",
                    advice: isSelf
                        ? "A snapshot in their place lets the other devices go on."
                        : "Let the folder's syncer finish. If they are lost, let that device run `ferry doctor --repair`.",
                    canBeRepaired: isSelf)
            }
            next = max(next, segment.lastSequence + 1)
        }
    }
}
