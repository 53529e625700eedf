import FerryCore
import GRDB
import XCTest

@testable import FerryStore

/// What no honest device writes changes no row that it should not, and crashes nothing.
final class HostileChangesetTests: XCTestCase {
    func testAReferenceInAPlainColumnUnderAUniqueIndexIsNoCrash() throws {
        let queue = try DatabaseQueue()
        try queue.write {
            try $0.execute(sql: "CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE); INSERT INTO t VALUES (1, 'a')")
        }
        let store = Store(queue)
        _ = try store.beginTracking(
            StoreIdentity(
                device: DeviceID(high: 0, low: 1), deviceName: "a", container: ContainerID(high: 0, low: 9),
                containerName: "c", containerPath: "/c"), TableSelection())
        let seal: SegmentSealer = { changeset, _ in
            OutboxEntry(
                first: changeset.sequence, last: changeset.sequence, changes: changeset.operationCount,
                checksum: Checksum(high: 0, low: changeset.sequence), bytes: [])
        }
        _ = try store.pass(replaying: [], seal: seal)
        let time = HybridTime(milliseconds: SystemClock().milliseconds())
        let operations = (UInt64(1)...2).map { number in
            Operation(
                object: ObjectID(high: 7, low: number), kind: .insert, time: time, key: .integer(Int64(number)),
                shape: 0,
                firstValue: Int(number) - 1)
        }
        let reference = FieldValue.reference(ObjectID(high: 7, low: 7))
        let changes = TableChanges(
            name: "t", identity: .surrogate, columns: ["u"], shapes: [[0]], operations: operations,
            values: [reference, reference])
        let changeset = Changeset(
            device: DeviceID(high: 0, low: 2), sequence: 1, time: time, context: VersionVector(), tables: [changes])
        _ = try store.pass(replaying: [changeset], seal: seal)
        XCTAssertEqual(try queue.read { try String.fetchAll($0, sql: "SELECT u FROM t WHERE u IS NOT NULL") }, ["a"])
        XCTAssertEqual(try queue.read { try String.fetchOne($0, sql: "PRAGMA integrity_check") }, "ok")
    }
}
