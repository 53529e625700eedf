import FerryContainer
import FerryCore
import FerryLog
import FerryStore

/// What of a device's own log is in the container, held against what its database remembers: a pure comparison.
///
/// Two changesets with one number are told apart by what is in them. Their times alone do not tell: copies that pack the
/// same notes give them the same times, and new rows other IDs.
struct OwnLog {
    /// The changesets found in the container under each number. More than one: two copies have published.
    var found: [UInt64: Set<Mark>] = [:]
    /// Numbers under which files were found that are no roll-ups and are not those which the database remembers, and the one of
    /// which a head speaks that the database did not write.
    var replaced: Set<UInt64> = []
    /// What files that begin with a number name as the segment before it.
    var predecessors: [UInt64: Set<Checksum>] = [:]
    /// The files that this database did not write.
    var foreign: [Foreign] = []
    /// The numbers in the files that this database wrote.
    var own: [ClosedRange<UInt64>] = []
    /// What the next segment names after the files that it wrote, by their last numbers.
    var ends: [UInt64: Checksum] = [:]
    /// What the database remembers of its own segments, published or waiting, in the order of their numbers.
    var remembered: [Remembered] = []
    /// The last changeset that the database has packed, and the last one that it has published.
    var packed: UInt64 = 0
    var published: UInt64 = 0
    /// What the next segment would name before it, as the database remembers; `nil` where segments wait.
    var checksum: Checksum?

    /// What tells one changeset from another.
    struct Mark: Hashable {
        var time: HybridTime
        var content: Checksum
    }

    struct Foreign {
        var first: UInt64
        var last: UInt64
        /// What it names as the segment before it.
        var previous: Checksum?
    }

    struct Remembered: Equatable {
        var first: UInt64
        var last: UInt64
        /// The time of its last changeset.
        var time: HybridTime
        var checksum: Checksum?
        /// Its changesets, where they are still at hand.
        var marks: [UInt64: Mark] = [:]

        /// What the next segment names; not known here of one that was rolled up.
        var chainEnd: Checksum? { first == last ? checksum : nil }

        /// Whether what was found of it is something else.
        func isContradicted(by found: [UInt64: Set<Mark>]) -> Bool {
            if let last = found[last], !last.contains(where: { $0.time == time }) { return true }
            return marks.contains { number, mark in found[number].map { !$0.contains(mark) } ?? false }
        }
    }

    /// The first number under which the container holds something else than the database packed.
    private var fork: UInt64? {
        let double = found.filter { $0.key <= packed && $0.value.count > 1 }.map(\.key).min()
        let other = remembered.first { $0.isContradicted(by: found) }?.first
        return [double, other, replaced.min(), firstUnlinked].compactMap { $0 }.min()
    }

    /// The first number of the files that this database wrote, where the container holds more behind its end that nothing
    /// joins to it: the next segment names another one before it, or is not there. Perhaps it was removed, because a snapshot
    /// stands for it; but then what this database published should have been removed as well, and it is not known whether
    /// that snapshot holds it.
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

    /// Whether somebody else has published under this device's ID.
    var isForeign: Bool { fork != nil || found.keys.contains { $0 > packed } }

    /// How far the log is in the container and is this database's own, and whether another goes on from there under the
    /// same numbers.
    /// - Returns: the time is `nil` where neither the database nor what was read of the container tells it.
    var common: (sequence: UInt64, time: HybridTime?, checksum: Checksum?, isForked: Bool) {
        let fork = fork
        var sequence = published
        if let fork {
            sequence = min(published, fork - 1)
        } else {
            // What still waits here and is there all the same was published by another copy, or before a crash.
            while sequence < packed, found[sequence + 1] != nil { sequence += 1 }
        }
        let own = remembered.last { $0.last == sequence }
        return (sequence, own?.time ?? found[sequence]?.first?.time, own?.chainEnd, fork != nil)
    }

    /// Where what this database has published ends; `nil` where nothing tells what would follow it.
    var end: LogEnd? { (ends[published] ?? checksum).map { LogEnd(sequence: published, checksum: $0) } }

    /// Whether it is certain that the branches part where `common` ends: what somebody else published next names what this
    /// database published before it, or holds it. Where such files are gone, the branches may part earlier.
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

