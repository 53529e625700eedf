import FerryContainer
import FerryCore
import FerryStore

/// A snapshot in the container, as compaction remembers the snapshot.
struct KnownSnapshot: Codable, Equatable, Sendable {
    /// The device that wrote the snapshot, 32 hexadecimal digits, and the file name of the manifest.
    var device: String
    var name: String
    /// The number of *this* device's last changeset in the snapshot.
    var covered: UInt64
    /// The size of the snapshot's files.
    var bytes: Int
    /// Since when this device knows the snapshot, by the wall clock, in milliseconds since the Unix epoch.
    var milliseconds: Int64
    /// The number of the epoch under which the snapshot is sealed; `nil` in an open container.
    var epoch: UInt32?
}

/// The facts for compaction's decisions.
struct CompactionFacts: Equatable {
    /// This device's segments in the container, replaced segments included.
    var segments: [OwnSegment] = []
    /// The last of this device's changesets that every active device has replayed.
    var acknowledged: UInt64 = 0
    /// The best snapshot of any device.
    var snapshot: KnownSnapshot?
    /// Number of rows in the store, hidden rows included; 0 if not counted, because the container has a snapshot or the
    /// log is small.
    var rows = 0
    /// This device's own snapshots, the newest last.
    var ownSnapshots: [KnownSnapshot] = []
    /// The first changeset of the log in the container; 0 for the whole log.
    var logStart: UInt64 = 0
    /// The last of this device's changesets without a whole file in the container, though a file should be there; 0 if
    /// none is lost.
    var lost: UInt64 = 0
    /// True if a snapshot must publish other devices' changes that are not in the container otherwise.
    var isSnapshotDue = false
    /// True if everything packed is published: a snapshot holds only changes that all devices can read.
    var isPublished = true
    /// All counted devices know the deletions up to this vector; `nil` if unknown, or soon after the last search for
    /// tombstones.
    var stable: VersionVector?
    /// Number of tombstones in the store; 0 if not counted.
    var tombstones = 0
    /// The wall clock, in milliseconds since the Unix epoch.
    var now: Int64 = 0

    /// Segments without a larger segment in their place, by number.
    var live: [OwnSegment] {
        segments.filter { $0.replacedMilliseconds == nil }.sorted { ($0.first, $0.last) < ($1.first, $1.last) }
    }

    /// The last changeset without a segment in the container: only a snapshot can hold the changes.
    var withoutSegment: UInt64 { max(lost, logStart > 0 ? logStart - 1 : 0) }

    /// The last number between `first` and `last` in no file; 0 if files have all numbers.
    static func lastMissing(in files: [SegmentName], from first: UInt64, through last: UInt64) -> UInt64 {
        var missing: UInt64 = 0
        var next = max(first, 1)
        for file in files.sorted() where file.last >= next {
            if file.first > next { missing = min(file.first - 1, last) }
            next = file.last + 1
        }
        return next <= last ? last : missing
    }

    /// Segments that a new snapshot would make removable, beyond the best existing snapshot. The newest segment stays
    /// anyway.
    private var uncovered: [OwnSegment] {
        let covered = snapshot?.covered ?? 0
        return live.dropLast().filter { $0.last > covered }
    }

    /// The size of the uncovered segments, in bytes.
    var uncoveredBytes: Int { uncovered.reduce(0) { $0 + $1.bytes } }

    /// The size in bytes that the log must outgrow for a new snapshot: the size of the best existing snapshot.
    /// Without a snapshot: the estimated size of `changesPerRow` changes for every row.
    func snapshotBytes(changesPerRow: Double) -> Double {
        if let snapshot { return Double(snapshot.bytes) }
        let changes = uncovered.reduce(0) { $0 + $1.changes }
        return changes == 0 ? 0 : Double(uncoveredBytes) / Double(changes) * Double(rows) * changesPerRow
    }
}

/// A step of compaction. Each step can be repeated, so a plan continues after a crash at any step.
enum CompactionStep: Codable, Equatable, Sendable {
    /// Joins the segments between two numbers into one.
    case rollUp(first: UInt64, last: UInt64)
    /// Publishes the state.
    case writeSnapshot
    /// Writes a head with a later beginning of the log.
    case beginLog(at: UInt64)
    /// Removes segment files, by file name.
    case removeSegments([String])
    /// Removes own snapshots superseded by newer snapshots, by file name of the manifest.
    case removeSnapshots([String])
    /// Forgets the tombstones of objects whose deletion all devices know.
    case collectTombstones(stable: [StablePosition])
}

/// An entry of a version vector, as JSON.
struct StablePosition: Codable, Equatable, Sendable {
    /// 32 hexadecimal digits.
    var device: String
    var sequence: UInt64
    /// The raw value of a hybrid time.
    var time: UInt64
}

