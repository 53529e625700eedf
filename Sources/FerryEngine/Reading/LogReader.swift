import FerryContainer
import FerryCore
import FerryLog
import FerryStore

/// Reads other devices' logs from the container: verified changesets, in order, without gaps.
///
/// Heads are hints: one that announces nothing new spares a look at the device's files, and a thorough read looks all
/// the same. What is wrong with one device's log stops that device only.
struct LogReader {
    /// Operations in one batch: with the values and bytes, bounds the memory of a replay, and its transaction. One segment
    /// always fits, and those behind it as long as there is room. Small changes are replayed many at a time, in the order of
    /// IDs; rows of a hundred bytes and more as many as one segment has of them (`ChangeCapture.maximumNotes`).
    static let maximumOperations = 100_000
    static let maximumValues = SegmentLimits.valuesAtOnce
    static let maximumBytes = 4 << 20

    let container: Container
    let device: DeviceID
    /// The IDs that this device's database had before.
    var former: [FormerDevice] = []
    /// Devices that write no more under their IDs (`Replica.endedDevices`).
    var ended: Set<DeviceID> = []
    /// Devices that will not come back.
    var retired: Set<DeviceID> = []
    /// What is remembered of the looks before this one.
    var quiet: QuietLogs?
    var last: QuietLook?
    /// How many bytes the disk of the database has left; `nil` where that is not known, or does not matter.
    var room: () -> Int? = { nil }
    /// Devices whose logs are not to be read further, because what is next in them is refused.
    var setAside: Set<DeviceID> = []
    /// Whether the changesets' schemas are wanted alone: some come without their tables then.
    var schemasOnly = false

    /// How much of a batch there is already.
    private struct Load {
        var operations = 0
        var values = 0
        var bytes = 0

        var isFull: Bool { operations >= maximumOperations || values >= maximumValues || bytes >= maximumBytes }

        var isEmpty: Bool { bytes == 0 }

        /// Whether a segment finds room beside what there is. What its texts and blobs take is known once it is decoded.
        func hasRoom(for header: SegmentHeader) -> Bool {
            operations + header.operationCount <= maximumOperations && values + header.valueCount <= maximumValues
                && bytes + header.bodyBytes <= maximumBytes
        }

        mutating func add(_ header: SegmentHeader) {
            values += header.valueCount
            bytes += max(header.bodyBytes, header.contentBytes)
        }
    }

    struct Batch {
        var changesets: [Changeset] = []
        /// How many segments were read of each device.
        var segments: [DeviceID: Int] = [:]
        /// The files read of each device, each with the last changeset in it.
        var files: [DeviceID: [(last: UInt64, path: String?)]] = [:]
        /// The checksum of the last segment read of each device.
        var checksums: [DeviceID: Checksum] = [:]
        /// Devices whose logs cannot be read further, and why.
        var problems: [DeviceID: FerryError] = [:]
        /// Devices whose logs do not have what is next any more, or have it damaged, and the number from which they could
        /// be read on: a snapshot that covers what is before helps. They are among `problems`.
        var gaps: [DeviceID: UInt64] = [:]
        /// Devices whose logs go on in a way that cannot be followed here, and need not be: their successors have sent
        /// all of it.
        var abandoned: Set<DeviceID> = []
        /// Whether the bound was reached, so that there is more.
        var isFull = false
        var heads: [DeviceID: Head] = [:]
        /// The devices that have a directory, this one excepted.
        var devices: [DeviceID] = []
    }

    /// How often files that vanish between listing and reading are looked for again, in one read of a device's log: its
    /// author may roll up and remove while this reads.
    private static let maximumListings = 4

