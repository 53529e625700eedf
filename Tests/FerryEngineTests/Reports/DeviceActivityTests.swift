import FerryContainer
import FerryCore
import FerryStore
import XCTest

@testable import FerryEngine

/// Which devices count, and what everybody has.
final class DeviceActivityTests: XCTestCase {
    private let settings = RetentionSettings()
    private let day: Int64 = 86_400_000
    private let start: Int64 = 1_700_000_000_000
    private let container = ContainerID(high: 1, low: 1)
    private let me = DeviceID(high: 0xa, low: 0)
    private let b = DeviceID(high: 0xb, low: 0)
    private let c = DeviceID(high: 0xc, low: 0)

    private func position(_ sequence: UInt64) -> LogPosition {
        LogPosition(sequence: sequence, time: HybridTime(milliseconds: Int64(sequence)))
    }

    private func head(
        _ device: DeviceID, _ sequence: UInt64 = 0, acknowledging: [DeviceID: UInt64] = [:], written: Int64? = nil,
        retired: [DeviceID: Int64] = [:], logStart: UInt64 = 0
    ) -> Head {
        var head = Head(
            container: container, device: device, deviceName: "\(device.high)", position: position(sequence),
            acknowledgements: acknowledging.mapValues(position), writtenMilliseconds: written ?? start,
            softwareVersion: "1")
        head.retired = retired
        head.logStart = logStart
        return head
    }

    /// The records after a look.
    private func look(
        _ records: [DeviceRecord], _ heads: [Head], directories: [DeviceID]? = nil, at now: Int64
    ) -> [DeviceRecord] {
        let notes = DeviceActivity.notes(
            own: me, records: records,
            .init(
                heads: Dictionary(uniqueKeysWithValues: heads.map { ($0.device, $0) }),
                devices: directories ?? heads.map(\.device), now: now), settings)
        var present = Dictionary(uniqueKeysWithValues: records.map { ($0.id, $0) })
        for note in notes { present[note.id] = note }
        return present.values.sorted { $0.id < $1.id }
    }

    private func activity(_ records: [DeviceRecord], _ heads: [Head], at now: Int64) -> DeviceActivity {
        DeviceActivity(
            own: me, records: records, heads: Dictionary(uniqueKeysWithValues: heads.map { ($0.device, $0) }),
            now: now, settings)
    }

    private func states(_ records: [DeviceRecord], _ heads: [Head], at now: Int64) -> [DeviceActivity.State] {
        activity(records, heads, at: now).peers.map(\.state)
    }

    // MARK: Heard

    func testADeviceIsFirstHeardWhenItsHeadWasWritten() {
        let old = look([], [head(b, written: start - 100 * day)], at: start)
        XCTAssertEqual(old.map(\.heardMilliseconds), [start - 100 * day])
        XCTAssertEqual(states(old, [head(b, written: start - 100 * day)], at: start), [.silent])
        let ahead = look([], [head(b, written: start + 100 * day)], at: start)
        XCTAssertEqual(ahead.map(\.heardMilliseconds), [start])
    }

    func testADeviceWithoutAHeadIsHeardWhenItsDirectoryIsFirstSeen() {
        let records = look([], [], directories: [b], at: start)
        XCTAssertEqual(records.map(\.heardMilliseconds), [start])
        XCTAssertEqual(look(records, [], directories: [b], at: start + day), records)
        XCTAssertEqual(states(records, [], at: start + 61 * day), [.silent])
    }

    func testAHeadThatChangesIsHeardAndOneThatDoesNotIsNot() {
        let records = look([], [head(b)], at: start)
        XCTAssertEqual(look(records, [head(b)], at: start + 10 * day), records)
        let later = look(records, [head(b, written: start + day)], at: start + 10 * day)
        XCTAssertEqual(later.map(\.heardMilliseconds), [start + 10 * day])
        // A clock that was set back changes the head too.
        let back = look(later, [head(b, written: start - day)], at: start + 20 * day)
        XCTAssertEqual(back.map(\.heardMilliseconds), [start + 20 * day])
    }

