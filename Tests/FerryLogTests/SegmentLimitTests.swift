import FerryCore
import XCTest

@testable import FerryLog

/// What the encoder refuses.
final class SegmentLimitTests: XCTestCase {
    private func encode(_ changesets: [Changeset]) throws {
        _ = try SegmentEncoder.encode(changesets, container: Samples.container, previous: nil)
    }

    private func encode(
        _ table: TableChanges, context: VersionVector = VersionVector(), schema: SchemaRecord? = nil
    ) throws {
        try encode([
            Changeset(
                device: Samples.device, sequence: 1, time: Samples.start, context: context, schema: schema,
                tables: [table])
        ])
    }

    private func table(_ operations: [ObjectOperation], values: [FieldValue] = []) -> TableChanges {
        TableChanges(
            name: "t", identity: .surrogate, columns: ["a"], shapes: [[], [0]], operations: operations, values: values)
    }

    private func operation(
        _ object: UInt64 = 1, _ kind: ObjectOperation.Kind = .insert, time: HybridTime = .zero, shape: Int = 0,
        firstValue: Int = 0
    ) -> ObjectOperation {
        ObjectOperation(
            object: ObjectID(high: 0, low: object), kind: kind, time: time, shape: shape, firstValue: firstValue)
    }

    func testAValueLargerThanTheLimitIsRefusedWithTheLimitNamed() {
        let bytes = [UInt8](repeating: 0, count: SegmentLimits.valueBytes + 1)
        XCTAssertThrowsError(try encode(table([operation(shape: 1)], values: [.blob(bytes[...])]))) { error in
            XCTAssertEqual((error as? FerryError)?.code, .limitExceeded)
            XCTAssert("\(error)".contains("\(SegmentLimits.valueBytes)"))
            XCTAssertEqual((error as? FerryError)?.sequence, 1)
        }
    }

    func testALongNameOrStatementIsRefused() {
        let name = String(repeating: "n", count: SegmentLimits.nameBytes + 1)
        assertThrows(.limitExceeded) { try encode(TableChanges(name: name, identity: .surrogate)) }
        assertThrows(.limitExceeded) { try encode(TableChanges(name: "t", identity: .key([name]))) }
        let sql = String(repeating: " ", count: SegmentLimits.statementBytes + 1)
        let schema = SchemaRecord(
            userVersion: 0, applicationID: 0, statements: [.init(type: "table", name: "t", table: "t", sql: sql)],
            tracked: [])
        assertThrows(.limitExceeded) { try encode(table([]), schema: schema) }
    }

    func testTooManyColumnsAreRefused() {
        let columns = Array(repeating: "c", count: SegmentLimits.columns + 1)
        assertThrows(.limitExceeded) { try encode(TableChanges(name: "t", identity: .surrogate, columns: columns)) }
    }

    func testTooManyDevicesInAContextAreRefused() {
        let devices = (0...UInt64(SegmentLimits.contextDevices)).map { DeviceID(high: 1, low: $0) }
        let positions = devices.map { ($0, LogPosition(sequence: 1, time: .zero)) }
        let context = VersionVector(Dictionary(uniqueKeysWithValues: positions))
        assertThrows(.limitExceeded) { try encode(table([]), context: context) }
    }

    func testTooManyOperationsOrChangesetsAreRefused() {
        let operations = Array(repeating: operation(), count: SegmentLimits.operations + 1)
        assertThrows(.limitExceeded) { try encode(table(operations)) }
        let changesets = (0...SegmentLimits.changesets).map {
            Changeset(
                device: Samples.device, sequence: UInt64($0 + 1), time: .zero, context: VersionVector(), tables: [])
        }
        assertThrows(.limitExceeded) { try encode(changesets) }
    }

    func testChangesetsThatAreNotConsecutiveAreRefused() {
        var changesets = Samples.everything()
        assertThrows(.invalidArgument) { try encode([]) }
        assertThrows(.invalidArgument) { try encode(changesets.reversed()) }
        changesets[1].device = Samples.otherDevice
        assertThrows(.invalidArgument) { try encode(changesets) }
        changesets = Samples.everything()
        changesets[1].time = .zero
        assertThrows(.invalidArgument) { try encode(changesets) }
        changesets = [changesets[0]]
        changesets[0].sequence = 0
        assertThrows(.invalidArgument) { try encode(changesets) }
        changesets[0].sequence = .max
        assertThrows(.invalidArgument) { try encode(changesets) }
        changesets[0].sequence = 1
        changesets[0].time = HybridTime.latest.next
        assertThrows(.invalidArgument) { try encode(changesets) }
    }

    func testChangesThatBreakTheirRulesAreRefused() {
        let wrong: [TableChanges] = [
            table([operation(2), operation(1)]),
            table([operation(1, time: Samples.start), operation(1)]),
            table([operation(time: HybridTime.latest.next)]),
            table([operation(shape: 2)]),
            table([operation(shape: -1)]),
            table([operation(shape: 1)]),
            table([operation(shape: 1, firstValue: -1)], values: [.null]),
            table([operation(1, .delete, shape: 1)], values: [.null]),
            TableChanges(name: "t", identity: .surrogate, columns: ["a"], shapes: [[1]]),
            TableChanges(name: "t", identity: .surrogate, columns: ["a", "b"], shapes: [[1, 0]]),
        ]
        for table in wrong { assertThrows(.invalidArgument) { try encode(table) } }
    }
}
