import FerryContainer
import FerryCore
import FerryLog
import FerryStore

/// Merges logs with several branches without an owner (Docs/Architecture/identity-and-forks.md). Two copies of a
/// database published under the same ID, and neither has the ID now.
///
/// Each reader follows the branch that it met first, and cannot follow a different branch. So all branches are merged,
/// and sent again under this device's ID.
/// - Former IDs of this database: both copies may have got new IDs before they heard of each other.
/// - Retired devices: nobody is left who would send their branches again.
extension Replica {
    /// Devices that write no more under their IDs: this device's former IDs, and retired devices.
    func endedDevices(_ reading: StoreSummary) -> Set<DeviceID> {
        reading.retired.union(reading.formerDevices.map(\.device)).subtracting([identity.device])
    }

    /// Merges new branches of such logs in the container, and records logs with an incomplete branch.
    /// - Parameter abandoned: devices whose logs continue on a branch unreadable here (`LogReader.Batch.abandoned`).
    /// - Returns: true if there is something new to publish.
    func mergeBranches(_ container: Container, abandoned: Set<DeviceID> = []) throws -> Bool {
        var isNews = false
        let ended = endedDevices(try store.reading())
        for device in ended.union(abandoned).sorted() {
            let files: [SegmentFile]
            do {
                files = try container.segmentFiles(of: device)
            } catch let error as FerryError where error.concernsOneFile {
                // Readers of the log report the error.
                continue
            }
            if !ForkedLog.overlap(files.map(\.name)) {
                // A different branch continues behind the position of this store, and the branch's beginning is gone.
                if abandoned.contains(device) { try store.recordForkedLog(device) }
                continue
            }
            // The former owners of the ID send everything again.
            if !ended.contains(device) { continue }
            let known = Set(try store.branchesTakenIn(of: device))
            if files.allSatisfy({ known.contains($0.fileName) }) { continue }
            let log = try ForkedLog(files, of: device, container)
            // Incomplete files are not recorded: they are examined again.
            if log.read.isSubset(of: known) { continue }
            if log.isForked {
                do {
                    let sent = try store.mergeBranches(
                        log.changesets, of: device, after: log.common, isForkCertain: log.fork != nil,
                        encode: segmentEncoding(for: identity))
                    isNews = isNews || sent > 0
                } catch let error as FerryError where error.mayConcernOneLog(besides: identity.device) {
                    // A nonsensical branch is not sent again, and stops no device.
                    continue
                }
            }
            try store.recordMergedBranches(log.read.union(known).sorted(), of: device)
        }
        return isNews
    }
}

extension Replica {
    /// Merges snapshots' content of forked logs with missing files. Both sides may have removed files behind the fork
    /// before they heard of each other. Then the fork's position is unknown, and so are deletions that a single side
    /// has forgotten. Rows of either side are kept.
    ///
    /// Only needed if a different device replayed the same changesets and holds a different state. All state under
    /// stamps of the forked log is written again under this device's ID, just after the original times, and so reaches
    /// all devices.
    /// - Returns: true if there may be something new to publish.
    func uniteBranches(_ container: Container, _ look: ContainerView, _ report: inout SyncReport) throws -> Bool {
        let reading = try store.reading()
        if reading.forkedLogs.isEmpty || !reading.isPublished { return false }
        let successors = Successors(look.heads, self: identity.device, reading.formerDevices)
        let superseded = endedDevices(reading).union(successors.all.keys)
        let isContradicted = look.heads.values.contains {
            PeerStanding(reading.vector, reading.tables, hasNotes: false, superseded: superseded, $0).isContradicted
        }
        if !isContradicted { return false }
        let news = try reading.forkedLogs.sorted().filter { try readSnapshots(of: $0, container, &report) }
        for device in news {
            _ = try store.mergeBranches([], of: device, after: .none, encode: segmentEncoding(for: identity))
            // No device needs the rest of the log. If a database still writes the log, a later head shows this.
            let head = look.heads[device]
            try retire(
                device, named: head?.deviceName ?? reading.names[device] ?? "",
                heardMilliseconds: head?.writtenMilliseconds)
        }
        return !news.isEmpty
    }

