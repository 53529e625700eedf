import FerryContainer
import FerryCore
import FerryMembers
import FerrySeal
import FerryTestSupport
import XCTest

/// A membership's seal in a container: two members with real keys, and what others put into the folder.
final class MembershipSealingTests: XCTestCase {
    private var folder: SealedFolder!

    override func setUpWithError() throws { folder = try SealedFolder() }

    private var files: MemoryFileSystem { folder.files }
    private var devices: [DeviceKeys] { folder.devices }
    private var epochs: [EpochSecret] { folder.epochs }
    private func seal(_ device: Int, highestEpoch: UInt32 = 0) -> MembershipSealing {
        folder.seal(device, highestEpoch: highestEpoch)
    }
    private func container(_ seal: MembershipSealing) throws -> Container { try folder.container(seal) }
    private func publish(_ text: String, by device: Int) throws -> SegmentName {
        try folder.publish(text, by: device)
    }
    private func segment(_ text: String) -> (bytes: [UInt8], checksum: Checksum) { SealedFolder.plain(text) }

    private func refuses(
        _ code: FerryError.Code, line: UInt = #line, _ body: () throws -> some Any
    ) {
        XCTAssertThrowsError(try body(), line: line) { error in
            XCTAssertEqual((error as? FerryError)?.code, code, "\(error)", line: line)
        }
    }

    func testAMemberReadsWhatAnotherSealed() throws {
        let name = try publish("the song is called Marker", by: 0)
        let other = try container(seal(1))
        XCTAssertEqual(try other.devices(), [devices[0].device])
        XCTAssertEqual(try other.segments(of: devices[0].device), [name])
        XCTAssertEqual(
            try other.readSegment(name, of: devices[0].device), segment("the song is called Marker").bytes)
        let path = "/shared/c/devices/\(devices[0].device.hex)/segments/\(name.fileName)"
        let bytes = try XCTUnwrap(try files.readFile(at: path, maximumBytes: 10_000))
        XCTAssertNil(bytes.firstRange(of: Array("Marker".utf8)))
        XCTAssertFalse(path.contains(segment("the song is called Marker").checksum.hex.prefix(16)))
    }

    func testPublishingAgainWritesTheSameBytes() throws {
        let name = try publish("once", by: 0)
        let path = "/shared/c/devices/\(devices[0].device.hex)/segments/\(name.fileName)"
        let before = try files.readFile(at: path, maximumBytes: 10_000)
        let renames = files.stepCount(of: .rename)
        XCTAssertEqual(try publish("once", by: 0), name)
        XCTAssertEqual(try files.readFile(at: path, maximumBytes: 10_000), before)
        XCTAssertEqual(files.stepCount(of: .rename), renames)
    }

    func testFilesOfARemovedDeviceAndOfStrangersCountForNothing() throws {
        let name = try publish("kept", by: 1)
        let before = try container(seal(0))
        XCTAssertEqual(try before.devices(), [devices[1].device])
        try folder.say(0, .remove(devices[1].device), .epoch(try folder.making(1, for: [0])))
        let after = try container(seal(0))
        XCTAssertEqual(try after.devices(), [])
        XCTAssertEqual(try after.directories(), [devices[1].device])
        refuses(.foreignFile) { try after.readSegment(name, of: devices[1].device) }
        XCTAssertEqual(try after.sealingEpoch(), epochs[1].id)
        // The removed device cannot read what is sealed from now on, nor seal under the new epoch.
        let later = try publish("later", by: 0)
        let removed = seal(1)
        refuses(.fileNotThereYet) { try container(removed).readSegment(later, of: devices[0].device) }
        refuses(.invalidArgument) {
            try removed.seal([1], .segment, of: devices[1].device, under: epochs[1].id)
        }
        refuses(.invalidArgument) { try removed.seal([1], .segment, of: devices[0].device, under: epochs[0].id) }
    }

