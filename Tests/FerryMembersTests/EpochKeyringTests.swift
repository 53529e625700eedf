import FerryCore
import FerryMembers
import FerrySeal
import FerryTestSupport
import XCTest

/// Which secrets of epochs a device can open, whatever the order of the records.
final class EpochKeyringTests: XCTestCase {
    private let random = SeededRandom(seed: 4)
    private let devices = TestKeys.devices
    private var epochs: [EpochSecret] = []
    private var records: [MemberRecord] = []

    /// The founder makes epoch 0, epoch 1 with a ring, and epoch 2 with a ring; a second device gets the last one alone, by a grant.
    override func setUpWithError() throws {
        epochs = (0..<3).map { _ in EpochSecret(mintedFor: TestKeys.container, random: random) }
        let first = try MemberRecord.first(
            by: devices[0], recovery: TestKeys.recovery, further: [.epoch(try making(0, []))], milliseconds: 1)
        records = [first]
        try say(.epoch(try making(1, [epochs[0]])))
        try say(.epoch(try making(2, [epochs[1]])))
        try say(
            TestKeys.admit(.code, devices[1]), .grant(epochs[2].id, [try wrap(2, devices[1].device, devices[1])]))
    }

    private func wrap(_ epoch: Int, _ receiver: DeviceID, _ keys: DeviceKeys) throws -> KeyWrap {
        try KeyWrap(epochs[epoch], for: receiver, keys.publicKeys, random: random)
    }

    private func making(_ epoch: Int, _ earlier: [EpochSecret]) throws -> EpochMaking {
        let wraps = [
            try wrap(epoch, devices[0].device, devices[0]),
            try wrap(epoch, MemberRecord.recoveryAuthor, TestKeys.recovery),
        ]
        return EpochMaking(
            number: UInt32(epoch + 1), epoch: epochs[epoch].id, wraps: wraps.sorted { $0.receiver < $1.receiver },
            ring: try epochs[epoch].sealRing(earlier, random: random))
    }

    private func say(_ acts: MemberAct...) throws {
        records.append(
            try MemberRecord(
                by: devices[0], milliseconds: 2, genesis: records[0].hash, follows: [records.last!.hash], acts: acts))
    }

    func testAGrantOpensTheEpochAndAllRingsBehindItInAnyOrder() throws {
        for seed in 0..<12 {
            var chance = Chance(seed: UInt64(seed))
            var keyring = EpochKeyring()
            for record in records.shuffled(using: &chance) {
                keyring.take(record, with: devices[1], as: devices[1].device)
            }
            XCTAssertEqual(keyring.all, epochs.sorted { $0.id < $1.id }, "seed \(seed)")
            XCTAssertTrue(keyring.faults.isEmpty, "seed \(seed)")
        }
    }

    func testStrangersOpenNothingAndTheRecoveryKeyEverything() throws {
        var (stranger, recovery) = (EpochKeyring(), EpochKeyring())
        for record in records {
            stranger.take(record, with: devices[2], as: devices[2].device)
            recovery.take(record, with: TestKeys.recovery, as: MemberRecord.recoveryAuthor)
        }
        XCTAssertTrue(stranger.all.isEmpty)
        XCTAssertEqual(recovery.all.count, 3)
        XCTAssertEqual(recovery[epochs[1].id], epochs[1])
        XCTAssertNil(stranger[epochs[1].id])
    }

    func testASecretThatIsAddedOpensRingsThatCameBefore() throws {
        var keyring = EpochKeyring()
        keyring.take(records[1], with: devices[2], as: devices[2].device)
        XCTAssertTrue(keyring.all.isEmpty)
        keyring.add(epochs[1])
        XCTAssertEqual(Set(keyring.all.map(\.id)), [epochs[0].id, epochs[1].id])
    }

    func testAWrongWrapAndAWrongRingAreNotedAndHarmNothing() throws {
        try say(.grant(epochs[1].id, [try TestKeys.wrap(devices[3].device)]))
        var keyring = EpochKeyring()
        for record in records { keyring.take(record, with: devices[3], as: devices[3].device) }
        XCTAssertEqual(keyring.faults.keys.map { $0 }, [epochs[1].id])
        XCTAssertTrue(keyring.all.isEmpty)
        var made = try making(2, [])
        made.ring = try epochs[1].sealRing([], random: random)
        try say(.epoch(made))
        var founders = EpochKeyring()
        for record in records { founders.take(record, with: devices[0], as: devices[0].device) }
        XCTAssertEqual(founders.faults.keys.map { $0 }, [epochs[2].id])
        XCTAssertEqual(founders.all.count, 3)
    }

    func testAKeyringShowsNoSecret() {
        var keyring = EpochKeyring()
        keyring.add(epochs[0])
        XCTAssertEqual("\(keyring)", "1 epochs")
        var text = ""
        dump(keyring, to: &text)
        XCTAssertFalse(text.contains("secret"), text)
    }
}