    /// Whether all that this database published behind the place where the branches part is in the container. Where files of it
    /// were removed, deletions that they said may be forgotten, and are not said again.
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
    /// Looks into the device's own directory.
    ///
    /// Files whose names are the database's own are believed; others are read where they could contradict it: behind its
    /// end, under numbers that it remembers, or under those of another file.
    /// - Parameter isComplete: read every file, so that it is known where two logs part.
    init(_ store: Store, _ container: Container, _ identity: StoreIdentity, isComplete: Bool) throws {
        let device = identity.device
        packed = try store.versionVector()[device].sequence
        let log = try store.publishedLog()
        published = log.sequence
        checksum = log.checksum
        remembered = try (store.removedSegments() + store.ownSegments()).map {
            Remembered(first: $0.first, last: $0.last, time: $0.time, checksum: $0.checksum)
        }
        if let last = log.last, last.sequence > 0, remembered.last?.last != last.sequence {
            remembered.append(
                Remembered(first: last.sequence, last: last.sequence, time: last.time, checksum: log.checksum))
        }
        var files: [SegmentFile] = []
        for file in try container.segmentFiles(of: device) where files.last?.name != file.name { files.append(file) }
        // One that cannot be read says nothing.
        if let head = try? container.readHead(of: device), head.position.sequence <= published,
            try !store.publishedSegments(include: head.position.sequence, head.lastSegmentChecksum)
        {
            replaced.insert(head.position.sequence)
        }
        let isOwn = Set(remembered.compactMap { own in own.checksum.map { Key(own.first, own.last, $0.high) } })
        var suspects = files.filter { !isOwn.contains(Key($0.name.first, $0.name.last, $0.name.hash)) }
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
            let (header, changesets) = try SegmentDecoder.decode(entry.bytes, container: container.id, device: device)
            var waiting = Remembered(
                first: entry.first, last: entry.last, time: header.lastTime, checksum: entry.checksum)
            for changeset in changesets { waiting.marks[changeset.sequence] = try Self.mark(changeset, container) }
            remembered.append(waiting)
        }
        // What suspects stand beside has to be read too.
        let numbers = suspects.map { $0.name.first...$0.name.last }
        for file in files where isComplete || numbers.contains(where: { $0.overlaps(file.name.first...file.name.last) })
        {
            let isOwn = isOwn.contains(Key(file.name.first, file.name.last, file.name.hash))
            try read(file, isOwn: isOwn, container, device)
        }
    }

    /// All that is in the container under a device's ID after a number, whoever wrote it, each changeset once.
    static func changesets(
        after sequence: UInt64, _ container: Container, _ device: DeviceID
    ) throws -> [Changeset] {
        var changesets: [Mark: Changeset] = [:]
        for file in try container.segmentFiles(of: device, after: sequence) {
            guard let bytes = try container.readSegment(file, of: device) else { continue }
            let decoded = try? SegmentDecoder.decode(bytes, container: container.id, device: device)  // others name it
            for changeset in decoded?.1 ?? [] where changeset.sequence > sequence {
                changesets[try mark(changeset, container)] = changeset
            }
        }
        return changesets.sorted {
            ($0.value.sequence, $0.key.time, $0.key.content) < ($1.value.sequence, $1.key.time, $1.key.content)
        }.map(\.value)
    }

    static func mark(_ changeset: Changeset, _ container: Container) throws -> Mark {
        // The same whatever segment it came in.
        let alone = try SegmentEncoder.encode([changeset], container: container.id, previous: nil)
        return Mark(time: changeset.time, content: alone.checksum)
    }

    private struct Key: Hashable {
        var first: UInt64
        var last: UInt64
        var hash: UInt64

        init(_ first: UInt64, _ last: UInt64, _ hash: UInt64) {
            self.first = first
            self.last = last
            self.hash = hash
        }
    }

    /// The names that share numbers with others.
    /// - Parameter files: in the order of their first numbers.
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
        guard let bytes = try container.readSegment(file, of: device) else { return }
        let (header, changesets): (SegmentHeader, [Changeset])
        do {
            (header, changesets) = try SegmentDecoder.decode(bytes, container: container.id, device: device)
        } catch {
            // Cut off, garbled, from elsewhere or of a newer format: no evidence. Others that read this log name it.
            return
        }
        for changeset in changesets {
            found[changeset.sequence, default: []].insert(try Self.mark(changeset, container))
        }
        if isOwn {
            own.append(header.firstSequence...header.lastSequence)
            ends[header.lastSequence] = header.chainEnd
        } else {
            foreign.append(
                Foreign(first: header.firstSequence, last: header.lastSequence, previous: header.previous))
        }
        if let previous = header.previous { predecessors[header.firstSequence, default: []].insert(previous) }
        // With the same numbers a roll-up replaces nothing: it holds several segments.
        let same = remembered.filter { $0.first == header.firstSequence && $0.last == header.lastSequence }
        if !same.isEmpty, same.allSatisfy({ $0.checksum != nil && $0.checksum != header.checksum }) {
            replaced.insert(header.firstSequence)
        }
    }
}
