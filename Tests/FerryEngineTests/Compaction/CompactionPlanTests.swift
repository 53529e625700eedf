import FerryContainer
import FerryCore
import FerryStore
import FerryTestSupport
import XCTest

@testable import FerryEngine

/// What compaction decides, without a file or a database.
final class CompactionPlanTests: XCTestCase {
    private let settings = RetentionSettings()
    private let hour: Int64 = 3_600_000

    private func segment(
        _ first: UInt64, _ last: UInt64, bytes: Int = 500, changes: Int = 5, replaced: Int64? = nil
    ) -> OwnSegment {
        OwnSegment(
            first: first, last: last, changes: changes, bytes: bytes, checksum: Checksum(high: first, low: last),
            time: HybridTime(milliseconds: Int64(last)), publishedMilliseconds: 0, replacedMilliseconds: replaced)
    }

    private func snapshot(_ name: String, covers: UInt64, bytes: Int, at time: Int64 = 0) -> KnownSnapshot {
        KnownSnapshot(device: "00", name: name, covered: covers, bytes: bytes, milliseconds: time)
    }

    private func runs(_ segments: [OwnSegment], maximumBytes: Int = 8 << 20) -> [[UInt64]] {
        RollUpPlan(maximumBytes: maximumBytes).runs(segments).map { [$0.first, $0.last] }
    }

    // MARK: Rolling up

    func testSixteenOfOneLevelBecomeOneAndTheNewestStays() {
        let singles = (1...17 as ClosedRange<UInt64>).map { segment($0, $0) }
        XCTAssertEqual(runs(Array(singles.prefix(16))), [])
        XCTAssertEqual(runs(singles), [[1, 16]])
        let sixteens = (0..<16 as Range<UInt64>).map { segment($0 * 16 + 1, $0 * 16 + 16) }
        XCTAssertEqual(runs(sixteens + [segment(257, 257)]), [[1, 256]])
    }

    func testWhatStandsBeforeSomethingLargerJoinsIt() {
        let small = (1...5 as ClosedRange<UInt64>).map { segment($0, $0) }
        XCTAssertEqual(runs(small + [segment(6, 40), segment(41, 41)]), [[1, 40]])
        // What is larger itself stays.
        XCTAssertEqual(
            runs([segment(1, 300)] + [segment(301, 301), segment(302, 330), segment(331, 331)]), [[301, 330]])
    }

    func testTheBoundsHold() {
        let large = (1...40 as ClosedRange<UInt64>).map { segment($0, $0, bytes: 1 << 20) }
        for run in RollUpPlan(maximumBytes: 8 << 20).runs(large) {
            XCTAssertLessThanOrEqual(run.bytes, 8 << 20)
            XCTAssertGreaterThan(run.count, 1)
        }
        let full = (1...40 as ClosedRange<UInt64>).map { segment($0, $0, bytes: 5 << 20) }
        XCTAssertEqual(runs(full), [])
        // A reader has room for a batch, and a segment is taken whole.
        let manyChanges = (1...40 as ClosedRange<UInt64>).map { segment($0, $0, changes: 30_000) }
        let runsOfMany = RollUpPlan(maximumBytes: 8 << 20).runs(manyChanges)
        XCTAssertFalse(runsOfMany.isEmpty)
        for run in runsOfMany { XCTAssertLessThanOrEqual(run.changes, Gathering.maximumChanges) }
        let long = (0..<20 as Range<UInt64>).map { segment($0 * 30_000 + 1, $0 * 30_000 + 30_000) }
        for run in RollUpPlan(maximumBytes: 8 << 20).runs(long) { XCTAssertLessThanOrEqual(run.changesets, 65_536) }
    }

    func testNothingIsPutTogetherAcrossAGap() {
        let before = (1...12 as ClosedRange<UInt64>).map { segment($0, $0) }
        let after = (14...25 as ClosedRange<UInt64>).map { segment($0, $0) }
        XCTAssertEqual(runs(before + after), [])
    }

    func testEveryListBecomesShort() {
        for seed in 1...300 as ClosedRange<UInt64> {
            let random = SeededRandom(seed: seed)
            var next: UInt64 = 1
            let segments = (0..<(100 + random.below(400))).map { _ -> OwnSegment in
                let length = UInt64(1 + random.below([1, 1, 1, 20, 300][random.below(5)]))
                defer { next += length }
                return segment(next, next + length - 1, bytes: Int(length) * 400 + random.below(5000))
            }
            let runs = RollUpPlan(maximumBytes: 8 << 20).runs(segments)
            let gone = runs.reduce(0) { $0 + $1.count - 1 }
            let bytes = segments.reduce(0) { $0 + $1.bytes }
            XCTAssertLessThanOrEqual(segments.count - gone, 15 * 4 + bytes / (2 << 20), "seed \(seed)")
        }
    }

