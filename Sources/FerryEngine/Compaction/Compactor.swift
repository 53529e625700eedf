import FerryContainer
import FerryCore
import FerryLog
import FerryStore
import Foundation

/// What compaction needs of snapshots.
protocol CompactionSnapshots: Sendable {
    /// Returns the best whole snapshot in the container: the snapshot with most of this device's log. Reads manifests,
    /// and verifies the chunks of the best.
    /// - Parameter known: snapshots found whole before; the presence of their files is enough.
    func best(trusting known: [KnownSnapshot]) throws -> KnownSnapshot?
    /// True if a snapshot is in the container, whole or not.
    func isThere(_ snapshot: KnownSnapshot) throws -> Bool
    /// Publishes the present state. A repetition after a crash writes only missing files.
    /// - Throws: `busy` if changes wait to be packed or published.
    func write() throws -> KnownSnapshot
    /// Returns this device's own snapshots, the newest last.
    func own() throws -> [KnownSnapshot]
    /// Removes own snapshots, by file name of the manifest, and chunks that no remaining snapshot of this device needs.
    func remove(_ names: [String]) throws
    /// Removes parts of large values that no segment and no snapshot of this device refers to.
    func removeParts() throws
}

/// Carries out compaction: saves the plan, performs each step, and crosses the step off. After a crash, the next run
/// first finishes the plan.
struct Compactor {
    let container: Container
    let store: Store
    let publisher: Publisher
    let retention: RetentionSettings
    let clock: any WallClock
    /// The heads of other devices, and the state of each device.
    let activity: DeviceActivity
    let snapshots: any CompactionSnapshots
    let countTombstones: () throws -> Int
    let collectTombstones: (VersionVector) throws -> Int
    /// True: check that expected files are in the container.
    var isThorough = false
    /// Whether other devices' changes are to be told of in a snapshot (`Undelivered`).
    var isSnapshotDue = false

    /// Maximum number of plans in a run. A step may change the facts: a snapshot makes segments removable.
    private static let maximumRounds = 4

    private var device: DeviceID { publisher.identity.device }

    /// Performs due steps. A run without due steps is cheap: the run reads the list of own segments from the store, and
    /// nothing from the container.
    /// - Parameters:
    ///   - isAsked: true: somebody requested the run, so the time of the last run does not matter.
    ///   - lost: the last changeset with a file known to be lost or damaged; 0 if none.
    func run(isAsked: Bool = false, mending lost: UInt64 = 0) throws -> CompactionReport {
        var report = CompactionReport()
        var notes = try notes()
        if lost > notes.lost ?? 0 { notes.lost = lost }
        guard try finish(&notes, &report), isAsked || !isTooEarly(notes) else { return report }
        for _ in 0..<Self.maximumRounds {
            let isSnapshotDue = isSnapshotDue && report.snapshot == nil
            let plan = try nextPlan(&notes, isAsked: isAsked, isSnapshotDue: isSnapshotDue)
            if plan.isEmpty { break }
            notes.plan = plan
            try keep(notes)
            guard try finish(&notes, &report) || notes.lost != nil else { break }
        }
        return report
    }

    /// Reports the first steps of `run`, without performing them.
    func rehearse() throws -> CompactionReport {
        var notes = try notes()
        var report = CompactionReport()
        report.dryRun = true
        let steps = try notes.plan.steps + nextPlan(&notes, isAsked: true, isDryRun: true).steps
        let segments = try store.ownSegments()
        for step in steps { report.foresee(step, segments, tombstones: try countTombstones()) }
        return report
    }

    // MARK: Deciding

    private func isTooEarly(_ notes: CompactionMemory) -> Bool {
        guard let notBefore = notes.notBeforeMilliseconds else { return false }
        let remaining = notBefore - clock.milliseconds()
        return remaining > 0 && remaining <= retention.retryMilliseconds
    }

