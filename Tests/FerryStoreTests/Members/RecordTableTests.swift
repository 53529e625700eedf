import FerryCore
import FerrySchema
import FerryTestSupport
import GRDB
import XCTest

@testable import FerryStore

/// Records of a membership in a store of a sealed container, and nothing of them in an open one.
final class RecordTableTests: XCTestCase {
    private let container = ContainerID(high: 1, low: 1)

    private func hash(_ number: UInt8) -> RecordHash {
        RecordHash(bytes: [UInt8](repeating: number, count: 32)) ?? .none
    }

    private func record(_ number: UInt8, isPublished: Bool = true) -> StoredRecord {
        StoredRecord(hash: hash(number), bytes: [1, 2, number], isPublished: isPublished)
    }

    private func makeStore(_ sql: String = "") throws -> Store {
        let store = Store(owning: try DatabaseQueue())
        try store.write { try $0.executeScript("CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT);" + sql) }
        return store
    }

    private func begin(_ store: Store, sealed: SealedBeginning?) throws {
        let identity = StoreIdentity(
            device: DeviceID(high: 2, low: 2), deviceName: "device", container: container, containerName: "c",
            containerPath: "/c")
        _ = try store.beginTracking(identity, TableSelection(), sealed: sealed)
    }

    private func tables(_ store: Store) throws -> Set<String> {
        try store.read { connection in
            Set(try connection.rows("SELECT name FROM sqlite_schema WHERE type = 'table'").map { $0[0].text })
        }
    }

    func testASealedStoreKeepsRecordsInTheirOrder() throws {
        let store = try makeStore()
        try begin(store, sealed: SealedBeginning(genesis: hash(9), records: [record(9, isPublished: false)]))
        XCTAssertEqual(try store.identity()?.genesis, hash(9))
        XCTAssertEqual(try store.waitingRecords().map(\.hash), [hash(9)])
        try store.notePublished(hash(9))
        XCTAssertEqual(try store.waitingRecords(), [])
        try store.add([record(4), record(3), record(4)])
        XCTAssertEqual(try store.records().map(\.hash), [hash(9), hash(4), hash(3)])
        XCTAssertEqual(try store.records(after: 1), [record(4), record(3)])
        XCTAssertEqual(try store.recordCount(), 3)
        // A known record stays as it is.
        try store.add([record(3, isPublished: false)])
        XCTAssertEqual(try store.waitingRecords(), [])
    }

    func testAnOpenStoreHasNoTableOfRecordsAndNoGenesis() throws {
        let store = try makeStore()
        try begin(store, sealed: nil)
        XCTAssertNil(try store.identity()?.genesis)
        XCTAssertFalse(try tables(store).contains("ferry_record"))
    }

    func testLeavingDropsTheRecords() throws {
        let store = try makeStore()
        try begin(store, sealed: SealedBeginning(genesis: hash(9), records: [record(9)]))
        try store.endTracking()
        XCTAssertEqual(try tables(store), ["item"])
    }

    func testATableOfTheAppsByThatNameStaysInAnOpenStore() throws {
        let own = "CREATE TABLE ferry_record(hash BLOB PRIMARY KEY, bytes BLOB, published INTEGER);"
        let store = try makeStore(own)
        try begin(store, sealed: nil)
        try store.checkOwnTables()
        try store.endTracking()
        XCTAssertEqual(try tables(store), ["item", "ferry_record"])
    }

    func testATableOfTheAppsByThatNameKeepsAStoreFromBeingSealed() throws {
        let store = try makeStore("CREATE TABLE ferry_record(id INTEGER PRIMARY KEY);")
        XCTAssertThrowsError(try begin(store, sealed: SealedBeginning(genesis: hash(9), records: []))) { error in
            XCTAssertEqual((error as? FerryError)?.code, .unsupportedTable)
        }
        XCTAssertEqual(try tables(store), ["item", "ferry_record"])
    }

    func testARecordTableThatSomebodyDroppedIsMissed() throws {
        let store = try makeStore()
        try begin(store, sealed: SealedBeginning(genesis: hash(9), records: [record(9)]))
        try store.write { try $0.executeScript("DROP TABLE ferry_record") }
        XCTAssertThrowsError(try store.checkOwnTables()) { error in
            XCTAssertEqual((error as? FerryError)?.code, .storeIncomplete)
        }
        XCTAssertNotNil(try store.removeRemains())
        XCTAssertEqual(try tables(store), ["item"])
    }

    func testRecordsWithoutFerrysOtherTablesAreRemains() throws {
        let store = try makeStore()
        try begin(store, sealed: SealedBeginning(genesis: hash(9), records: [record(9)]))
        try store.write { try $0.executeScript("DROP TABLE ferry_meta") }
        XCTAssertNotNil(try store.removeRemains())
        XCTAssertEqual(try tables(store), ["item"])
    }

    func testAnotherMembershipTakesThePlaceOfTheFormer() throws {
        let store = try makeStore()
        try begin(store, sealed: SealedBeginning(genesis: hash(9), records: [record(9), record(8)]))
        _ = try store.becomeNewDevice(
            DeviceID(high: 3, low: 3), published: PublishedLog(position: .none, checksum: nil, isForked: false),
            fingerprint: StoreFingerprint(machine: nil, path: nil, file: nil),
            membership: .init(
                record: record(6, isPublished: false),
                sealed: SealedBeginning(genesis: hash(5), records: [record(5)]))
        ) { changeset, _, _ in
            OutboxEntry(
                first: changeset.sequence, last: changeset.sequence, changes: 0, checksum: Checksum(high: 0, low: 1),
                bytes: [])
        }
        XCTAssertEqual(try store.identity()?.genesis, hash(5))
        XCTAssertEqual(try store.identity()?.device, DeviceID(high: 3, low: 3))
        XCTAssertEqual(try store.records().map(\.hash), [hash(5), hash(6)])
        XCTAssertEqual(try store.waitingRecords().map(\.hash), [hash(6)])
    }
}