    func testAnImportIsNotWrittenAgainForTheSchemaBeforeIt() {
        var segments = [segment(1, 1), segment(2, 2), segment(3, 3), segment(4, 4)]
        segments[0].changes = 0
        for place in 1...2 { segments[place].changes = Store.maximumNotes }
        XCTAssertEqual(RollUpPlan(maximumBytes: 8 << 20).runs(segments), [])
        // What has room takes in what stands before it.
        segments[1].changes -= 1
        XCTAssertEqual(RollUpPlan(maximumBytes: 8 << 20).runs(segments).map(\.count), [2])
    }

    // MARK: Collecting

    private func facts(segments: [OwnSegment], acknowledged: UInt64, covered: UInt64?) -> CompactionFacts {
        CompactionFacts(
            segments: segments, acknowledged: acknowledged,
            snapshot: covered.map { snapshot("s", covers: $0, bytes: 10 << 20) }, now: 10 * hour)
    }

    func testASegmentGoesOnceEverybodyHasItAndASnapshotCoversIt() {
        let segments = [segment(1, 10), segment(11, 20), segment(21, 30)]
        func steps(_ acknowledged: UInt64, _ covered: UInt64?) -> [CompactionStep] {
            CompactionPlan(facts(segments: segments, acknowledged: acknowledged, covered: covered), settings).steps
        }
        XCTAssertEqual(steps(30, nil), [])
        XCTAssertEqual(steps(9, 30), [])
        XCTAssertEqual(steps(30, 9), [])
        XCTAssertEqual(steps(10, 30), [.beginLog(at: 11), .removeSegments([segments[0].fileName])])
        XCTAssertEqual(steps(15, 19), [.beginLog(at: 11), .removeSegments([segments[0].fileName])])
        // The newest stays, because the head names it.
        XCTAssertEqual(steps(30, 30), [.beginLog(at: 21), .removeSegments(segments.prefix(2).map(\.fileName))])
    }

    func testTheHeadSaysWhereTheLogBeginsBeforeAnythingIsRemoved() {
        let segments = (1...40 as ClosedRange<UInt64>).map { segment($0, $0) }
        let steps = CompactionPlan(facts(segments: segments, acknowledged: 40, covered: 30), settings).steps
        let start = steps.firstIndex(of: .beginLog(at: 31))
        let removal = steps.firstIndex(of: .removeSegments(segments.prefix(30).map(\.fileName)))
        XCTAssertNotNil(start)
        XCTAssertNotNil(removal)
        XCTAssertLessThan(start ?? 9, removal ?? 0)
        // What goes anyway is not rolled up before.
        XCTAssertEqual(steps.count, 2)
    }

    func testReplacedFilesStayForAnHourUnlessEverybodyHasThem() {
        let segments = [segment(1, 20, replaced: 10 * hour), segment(1, 40), segment(41, 41)]
        func removes(acknowledged: UInt64, at now: Int64) -> Bool {
            var facts = facts(segments: segments, acknowledged: acknowledged, covered: nil)
            facts.now = now
            return CompactionPlan(facts, settings).steps == [.removeSegments([segments[0].fileName])]
        }
        XCTAssertFalse(removes(acknowledged: 19, at: 10 * hour + 1))
        XCTAssertTrue(removes(acknowledged: 20, at: 10 * hour + 1))
        XCTAssertTrue(removes(acknowledged: 0, at: 11 * hour))
        XCTAssertTrue(removes(acknowledged: 0, at: 9 * hour), "a clock that was set back")
    }

    func testASnapshotIsWrittenWhereTheLogHasOutgrownTheLastOne() {
        func writes(_ uncovered: Int, last: Int?) -> Bool {
            var facts = facts(
                segments: [segment(1, 1, bytes: 1 << 20), segment(2, 2, bytes: uncovered), segment(3, 3)],
                acknowledged: 0, covered: nil)
            facts.snapshot = snapshot("s", covers: 1, bytes: last ?? 0)
            return CompactionPlan(facts, settings).steps.contains(.writeSnapshot)
        }
        XCTAssertFalse(writes(256 << 10, last: nil))
        XCTAssertTrue(writes(256 << 10 + 1, last: nil))
        XCTAssertFalse(writes(3 << 20, last: 3 << 20))
        XCTAssertTrue(writes(3 << 20 + 1, last: 3 << 20))
        var waiting = facts(segments: [segment(1, 1, bytes: 9 << 20), segment(2, 2)], acknowledged: 0, covered: nil)
        waiting.isPublished = false
        XCTAssertTrue(CompactionPlan(waiting, settings).isEmpty)
    }