    private func nextPlan(
        _ notes: inout CompactionMemory, isAsked: Bool, isSnapshotDue: Bool = false, isDryRun: Bool = false
    ) throws -> CompactionPlan {
        var first = try facts(&notes, isAsked: isAsked, isDryRun: isDryRun)
        first.isSnapshotDue = isSnapshotDue
        let plan = CompactionPlan(first, retention)
        if !isAsked, first.lost == 0, !plan.concernsSnapshots { return plan }
        // The container's present content counts, before anything is written or removed.
        let known = [notes.snapshot].compactMap { $0 } + notes.ownSnapshots.filter { $0.covered > 0 }
        let found = try (best: snapshots.best(trusting: known), own: snapshots.own())
        notes.snapshot = found.best.map { since(notes, $0) }
        notes.ownSnapshots = found.own.map { since(notes, $0) }
        var facts = first
        facts.snapshot = notes.snapshot
        facts.ownSnapshots = notes.ownSnapshots
        if !isDryRun { try keep(notes) }
        return CompactionPlan(facts, retention)
    }

    /// A snapshot with the time since when it is known.
    private func since(_ notes: CompactionMemory, _ snapshot: KnownSnapshot) -> KnownSnapshot {
        var snapshot = snapshot
        let known = ([notes.snapshot].compactMap { $0 } + notes.ownSnapshots).first {
            $0.device == snapshot.device && $0.name == snapshot.name
        }
        snapshot.milliseconds = known?.milliseconds ?? clock.milliseconds()
        return snapshot
    }

    private func facts(
        _ notes: inout CompactionMemory, isAsked: Bool, isDryRun: Bool
    ) throws -> CompactionFacts {
        let segments = try store.ownSegments()
        let reading = try store.reading()
        let now = clock.milliseconds()
        let times = Dictionary(segments.map { ($0.last, $0.time) }, uniquingKeysWith: { first, _ in first })
        let acknowledged = activity.acknowledged(of: segments.map(\.last).max() ?? 0, times: times)
        var facts = CompactionFacts(
            segments: segments, acknowledged: acknowledged,
            snapshot: notes.snapshot, ownSnapshots: notes.ownSnapshots, logStart: reading.logStart,
            isPublished: reading.isPublished, now: now)
        // Most syncs need no count.
        if facts.snapshot == nil, facts.uncoveredBytes > retention.snapshotMinimumBytes {
            facts.rows = try store.livingObjects()
        }
        if isAsked || isThorough { try lookForFiles(&facts, &notes) }
        facts.lost = notes.lost ?? 0
        let isTime = notes.tombstonesMilliseconds.map { abs(now - $0) >= retention.tombstoneMilliseconds } ?? true
        if isAsked || isTime, activity.stableVector(reading.vector, logStart: reading.logStart) != nil {
            facts.tombstones = try countTombstones()
            if facts.tombstones > 0 { facts.stable = try stableVector(reading, segments, &notes, isDryRun: isDryRun) }
            // The check counts even without tombstones.
            if facts.tombstones == 0, !isDryRun, notes.tombstonesMilliseconds != now {
                notes.tombstonesMilliseconds = now
                try keep(notes)
            }
        }
        return facts
    }

    /// The vector that all counted devices have replayed of the same logs: for a forked log, up to the last changeset
    /// common to the branches.
    private func stableVector(
        _ reading: StoreSummary, _ segments: [OwnSegment], _ notes: inout CompactionMemory, isDryRun: Bool
    ) throws -> VersionVector? {
        let known = VersionVector(notes.forks ?? []).positions
        let logs = try SharedLogs(
            container, own: device, reading, segments: segments + store.removedSegments(), forks: known)
        let stable = try activity.stableVector(
            reading.vector, logStart: reading.logStart, late: reading.lateChanges, shared: logs.shared)
        if logs.forks != known, !isDryRun {
            notes.forks = VersionVector(logs.forks).entries
            try keep(notes)
        }
        return stable
    }

    /// Checks that the container has this device's segments, and the snapshot in place of earlier segments. Folders
    /// lose files, or return to an older state.
    private func lookForFiles(_ facts: inout CompactionFacts, _ notes: inout CompactionMemory) throws {
        let missing = CompactionFacts.lastMissing(
            in: try container.segments(of: device), from: facts.logStart, through: facts.live.last?.last ?? 0)
        if missing > 0 { notes.lost = max(notes.lost ?? 0, missing) }
        try lookForParts(facts, &notes)
        if facts.logStart > 1, let known = facts.snapshot, try !snapshots.isThere(known) { facts.snapshot = nil }
    }