    /// Reads what follows `positions`.
    /// - Parameters:
    ///   - known: the checksum of the last segment replayed of each device, where it is known.
    ///   - isThorough: look at files even where heads announce nothing.
    func read(
        after positions: VersionVector, known: [DeviceID: Checksum] = [:], isThorough: Bool
    ) throws -> Batch {
        var batch = Batch()
        batch.devices = try container.devices().filter { $0 != device }
        let question = QuietLook.Question(
            container: container.id, positions: positions, ended: ended, devices: batch.devices, isThorough: isThorough)
        if setAside.isEmpty, let quiet, let known = last?.batch(question, in: container, quiet.milliseconds()) {
            return known
        }
        var notes = QuietLook.Notes()
        var load = Load()
        for (index, peer) in batch.devices.enumerated() {
            do {
                let (head, version, problem) = try readHead(of: peer)
                notes.note(Container.headPath(of: peer), version)
                if let head { batch.heads[peer] = head }
                let position = positions[peer].sequence
                if setAside.contains(peer) {
                    notes.noteUnknown()
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
                notes.noteUnknown()
                try read(
                    peer, after: position, head, known[peer], isThorough: isThorough, &batch, &load)
                if let directory, batch.segments[peer] == nil, batch.problems[peer] == nil {
                    quiet?.note(peer, after: position, directory.version, directory.milliseconds)
                }
                if let problem, batch.problems[peer] == nil { batch.problems[peer] = problem }
            } catch let error as FerryError where error.concernsOneFile {
                notes.noteUnknown()
                batch.problems[peer] = error
            }
            if batch.isFull {
                // The others were not looked at.
                batch.devices.removeSubrange((index + 1)...)
                break
            }
        }
        // Whose branch it was goes on under another ID, and sends what nobody could read here once more. Where nobody does,
        // this device takes it in.
        let successors = Successors(batch.heads, self: device, former)
        let superseded = ended.union(successors.all.keys)
        batch.abandoned = superseded.filter { batch.problems[$0]?.code == .deviceForked }
        // Nor is anything missed of branches that all came once more, where files are gone for good.
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

    /// Whether a segment of a former ID's log is missing, and nothing is missed with it: what is told of the log behind it is of
    /// branches that all came once more (`SentBranches`).
    private func hasAllBranches(
        of peer: DeviceID, after positions: VersionVector, _ successors: Successors, _ batch: Batch
    ) throws -> Bool {
        // Without a path: no file is there that could still become whole.
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

    /// A head is a hint: where it is damaged, or has not arrived whole, the log is read without it. The device does not wait,
    /// so this is no damage of its log.
    /// - Returns: also the version of its file, where that was not read.
    private func readHead(of peer: DeviceID) throws -> (Head?, known: FileVersion?, problem: FerryError?) {
        do {
            let (head, version) = try container.lookAtHead(of: peer)
            return (head, version, nil)
        } catch let error as FerryError where error.code == .damagedFile {
            let message =
                "Its file \"head\" is damaged or has not arrived whole. Its changes are read all the same, and its next "
                + "sync writes the file anew."
            return (nil, nil, FerryError(.fileNotThereYet, message, path: error.path, device: peer, cause: error))
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
            // The head of a device that published one segment since names it: no listing then.
            if files == nil, let named = head?.lastSegment, named.first <= next, next <= named.last {
                found = try readFirst([SegmentFile(named)], peer, next, previous, load, &batch, &hasVanished)
            }
            if found == nil, !batch.isFull {
                // Those behind are dropped, so that reading a long log looks at each file once.
                if files == nil { listings += 1 }
                let listed = try (files ?? container.segmentFiles(of: peer, after: position)[...])
                    .drop { $0.name.last < next }
                files = listed
                let candidates = listed.prefix { $0.name.first <= next }.filter { next <= $0.name.last }
                    .sorted { $0.isTried(before: $1) }
                if candidates.isEmpty { return noteGap(peer, next, head, listed, &batch) }
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

    /// The first candidate that is whole and follows what was read before. Where none is, the reason is noted, and whether a
    /// file was not there any more; where the batch has no room for it, that the batch is full.
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
                // A roll-up begins earlier than what is read here, and names another predecessor.
                if header.firstSequence == next, let previous, let told = header.previous, told != previous {
                    // Of two copies of the device's database, the one whose log is not read here; the other's may come.
                    problem = Self.forked(peer, next)
                    continue
                }
                try checkRoom(for: header)
                return (header, changesets, container.path(of: candidate, peer))
            } catch let error as FerryError where error.concernsOneFile {
                // Cut off or garbled: perhaps still on its way, so it is looked at again. The others may be whole.
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

    /// A small file may stand for more than the disk holds, whoever wrote it: what is more than a writer puts into a segment
    /// that it can divide is replayed where there is room for it, in the database and in its journal.
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

    private func noteGap(
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
        let placeholder = try? container.requestDownload(of: peer, sequence: next)  // the next read tells
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