    func testHeadsThatFollowEachOtherQuicklyAreNotedOnceAnHour() {
        let records = look([], [head(b)], at: start)
        XCTAssertEqual(look(records, [head(b, written: start + 1000)], at: start + 1000), records)
        XCTAssertNotEqual(look(records, [head(b, written: start + 1000)], at: start + 3_600_000), records)
    }

    func testADeviceIsSilentAfterTheSetTimeAndActiveAgainWithItsNextHead() {
        let records = look([], [head(b)], at: start)
        XCTAssertEqual(states(records, [head(b)], at: start + 60 * day), [.active])
        XCTAssertEqual(states(records, [head(b)], at: start + 60 * day + 1), [.silent])
        let back = head(b, written: start + 70 * day)
        XCTAssertEqual(states(look(records, [back], at: start + 71 * day), [back], at: start + 71 * day), [.active])
    }

    func testAClockThatWasAheadWhenADeviceWasHeardKeepsItActiveNoLonger() {
        let records = look([], [head(b, written: start + 999 * day)], at: start + 1000 * day)
        let corrected = look(records, [head(b, written: start + 999 * day)], at: start)
        XCTAssertEqual(corrected.map(\.heardMilliseconds), [start])
    }

    // MARK: Retired

    func testARetirementIsUnitedFromAllHeadsAndVoidWithALaterHead() {
        let heads = [head(b, written: start), head(c, retired: [b: start])]
        let records = look([], heads, at: start)
        XCTAssertEqual(records.first?.retiredMilliseconds, start)
        XCTAssertEqual(states(records, heads, at: start), [.retired, .active])
        // The one that retired it is gone; it stays so.
        XCTAssertEqual(look(records, [head(b)], at: start), records)
        // Its next head says that it is back, whatever others still say.
        let back = [head(b, written: start + 1), head(c, retired: [b: start])]
        let later = look(records, back, at: start + 2)
        XCTAssertNil(later.first?.retiredMilliseconds)
        XCTAssertEqual(states(later, back, at: start + 2), [.active, .active])
        // Also where its head cannot be read the next time.
        XCTAssertNil(look(later, [back[1]], at: start + 3).first?.retiredMilliseconds)
    }

    func testADeviceLearnsThatItWasRetired() {
        let heads = [b: head(b, retired: [me: start])]
        XCTAssertTrue(DeviceActivity.isRetired(me, written: start, heads: heads))
        XCTAssertFalse(DeviceActivity.isRetired(me, written: start + 1, heads: heads))
        XCTAssertFalse(DeviceActivity.isRetired(c, written: start, heads: heads))
        // It keeps nothing of it about itself.
        XCTAssertFalse(look([], Array(heads.values), at: start).contains { $0.id == me })
    }

    // MARK: What everybody has

    private func vector(_ positions: [DeviceID: UInt64]) -> VersionVector {
        VersionVector(positions.mapValues(position))
    }

    func testTheStableVectorIsTheLeastOfAllActiveDevices() {
        let heads = [
            head(b, 20, acknowledging: [me: 8, c: 7]), head(c, 9, acknowledging: [me: 10, b: 12]),
        ]
        let records = look([], heads, at: start)
        let activity = activity(records, heads, at: start)
        XCTAssertEqual(activity.acknowledged(of: 10), 8)
        XCTAssertEqual(activity.acknowledged(of: 10, without: b), 10)
        XCTAssertEqual(
            activity.stableVector(vector([me: 10, b: 20, c: 9]), logStart: 0), vector([me: 8, b: 12, c: 7]))
        // What this device has not replayed yet may have been done by somebody who knew less.
        XCTAssertNil(activity.stableVector(vector([me: 10, b: 19, c: 9]), logStart: 0))
        XCTAssertNotNil(activity.stableVector(vector([me: 10, b: 21, c: 9]), logStart: 0))
    }

    func testADeviceWhoseHeadCannotBeReadHoldsEverythingBack() {
        let heads = [head(b, 5, acknowledging: [me: 5])]
        let records = look(look([], heads, at: start), [], directories: [b], at: start + day)
        let activity = activity(records, [], at: start + day)
        XCTAssertEqual(activity.acknowledged(of: 10), 0)
        XCTAssertNil(activity.stableVector(vector([me: 10, b: 5]), logStart: 0))
    }

