import FerryContainer
import FerryCore
import FerryStore

/// Logs known to some device beyond the files in the container. The device imported a snapshot from a file, or is a copy of the
/// author's database. The files are late, or lost with their author; no device can tell these cases apart
/// (Docs/Architecture/snapshots.md, "What never arrives").
///
/// A device with such a log waits for the files, then publishes a snapshot, unless a snapshot covers the log already. A device
/// without the changes waits too, then reads that snapshot, even if the log's author announces less.
///
/// The log may be this device's own: a device has read changes under this device's numbers that this database did not write
/// (`Replica.foreignPositions`). A copy of the database may have written the changes, and its files are late.
struct Undelivered {
    private let replica: Replica
    private let look: ContainerView
    private let reading: StoreSummary
    private let now: Int64
    /// Logs in which other devices are further than this device, after this device has read all files.
    private let lacked: Set<DeviceID>
    /// Positions in this device's log that remote devices have read, and this database did not write.
    private let foreign: [LogPosition]
    /// The lacked logs whose branches may part before this device's position.
    private let ambiguous: Set<DeviceID>
    /// True if the pass found nothing new, and nothing was undelivered before.
    private let isKnown: Bool

    private var own: DeviceID { replica.identity.device }
    private var retention: RetentionSettings { replica.retention }

    init(_ replica: Replica, _ look: ContainerView, _ problems: [DeviceID: FerryError]) throws {
        self.replica = replica
        self.look = look
        reading = try replica.store.reading()
        now = replica.environment.clock.milliseconds()
        isKnown = look.isQuiet && reading.undelivered.isEmpty
        (lacked, ambiguous) =
            isKnown ? ([], []) : try Self.lacked(look, reading, problems, own: replica.identity.device, replica)
        foreign = isKnown ? [] : try replica.foreignPositions(look.heads)
    }

    private static func lacked(
        _ look: ContainerView, _ reading: StoreSummary, _ problems: [DeviceID: FerryError], own: DeviceID,
        _ replica: Replica
    ) throws -> (lacked: Set<DeviceID>, ambiguous: Set<DeviceID>) {
        let successors = Successors(look.heads, self: own, reading.formerDevices)
        let superseded = try replica.endedDevices(reading).union(successors.all.keys)
        var (lacked, ambiguous): (Set<DeviceID>, Set<DeviceID>) = ([], [])
        for (author, head) in look.heads {
            for (device, position) in head.acknowledgements where device != own && !lacked.contains(device) {
                let here = reading.vector[device].sequence
                guard position.sequence > here, !look.abandoned.contains(device),
                    isOfFiles(problems[device])
                else { continue }
                if isAmbiguous(device, at: here, successors, reading) {
                    // Of two branches, one was sent again under another ID. Only a contradiction shows otherwise, or a log that goes on
                    // behind a snapshot with these changes.
                    let standing = PeerStanding(
                        reading.vector, reading.tables, hasNotes: false, superseded: superseded, head)
                    if !standing.isContradicted && look.gaps[author] == nil { continue }
                    ambiguous.insert(device)
                }
                lacked.insert(device)
            }
        }
        return (lacked, ambiguous)
    }

    /// True if files of the log are missing or unreadable, and their content was not refused.
    private static func isOfFiles(_ problem: FerryError?) -> Bool {
        problem.map { $0.isReplacedContent || [.fileNotThereYet, .logCollected].contains($0.code) } ?? true
    }

    /// True if this device may stand on another branch of the log than remote devices.
    private static func isAmbiguous(
        _ device: DeviceID, at sequence: UInt64, _ successors: Successors, _ reading: StoreSummary
    ) -> Bool {
        reading.forkedLogs.contains(device)
            || successors.all[device]?.values.contains { $0.sequence < sequence } ?? false
    }

    /// True if the state lasts long enough. Ferry does not wait for files of retired devices.
    private func isOverdue(_ device: DeviceID, since: Int64?, _ patience: Int64) -> Bool {
        if reading.retired.contains(device) { return true }
        return since.map { now.milliseconds(since: $0) >= patience } ?? false
    }

    // MARK: Lacked logs

    /// The overdue lacked logs, each with the first missing sequence number.
    func gaps() throws -> [DeviceID: UInt64] {
        let overdue = lacked.filter {
            isOverdue($0, since: reading.undelivered.lacked[$0], retention.patienceMilliseconds)
        }
        // With two branches, no position says which changes are known.
        for device in overdue.intersection(ambiguous).sorted() { try replica.store.recordForkedLog(device) }
        return Dictionary(uniqueKeysWithValues: overdue.map { ($0, reading.vector[$0].sequence + 1) })
    }

    /// Where this device's database and the container were set back to together, so the database needs a new ID. `.none` for an
    /// unknown place; `nil` if nothing was set back, or a copy's files may be late.
    ///
    /// A different file in the database's place is a backup's: nothing needs to be waited for.
    func setBack() throws -> LogPosition? {
        if foreign.isEmpty { return nil }
        if let replaced = try replica.store.replacedFilePosition(),
            foreign.allSatisfy({ $0.sequence > replaced.sequence })
        {
            return replaced
        }
        let isLate = isOverdue(own, since: reading.undelivered.lacked[own], retention.patienceMilliseconds)
        return isLate ? LogPosition.none : nil
    }

    // MARK: Kept logs

    /// Records since when logs are undelivered.
    /// - Returns: true if this device must write a snapshot for an overdue log.
    func note(_ container: Container, _ activity: DeviceActivity) throws -> Bool {
        if isKnown { return false }
        let known = reading.undelivered
        let kept = try kept(container, activity)
        func noted(_ devices: Set<DeviceID>, _ known: [DeviceID: Int64]) -> [DeviceID: Int64] {
            // After the clock was set back, a later time would mean years of waiting.
            Dictionary(uniqueKeysWithValues: devices.map { ($0, min(known[$0] ?? now, now)) })
        }
        let present = UndeliveredLogs(
            kept: noted(kept, known.kept), lacked: noted(foreign.isEmpty ? lacked : lacked.union([own]), known.lacked))
        try replica.store.noteUndelivered(present, known: known)
        return kept.contains {
            isOverdue($0, since: present.kept[$0], retention.undeliveredMilliseconds)
        }
    }

    /// The logs with changes on this device, missing on an active device, and not readable in the container.
    private func kept(_ container: Container, _ activity: DeviceActivity) throws -> Set<DeviceID> {
        var kept: Set<DeviceID> = []
        var reach = LogReach(container, ends: try replica.logEnds())
        for (device, position) in reading.vector.positions
        where device != own && !reading.forkedLogs.contains(device) {
            let low = activity.acknowledged(of: device, before: position.sequence)
            if low >= position.sequence { continue }
            do {
                if try !reach.leads(through: device, after: low, to: position.sequence) { kept.insert(device) }
            } catch let error as FerryError where error.concernsOneFile {
                // Readers of the log report the file.
                continue
            }
        }
        return kept
    }
}

extension Replica {
    /// Imports a snapshot that covers gaps and overdue logs.
    /// - Returns: true if a snapshot was imported; then more files may be readable.
    func bridge(
        _ look: ContainerView, _ undelivered: Undelivered?, _ snapshots: SnapshotChooser, _ report: inout SyncReport,
        _ problems: inout [DeviceID: FerryError]
    ) throws -> Bool {
        let overdue = try undelivered?.gaps() ?? [:]
        let gaps = look.gaps.merging(overdue) { start, _ in start }
        if gaps.isEmpty { return false }
        return try snapshots.bridge(gaps, undelivered: Set(overdue.keys), &report, &problems)
    }
}
