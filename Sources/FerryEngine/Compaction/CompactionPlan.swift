import FerryContainer
import FerryCore
import FerryStore

/// A snapshot in the container, as compaction remembers it.
struct KnownSnapshot: Codable, Equatable, Sendable {
    /// The device whose it is, 32 hexadecimal digits, and the file name of its manifest.
    var device: String
    var name: String
    /// The number of the last changeset of *this* device that it covers.
    var covered: UInt64
    /// The size of its files.
    var bytes: Int
    /// Since when this device knows it, by its wall clock, in milliseconds since the Unix epoch.
    var milliseconds: Int64
}

/// What compaction decides upon.
struct CompactionFacts: Equatable {
    /// This device's segments in the container, those that were replaced among them.
    var segments: [OwnSegment] = []
    /// The last of its changesets that every active device has replayed.
    var acknowledged: UInt64 = 0
    /// The best snapshot of any device.
    var snapshot: KnownSnapshot?
    /// How many rows the store has, hidden ones among them; 0 where nobody asked, as there is a snapshot or the log is small.
    var rows = 0
    /// This device's own snapshots, the newest last.
    var ownSnapshots: [KnownSnapshot] = []
    /// Where the log begins in the container; 0 where all of it is there.
    var logStart: UInt64 = 0
    /// The last changeset of this device's of which the container has no whole file though it should; 0 where it has all.
    var lost: UInt64 = 0
    /// Whether everything packed is published: a snapshot speaks of what others can read.
    var isPublished = true
    /// Deletions that this covers are known to everybody who counts; `nil` where that cannot be told, or where it was looked
    /// for a short time ago.
    var stable: VersionVector?
    /// Tombstones in the store; 0 where nobody asked.
    var tombstones = 0
    /// The wall clock, in milliseconds since the Unix epoch.
    var now: Int64 = 0

    /// Segments that no larger one stands for, by their numbers.
    var live: [OwnSegment] {
        segments.filter { $0.replacedMilliseconds == nil }.sorted { ($0.first, $0.last) < ($1.first, $1.last) }
    }

    /// The last changeset for which nothing but a snapshot can stand.
    var withoutSegment: UInt64 { max(lost, logStart > 0 ? logStart - 1 : 0) }

    /// The last number between two that no file has; 0 where files have all of them.
    static func lastMissing(in files: [SegmentName], from first: UInt64, through last: UInt64) -> UInt64 {
        var missing: UInt64 = 0
        var next = max(first, 1)
        for file in files.sorted() where file.last >= next {
            if file.first > next { missing = min(file.first - 1, last) }
            next = file.last + 1
        }
        return next <= last ? last : missing
    }

    /// What a snapshot would let go of this log that the best one there is does not. The newest segment stays anyway.
    private var uncovered: [OwnSegment] {
        let covered = snapshot?.covered ?? 0
        return live.dropLast().filter { $0.last > covered }
    }

    /// The size of that, in bytes.
    var uncoveredBytes: Int { uncovered.reduce(0) { $0 + $1.bytes } }

    /// What the log has to outgrow for a snapshot, in bytes: the best one there is, or, where there is none, what it would take
    /// to tell of every row so many times.
    func snapshotBytes(changesPerRow: Double) -> Double {
        if let snapshot { return Double(snapshot.bytes) }
        let changes = uncovered.reduce(0) { $0 + $1.changes }
        return changes == 0 ? 0 : Double(uncoveredBytes) / Double(changes) * Double(rows) * changesPerRow
    }
}

/// One step of compaction. Each can be repeated, so that a plan goes on after a crash at any of them.
enum CompactionStep: Codable, Equatable, Sendable {
    /// Makes one segment of those between two numbers.
    case rollUp(first: UInt64, last: UInt64)
    /// Publishes the state.
    case writeSnapshot
    /// Tells in the head that the log begins later.
    case beginLog(at: UInt64)
    /// Removes files of segments, by their names.
    case removeSegments([String])
    /// Removes own snapshots that newer ones stand for, by the names of their manifests.
    case removeSnapshots([String])
    /// Forgets what is left of objects whose deletion everybody knows.
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
    /// The same, to be written down.
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

/// What compaction does to this device's part of the container and to its store: a pure function of the facts.
///
/// Nothing is removed that an active device needs: a segment goes once every active device has replayed it and a snapshot
/// covers it, or once a larger one has been there in its place for a while. The newest segment always stays.
struct CompactionPlan: Codable, Equatable, Sendable {
    var steps: [CompactionStep] = []

    var isEmpty: Bool { steps.isEmpty }

    init(steps: [CompactionStep] = []) { self.steps = steps }

    init(_ facts: CompactionFacts, _ settings: RetentionSettings) {
        let covered = facts.snapshot?.covered ?? 0
        if covered < facts.withoutSegment {
            // Before anything else others need a way on.
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
        if facts.isPublished, facts.uncoveredBytes > settings.snapshotMinimumBytes,
            Double(facts.uncoveredBytes) > outgrown
        {
            steps.append(.writeSnapshot)
        }
        if let last = collected.last {
            steps.append(.beginLog(at: last.last + 1))
            // What is replaced by a segment that goes has no reader either.
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

    /// Whether a segment that was replaced can go.
    private static func isOutdated(
        _ segment: OwnSegment, _ facts: CompactionFacts, _ settings: RetentionSettings
    ) -> Bool {
        guard let since = segment.replacedMilliseconds else { return false }
        // A clock that was set back is no reason to keep it for years.
        return segment.last <= facts.acknowledged || facts.now - since >= settings.replacedMilliseconds
            || facts.now < since
    }
}

extension OwnSegment {
    /// The name of its file.
    var fileName: String {
        let name = try? SegmentName(first: first, last: last, checksum: checksum)  // what was published had one
        return name?.fileName ?? ""
    }
}

/// What compaction remembers from one run to the next, in `ferry_meta`.
struct CompactionNotes: Codable, Equatable {
    /// What is still to be done of the plan that is under way.
    var plan = CompactionPlan()
    var snapshot: KnownSnapshot?
    var ownSnapshots: [KnownSnapshot] = []
    /// When tombstones were last looked for.
    var tombstonesMilliseconds: Int64?
    /// The last changeset of which the container has no whole file though it should, as far as that was seen.
    var lost: UInt64?
    /// The last positions that all branches of logs have which two copies of a database wrote (`SharedLogs`).
    var forks: [StablePosition]?
    /// Before this nothing is tried again.
    var notBeforeMilliseconds: Int64?
}
