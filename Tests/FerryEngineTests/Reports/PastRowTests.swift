import FerryCore
import FerryMerge
import FerryStore
import XCTest

@testable import FerryEngine

/// What a row was at a time, from the operations on it.
final class PastRowTests: XCTestCase {
    private let one = DeviceID(high: 0, low: 1)
    private let other = DeviceID(high: 0, low: 2)

    private func operation(
        _ kind: ObjectOperation.Kind, at milliseconds: Int64, by device: DeviceID? = nil, key: Int64? = nil,
        _ values: KeyValuePairs<String, Int64> = [:]
    ) -> LoggedOperation {
        LoggedOperation(
            stamp: Stamp(time: HybridTime(milliseconds: milliseconds), device: device ?? one), sequence: 1, kind: kind,
            key: key.map { .integer($0) }, values: values.map { .init(column: $0.key, value: .integer($0.value)) })
    }

    func testValuesAreThoseWrittenUpToTheTime() {
        let operations = [
            operation(.insert, at: 10, key: 7, ["a": 1, "b": 1]), operation(.update, at: 20, ["a": 2]),
            operation(.update, at: 30, by: other, ["b": 3]),
        ]
        let expected: [(at: Int64, a: Int64, b: Int64)] = [(10, 1, 1), (19, 1, 1), (20, 2, 1), (30, 2, 3), (99, 2, 3)]
        for (time, a, b) in expected {
            XCTAssertEqual(
                PastRow.fold(operations, at: .end(ofMillisecond: time), isComplete: true),
                .present(["a": .integer(a), "b": .integer(b)], key: .integer(7)), "at \(time)")
        }
    }

    func testWhatDevicesAddedUnderACounterIsSummed() {
        let insertion = operation(.insert, at: 10, ["a": 5])
        let base = StampedValue(insertion.stamp, .integer(5))
        let additions = [(one, Int64(20), Int64(1)), (other, 30, 2)].map { device, time, amount in
            var addition = operation(.update, at: time, by: device, ["a": 5 + amount])
            addition.parts["a"] = .counter(CounterPart(base: base, totals: [.init(addition.stamp, amount)]))
            return addition
        }
        for (time, sum) in [(Int64(10), Int64(5)), (20, 6), (30, 8)] {
            XCTAssertEqual(
                PastRow.fold([insertion] + additions, at: .end(ofMillisecond: time), isComplete: true),
                .present(["a": .integer(sum)], key: nil), "at \(time)")
        }
    }

    func testOfTwoWritesOfOneTimeTheGreaterDeviceWinsInAnyOrder() {
        let writes = [operation(.update, at: 20, by: other, ["a": 3]), operation(.update, at: 20, by: one, ["a": 2])]
        for writes in [writes, writes.reversed()] {
            XCTAssertEqual(
                PastRow.fold(
                    [operation(.insert, at: 10, ["a": 1])] + writes, at: .end(ofMillisecond: 20), isComplete: true),
                .present(["a": .integer(3)], key: nil))
        }
    }

    func testARowIsAbsentBeforeItsInsertionAndAfterItsDeletion() {
        let operations = [
            operation(.insert, at: 10, ["a": 1]), operation(.delete, at: 20),
            operation(.update, at: 30, by: other, ["a": 3]),
        ]
        XCTAssertEqual(PastRow.fold(operations, at: .end(ofMillisecond: 9), isComplete: true), .absent)
        XCTAssertEqual(PastRow.fold(operations, at: .end(ofMillisecond: 20), isComplete: true), .absent)
        XCTAssertEqual(
            PastRow.fold(operations, at: .end(ofMillisecond: 30), isComplete: true),
            .present(["a": .integer(3)], key: nil))
    }

    func testWhereLogsAreNotWholeTheTimeBeforeTheInsertionIsUnknown() {
        let operations = [operation(.insert, at: 10, ["a": 1]), operation(.delete, at: 20)]
        XCTAssertEqual(PastRow.fold(operations, at: .end(ofMillisecond: 9), isComplete: false), .unknown(since: 10))
        XCTAssertEqual(
            PastRow.fold(operations, at: .end(ofMillisecond: 10), isComplete: false),
            .present(["a": .integer(1)], key: nil))
        XCTAssertEqual(PastRow.fold(operations, at: .end(ofMillisecond: 20), isComplete: false), .absent)
    }

