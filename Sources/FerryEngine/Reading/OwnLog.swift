import FerryContainer
import FerryCore
import FerryLog
import FerrySchema
import FerryStore

/// A device's own log in the container, compared with its database's memory: a pure comparison.
///
/// Two changesets with the same number are distinguished by content. Times alone do not suffice: copies that pack the
/// same pending changes assign the same times, but new rows get different IDs.
///
/// Invariants:
/// - A file is in `foreign`, or its numbers are in `own` and its name in `ownNames`; never both.
/// - `remembered` is in the order of numbers. A removed segment may lie within a later, larger one.
/// - `published <= packed`.
struct OwnLog {
    /// The changesets found in the container, by number. Several under a number: two copies have published.
    var found: [UInt64: Set<Mark>] = [:]
    /// The first numbers of files with a remembered segment's numbers and a different checksum. Also the head's number,
    /// if the database did not write the head's segment.
    var replaced: Set<UInt64> = []
    /// The preceding segment named by files, by first number.
    var predecessors: [UInt64: Set<Checksum>] = [:]
    /// The files that this database did not write.
    var foreign: [Foreign] = []
    /// The numbers in files that this database wrote.
    var own: [ClosedRange<UInt64>] = []
    /// The names of these files.
    private(set) var ownNames: Set<SegmentName> = []
    /// The chain checksums after files that this database wrote, by last number.
    var ends: [UInt64: Checksum] = [:]
    /// The database's own segments in its memory, published or waiting, in the order of numbers.
    var remembered: [Remembered] = []
    /// The last changeset that the database has packed, and the last published changeset.
    var packed: UInt64 = 0
    var published: UInt64 = 0
    /// The chain checksum for the next segment, as the database remembers; `nil` while segments wait.
    var checksum: Checksum?

    /// Distinguishes changesets.
    struct Mark: Hashable {
        var time: HybridTime
        var content: Checksum
    }

    struct Foreign {
        var first: UInt64
        var last: UInt64
        /// The preceding segment that the file names.
        var previous: Checksum?
    }

    struct Remembered: Equatable {
        var first: UInt64
        var last: UInt64
        /// The time of the segment's last changeset.
        var time: HybridTime
        var checksum: Checksum?
        /// In a sealed container what stands for the checksum in the name of its file, as far as it was noted.
        var sealedHash: UInt64?
        /// The segment's changesets, if still at hand.
        var marks: [UInt64: Mark] = [:]

        /// The checksum that the next segment names; unknown for a rolled-up segment.
        var chainEnd: Checksum? { first == last ? checksum : nil }

        /// True if the container holds a different changeset in the segment's place.
        func isContradicted(by found: [UInt64: Set<Mark>]) -> Bool {
            if let last = found[last], !last.contains(where: { $0.time == time }) { return true }
            return marks.contains { number, mark in found[number].map { !$0.contains(mark) } ?? false }
        }
    }

    /// The first number under which the container holds a different changeset than the database packed.
    private var fork: UInt64? {
        let double = found.filter { $0.key <= packed && $0.value.count > 1 }.map(\.key).min()
        let other = remembered.first { $0.isContradicted(by: found) }?.first
        return [double, other, replaced.min(), firstUnlinked].compactMap { $0 }.min()
    }

    /// The first number of files in the container, if files behind this database's end do not follow the end. The next
    /// segment names a different predecessor, or is missing.
    /// The next segment may have been removed, because a snapshot replaces it. But then this database's published
    /// segments should have been removed as well, and it is unknown whether the snapshot holds their changes.
    private var firstUnlinked: UInt64? {
        guard let next = found.keys.filter({ $0 > packed }).min(), let first = found.keys.min(), first <= packed else {
            return nil
        }
        if next > packed + 1 { return first }
        guard let end = remembered.last(where: { $0.last == packed })?.chainEnd, let named = predecessors[next] else {
            return nil
        }
        return named.contains(end) ? nil : first
    }

    /// True if a different database has published under this device's ID.
    var isForeign: Bool { fork != nil || found.keys.contains { $0 > packed } }

