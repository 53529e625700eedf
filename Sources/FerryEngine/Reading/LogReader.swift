import FerryContainer
import FerryCore
import FerryLog
import FerryStore

/// Reads other devices' logs from the container: verified changesets, in order, without gaps.
///
/// Heads are hints: a head without news spares a look at the device's files; a thorough read looks all the same. A
/// fault in a device's log stops this device's log only.
struct LogReader {
    /// Maximum operations in a batch: with values and bytes, bounds the memory of a replay, and its transaction. A
    /// single segment always fits; further segments are added while they fit.
    /// So small changes are replayed many at a time, in the order of IDs. Rows of a hundred bytes and more are replayed
    /// a segment at a time (`ChangeCapture.maximumNotes`).
    static let maximumOperations = 100_000
    static let maximumValues = SegmentLimits.valuesAtOnce
    static let maximumBytes = 4 << 20

    /// Where logs end that are not read further, in a sealed container.
    struct Ends: Equatable {
        /// By devices that left: the last changeset that counts.
        var left: [DeviceID: UInt64] = [:]
        /// By devices that are out: the last changeset that was accepted. It comes by a snapshot.
        var accepted: [DeviceID: UInt64] = [:]
    }

    let container: Container
    let device: DeviceID
    var ends = Ends()
    /// The former IDs of this device's database.
    var former: [PreviousIdentity] = []
    /// The former IDs whose logs were a single log at the renewal (`Replica.unforked`).
    var unforked: Set<DeviceID> = []
    /// Devices that write no more under their IDs (`Replica.endedDevices`).
    var ended: Set<DeviceID> = []
    /// Retired devices: they will not come back.
    var retired: Set<DeviceID> = []
    /// Memory of earlier looks.
    var quiet: UnchangedLogs?
    var last: UnchangedScan?
    /// Free bytes of the database's disk; `nil` if unknown or irrelevant.
    var room: () -> Int? = { nil }
    /// Devices whose logs are not read further, because their next changeset is refused.
    var setAside: Set<DeviceID> = []
    /// True: the caller needs only the changesets' schemas, and some changesets come without tables.
    var schemasOnly = false

    /// Reads the changesets after `positions`.
    /// - Parameters:
    ///   - known: for each device the checksum of the last replayed segment, if known.
    ///   - isThorough: true: look at files even if heads announce nothing.
    func read(
        after positions: VersionVector, known: [DeviceID: Checksum] = [:], isThorough: Bool
    ) throws -> Batch {
        var batch = try readLogs(after: positions, known: known, isThorough: isThorough)
        // Their authors can rewrite what was not read yet: what counts comes by snapshots, as of logs that were collected.
        for (peer, accepted) in ends.accepted where peer != device {
            // A malicious member can say that more was accepted than anybody has. Nobody waits for what no member has.
            let end = min(accepted, Self.furthest(of: peer, in: batch.heads))
            guard end > positions[peer].sequence else { continue }
            let stall = LogStall(.removed(end: end), at: positions[peer].sequence + 1)
            batch.problems[peer] = stall.error(of: peer, isSuperseded: false)
            batch.gaps[peer] = end + 1
            batch.isQuiet = false
        }
        return batch
    }

    /// How far the members whose heads are here have replayed a log.
    static func furthest(of peer: DeviceID, in heads: [DeviceID: Head]) -> UInt64 {
        heads.values.compactMap { $0.acknowledgements[peer]?.sequence }.max() ?? 0
    }

    private func readLogs(
        after positions: VersionVector, known: [DeviceID: Checksum], isThorough: Bool
    ) throws -> Batch {
        // Where a listing answers, a head that lags behind holds nobody up.
        let isThorough = isThorough || container.answersFromListing
        var read = LogRead(self, isThorough: isThorough)
        read.batch.devices = try container.devices().filter { $0 != device }
        let question = UnchangedScan.Question(
            container: container.id, positions: positions, ended: ended, devices: read.batch.devices,
            isThorough: isThorough)
        if setAside.isEmpty, let quiet, let known = last?.batch(question, in: container, quiet.milliseconds()) {
            var batch = known
            batch.isQuiet = true
            return batch
        }
        var notes = UnchangedScan.Notes()
        let devices = read.batch.devices
        for (index, peer) in devices.enumerated() {
            if index.isMultiple(of: Container.headsAhead) { container.prefetchHeads(of: devices[index...]) }
            do {
                try look(at: peer, from: positions[peer].sequence, known[peer], &read, &notes)
            } catch let error as FerryError where error.concernsOneFile {
                notes.recordUnknown()
                read.stall(peer, .unreadable(error), at: positions[peer].sequence + 1, path: error.path)
            }
            if read.batch.isFull {
                // The devices behind were not examined.
                read.batch.devices.removeSubrange((index + 1)...)
                break
            }
        }
        let batch = try finish(read, after: positions)
        last?.keep(question, notes, batch)
        return batch
    }

