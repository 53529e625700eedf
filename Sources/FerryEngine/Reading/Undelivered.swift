import FerryContainer
import FerryCore
import FerryStore

/// Logs that some device has further than the container can give them to others: a device got them by a snapshot in a file, or is
/// a copy of their author's database. Their files are late, or lost with their author, and nobody can tell which
/// (Docs/Architecture/snapshots.md, "What never arrives").
///
/// So files are waited for, and in the end a snapshot stands for them: whoever has such a log further publishes a snapshot,
/// unless there is one that covers it. Whoever lacks it reads that snapshot, though the log's author tells of less.
struct Undelivered {
    private let replica: Replica
    private let look: ContainerLook
    private let reading: StoreReading
    private let now: Int64
    /// Logs that other devices have further than this one, after all was read that files give; of which the branches may part
    /// before where this device stands, too.
    private let lacked: Set<DeviceID>
    private let ambiguous: Set<DeviceID>
    /// Nothing is to be told that was not told before.
    private let isKnown: Bool

    private var own: DeviceID { replica.identity.device }
    private var retention: RetentionSettings { replica.retention }

    init(_ replica: Replica, _ look: ContainerLook, _ problems: [DeviceID: FerryError]) throws {
        self.replica = replica
        self.look = look
        reading = try replica.store.reading()
        now = replica.environment.clock.milliseconds()
        isKnown = look.isQuiet && reading.undelivered.isEmpty
        (lacked, ambiguous) =
            isKnown ? ([], []) : Self.lacked(look, reading, problems, own: replica.identity.device, replica)
    }

    private static func lacked(
        _ look: ContainerLook, _ reading: StoreReading, _ problems: [DeviceID: FerryError], own: DeviceID,
        _ replica: Replica
    ) -> (lacked: Set<DeviceID>, ambiguous: Set<DeviceID>) {
        let successors = Successors(look.heads, self: own, reading.formerDevices)
        let superseded = replica.endedDevices(reading).union(successors.all.keys)
        var (lacked, ambiguous): (Set<DeviceID>, Set<DeviceID>) = ([], [])
        for head in look.heads.values {
            for (device, position) in head.acknowledgements where device != own && !lacked.contains(device) {
                let here = reading.vector[device].sequence
                guard position.sequence > here, !look.abandoned.contains(device),
                    isOfFiles(problems[device]?.code)
                else { continue }
                if isAmbiguous(device, at: here, successors, reading) {
                    // Two branches: what one of them says came again under another ID, unless something else shows.
                    let standing = PeerStanding(
                        reading.vector, reading.tables, hasNotes: false, superseded: superseded, head)
                    if !standing.isContradicted { continue }
                    ambiguous.insert(device)
                }
                lacked.insert(device)
            }
        }
        return (lacked, ambiguous)
    }

    /// Whether a log is merely not there: what is wrong with it is no matter of what it says.
    private static func isOfFiles(_ code: FerryError.Code?) -> Bool {
        code.map { [.fileNotThereYet, .logCollected, .damagedFile].contains($0) } ?? true
    }

    /// Whether this device may stand on another branch of a log than others do.
    private static func isAmbiguous(
        _ device: DeviceID, at sequence: UInt64, _ successors: Successors, _ reading: StoreReading
    ) -> Bool {
        reading.forkedLogs.contains(device)
            || successors.all[device]?.values.contains { $0.sequence < sequence } ?? false
    }

    /// Whether something is so for long enough. Of a device that was retired no files are waited for.
    private func isOverdue(_ device: DeviceID, since: Int64?, _ patience: Int64) -> Bool {
        if reading.retired.contains(device) { return true }
        return since.map { now.milliseconds(since: $0) >= patience } ?? false
    }

    // MARK: What is lacked here

    /// The logs that are not waited for any longer, each with the number from which it could be read on.
    func gaps() throws -> [DeviceID: UInt64] {
        let overdue = lacked.filter {
            isOverdue($0, since: reading.undelivered.lacked[$0], retention.patienceMilliseconds)
        }
        // Of those with two branches no position says what is known.
        for device in overdue.intersection(ambiguous).sorted() { try replica.store.noteForkedLog(device) }
        return Dictionary(uniqueKeysWithValues: overdue.map { ($0, reading.vector[$0].sequence + 1) })
    }

    // MARK: What is kept here

    /// Notes since when logs are not given.
    /// - Returns: whether a snapshot has to tell of some that this device has.
    func note(_ container: Container, _ activity: DeviceActivity) throws -> Bool {
        if isKnown { return false }
        let known = reading.undelivered
        let kept = try kept(container, activity)
        func noted(_ devices: Set<DeviceID>, _ known: [DeviceID: Int64]) -> [DeviceID: Int64] {
            // A clock that was set back is no reason to wait for years.
            Dictionary(uniqueKeysWithValues: devices.map { ($0, min(known[$0] ?? now, now)) })
        }
        let present = UndeliveredLogs(kept: noted(kept, known.kept), lacked: noted(lacked, known.lacked))
        try replica.store.noteUndelivered(present, known: known)
        return kept.contains {
            isOverdue($0, since: present.kept[$0], retention.undeliveredMilliseconds)
        }
    }

    /// The logs of which this device has what an active one lacks and the container does not give.
    private func kept(_ container: Container, _ activity: DeviceActivity) throws -> Set<DeviceID> {
        var kept: Set<DeviceID> = []
        var reach = LogReach(container)
        for (device, position) in reading.vector.positions
        where device != own && !reading.forkedLogs.contains(device) {
            let low = activity.acknowledged(of: device, before: position.sequence)
            if low >= position.sequence { continue }
            do {
                if try !reach.leads(through: device, after: low, to: position.sequence) { kept.insert(device) }
            } catch let error as FerryError where error.concernsOneFile {
                // Those who read the log tell of it.
                continue
            }
        }
        return kept
    }
}

extension Replica {
    /// Reads a snapshot in that covers what logs do not give.
    /// - Returns: whether one was read, so that there is more to replay.
    func bridge(
        _ look: ContainerLook, _ undelivered: Undelivered?, _ snapshots: SnapshotReading, _ report: inout SyncReport,
        _ problems: inout [DeviceID: FerryError]
    ) throws -> Bool {
        let overdue = try undelivered?.gaps() ?? [:]
        let gaps = look.gaps.merging(overdue) { start, _ in start }
        if gaps.isEmpty { return false }
        return try snapshots.bridge(gaps, undelivered: Set(overdue.keys), &report, &problems)
    }
}
