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

    let container: Container
    let device: DeviceID
    /// The former IDs of this device's database.
    var former: [PreviousIdentity] = []
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

    /// The size of a batch so far.
    private struct Load {
        var operations = 0
        var values = 0
        var bytes = 0

        var isFull: Bool { operations >= maximumOperations || values >= maximumValues || bytes >= maximumBytes }

        var isEmpty: Bool { bytes == 0 }

        /// True if a segment fits into the batch. The size of its texts and blobs is known only after decoding.
        func hasRoom(for header: SegmentHeader) -> Bool {
            operations + header.operationCount <= maximumOperations && values + header.valueCount <= maximumValues
                && bytes + header.bodyBytes <= maximumBytes
        }

        mutating func add(_ header: SegmentHeader) {
            values += header.valueCount
            bytes += max(header.bodyBytes, header.contentBytes)
        }
    }

    /// The result of a read.
    ///
    /// Invariants:
    /// - The changesets of a device are consecutive, and follow the device's position.
    /// - Every device in `gaps` is in `problems`.
    /// - No device in `abandoned` is in `problems` or `gaps`.
    struct Batch {
        var changesets: [Changeset] = []
        /// Number of segments read of each device.
        var segments: [DeviceID: Int] = [:]
        /// The files read of each device, each with its last changeset.
        var files: [DeviceID: [(last: UInt64, path: String?)]] = [:]
        /// The checksum of the last segment read of each device.
        var checksums: [DeviceID: Checksum] = [:]
        /// Devices whose logs cannot be read further, with the reason.
        var problems: [DeviceID: FerryError] = [:]
        /// Devices whose next changeset is removed or damaged, and the number from which the log is readable again: a
        /// snapshot of earlier changes helps. These devices are in `problems`, too.
        var gaps: [DeviceID: UInt64] = [:]
        /// Devices whose logs continue on a branch unreadable here. Nothing is lost: their successors have sent
        /// everything.
        var abandoned: Set<DeviceID> = []
        /// True if the batch is full, so the logs hold more.
        var isFull = false
        var heads: [DeviceID: Head] = [:]
        /// The devices with a directory, except this device.
        var devices: [DeviceID] = []
        /// Whether all looks as it did at the look before.
        var isQuiet = false
    }

    /// Maximum number of listings in a read of a device's log. Files may vanish between listing and reading, because
    /// their author rolls up and removes.
    private static let maximumListings = 4

    /// Reads the changesets after `positions`.
    /// - Parameters:
    ///   - known: for each device the checksum of the last replayed segment, if known.
    ///   - isThorough: true: look at files even if heads announce nothing.
    func read(
        after positions: VersionVector, known: [DeviceID: Checksum] = [:], isThorough: Bool
    ) throws -> Batch {
        var batch = Batch()
        batch.devices = try container.devices().filter { $0 != device }
        let question = UnchangedScan.Question(
            container: container.id, positions: positions, ended: ended, devices: batch.devices, isThorough: isThorough)
        if setAside.isEmpty, let quiet, let known = last?.batch(question, in: container, quiet.milliseconds()) {
            batch = known
            batch.isQuiet = true
            return batch
        }
        var notes = UnchangedScan.Notes()
        var load = Load()
        for (index, peer) in batch.devices.enumerated() {
            do {
                let (head, version, problem) = try readHead(of: peer)
                notes.note(Container.headPath(of: peer), version)
                if let head { batch.heads[peer] = head }
                let position = positions[peer].sequence
                if setAside.contains(peer) {
                    notes.recordUnknown()
                    continue
                }
                var directory: (version: FileVersion, milliseconds: Int64)?
                if let head, head.position.sequence <= position {
                    if !isThorough { continue }
                    if let quiet {
                        let now = quiet.milliseconds()
                        directory = try container.segmentsVersion(of: peer).map { ($0, now) }
                        if let directory, let listed = quiet.listing(peer, after: position, directory.version, now) {
                            notes.note(Container.segmentsPath(of: peer), directory.version, listed: listed)
                            continue
                        }
                    }
                }
                notes.recordUnknown()
                try read(
                    peer, after: position, head, known[peer], isThorough: isThorough, &batch, &load)
                if let directory, batch.segments[peer] == nil, batch.problems[peer] == nil {
                    quiet?.note(peer, after: position, directory.version, directory.milliseconds)
                }
                if let problem, batch.problems[peer] == nil { batch.problems[peer] = problem }
            } catch let error as FerryError where error.concernsOneFile {
                notes.recordUnknown()
                batch.problems[peer] = error
            }
            if batch.isFull {
                // The devices behind were not examined.
                batch.devices.removeSubrange((index + 1)...)
                break
            }
        }
        // The owner of an unreadable branch continues under a new ID, and sends the branch again. Without an owner,
        // this device merges the branch.
        let successors = Successors(batch.heads, self: device, former)
        let superseded = ended.union(successors.all.keys)
        batch.abandoned = superseded.filter { batch.problems[$0]?.code == .deviceForked }
        // Nothing is lost with branches that were sent again completely, even if their files are gone for good.
        batch.abandoned.formUnion(
            batch.problems.keys.filter {
                retired.contains($0) && successors.haveSentAgain($0, after: positions[$0].sequence)
            })
        for device in superseded where try hasAllBranches(of: device, after: positions, successors, batch) {
            batch.abandoned.insert(device)
        }
        for device in batch.abandoned {
            batch.problems[device] = nil
            batch.gaps[device] = nil
        }
        for device in superseded where batch.problems[device]?.code == .fileNotThereYet {
            batch.problems[device]?.message +=
                " Its database goes on under another ID, so this may never come: then retire the former one (`ferry devices` "
                + "tells its ID)."
        }
        last?.keep(question, notes, batch)
        return batch
    }

    /// True if a segment of a former ID's log is missing, and nothing is lost with the segment. Everything behind
    /// belongs to branches sent again completely (`SentBranches`).
    private func hasAllBranches(
        of peer: DeviceID, after positions: VersionVector, _ successors: Successors, _ batch: Batch
    ) throws -> Bool {
        // Without a path no file is present that could still become whole.
        guard let problem = batch.problems[peer], problem.code == .fileNotThereYet, problem.path == nil,
            let next = problem.sequence, let head = batch.heads[peer]
        else { return false }
        let ends = successors.endsSentAgain(peer, after: next - 1) { device in
            batch.changesets.last { $0.device == device }?.sequence ?? positions[device].sequence
        }
        do {
            return try SentBranches(container: container, ends: ends).hold(peer, after: next - 1, head)
        } catch let error as FerryError where error.concernsOneFile {
            return false
        }
    }

    /// Reads a head as a hint: the log is read even if the head is damaged or incomplete. The log does not wait, so
    /// this is no damage of the log.
    /// - Returns: also the version of the head's file, if the file was not read.
    private func readHead(of peer: DeviceID) throws -> (Head?, known: FileVersion?, problem: FerryError?) {
        do {
            let (head, version) = try container.lookAtHead(of: peer)
            return (head, version, nil)
        } catch let error as FerryError where error.code == .damagedFile {
            let message =
                "Its file \"head\" is damaged or has not arrived whole. Its changes are read all the same, and its next "
                + "sync writes the file anew."
            return (nil, nil, FerryError(.fileNotThereYet, message, path: error.path, device: peer, cause: error))
        } catch var error as FerryError where [.fileNotThereYet, .notSealed].contains(error.code) {
            // A sealed head that is cut off, sealed under a key that has not arrived, or not sealed at all.
            error.message = "Its file \"head\": \(error.message) Its changes are read all the same."
            return (nil, nil, error)
        }
    }

    private func read(
        _ peer: DeviceID, after position: UInt64, _ head: Head?, _ known: Checksum?, isThorough: Bool,
        _ batch: inout Batch, _ load: inout Load
    ) throws {
        var next = position + 1
        var previous = known
        var files: ArraySlice<SegmentFile>?
        var listings = 0
        var hasVanished = false
        while !batch.isFull {
            if let head, head.position.sequence < next, !isThorough { return }
            var found: (SegmentHeader, [Changeset], path: String?)?
            // The head of a device that published a single segment since then names the segment: no listing is needed.
            if files == nil, let named = head?.lastSegment, named.first <= next, next <= named.last {
                found = try readFirst([SegmentFile(named)], peer, next, previous, load, &batch, &hasVanished)
            }
            if found == nil, !batch.isFull {
                // Drops files behind the position, so that reading a long log examines each file once.
                if files == nil { listings += 1 }
                let listed = try (files ?? container.segmentFiles(of: peer, after: position)[...])
                    .drop { $0.name.last < next }
                files = listed
                let candidates = listed.prefix { $0.name.first <= next }.filter { next <= $0.name.last }
                    .sorted { $0.isTried(before: $1) }
                if candidates.isEmpty { return recordGap(peer, next, head, listed, &batch) }
                found = try readFirst(candidates, peer, next, previous, load, &batch, &hasVanished)
                if found == nil, hasVanished, listings < Self.maximumListings {
                    files = nil
                    continue
                }
            }
            if batch.isFull { return }
            guard let (header, changesets, path) = found else {
                if batch.problems[peer]?.code == .damagedFile { batch.gaps[peer] = next + 1 }
                return
            }
            batch.problems[peer] = nil
            for changeset in changesets where changeset.sequence >= next {
                batch.changesets.append(changeset)
                load.operations += changeset.operationCount
            }
            load.add(header)
            batch.segments[peer, default: 0] += 1
            batch.files[peer, default: []].append((header.lastSequence, path))
            batch.checksums[peer] = header.chainEnd
            batch.isFull = load.isFull
            previous = header.chainEnd
            next = header.lastSequence + 1
        }
    }

    /// Returns the first whole candidate that continues the log. Otherwise sets the problem in the batch, and
    /// `hasVanished` if a file is gone. A full batch is marked as full.
    private func readFirst(
        _ candidates: [SegmentFile], _ peer: DeviceID, _ next: UInt64, _ previous: Checksum?, _ load: Load,
        _ batch: inout Batch, _ hasVanished: inout Bool
    ) throws -> (SegmentHeader, [Changeset], path: String?)? {
        var problem = Self.notThereYet(peer, next)
        hasVanished = false
        for candidate in candidates {
            do {
                guard let bytes = try container.readSegment(candidate, of: peer) else {
                    hasVanished = true
                    continue
                }
                if SegmentDecoder.isIncomplete(bytes) {
                    problem = Self.incomplete(peer, next, candidate, bytes.count)
                    problem.path = container.path(of: candidate, peer)
                    continue
                }
                let known = try SegmentDecoder.header(bytes)
                if !load.isEmpty, !load.hasRoom(for: known) {
                    batch.isFull = true
                    return nil
                }
                let (header, changesets) =
                    schemasOnly
                    ? try SegmentDecoder.decodeSchemas(bytes, header: known, container: container.id, device: peer)
                    : try SegmentDecoder.decode(bytes, header: known, container: container.id, device: peer)
                guard header.firstSequence <= next, header.lastSequence >= next else { continue }
                // A roll-up that begins earlier has a different predecessor.
                if header.firstSequence == next, let previous, let told = header.previous, told != previous {
                    // The file belongs to a copy of the device's database, whose log is not read here; the followed
                    // branch may still arrive.
                    problem = Self.forked(peer, next)
                    continue
                }
                try checkRoom(for: header)
                return (header, changesets, container.path(of: candidate, peer))
            } catch let error as FerryError where error.concernsOneFile {
                // Cut off or garbled: the file may still be on its way, so the next read tries again. Further
                // candidates may be whole.
                problem = error
                if !error.message.contains(candidate.fileName) {
                    problem.message = "\(candidate.fileName): \(error.message)"
                }
                if problem.path == nil { problem.path = container.path(of: candidate, peer) }
            }
        }
        batch.problems[peer] = problem
        return nil
    }

    /// Checks that the disk has room for a segment, in the database and in its journal. A small file may expand to more
    /// than the disk holds, whoever wrote the file.
    /// Segments within the size that a writer plans for pass unchecked.
    private func checkRoom(for header: SegmentHeader) throws {
        guard header.contentBytes > SegmentLimits.plannedContentBytes, let room = room(),
            room / 2 < header.contentBytes
        else { return }
        let gigabytes = (header.contentBytes >> 29) + 1
        throw FerryError(
            .limitExceeded,
            "It holds \(header.contentBytes) bytes of texts and blobs, and the disk has no room for that. Make room for "
                + "\(gigabytes) GB, and it is replayed by the next sync.",
            device: header.device, sequence: header.firstSequence)
    }

    private static func forked(_ peer: DeviceID, _ sequence: UInt64) -> FerryError {
        FerryError(
            .deviceForked,
            "Its log was written anew from segment \(sequence) on: its database was restored or copied. What is missing "
                + "comes by itself when it has synced again. If it is gone for good, retire it (`ferry devices` tells its ID): "
                + "then this device takes in all that it sent.",
            device: peer, sequence: sequence)
    }

    private func recordGap(
        _ peer: DeviceID, _ next: UInt64, _ head: Head?, _ files: ArraySlice<SegmentFile>, _ batch: inout Batch
    ) {
        if let head, head.logStart > next {
            batch.gaps[peer] = head.logStart
            batch.problems[peer] = Self.collected(peer, next, from: head.logStart)
            return
        }
        let announced = max(head?.position.sequence ?? 0, files.map(\.name.last).max() ?? 0)
        guard announced >= next else { return }
        batch.problems[peer] = Self.notThereYet(peer, next)
        let placeholder = try? container.requestDownload(of: peer, sequence: next)  // the next read reports the result
        if let placeholder {
            batch.problems[peer] = Self.placeholder(peer, next, placeholder)
        }
    }

    private static func collected(_ peer: DeviceID, _ next: UInt64, from start: UInt64) -> FerryError {
        FerryError(
            .logCollected,
            "Its changes from \(next) to \(start - 1) were removed from the container after all devices that were there had "
                + "them. A snapshot that holds them is not there yet, or is damaged: wait for the folder's syncer, or run "
                + "`ferry sync` on another device.", device: peer, sequence: next)
    }

    private static func incomplete(
        _ peer: DeviceID, _ sequence: UInt64, _ file: SegmentFile, _ bytes: Int
    ) -> FerryError {
        FerryError(
            .fileNotThereYet,
            "\(file.fileName) has not arrived whole yet (\(bytes) bytes so far); the folder's syncer has still to bring the rest.",
            device: peer, sequence: sequence)
    }

    private static func placeholder(_ peer: DeviceID, _ sequence: UInt64, _ path: String) -> FerryError {
        FerryError(
            .fileNotThereYet,
            "Its segment \(sequence) is in the folder as a placeholder only, without its content. It was asked for; "
                + "tell the folder's app to keep the folder downloaded on this device.",
            path: path, device: peer, sequence: sequence)
    }

    private static func notThereYet(_ peer: DeviceID, _ sequence: UInt64) -> FerryError {
        FerryError(
            .fileNotThereYet, "Its segment \(sequence) is not there yet; the folder's syncer has still to bring it.",
            device: peer, sequence: sequence)
    }
}