    func testASilentDeviceCountsUntilALogHasLeftItBehind() {
        let quiet = head(c, 3, acknowledging: [me: 4, b: 4])
        let heads = [head(b, 9, acknowledging: [me: 10, c: 3]), quiet]
        var records = look([], heads, at: start)
        // From now on only the other one is heard.
        let later = [head(b, 9, acknowledging: [me: 10, c: 3], written: start + 70 * day), quiet]
        records = look(records, later, at: start + 70 * day)
        var activity = activity(records, later, at: start + 70 * day)
        XCTAssertEqual(activity.peers.map(\.state), [.active, .silent])
        XCTAssertEqual(activity.acknowledged(of: 10), 10)
        let own = vector([me: 10, b: 9, c: 3])
        XCTAssertEqual(activity.stableVector(own, logStart: 5), vector([me: 4, b: 4, c: 3]))
        XCTAssertEqual(activity.stableVector(own, logStart: 6), vector([me: 10, b: 9, c: 3]))
        XCTAssertTrue(activity.isLeftBehind(activity.peers[1], logStart: 6))
        XCTAssertFalse(activity.isLeftBehind(activity.peers[1], logStart: 5))
        // Another device's log may have left it behind as well.
        let collected = [head(b, 9, acknowledging: [me: 10, c: 3], written: start + 70 * day, logStart: 6), quiet]
        activity = self.activity(records, collected, at: start + 70 * day)
        XCTAssertEqual(activity.stableVector(own, logStart: 0), vector([me: 10, b: 9, c: 3]))
    }

    func testALogThatSaysThingsAgainIsStableOnceAllHaveReadThat() {
        let heads = [head(b, 20, acknowledging: [me: 8]), head(c, 9, acknowledging: [me: 9, b: 12])]
        let activity = activity(look([], heads, at: start), heads, at: start)
        let own = vector([me: 10, b: 20, c: 9])
        func stable(_ late: [DeviceID: UInt64]) -> LogPosition? {
            activity.stableVector(own, logStart: 0, late: late, shared: { $1 })?[me]
        }
        XCTAssertEqual(stable([:]), vector([me: 8])[me])
        XCTAssertEqual(stable([me: 8]), vector([me: 8])[me])
        XCTAssertEqual(stable([me: 9]), LogPosition.none)
        XCTAssertEqual(stable([b: 12]), vector([me: 8])[me])
    }

    func testWhatIsReadOfACopysLogCountsAsFarAsItIsTheSame() {
        let heads = [head(b, 20, acknowledging: [me: 8]), head(c, 9, acknowledging: [me: 12, b: 12])]
        let activity = activity(look([], heads, at: start), heads, at: start)
        let stable = activity.stableVector(vector([me: 10, b: 20, c: 9]), logStart: 0, late: [:]) { author, position in
            author == self.me && position.sequence == 12 ? self.position(5) : position
        }
        XCTAssertEqual(stable?[me], position(5))
        XCTAssertEqual(activity.acknowledged(of: 10), 0, "it has more than there is")
        XCTAssertEqual(activity.acknowledged(of: 12), 8)
        let other: [UInt64: HybridTime] = [8: position(7).time]
        XCTAssertEqual(activity.acknowledged(of: 12, times: other), 0, "it has another one")
    }

    func testWithoutOtherDevicesEverythingIsStable() {
        let activity = activity([DeviceRecord(id: me, position: position(7))], [], at: start)
        XCTAssertEqual(activity.acknowledged(of: 7), 7)
        XCTAssertEqual(activity.stableVector(vector([me: 7]), logStart: 0), vector([me: 7]))
    }

    func testDevicesThatOnlyContextsNameAreNotWaitedFor() {
        let records = [DeviceRecord(id: b, position: .none)]
        XCTAssertEqual(look(records, [], directories: [], at: start), records)
        let activity = activity(records, [], at: start)
        XCTAssertEqual(activity.peers.count, 0)
        XCTAssertEqual(activity.acknowledged(of: 7), 7)
    }
}