    /// How far the log in the container is this database's own, and whether a different log continues from there under
    /// the same numbers.
    /// - Returns: the time is `nil` if neither the database nor the files read tell the time.
    var common: (sequence: UInt64, time: HybridTime?, checksum: Checksum?, isForked: Bool) {
        let fork = fork
        var sequence = published
        if let fork {
            sequence = min(published, fork - 1)
        } else {
            // A changeset that waits here and is in the container was published by a different copy, or before a crash.
            while sequence < packed, found[sequence + 1] != nil { sequence += 1 }
        }
        let own = remembered.last { $0.last == sequence }
        return (sequence, own?.time ?? found[sequence]?.first?.time, own?.chainEnd, fork != nil)
    }

    /// The end of the changesets published by this database; `nil` if the next chain checksum is unknown.
    var end: LogEnd? { (ends[published] ?? checksum).map { LogEnd(sequence: published, checksum: $0) } }

    /// True if the branches certainly part at the end of `common`. The next foreign files name this database's last
    /// common segment as predecessor, or contain its last changeset. If such files are gone, the branches may part
    /// earlier.
    var isForkCertain: Bool {
        let common = common
        if !common.isForked || common.sequence == 0 { return true }
        let (end, next) = (common.sequence, common.sequence + 1)
        let own = [common.checksum, ends[end]].compactMap { $0 }
        let isRemembered = remembered.contains { $0.last == end } && found[end]?.count == 1
        let holding = foreign.filter { $0.first <= next && next <= $0.last }
        return !holding.isEmpty
            && holding.allSatisfy { $0.first <= end ? isRemembered : $0.previous.map(own.contains) ?? false }
    }

    /// True if the container has everything that this database published behind the fork. If files were removed, their
    /// deletions may be forgotten, and are not sent again.
    var isWhole: Bool {
        let common = common
        if !common.isForked { return true }
        var next = common.sequence + 1
        for file in own.sorted(by: { $0.lowerBound < $1.lowerBound }) where file.contains(next) {
            next = file.upperBound + 1
        }
        return next > published
    }
}

extension OwnLog {
    /// Reads the device's own directory.
    ///
    /// Files with the database's own names are trusted. Other files are read if they could contradict the database:
    /// behind its end, under remembered numbers, or overlapping a different file.
    /// - Parameter isComplete: true: read every file, to find where two logs part.
    init(_ store: Store, _ container: Container, _ identity: StoreIdentity, isComplete: Bool) throws {
        let device = identity.device
        packed = try store.versionVector()[device].sequence
        let log = try store.publishedLog()
        published = log.sequence
        checksum = log.checksum
        remembered = try (store.removedSegments() + store.ownSegments()).map {
            Remembered(
                first: $0.first, last: $0.last, time: $0.time, checksum: $0.checksum, sealedHash: $0.sealedName?.hash)
        }
        if let last = log.last, last.sequence > 0, remembered.last?.last != last.sequence {
            remembered.append(
                Remembered(first: last.sequence, last: last.sequence, time: last.time, checksum: log.checksum))
        }
        var files: [SegmentFile] = []
        for file in try container.segmentFiles(of: device) where files.last?.name != file.name { files.append(file) }
        // An unreadable head says nothing.
        if let head = try? container.readHead(of: device), head.position.sequence <= published,
            try !store.publishedSegments(include: head.position.sequence, head.lastSegmentChecksum)
        {
            replaced.insert(head.position.sequence)
        }
        let written = try Self.namesOf(remembered, among: files, container, device)
        var suspects = files.filter { !written.contains($0.name) }
        if !isComplete {
            let overlapping = Self.overlapping(files)
            suspects = suspects.filter { file in
                file.name.last > published
                    || remembered.contains { file.name.first <= $0.last && $0.last <= file.name.last }
                    || overlapping.contains(file.name)
            }
        }
        if suspects.isEmpty && !isComplete { return }
        var position: UInt64 = 0
        while let entry = try store.outboxEntry(after: position) {
            position = entry.first
            let (header, changesets) = try SegmentDecoder.decode(
                entry.bytes, container: container.id, device: device, parts: store.partSource(of: entry))
            var waiting = Remembered(
                first: entry.first, last: entry.last, time: header.lastTime, checksum: entry.checksum)
            for changeset in changesets { waiting.marks[changeset.sequence] = try Self.mark(changeset, container) }
            remembered.append(waiting)
        }
        // Files overlapping a suspect must be read, too.
        let numbers = suspects.map { $0.name.first...$0.name.last }
        for file in files where isComplete || numbers.contains(where: { $0.overlaps(file.name.first...file.name.last) })
        {
            try read(file, isOwn: written.contains(file.name), container, device)
        }
    }

