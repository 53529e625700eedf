import FerryCore
import FerrySchema
import GRDB
import XCTest

@testable import FerryStore

/// The names of a sealed container's segments in the list of this device's.
final class SealedSegmentListTests: XCTestCase {
    private func makeStore(isSealed: Bool) throws -> Store {
        let store = Store(owning: try DatabaseQueue())
        try store.write { try $0.executeScript("CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT)") }
        let identity = StoreIdentity(
            device: DeviceID(high: 2, low: 2), deviceName: "device", container: ContainerID(high: 1, low: 1),
            containerName: "c", containerPath: "/c")
        let genesis = RecordHash(bytes: [UInt8](repeating: 9, count: 32)) ?? .none
        _ = try store.beginTracking(
            identity, TableSelection(), sealed: isSealed ? SealedBeginning(genesis: genesis, records: []) : nil)
        return store
    }

    private func segment(_ first: UInt64, _ last: UInt64, _ name: OwnSegment.SealedName?) -> OwnSegment {
        OwnSegment(
            first: first, last: last, changes: 1, bytes: 10, checksum: Checksum(high: first, low: last), time: .zero,
            publishedMilliseconds: 5, sealedName: name)
    }

    private func name(_ hash: UInt64, _ number: UInt32) -> OwnSegment.SealedName {
        OwnSegment.SealedName(hash: hash, epoch: EpochID(high: 7, low: UInt64(number)), number: number)
    }

    func testNamesAreKeptWithTheirSegmentsAndGoWithThem() throws {
        let store = try makeStore(isSealed: true)
        let segments = [segment(1, 1, name(.max, 2)), segment(2, 3, name(5, 3)), segment(4, 4, nil)]
        for segment in segments { try store.recordRollUp(segment) }
        XCTAssertEqual(try store.ownSegments(), segments)
        XCTAssertEqual(try store.newestOwnSegment(), segments[2])
        XCTAssertEqual(try store.reading().oldestSegmentEpoch, 2)
        try store.forgetSegments([(1, 1)])
        XCTAssertEqual(try store.ownSegments(), Array(segments[1...]))
        XCTAssertEqual(try store.reading().oldestSegmentEpoch, 3)
        // Published again under a later epoch.
        try store.recordRollUp(segment(2, 3, name(6, 4)))
        XCTAssertEqual(try store.reading().oldestSegmentEpoch, 4)
        _ = try store.becomeNewDevice(
            DeviceID(high: 3, low: 3), published: PublishedLog(position: .none, checksum: nil, isForked: false),
            fingerprint: StoreFingerprint(machine: nil, path: nil, file: nil)
        ) { changeset, _, _ in
            OutboxEntry(
                first: changeset.sequence, last: changeset.sequence, changes: 0, checksum: Checksum(high: 0, low: 1),
                bytes: [])
        }
        XCTAssertNil(try store.reading().oldestSegmentEpoch)
        XCTAssertEqual(try store.ownSegments(), [])
    }

    func testAnOpenStoreKeepsNoNames() throws {
        let store = try makeStore(isSealed: false)
        try store.recordRollUp(segment(1, 1, nil))
        XCTAssertEqual(try store.ownSegments(), [segment(1, 1, nil)])
        XCTAssertNil(try store.reading().oldestSegmentEpoch)
        try store.forgetSegments([(1, 1)])
        XCTAssertEqual(try store.ownSegments(), [])
    }
}
