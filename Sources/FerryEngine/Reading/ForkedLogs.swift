import FerryContainer
import FerryCore
import FerryLog
import FerryStore

/// Logs with several branches that nobody else puts in order: two copies of one database published under one ID, and
/// neither has it any more (Docs/Architecture/identity-and-forks.md).
///
/// Each reader follows the branch that it met first, and cannot follow another. So all branches are taken in, and sent once
/// more under this device's ID: those of IDs that this database had before, because both copies may have got new ones
/// before they heard of each other, and those of devices that were retired, because nobody else is left who would.
extension Replica {
    /// Devices that write no more under their IDs: this one's former ones, and those that were retired.
    func endedDevices(_ reading: StoreReading) -> Set<DeviceID> {
        reading.retired.union(reading.formerDevices.map(\.device)).subtracting([identity.device])
    }

    /// Takes in the branches of such logs that are in the container and were not taken in before, and notes which logs have a
    /// branch that is not whole there.
    /// - Parameter abandoned: devices whose logs go on in a way that cannot be followed here (`LogReader.Batch.abandoned`).
    /// - Returns: whether there is something new to publish.
    func takeInBranches(_ container: Container, abandoned: Set<DeviceID> = []) throws -> Bool {
        var isNews = false
        let ended = endedDevices(try store.reading())
        for device in ended.union(abandoned).sorted() {
            let files: [SegmentFile]
            do {
                files = try container.segmentFiles(of: device)
            } catch let error as FerryError where error.concernsOneFile {
                // Those who read the log tell of it.
                continue
            }
            if !ForkedLog.overlap(files.map(\.name)) {
                // Another branch goes on behind what this store has read, and its beginning is gone.
                if abandoned.contains(device) { try store.noteForkedLog(device) }
                continue
            }
            // Those whose ID it was say all of it again.
            if !ended.contains(device) { continue }
            let known = Set(try store.branchesTakenIn(of: device))
            if files.allSatisfy({ known.contains($0.fileName) }) { continue }
            let log = try ForkedLog(files, of: device, container)
            // Of files that are not whole yet nothing is noted: they are looked at again.
            if log.read.isSubset(of: known) { continue }
            if log.isForked {
                do {
                    let sent = try store.takeInBranches(
                        log.changesets, of: device, after: log.common, isForkCertain: log.fork != nil,
                        seal: sealer(for: identity))
                    isNews = isNews || sent > 0
                } catch let error as FerryError where error.mayConcernOneLog(besides: identity.device) {
                    // Nonsense is not sent once more, and stops nobody.
                    continue
                }
            }
            try store.noteBranchesTakenIn(log.read.union(known).sorted(), of: device)
        }
        return isNews
    }
}

extension Replica {
    /// Takes in what snapshots hold of forked logs whose files are gone: both sides may have removed files behind the place
    /// where the branches part, before they heard of each other. Nobody can tell then where that is, and which deletions one
    /// side has forgotten; what either side has is kept.
    ///
    /// Only where another device has replayed the same and shows something else. All that the state has under stamps of the
    /// forked log is written again under this device's ID, at its own time, so that it reaches all devices.
    /// - Returns: whether there may be something new to publish.
    func uniteBranches(_ container: Container, _ look: ContainerLook, _ report: inout SyncReport) throws -> Bool {
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
            _ = try store.takeInBranches([], of: device, after: .none, seal: sealer(for: identity))
            // Nobody needs the rest of it any more. A database that still writes it is known by a later head.
            let head = look.heads[device]
            try retire(
                device, named: head?.deviceName ?? reading.names[device] ?? "",
                heardMilliseconds: head?.writtenMilliseconds)
        }
        return !news.isEmpty
    }

    /// Reads the snapshots in that reach into a forked log and were not read before.
    /// - Returns: whether there was one.
    private func readSnapshots(
        of device: DeviceID, _ container: Container, _ report: inout SyncReport
    ) throws -> Bool {
        let snapshots = SnapshotReading(replica: self, container: container)
        var isNews = false
        for entry in try SnapshotShelf(container).entries()
        where entry.device != identity.device && entry.manifest.positions[device] != nil {
            let known = try store.branchesTakenIn(of: device)
            if known.contains(entry.name.fileName) { continue }
            // What is wrong with one is told by those who need it.
            if try snapshots.load(entry, &report) != nil { continue }
            try store.noteBranchesTakenIn(known + [entry.name.fileName], of: device)
            isNews = true
        }
        return isNews
    }
}

/// The branches of one device's log, as the container has them.
struct ForkedLog {
    /// The names of the files that could be read.
    private(set) var read: Set<String> = []
    /// The last changeset that all branches have; its time is zero where it is not there to tell.
    private(set) var common = LogPosition.none
    /// The same, with a time that no branch says anything before, where it is certain that this is where they part: of some
    /// branch files may be gone.
    private(set) var fork: LogPosition?
    /// All changesets after that, each once; none where the files are of one log.
    private(set) var changesets: [Changeset] = []

    var isForked: Bool { !changesets.isEmpty }

    /// - Parameter names: in the order of their first numbers.
    /// - Returns: whether two of them hold the same number: branches, or a roll-up beside what it replaces.
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
                // Those who read the log tell of it.
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

    /// Whether all files are of branches that part at a number: those that hold it follow the same changeset, and all others
    /// behind it follow those.
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

    /// A time before all that changesets say.
    private static func time(before changesets: [Changeset]) -> HybridTime {
        let times = changesets.flatMap { [$0.time] + $0.tables.flatMap { $0.operations.lazy.map(\.time) } }
        return HybridTime(rawValue: max(times.min()?.rawValue ?? 0, 1) - 1)
    }
}
