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
    /// Devices that write no more under their IDs: this device's former IDs, retired devices, and members that left.
    func endedDevices(_ reading: StoreSummary) throws -> Set<DeviceID> {
        supersededDevices(reading).union(try leftMembers()).subtracting([identity.device])
    }

    /// This device's former IDs, and retired devices.
    func supersededDevices(_ reading: StoreSummary) -> Set<DeviceID> {
        reading.retired.union(reading.formerDevices.map(\.device)).subtracting([identity.device])
    }

    private func leftMembers() throws -> [DeviceID] {
        do {
            return try membershipOfPass()?.roster.left.keys.sorted() ?? []
        } catch let error as FerryError where [.keyMissing, .keyExposed, .damagedFile].contains(error.code) {
            // Whoever needs the key reports the failure.
            return []
        }
    }

    /// Merges new branches of such logs in the container, and records logs with an incomplete branch.
    /// - Parameter abandoned: devices whose logs continue on a branch unreadable here (`LogReader.Batch.abandoned`).
    /// - Returns: true if there is something new to publish.
    func mergeBranches(_ container: Container, abandoned: Set<DeviceID> = []) throws -> Bool {
        var isNews = false
        let ended = try endedDevices(store.reading())
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
            let log = try ForkedLog(files, of: device, container, readThrough: ends(of: device))
            // Incomplete files are not recorded by name: they are examined again.
            let unknown = Set(log.withoutParts.map { "\($0) without parts" }).subtracting(known)
            if unknown.isEmpty, log.read.isSubset(of: known) { continue }
            if log.isForked || !unknown.isEmpty {
                do {
                    // Where the content of a branch is gone, this device may be the only one with the content.
                    let sent = try store.mergeBranches(
                        log.changesets, of: device, after: unknown.isEmpty ? log.common : .none,
                        isForkCertain: unknown.isEmpty && log.fork != nil, encode: segmentEncoding(for: identity))
                    isNews = isNews || sent > 0
                } catch let error as FerryError where error.mayConcernOneLog(besides: identity.device) {
                    // A nonsensical branch is not sent again, and stops no device.
                    continue
                }
            }
            try store.recordMergedBranches(log.read.union(known).union(unknown).sorted(), of: device)
        }
        return isNews
    }

    /// Sends what this device has read of branches that the container has lost. The database of a log and the container were set back
    /// together, and the database has a new ID (`foreignPositions`). Then only readers have the lost branch. Or this database wrote the
    /// branch under a former ID, and the container never got the files.
    ///
    /// The file at this device's position proves the loss: the file is of another branch, or follows another branch. If the author of that
    /// other branch knows the successor and keeps the ID, or is retired, nobody sends the branch again. Then the log is read from the
    /// beginning.
    /// - Returns: true if there is something new to publish.
    func sendLostBranches(_ container: Container, _ heads: [DeviceID: Head]) throws -> Bool {
        let reading = try store.reading()
        let successors = Successors(heads, self: identity.device, reading.formerDevices)
        let formerIDs = Set(reading.formerDevices.map(\.device))
        let own = formerIDs.union([identity.device]).subtracting(try unforked(reading))
        var isNews = false
        for (device, known) in successors.all.sorted(by: { $0.key < $1.key }) where !own.contains(device) {
            let position = reading.vector[device].sequence
            guard position > 0, let checksum = reading.checksums[device] else { continue }
            let end = LogEnd(sequence: position, checksum: checksum)
            let isSentAgain = known.values.contains { $0.end == end }
            // Of two copies, both have new IDs.
            if isSentAgain, known.count > 1 { continue }
            do {
                var examined = try store.branchesTakenIn(of: device)
                let place = try PlaceInLog(
                    end, of: device, container, head: heads[device], examined: Set(examined))
                // What this database wrote under a former ID may still be in another folder, and a snapshot stands for the files.
                if place.endsBefore, formerIDs.contains(device) { continue }
                if place.isContradicted, !isSentAgain {
                    let sent = try store.mergeBranches(
                        [], of: device, after: .none, isForkCertain: false, encode: segmentEncoding(for: identity))
                    isNews = isNews || sent > 0
                }
                if !place.news.isEmpty {
                    examined += place.news
                    try store.recordMergedBranches(examined, of: device)
                }
                let keepsID = known.keys.allSatisfy { heads[device]?.acknowledgements[$0] != nil }
                if known.count == 1, keepsID || reading.retired.contains(device), examined.contains(place.otherBranch) {
                    try store.readAnew(device)
                }
            } catch let error as FerryError where error.concernsOneFile {
                // Readers of the log report the file.
                continue
            }
        }
        return isNews
    }

    /// This database's former IDs without a known fork at the renewal. Another branch that turns up is unknown to this database, and its
    /// author may write on.
    func unforked(_ reading: StoreSummary) throws -> Set<DeviceID> {
        try Set(
            reading.formerDevices.map(\.device).filter { device in
                guard reading.forkedLogs.contains(device) else { return true }
                return try store.branchesTakenIn(of: device).contains(where: PlaceInLog.isNote)
            })
    }

    /// Marks the changesets written by this database under a previous identity. If another copy wrote under that ID too, this
    /// device reads the log from the fork on.
    func noteReplayed(_ changesets: inout [Changeset], _ reading: StoreSummary, _ container: Container) throws {
        for former in reading.formerDevices {
            guard let end = former.end, changesets.contains(where: { $0.device == former.device }) else { continue }
            let log: ForkedLog
            do {
                log = try ForkedLog(
                    container.segmentFiles(of: former.device), of: former.device, container, readThrough: [end])
            } catch let error as FerryError where error.concernsOneFile {
                // Readers of the log report the file.
                continue
            }
            for place in changesets.indices where changesets[place].device == former.device {
                let mark = try OwnLog.mark(changesets[place], container)
                changesets[place].isReplayed = log.replayed.contains(mark)
            }
        }
    }

    /// The known ends of this store's part of a log: the replayed position, and the end of the store's own writes under that ID.
    private func ends(of device: DeviceID) throws -> Set<LogEnd> {
        let reading = try store.reading()
        let read = reading.checksums[device].map { LogEnd(sequence: reading.vector[device].sequence, checksum: $0) }
        let written = reading.formerDevices.first { $0.device == device }?.end
        return Set([read, written].compactMap { $0 })
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
        let superseded = try endedDevices(reading).union(successors.all.keys)
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

/// What the container has of a device's log beside the end of a reader's part: the segment that ends there, and the next.
struct PlaceInLog {
    /// True if the container has another branch there, or a log that ends before.
    private(set) var isContradicted = false
    /// True if the log in the container ends before.
    private(set) var endsBefore = false
    /// The note that the container has another branch there, and no file of this one.
    let otherBranch: String
    /// The notes of what was examined now, for later looks.
    private(set) var news: [String] = []

    /// True if an entry among the merged files (`Store.branchesTakenIn`) is such a note.
    static func isNote(_ entry: String) -> Bool { entry.contains(" beside ") }

    /// - Parameters:
    ///   - end: the last changeset that the reader has of the log.
    ///   - head: the log's head, if readable.
    ///   - examined: the notes of former looks.
    init(_ end: LogEnd, of device: DeviceID, _ container: Container, head: Head?, examined: Set<String>) throws {
        otherBranch = "other branch beside \(end.sequence) \(end.checksum)"
        let listed = try container.segmentFiles(of: device)
        let files = listed.filter { $0.name.last == end.sequence || $0.name.first == end.sequence + 1 }
        func note(_ name: String) -> String { "\(name) beside \(end.sequence)" }
        let furthest = max(listed.map(\.name.last).max() ?? 0, head?.position.sequence ?? 0)
        if furthest < end.sequence {
            endsBefore = true
            news = [note("end \(furthest)")].filter { !examined.contains($0) }
            isContradicted = !news.isEmpty && head != nil
            return
        }
        if files.allSatisfy({ examined.contains(note($0.fileName)) }) { return }
        var isOnBranch = false
        for file in files {
            guard let (header, _) = try SegmentDecoder.decodedSchemas(file, of: device, container) else { continue }
            news.append(note(file.fileName))
            // A log that begins anew names no segment before: nothing tells its branch.
            let checksum = header.lastSequence == end.sequence ? header.chainEnd : header.previous ?? end.checksum
            isOnBranch = isOnBranch || checksum == end.checksum
        }
        isContradicted = !news.isEmpty && !isOnBranch
        if isContradicted && !ForkedLog.overlap(listed.map(\.name)) { news.append(otherBranch) }
    }
}

/// The branches of a single device's log, as far as in the container.
struct ForkedLog {
    /// The names of the readable files.
    private(set) var read: Set<String> = []
    /// The names of the files whose large values are missing.
    private(set) var withoutParts: Set<String> = []
    /// The last changeset common to all branches; the time is zero if the changeset is missing.
    private(set) var common = LogPosition.none
    /// The same position, with a time before all changes of the branches. `nil` unless the branches certainly part
    /// here: files of a branch may be gone.
    private(set) var fork: LogPosition?
    /// All changesets behind `common`, each once; empty if the files are of a single log.
    private(set) var changesets: [Changeset] = []
    /// The marks of all present changesets that this store has replayed.
    private(set) var replayed: Set<OwnLog.Mark> = []

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
    /// - Parameter ends: the ends of this store's part of the log.
    init(
        _ files: [SegmentFile], of device: DeviceID, _ container: Container, readThrough ends: Set<LogEnd> = []
    ) throws {
        var found: [UInt64: [OwnLog.Mark: Changeset]] = [:]
        var parts: [Part] = []
        for file in files {
            guard let (header, decoded) = try SegmentDecoder.decoded(file, of: device, container) else {
                if try SegmentDecoder.decodedSchemas(file, of: device, container) != nil {
                    withoutParts.insert(file.fileName)
                }
                continue
            }
            read.insert(file.fileName)
            let marks = try decoded.map { try OwnLog.mark($0, container) }
            parts.append(Part(header: header, marks: Set(marks)))
            for (mark, changeset) in zip(marks, decoded) {
                found[changeset.sequence, default: [:]][mark] = changeset
            }
        }
        replayed = Self.chain(to: ends, parts)
        guard let fork = found.filter({ $0.value.count > 1 }).keys.min() else { return }
        common = LogPosition(sequence: fork - 1, time: found[fork - 1]?.keys.first?.time ?? .zero)
        changesets = found.filter { $0.key >= fork }.sorted { $0.key < $1.key }.flatMap { _, branches in
            branches.sorted { ($0.key.time, $0.key.content) < ($1.key.time, $1.key.content) }.map { mark, changeset in
                var changeset = changeset
                changeset.isReplayed = replayed.contains(mark)
                return changeset
            }
        }
        if Self.isCertain(fork, parts.map(\.header)) {
            let time = found[fork - 1]?.keys.first?.time ?? Self.time(before: changesets)
            self.fork = LogPosition(sequence: fork - 1, time: time)
        }
    }

    /// A file of the log.
    private struct Part {
        var header: SegmentHeader
        var marks: Set<OwnLog.Mark>
    }

    /// The changesets that lead to places in the log: each segment names the one before it.
    private static func chain(to ends: Set<LogEnd>, _ parts: [Part]) -> Set<OwnLog.Mark> {
        if ends.isEmpty { return [] }
        var ends = ends
        var marks: Set<OwnLog.Mark> = []
        // From the end; of what was rolled up, the larger one first.
        let fromTheEnd = parts.sorted {
            ($0.header.lastSequence, $1.header.firstSequence) > ($1.header.lastSequence, $0.header.firstSequence)
        }
        for part in fromTheEnd
        where ends.contains(LogEnd(sequence: part.header.lastSequence, checksum: part.header.chainEnd)) {
            marks.formUnion(part.marks)
            if let previous = part.header.previous {
                ends.insert(LogEnd(sequence: part.header.firstSequence - 1, checksum: previous))
            }
        }
        return marks
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