    /// Reads unread snapshots with content of a forked log.
    /// - Returns: true if there was any.
    private func readSnapshots(
        of device: DeviceID, _ container: Container, _ report: inout SyncReport
    ) throws -> Bool {
        let snapshots = SnapshotChooser(replica: self, container: container)
        var isNews = false
        for entry in try SnapshotCatalog(container).entries()
        where entry.device != identity.device && entry.manifest.positions[device] != nil {
            let known = try store.branchesTakenIn(of: device)
            if known.contains(entry.name.fileName) { continue }
            // Devices that need the snapshot report its errors.
            if try snapshots.load(entry, &report) != nil { continue }
            try store.recordMergedBranches(known + [entry.name.fileName], of: device)
            isNews = true
        }
        return isNews
    }
}

/// The branches of a single device's log, as far as in the container.
struct ForkedLog {
    /// The names of the readable files.
    private(set) var read: Set<String> = []
    /// The last changeset common to all branches; the time is zero if the changeset is missing.
    private(set) var common = LogPosition.none
    /// The same position, with a time before all changes of the branches. `nil` unless the branches certainly part
    /// here: files of a branch may be gone.
    private(set) var fork: LogPosition?
    /// All changesets behind `common`, each once; empty if the files are of a single log.
    private(set) var changesets: [Changeset] = []

    var isForked: Bool { !changesets.isEmpty }

    /// Returns true if two files hold the same number: branches, or a roll-up beside the replaced segments.
    /// - Parameter names: in the order of first numbers.
    static func overlap(_ names: [SegmentName]) -> Bool {
        var last: SegmentName?
        var furthest: UInt64 = 0
        for name in names where name != last {
            if name.first <= furthest { return true }
            furthest = max(furthest, name.last)
            last = name
        }
        return false
    }

    /// Reads a device's files.
    init(_ files: [SegmentFile], of device: DeviceID, _ container: Container) throws {
        var found: [UInt64: [OwnLog.Mark: Changeset]] = [:]
        var headers: [SegmentHeader] = []
        for file in files {
            guard let bytes = try container.readSegment(file, of: device) else { continue }
            let (header, decoded): (SegmentHeader, [Changeset])
            do {
                (header, decoded) = try SegmentDecoder.decode(bytes, container: container.id, device: device)
            } catch {
                // Readers of the log report the error.
                continue
            }
            read.insert(file.fileName)
            headers.append(header)
            for changeset in decoded {
                found[changeset.sequence, default: [:]][try OwnLog.mark(changeset, container)] = changeset
            }
        }
        guard let fork = found.filter({ $0.value.count > 1 }).keys.min() else { return }
        common = LogPosition(sequence: fork - 1, time: found[fork - 1]?.keys.first?.time ?? .zero)
        changesets = found.filter { $0.key >= fork }.sorted { $0.key < $1.key }.flatMap { _, branches in
            branches.sorted { ($0.key.time, $0.key.content) < ($1.key.time, $1.key.content) }.map(\.value)
        }
        if Self.isCertain(fork, headers) {
            let time = found[fork - 1]?.keys.first?.time ?? Self.time(before: changesets)
            self.fork = LogPosition(sequence: fork - 1, time: time)
        }
    }

    /// True if all files belong to branches that part at a number. Files with this number follow the same changeset,
    /// and later files follow these files.
    private static func isCertain(_ fork: UInt64, _ headers: [SegmentHeader]) -> Bool {
        let holding = headers.filter { $0.firstSequence <= fork && fork <= $0.lastSequence }
        let isJoined =
            holding.allSatisfy { $0.firstSequence < fork }
            || holding.allSatisfy { $0.firstSequence == fork } && Set(holding.map(\.previous)).count == 1
        let ends = Dictionary(grouping: headers, by: \.lastSequence).mapValues { Set($0.map(\.chainEnd)) }
        return isJoined
            && headers.allSatisfy { header in
                guard header.firstSequence > fork, let previous = header.previous else {
                    return header.firstSequence <= fork
                }
                return ends[header.firstSequence - 1]?.contains(previous) ?? false
            }
    }

    /// A time before all times in the changesets.
    private static func time(before changesets: [Changeset]) -> HybridTime {
        let times = changesets.flatMap { [$0.time] + $0.tables.flatMap { $0.operations.lazy.map(\.time) } }
        return HybridTime(rawValue: max(times.min()?.rawValue ?? 0, 1) - 1)
    }
}