    func testTheFirstSnapshotIsWrittenWhereTheLogSaysMoreThanWhatTheRowsAre() {
        func writes(rows: Int) -> Bool {
            var facts = facts(
                segments: [segment(1, 1, bytes: 5 << 20), segment(2, 2, bytes: 5 << 20), segment(3, 3)],
                acknowledged: 0, covered: nil)
            facts.segments[0].changes = 60_000
            facts.segments[1].changes = 40_000
            facts.rows = rows
            return CompactionPlan(facts, settings).steps.contains(.writeSnapshot)
        }
        XCTAssertFalse(writes(rows: 130_000))
        XCTAssertFalse(writes(rows: 100_000))
        XCTAssertTrue(writes(rows: 99_000))
    }

    func testFormerSnapshotsGoAnHourAfterANewerOneIsThere() {
        var facts = CompactionFacts()
        facts.ownSnapshots = [snapshot("a", covers: 1, bytes: 1), snapshot("b", covers: 2, bytes: 1, at: 5 * hour)]
        facts.now = 6 * hour - 1
        XCTAssertTrue(CompactionPlan(facts, settings).isEmpty)
        facts.now = 6 * hour
        XCTAssertEqual(CompactionPlan(facts, settings).steps, [.removeSnapshots(["a"])])
        facts.ownSnapshots.removeFirst()
        XCTAssertTrue(CompactionPlan(facts, settings).isEmpty)
    }

    func testTombstonesAreCollectedWhereItIsKnownWhatEverybodyHas() {
        var facts = CompactionFacts()
        facts.tombstones = 5
        XCTAssertTrue(CompactionPlan(facts, settings).isEmpty)
        let stable = VersionVector([DeviceID(high: 1, low: 2): LogPosition(sequence: 3, time: HybridTime(rawValue: 4))])
        facts.stable = stable
        XCTAssertEqual(CompactionPlan(facts, settings).steps, [.collectTombstones(stable: stable.entries)])
        XCTAssertEqual(VersionVector(stable.entries), stable)
    }

    // MARK: Ten years

    /// A device that flushes thousands of times a day, and others that read.
    private struct Life {
        var facts = CompactionFacts()
        var end: UInt64 = 0
        /// What each active device has replayed.
        var acknowledged: [String: UInt64] = [:]
        var rewritten = 0
        var written = 0
        let settings = RetentionSettings()

        /// Publishes flushes, gathered into one segment.
        mutating func flush(_ count: UInt64 = 1, bytes: Int) {
            end += count
            written += bytes
            facts.segments.append(
                OwnSegment(
                    first: end - count + 1, last: end, changes: 3 * Int(count), bytes: bytes,
                    checksum: Checksum(high: end, low: 1),
                    time: HybridTime(milliseconds: Int64(end)), publishedMilliseconds: facts.now))
        }

        /// Does what the plan says.
        /// - Returns: what must not be.
        mutating func compact() -> [String] {
            var faults: [String] = []
            facts.acknowledged = acknowledged.values.min() ?? end
            for step in CompactionPlan(facts, settings).steps {
                switch step {
                case .rollUp(let first, let last):
                    let parts = facts.live.filter { first <= $0.first && $0.last <= last }
                    let bytes = parts.reduce(0) { $0 + $1.bytes }
                    if bytes > settings.segmentBytes { faults.append("\(bytes) bytes in one segment") }
                    for index in facts.segments.indices where parts.contains(facts.segments[index]) {
                        facts.segments[index].replacedMilliseconds = facts.now
                    }
                    rewritten += bytes
                    facts.segments.append(
                        OwnSegment(
                            first: first, last: last, changes: 3 * Int(last - first + 1), bytes: bytes,
                            checksum: Checksum(high: first, low: last), time: .zero,
                            publishedMilliseconds: facts.now))
                case .writeSnapshot:
                    let snapshot = KnownSnapshot(
                        device: "00", name: "\(end)", covered: end, bytes: 3 << 20, milliseconds: facts.now)
                    facts.snapshot = snapshot
                    facts.ownSnapshots.append(snapshot)
                case .beginLog(let start):
                    if let missed = acknowledged.first(where: { $0.value + 1 < start }) {
                        faults.append("the log begins at \(start), and \(missed) needs more")
                    }
                    if facts.snapshot.map({ $0.covered + 1 < start }) ?? true { faults.append("no snapshot covers it") }
                    facts.logStart = start
                case .removeSegments(let names): facts.segments.removeAll { names.contains($0.fileName) }
                case .removeSnapshots(let names): facts.ownSnapshots.removeAll { names.contains($0.name) }
                case .collectTombstones: faults.append("nobody spoke of tombstones")
                }
            }
            var next = max(facts.logStart, 1)
            for segment in facts.live {
                if segment.first != next { faults.append("the log has a gap before \(next)") }
                next = segment.last + 1
            }
            if next != end + 1 { faults.append("the log ends before \(next)") }
            return faults
        }
    }