extension VersionVector {
    /// The vector's entries for JSON, in the order of devices.
    var entries: [StablePosition] {
        positions.sorted { $0.key < $1.key }.map {
            StablePosition(device: $0.key.hex, sequence: $0.value.sequence, time: $0.value.time.rawValue)
        }
    }

    init(_ entries: [StablePosition]) {
        self.init()
        for entry in entries {
            guard let device = DeviceID(entry.device) else { continue }
            advance(device, to: LogPosition(sequence: entry.sequence, time: HybridTime(rawValue: entry.time)))
        }
    }
}

/// Compaction's steps in this device's part of the container and its store: a pure function of the facts.
///
/// Invariants:
/// - Nothing that an active device needs is removed.
/// - A segment is removed after every active device has replayed the segment and a snapshot covers the segment.
/// - A replaced segment is removed after every active device has replayed the segment, or after the larger segment has
///   been in place for a while.
/// - The newest segment always stays.
struct CompactionPlan: Codable, Equatable, Sendable {
    var steps: [CompactionStep] = []

    var isEmpty: Bool { steps.isEmpty }

    init(steps: [CompactionStep] = []) { self.steps = steps }

    init(_ facts: CompactionFacts, _ settings: RetentionSettings) {
        let covered = facts.snapshot?.covered ?? 0
        if covered < facts.withoutSegment {
            // First of all, other devices need a way past the missing files.
            if facts.isPublished { steps.append(.writeSnapshot) }
        } else if facts.lost > 0, facts.lost >= facts.logStart {
            steps.append(.beginLog(at: facts.lost + 1))
            steps.append(.removeSegments(facts.segments.filter { $0.last <= facts.lost }.map(\.fileName)))
        } else {
            plan(facts, settings)
        }
    }

    private mutating func plan(_ facts: CompactionFacts, _ settings: RetentionSettings) {
        let replaced = facts.segments.filter { Self.isOutdated($0, facts, settings) }
        if !replaced.isEmpty { steps.append(.removeSegments(replaced.map(\.fileName))) }

        let live = facts.live
        let covered = min(facts.acknowledged, facts.snapshot?.covered ?? 0)
        let collected = live.dropLast().prefix { $0.last <= covered }
        let rollUps = RollUpPlan(maximumBytes: settings.segmentBytes, fanout: settings.rollUpFanout)
        steps += rollUps.runs(Array(live.dropFirst(collected.count))).map { .rollUp(first: $0.first, last: $0.last) }

        let outgrown = facts.snapshotBytes(changesPerRow: settings.firstSnapshotChangesPerRow)
        let isOutgrown =
            facts.uncoveredBytes > settings.snapshotMinimumBytes && Double(facts.uncoveredBytes) > outgrown
        if facts.isPublished, isOutgrown || facts.isSnapshotDue {
            steps.append(.writeSnapshot)
        }
        if let last = collected.last {
            steps.append(.beginLog(at: last.last + 1))
            // A replaced segment within the removed range has no reader either.
            let gone = facts.segments.filter { $0.last <= last.last && !replaced.contains($0) }
            steps.append(.removeSegments(gone.map(\.fileName)))
        }
        let former = facts.ownSnapshots.dropLast().map(\.name)
        if let newest = facts.ownSnapshots.last, !former.isEmpty,
            facts.now - newest.milliseconds >= settings.replacedMilliseconds || facts.now < newest.milliseconds
        {
            steps.append(.removeSnapshots(former))
        }
        if facts.tombstones > 0, let stable = facts.stable { steps.append(.collectTombstones(stable: stable.entries)) }
    }

    /// True if a replaced segment can be removed.
    private static func isOutdated(
        _ segment: OwnSegment, _ facts: CompactionFacts, _ settings: RetentionSettings
    ) -> Bool {
        guard let since = segment.replacedMilliseconds else { return false }
        // A clock set back must not keep a replaced segment for years.
        return segment.last <= facts.acknowledged || facts.now - since >= settings.replacedMilliseconds
            || facts.now < since
    }
}

extension OwnSegment {
    /// The name of the segment's file.
    var name: SegmentName? {
        let hash = sealedName.map { Checksum(high: $0.hash, low: 0) } ?? checksum
        return try? SegmentName(first: first, last: last, checksum: hash)  // published segments have names
    }

    var fileName: String { name?.fileName ?? "" }
}

/// Compaction's memory between runs, in `ferry_meta`.
struct CompactionMemory: Codable, Equatable, Sendable {
    /// The remaining steps of the present plan.
    var plan = CompactionPlan()
    var snapshot: KnownSnapshot?
    var ownSnapshots: [KnownSnapshot] = []
    /// When compaction last searched for tombstones.
    var tombstonesMilliseconds: Int64?
    /// The last changeset seen to be without a whole file in the container, though a file should be there.
    var lost: UInt64?
    /// For each forked log, the last position common to all branches (`SharedLogs`).
    var forks: [StablePosition]?
    /// No new attempt before this time.
    var notBeforeMilliseconds: Int64?
}