    /// Looks at a device's head and files, and reads what is new.
    private func look(
        at peer: DeviceID, from position: UInt64, _ known: Checksum?, _ read: inout LogRead,
        _ notes: inout UnchangedScan.Notes
    ) throws {
        let (head, version, damage) = try readHead(of: peer)
        notes.note(Container.headPath(of: peer), version)
        if let head { read.batch.heads[peer] = head }
        if let end = ends.left[peer], position >= end { return }
        if setAside.contains(peer) { return notes.recordUnknown() }
        var directory: (version: FileVersion, milliseconds: Int64)?
        if let head, head.position.sequence <= position {
            if !read.isThorough { return }
            if let quiet {
                let now = quiet.milliseconds()
                directory = try container.segmentsVersion(of: peer).map { ($0, now) }
                if let directory, let listed = quiet.listing(peer, after: position, directory.version, now) {
                    return notes.note(Container.segmentsPath(of: peer), directory.version, listed: listed)
                }
            }
        }
        notes.recordUnknown()
        try read.read(peer, after: position, head, known)
        if let directory, read.batch.segments[peer] == nil, read.stalls[peer] == nil {
            quiet?.note(peer, after: position, directory.version, directory.milliseconds)
        }
        if let damage, read.stalls[peer] == nil { read.stall(peer, .damagedHead(damage), at: position + 1) }
    }

    /// Decides which logs go on nowhere, and words the reasons of all others.
    private func finish(_ read: LogRead, after positions: VersionVector) throws -> Batch {
        var batch = read.batch
        // The owner of an unreadable branch continues under a new ID, and sends the branch again. Without an owner,
        // this device merges the branch.
        let successors = Successors(batch.heads, self: device, former)
        let superseded = ended.union(successors.all.keys)
        batch.abandoned = try superseded.filter {
            guard let stall = read.stalls[$0], stall.isFork else { return false }
            return try !isAwaited($0, successors)
        }
        // Nothing is lost with branches that were sent again completely, even if their files are gone for good.
        batch.abandoned.formUnion(
            read.stalls.keys.filter {
                retired.contains($0) && successors.haveSentAgain($0, after: positions[$0].sequence)
            })
        for (device, stall) in read.stalls where superseded.contains(device) && stall.isAbsence {
            if try hasAllBranches(of: device, behind: stall, after: positions, successors, batch) {
                batch.abandoned.insert(device)
            }
        }
        for device in batch.abandoned { batch.gaps[device] = nil }
        for (device, stall) in read.stalls where !batch.abandoned.contains(device) {
            // Nobody expects a file of a retired device that no device has read.
            let isRetired = retired.contains(device)
            if isRetired, stall.isExpected, Self.furthest(of: device, in: batch.heads) < stall.sequence { continue }
            batch.problems[device] = stall.error(of: device, isSuperseded: superseded.contains(device) && !isRetired)
        }
        return batch
    }

    /// True if somebody may still send the branch that continues a former ID's log: this database alone has a new ID, and the container has
    /// lost what it sent. The original writes on, or has not heard of the copy yet.
    private func isAwaited(_ peer: DeviceID, _ successors: Successors) throws -> Bool {
        guard unforked.contains(peer), successors.all[peer]?.count == 1 else { return false }
        do {
            return try !ForkedLog.overlap(container.segmentFiles(of: peer).map(\.name))
        } catch let error as FerryError where error.concernsOneFile {
            return false
        }
    }

    /// True if a segment of a former ID's log is missing, and nothing is lost with the segment. Everything behind
    /// belongs to branches sent again completely (`SentBranches`).
    private func hasAllBranches(
        of peer: DeviceID, behind stall: LogStall, after positions: VersionVector, _ successors: Successors,
        _ batch: Batch
    ) throws -> Bool {
        guard let head = batch.heads[peer] else { return false }
        let next = stall.sequence
        let ends = successors.endsSentAgain(peer, after: next - 1) { device in
            batch.changesets.last { $0.device == device }?.sequence ?? positions[device].sequence
        }
        do {
            return try SentBranches(container: container, ends: ends).hold(peer, after: next - 1, head)
        } catch let error as FerryError where error.concernsOneFile {
            return false
        }
    }

    /// Reads a head as a hint: the log is read even if the head is damaged, incomplete or unreadable. The log does not wait, so
    /// this is no damage of the log.
    /// - Returns: also the version of the head's file, if the file was not read; and the head's damage.
    private func readHead(of peer: DeviceID) throws -> (Head?, known: FileVersion?, damage: FerryError?) {
        do {
            let (head, version) = try container.lookAtHead(of: peer)
            return (head, version, nil)
        } catch let error as FerryError where error.concernsOneFile {
            // Also a head of another container or of a newer Ferry, one that a storage refuses, and a sealed head that is cut off, sealed
            // under a key that has not arrived, or not sealed at all.
            return (nil, nil, error)
        }
    }
}