    /// Checks that the container has the parts of this device's large values: a segment without them is lost.
    private func lookForParts(_ facts: CompactionFacts, _ notes: inout CompactionMemory) throws {
        let live = facts.live.filter { $0.hasParts && $0.last >= facts.logStart }
        if live.isEmpty { return }
        let present = try container.parts(of: device)
        for segment in live {
            for part in try store.segmentParts(of: segment.first...segment.last)
            where try present.isDisjoint(with: container.partNames(part.checksum, of: device)) {
                notes.lost = max(notes.lost ?? 0, segment.last)
            }
        }
    }

    // MARK: Performing

    /// Performs the plan's steps.
    /// - Returns: true if every possible step was performed.
    private func finish(_ notes: inout CompactionMemory, _ report: inout CompactionReport) throws -> Bool {
        while let step = notes.plan.steps.first {
            let goesOn = try perform(step, &notes, &report)
            notes.plan.steps.removeFirst()
            if !goesOn { notes.plan.steps = [] }
            try keep(notes)
            if !goesOn { return false }
        }
        return report.skipped.isEmpty
    }

    /// Performs a step.
    /// - Returns: true if the plan continues. Otherwise the rest is planned anew after the next sync.
    private func perform(
        _ step: CompactionStep, _ notes: inout CompactionMemory, _ report: inout CompactionReport
    ) throws -> Bool {
        switch step {
        case .rollUp(let first, let last):
            // Without an epoch nothing is written, and nothing is lost.
            let epoch = try container.sealingEpoch()
            do {
                report.rolledUp.segments += try rollUp(first, last, under: epoch)
                report.rolledUp.into += 1
            } catch let error as FerryError
                where error.isReplacedContent || error.code == .fileNotThereYet
            {
                // No device can read the file. A snapshot must replace the file.
                notes.lost = max(notes.lost ?? 0, error.sequence ?? last)
                return false
            } catch let error as FerryError
                where [.formatTooNew, .limitExceeded, .invalidArgument].contains(error.code)
            {
                // The log stays unchanged, also if its changesets do not fit into a single segment.
                report.skipped.append(error.description)
                notes.notBeforeMilliseconds = clock.milliseconds() + retention.retryMilliseconds
            }
        case .writeSnapshot: return try writeSnapshot(&notes, &report)
        case .beginLog(let sequence):
            try store.beginLog(at: sequence)
            try publisher.writeHead(store.reading())
            if let lost = notes.lost, lost < sequence {
                notes.lost = nil
                report.mended = true
            }
        case .removeSegments(let names): try remove(names, &report)
        case .removeSnapshots(let names):
            try snapshots.remove(names)
            notes.ownSnapshots.removeAll { names.contains($0.name) }
            report.removed.snapshots += names.count
        case .collectTombstones(let stable):
            report.tombstones += try collectTombstones(VersionVector(stable))
            notes.tombstonesMilliseconds = clock.milliseconds()
        }
        return true
    }

    /// Writes a snapshot.
    /// - Returns: false if a snapshot cannot be written now.
    private func writeSnapshot(_ notes: inout CompactionMemory, _ report: inout CompactionReport) throws -> Bool {
        do {
            let written = since(notes, try snapshots.write())
            notes.snapshot = written
            notes.ownSnapshots.removeAll { $0.name == written.name }
            notes.ownSnapshots.append(written)
            report.snapshot = .init(name: written.name, bytes: written.bytes)
            return true
        } catch let error as FerryError where error.code == .busy {
            // A write is in progress: the next sync tries again.
            return false
        }
    }