    /// Returns all changesets under a device's ID after a number, by any author, each once.
    /// - Parameter own: the files that this database wrote; their changesets are marked as replayed.
    static func changesets(
        after sequence: UInt64, _ container: Container, _ device: DeviceID, own: Set<SegmentName>
    ) throws -> [Changeset] {
        var changesets: [Mark: Changeset] = [:]
        for file in try container.segmentFiles(of: device, after: sequence) {
            let decoded = try SegmentDecoder.decoded(file, of: device, container)
            for var changeset in decoded?.1 ?? [] where changeset.sequence > sequence {
                let mark = try mark(changeset, container)
                changeset.isReplayed = own.contains(file.name) || changesets[mark]?.isReplayed ?? false
                changesets[mark] = changeset
            }
        }
        return changesets.sorted {
            ($0.value.sequence, $0.key.time, $0.key.content) < ($1.value.sequence, $1.key.time, $1.key.content)
        }.map(\.value)
    }

    static func mark(_ changeset: Changeset, _ container: Container) throws -> Mark {
        // Equal for a changeset in any segment.
        let alone = try SegmentEncoder.encode(
            [changeset], container: container.id, previous: nil, parts: PartOutput { _, _ in })
        return Mark(time: changeset.time, content: alone.checksum)
    }

    /// The names of the files that hold remembered segments: with the same numbers, and with what a name has for the checksum. In
    /// a sealed container the epochs give a segment different names; the one that was noted at its publication needs no key.
    private static func namesOf(
        _ remembered: [Remembered], among files: [SegmentFile], _ container: Container, _ device: DeviceID
    ) throws -> Set<SegmentName> {
        var checksums: [ClosedRange<UInt64>: [Checksum]] = [:]
        var noted: [ClosedRange<UInt64>: [UInt64]] = [:]
        for own in remembered {
            if let checksum = own.checksum { checksums[own.first...own.last, default: []].append(checksum) }
            if let hash = own.sealedHash { noted[own.first...own.last, default: []].append(hash) }
        }
        var names: Set<SegmentName> = []
        for name in files.map(\.name) {
            let numbers = name.first...name.last
            if noted[numbers]?.contains(name.hash) ?? false {
                names.insert(name)
                continue
            }
            for checksum in checksums[numbers] ?? []
            where try container.segmentNames(numbers, checksum, of: device).contains(name) {
                names.insert(name)
            }
        }
        return names
    }

    /// The names that share numbers with a different file.
    /// - Parameter files: in the order of first numbers.
    private static func overlapping(_ files: [SegmentFile]) -> Set<SegmentName> {
        var names: Set<SegmentName> = []
        var furthest: SegmentName?
        for name in files.map(\.name) {
            if let former = furthest, name.first <= former.last { names.formUnion([former, name]) }
            if furthest.map({ $0.last < name.last }) ?? true { furthest = name }
        }
        return names
    }

    private mutating func read(
        _ file: SegmentFile, isOwn: Bool, _ container: Container, _ device: DeviceID
    ) throws {
        let whole = try SegmentDecoder.decoded(file, of: device, container)
        // A file without its parts proves nothing of this database's own changes, and still proves a copy.
        let told = try whole == nil && !isOwn ? SegmentDecoder.decodedSchemas(file, of: device, container) : nil
        guard let header = whole?.0 ?? told?.0 else { return }
        for changeset in whole?.1 ?? [] {
            found[changeset.sequence, default: []].insert(try Self.mark(changeset, container))
        }
        if isOwn {
            own.append(header.firstSequence...header.lastSequence)
            ownNames.insert(file.name)
            ends[header.lastSequence] = header.chainEnd
        } else {
            foreign.append(
                Foreign(first: header.firstSequence, last: header.lastSequence, previous: header.previous))
        }
        if let previous = header.previous { predecessors[header.firstSequence, default: []].insert(previous) }
        // A remembered segment is replaced only by a file with the same numbers: a roll-up holds several segments.
        let same = remembered.filter { $0.first == header.firstSequence && $0.last == header.lastSequence }
        if !same.isEmpty, same.allSatisfy({ $0.checksum != nil && $0.checksum != header.checksum }) {
            replaced.insert(header.firstSequence)
        }
    }
}