    func testTenYearsOfThousandsOfFlushesADayAreDozensOfFiles() {
        var life = Life()
        var (mostFiles, mostBytes) = (0, 0)
        for day in 0..<3650 {
            life.acknowledged["daily"] = life.end
            if day % 7 == 0 { life.acknowledged["weekly"] = life.end }
            // One that was there at the beginning, and stays away from the second year on; after 60 days it is silent.
            if day < 365 { life.acknowledged["away"] = life.end }
            if day == 425 { life.acknowledged["away"] = nil }
            for _ in 0..<4 {
                life.facts.now += 6 * hour
                for flush in 0..<20 { life.flush(30, bytes: 30 * 350 + flush) }
                let faults = life.compact()
                XCTAssertEqual(faults, [], "day \(day)")
                if !faults.isEmpty { return }
                mostFiles = max(mostFiles, life.facts.segments.count - 20)
                mostBytes = max(mostBytes, life.facts.live.reduce(0) { $0 + $1.bytes })
            }
        }
        XCTAssertEqual(life.end, 3650 * 2400)
        XCTAssertLessThan(mostFiles, 150)
        // While one is away its 60 days are kept, 50 MB.
        XCTAssertLessThan(mostBytes, 65 << 20)
        // At the end: a week for the weekly device, and what a snapshot does not pay for.
        XCTAssertLessThan(life.facts.live.reduce(0) { $0 + $1.bytes }, 15 << 20)
        XCTAssertLessThan(life.facts.live.count, 60)
        XCTAssertLessThan(life.facts.ownSnapshots.count, 4)
        XCTAssertLessThan(life.rewritten, 3 * life.written, "each change is written again at most three times")
    }

    func testADeviceThatLooksAfterEachFlushNeverHasMoreThanSomeDozensOfFiles() {
        var life = Life()
        var most = 0
        for flush in 1...20_000 {
            life.facts.now += 40_000
            life.flush(bytes: 400)
            if flush % 2000 == 0 { life.acknowledged["daily"] = life.end }
            XCTAssertEqual(life.compact(), [])
            most = max(most, life.facts.segments.count)
        }
        // Up to fifteen of four levels, and what was replaced within the hour.
        XCTAssertLessThan(most, 60 + 16 * 8)
        XCTAssertLessThan(life.facts.live.count, 62)
    }

    func testNumbersThatNoFileHasAreFound() throws {
        func name(_ first: UInt64, _ last: UInt64) throws -> SegmentName {
            try SegmentName(first: first, last: last, checksum: Checksum(high: first, low: last))
        }
        func missing(_ files: [SegmentName], from first: UInt64 = 0, through last: UInt64 = 9) -> UInt64 {
            CompactionFacts.lastMissing(in: files, from: first, through: last)
        }
        XCTAssertEqual(try missing([name(1, 9)]), 0)
        XCTAssertEqual(try missing([name(1, 4), name(5, 9)]), 0)
        // Small ones beside the one that they were rolled up into.
        XCTAssertEqual(try missing([name(1, 9), name(1, 4), name(2, 3), name(5, 5)]), 0)
        XCTAssertEqual(try missing([name(1, 3), name(5, 9)]), 4)
        XCTAssertEqual(try missing([name(1, 3), name(5, 6), name(8, 9)]), 7)
        XCTAssertEqual(try missing([name(1, 8)]), 9)
        XCTAssertEqual(missing([]), 9)
        XCTAssertEqual(missing([], from: 10), 0)
        XCTAssertEqual(try missing([name(5, 9)], from: 5), 0)
        XCTAssertEqual(try missing([name(6, 9)], from: 5), 5)
        XCTAssertEqual(missing([], through: 0), 0)
    }
}