    func testWithoutItsInsertionARowIsUnknown() {
        let updates = [operation(.update, at: 10, ["a": 1]), operation(.insert, at: 30, ["a": 3])]
        XCTAssertEqual(PastRow.fold(updates, at: .end(ofMillisecond: 10), isComplete: false), .unknown(since: 30))
        XCTAssertEqual(PastRow.fold(updates, at: .end(ofMillisecond: 9), isComplete: true), .unknown(since: 30))
        XCTAssertEqual(PastRow.fold([updates[0]], at: .end(ofMillisecond: 10), isComplete: false), .unknown(since: nil))
        XCTAssertEqual(PastRow.fold([], at: .end(ofMillisecond: 10), isComplete: false), .unknown(since: nil))
    }

    func testRowsOlderThanTheJoinAreThereAtAllTimes() {
        let operations = [operation(.insert, at: 1, ["a": 1]), operation(.update, at: 50, ["a": 2])]
        XCTAssertEqual(
            PastRow.fold(operations, at: .end(ofMillisecond: 5), isComplete: true),
            .present(["a": .integer(1)], key: nil))
    }

    /// A snapshot has an old row's values and none of its operations. The logs have the updates since.
    func testOfARowFromASnapshotTheStateTellsTheColumnsThatNobodyWroteSince() {
        func stamp(_ milliseconds: Int64) -> Stamp { Stamp(time: HybridTime(milliseconds: milliseconds), device: one) }
        let updates = [operation(.update, at: 20, ["a": 2]), operation(.update, at: 30, ["a": 3])]
        let shown = KnownRow(inserted: stamp(10), fields: ["a": .init(stamp: stamp(30)), "b": .init(stamp: stamp(10))])
        for (time, a) in [(Int64(20), Int64(2)), (29, 2), (30, 3)] {
            XCTAssertEqual(
                PastRow.fold(updates, known: shown, at: .end(ofMillisecond: time), isComplete: true),
                .present(["a": .integer(a)], key: nil))
        }
        XCTAssertEqual(
            PastRow.fold(updates, known: shown, at: .end(ofMillisecond: 19), isComplete: true), .unknown(since: 20))
        XCTAssertEqual(
            PastRow.fold(updates, known: shown, at: .end(ofMillisecond: 9), isComplete: false), .unknown(since: nil))
        // Nobody wrote the row since the snapshot: it was there, and nothing is to be changed.
        let unwritten = KnownRow(inserted: stamp(10), fields: ["a": .init(stamp: stamp(10))])
        XCTAssertEqual(
            PastRow.fold([], known: unwritten, at: .end(ofMillisecond: 15), isComplete: true), .present([:], key: nil))
        XCTAssertEqual(PastRow.fold([], known: unwritten, at: .end(ofMillisecond: 9), isComplete: true), .absent)
        // A deleted row comes back with the values that the state kept.
        let deletion = [operation(.delete, at: 40)]
        let deleted = KnownRow(
            isShown: false, inserted: stamp(10), deleted: stamp(40),
            fields: [
                "a": .init(stamp: stamp(30), value: .integer(3)), "b": .init(stamp: stamp(10), value: .integer(1)),
            ])
        XCTAssertEqual(
            PastRow.fold(updates + deletion, known: deleted, at: .end(ofMillisecond: 25), isComplete: true),
            .present(["a": .integer(2), "b": .integer(1)], key: nil))
        XCTAssertEqual(
            PastRow.fold(deletion, known: deleted, at: .end(ofMillisecond: 35), isComplete: true),
            .present(["a": .integer(3), "b": .integer(1)], key: nil))
        XCTAssertEqual(PastRow.fold(deletion, known: deleted, at: .end(ofMillisecond: 40), isComplete: true), .absent)
        // Not where a value is forgotten.
        let forgotten = KnownRow(
            isShown: false, inserted: stamp(10), deleted: stamp(40), fields: ["a": .init(stamp: stamp(30))])
        XCTAssertEqual(
            PastRow.fold(deletion, known: forgotten, at: .end(ofMillisecond: 35), isComplete: false),
            .unknown(since: nil))
    }
}