    func testWhoLeftIsReadToTheEnd() throws {
        let name = try publish("last words", by: 1)
        try folder.say(1, .leave(TestKeys.end(1)))
        let after = try container(seal(0))
        XCTAssertEqual(try after.devices(), [devices[1].device])
        XCTAssertEqual(try after.readSegment(name, of: devices[1].device), segment("last words").bytes)
        // The one that left has the epoch, so it is not clean.
        refuses(.fileNotThereYet) { try after.sealingEpoch() }
    }

    func testNothingIsPublishedOnceAnEpochWasMetWhoseRecordHasNotCome() throws {
        let late = seal(1)
        try folder.say(0, .epoch(try folder.making(1, for: [0, 1])))
        let name = try publish("under the new key", by: 0)
        XCTAssertEqual(try late.sealingEpoch(), epochs[0].id)
        refuses(.fileNotThereYet) { try container(late).readSegment(name, of: devices[0].device) }
        XCTAssertEqual(late.unknownEpochs, [epochs[1].id])
        // The reason names the device of the file, so that a person can remove a device that keeps its record back.
        XCTAssertThrowsError(try late.sealingEpoch()) { error in
            XCTAssertEqual((error as? FerryError)?.code, .fileNotThereYet)
            XCTAssertTrue("\(error)".contains("ferry remove \(devices[0].device)"), "\(error)")
        }
        // Another record does not explain the epoch: the next seal of a pass publishes nothing either.
        let (keys, genesis) = (devices[1], folder.records[0].hash)
        func next(_ records: [MemberRecord]) throws -> MembershipSealing {
            var graph = MemberGraph(genesis: genesis, container: TestKeys.container)
            for record in records { try graph.insert(record) }
            var keyring = EpochKeyring()
            for epoch in epochs { keyring.add(epoch) }
            let seal = MembershipSealing(keys: keys, graph: graph, roster: Roster(graph), keyring: keyring)
            seal.takeOver(from: late)
            return seal
        }
        refuses(.fileNotThereYet) { try next(Array(folder.records.dropLast())).sealingEpoch() }
        XCTAssertEqual(try next(folder.records).sealingEpoch(), epochs[1].id)
        // With the record all is well.
        let present = seal(1)
        XCTAssertNotNil(try container(present).readSegment(name, of: devices[0].device))
        XCTAssertEqual(try present.sealingEpoch(), epochs[1].id)
        XCTAssertEqual(present.number(of: epochs[1].id), 2)
        XCTAssertEqual(present.number(of: epochs[2].id), 0)
    }

    func testAnEpochWithoutAWrapForThisDeviceIsNoNews() throws {
        try folder.say(0, .epoch(try folder.making(1, for: [0])))
        let name = try publish("for the founder alone", by: 0)
        let other = seal(1)
        refuses(.fileNotThereYet) { try container(other).readSegment(name, of: devices[0].device) }
        XCTAssertEqual(other.unknownEpochs, [])
        refuses(.fileNotThereYet) { try other.sealingEpoch() }
        refuses(.fileNotThereYet) {
            try other.name(segment("x").checksum, .segment, of: devices[1].device, under: epochs[1].id)
        }
    }

    func testAnEarlierEpochThanTheKeyStoreRemembersIsNotUsed() throws {
        XCTAssertEqual(try seal(0, highestEpoch: 1).sealingEpoch(), epochs[0].id)
        refuses(.fileNotThereYet) { try seal(0, highestEpoch: 2).sealingEpoch() }
    }

    func testARecordOfALaterFerryStopsPublication() throws {
        try folder.say(0, .unknown(99, [1]))
        refuses(.formatTooNew) { try seal(0).sealingEpoch() }
    }

    func testHeadsTellHowManyRecordsAreKnownAndWhatTheySay() throws {
        let before = seal(0).knowledge
        XCTAssertEqual(before, seal(1).knowledge)
        XCTAssertEqual(before.records, 2)
        try folder.say(0, .remove(devices[1].device))
        let after = seal(0).knowledge
        XCTAssertEqual(after.records, 3)
        XCTAssertNotEqual(after.recordsDigest, before.recordsDigest)
        XCTAssertNotEqual(after.rosterDigest, before.rosterDigest)
    }
}
