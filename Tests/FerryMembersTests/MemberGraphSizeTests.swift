import FerryCore
import FerrySeal
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryMembers

/// Memberships at their limits. `make test` takes an eighth of the records; `FERRY_FULL_MEMBERSHIP=1` all 65,536.
final class MemberGraphSizeTests: XCTestCase {
    private static let isFull = ProcessInfo.processInfo.environment["FERRY_FULL_MEMBERSHIP"] != nil
    private let recordCount = isFull ? MemberGraph.maximumRecords : MemberGraph.maximumRecords / 8
    private let deviceCount = isFull ? MemberGraph.maximumDevices : MemberGraph.maximumDevices / 8
    private let keys = TestKeys.devices[1].publicKeys
    private var number: UInt64 = 0

    private func device(_ number: Int) -> DeviceID { DeviceID(high: 1 << 63, low: UInt64(number)) }

    /// A record without the cost of signing: nothing here looks at its bytes but for its hash.
    private func record(_ author: Int?, after follows: [RecordHash], _ acts: [MemberAct], genesis: RecordHash)
        -> MemberRecord
    {
        number += 1
        var writer = ByteWriter()
        writer.write64(number)
        writer.write(contentsOf: [UInt8](repeating: 0, count: 64))
        return MemberRecord(
            container: TestKeys.container, author: author.map(device) ?? MemberRecord.recoveryAuthor,
            milliseconds: number, genesis: genesis, follows: follows.sorted(), acts: acts, bytes: writer.bytes)
    }

    private func admit(_ number: Int) -> MemberAct {
        var admission = Admission(.code, keys, in: TestKeys.container)
        admission.device = device(number)
        return .admit(admission)
    }

    private func found() throws -> (graph: MemberGraph, first: MemberRecord) {
        let founding = Founding(recovery: TestKeys.recovery.publicKeys, founder: keys)
        let first = record(0, after: [], [.found(founding)], genesis: .none)
        var graph = MemberGraph(genesis: first.hash, container: TestKeys.container)
        try graph.insert(first, isVerified: true)
        return (graph, first)
    }

    /// Lets all devices in, 64 by a record, each batch by a device of the batch before.
    private func letAllIn(_ graph: inout MemberGraph, _ first: MemberRecord) throws -> RecordHash {
        var last = first.hash
        var author = 0
        for start in stride(from: 1, to: deviceCount, by: 64) {
            let batch = record(
                author, after: [last], (start..<min(start + 64, deviceCount)).map(admit), genesis: first.hash)
            try graph.insert(batch, isVerified: true)
            (last, author) = (batch.hash, start)
        }
        return last
    }

    private func measure(_ what: String, _ graph: MemberGraph, since start: ContinuousClock.Instant) {
        let taken = start.duration(to: .now)
        let before = ContinuousClock.now
        let roster = Roster(graph)
        print(
            "\(what): \(graph.count) records taken in \(taken), roster of \(roster.members.count) members in "
                + "\(before.duration(to: .now)), pages of \(graph.sets.byteCount / 1024) KiB")
        XCTAssertLessThan(graph.sets.byteCount, 300 << 20)
    }

    func testDevicesThatFollowWhatTheyKnow() throws {
        var (graph, first) = try found()
        var chance = Chance(seed: 1)
        var last = try letAllIn(&graph, first)
        let start = ContinuousClock.now
        while graph.count < recordCount {
            let next = record(
                chance.below(deviceCount), after: [last], [.accept(device(0), TestKeys.end(1))], genesis: first.hash)
            XCTAssertEqual(try graph.insert(next, isVerified: true), .counts)
            last = next.hash
        }
        measure("one after another", graph, since: start)
        XCTAssertEqual(Roster(graph).members.count, deviceCount)
        XCTAssertThrowsError(try insertBeyond(&graph, after: last, genesis: first.hash)) {
            XCTAssertEqual(($0 as? FerryError)?.code, .limitExceeded)
        }
    }

    private func insertBeyond(_ graph: inout MemberGraph, after last: RecordHash, genesis: RecordHash) throws {
        guard Self.isFull else { throw FerryError(.limitExceeded, "Not asked for.") }
        try graph.insert(
            record(0, after: [last], [.accept(device(0), TestKeys.end(1))], genesis: genesis), isVerified: true)
    }

    func testDevicesThatWriteApartAndMeetNowAndThen() throws {
        var (graph, first) = try found()
        var chance = Chance(seed: 2)
        let base = try letAllIn(&graph, first)
        var heads = [RecordHash](repeating: base, count: deviceCount)
        let start = ContinuousClock.now
        while graph.count < recordCount {
            let author = chance.below(deviceCount)
            let other = chance.oneIn(4) ? chance.below(deviceCount) : author
            let next = record(
                author, after: Array(Set([heads[author], heads[other]])), [.accept(device(0), TestKeys.end(1))],
                genesis: first.hash)
            XCTAssertEqual(try graph.insert(next, isVerified: true), .counts)
            heads[author] = next.hash
        }
        measure("apart", graph, since: start)
        XCTAssertEqual(Roster(graph).members.count, deviceCount)
    }

    func testHalfOfTheDevicesIsRemovedWhileOthersGoOn() throws {
        var (graph, first) = try found()
        var chance = Chance(seed: 3)
        let base = try letAllIn(&graph, first)
        var heads = [RecordHash](repeating: base, count: 64)
        var removed = 0
        let start = ContinuousClock.now
        while graph.count < recordCount {
            // 64 devices on as many sides; the founder removes those behind them, one after another.
            let side = chance.below(64)
            var acts: [MemberAct] = [.accept(device(0), TestKeys.end(1))]
            if side == 0, removed < deviceCount / 2, chance.oneIn(2) {
                removed += 1
                acts = [.remove(device(deviceCount - removed))]
            }
            let other = chance.oneIn(3) ? chance.below(64) : side
            let next = record(side, after: Array(Set([heads[side], heads[other]])), acts, genesis: first.hash)
            XCTAssertEqual(try graph.insert(next, isVerified: true), .counts)
            heads[side] = next.hash
        }
        measure("\(removed) removals", graph, since: start)
        XCTAssertGreaterThan(removed, 10)
        XCTAssertEqual(Roster(graph).removed.count, removed)
    }

    func testMoreDevicesThanTheLimitAreRefused() throws {
        var (graph, first) = try found()
        var last = first.hash
        var outcome: FerryError.Code?
        for start in stride(from: 1, to: MemberGraph.maximumDevices + 65, by: 64) {
            let batch = record(0, after: [last], (start..<start + 64).map(admit), genesis: first.hash)
            do { try graph.insert(batch, isVerified: true) } catch {
                outcome = error.code
                break
            }
            last = batch.hash
        }
        XCTAssertEqual(outcome, .limitExceeded)
        XCTAssertEqual(graph.heads, [last])
        XCTAssertLessThanOrEqual(Roster(graph).members.count, MemberGraph.maximumDevices)
    }
}