    /// Joins several segments into one.
    /// - Returns: the number of joined segments.
    private func rollUp(_ first: UInt64, _ last: UInt64, under epoch: EpochID?) throws -> Int {
        let live = try store.ownSegments().filter {
            $0.replacedMilliseconds == nil && first <= $0.first && $0.last <= last
        }
        // A crash came after the joined segment was entered in the store.
        if live.contains(where: { $0.first == first && $0.last == last }) { return 0 }
        var changesets: [Changeset] = []
        var headers: [SegmentHeader] = []
        for segment in live {
            guard let name = segment.name else {
                throw FerryError(.internalInconsistency, "A published segment has no name.", device: device)
            }
            do {
                guard let bytes = try container.readSegment(name, of: device) else {
                    throw FerryError(
                        .fileNotThereYet, "\(name) is not in the container any more, so it cannot be rolled up.",
                        path: container.path(of: SegmentFile(name), device), device: device)
                }
                let (header, part) = try SegmentDecoder.decode(bytes, container: container.id, device: device)
                guard header.checksum == segment.checksum else {
                    throw FerryError(.damagedFile, "\(name) holds another segment.", device: device)
                }
                headers.append(header)
                changesets += part
            } catch var error as FerryError {
                error.sequence = segment.last
                throw error
            }
        }
        guard changesets.first?.sequence == first, changesets.last?.sequence == last else {
            throw FerryError(
                .damagedFile, "The segments from \(first) to \(last) do not hold what the store has entered of them.",
                device: device, sequence: last)
        }
        let segment = try SegmentEncoder.encode(
            changesets, container: container.id, previous: headers.first?.previous, tail: headers.last?.chainEnd)
        let name = try container.segmentName(first...last, segment.checksum, of: device, under: epoch)
        try container.publish(segment.bytes, name: name, of: device, under: epoch)
        try store.recordRollUp(
            OwnSegment(
                first: first, last: last, changes: live.reduce(0) { $0 + $1.changes }, bytes: segment.bytes.count,
                checksum: segment.checksum, time: headers.last?.lastTime ?? .zero,
                publishedMilliseconds: clock.milliseconds(), sealedName: container.sealedName(name, under: epoch)))
        return live.count
    }

    private func remove(_ names: [String], _ report: inout CompactionReport) throws {
        let known = try store.ownSegments()
        let gone = names.compactMap { SegmentName($0) }
        try container.removeSegments(gone + otherNames(of: known.filter { names.contains($0.fileName) }), of: device)
        try store.forgetSegments(gone.map { ($0.first, $0.last) })
        if known.contains(where: { $0.hasParts && names.contains($0.fileName) }) { try snapshots.removeParts() }
        report.removed.segments += gone.count
        report.removed.bytes += known.reduce(0) { $0 + (names.contains($1.fileName) ? $1.bytes : 0) }
    }

    /// Further names under which segments lie there: published before a crash, and again under a later epoch.
    private func otherNames(of segments: [OwnSegment]) throws -> [SegmentName] {
        guard container.isSealed else { return [] }
        let present = Set(try container.segments(of: device))
        return try segments.flatMap { segment in
            try container.segmentNames(segment.first...segment.last, segment.checksum, of: device)
                .filter { $0 != segment.name && present.contains($0) }
        }
    }

    // MARK: Notes

    private func notes() throws -> CompactionMemory { Self.notes(in: try store.reading()) }

    /// Reads compaction's memory from a store.
    static func notes(in reading: StoreSummary) -> CompactionMemory {
        reading.compactionNotes.value(CompactionMemory.self) ?? CompactionMemory()
    }

    /// Notes a snapshot that was written outside of compaction: heads tell the epochs of all files, and compaction removes it once a
    /// newer one is there.
    static func note(_ written: KnownSnapshot, in store: Store) throws {
        var notes = Self.notes(in: try store.reading())
        notes.ownSnapshots.removeAll { $0.name == written.name }
        notes.ownSnapshots.append(written)
        try keep(notes, in: store)
    }

    private func keep(_ notes: CompactionMemory) throws { try Self.keep(notes, in: store) }

    private static func keep(_ notes: CompactionMemory, in store: Store) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        try store.setCompactionNotes(String(decoding: encoder.encode(notes), as: UTF8.self))
    }
}

extension CompactionPlan {
    /// True if a step depends on a snapshot, or concerns a snapshot.
    fileprivate var concernsSnapshots: Bool {
        steps.contains { step in
            switch step {
            case .writeSnapshot, .beginLog, .removeSnapshots: true
            case .rollUp, .removeSegments, .collectTombstones: false
            }
        }
    }
}
