import FerryCore
import FerryTestSupport
import XCTest

@testable import FerryEngine

/// The newest changes among very many.
final class NewestChangesTests: XCTestCase {
    private func changeset(_ sequence: UInt64, _ times: [UInt64]) -> (Changeset, TableChanges) {
        let operations = times.enumerated().map { place, time in
            ObjectOperation(
                object: ObjectID(high: sequence, low: UInt64(place)), kind: .update, time: HybridTime(rawValue: time),
                shape: 0, firstValue: 0)
        }
        let changes = TableChanges(
            name: "song", identity: .surrogate, columns: ["title"], shapes: [[0]], operations: operations,
            values: [.null])
        return (
            Changeset(
                device: DeviceID(high: 1, low: 1), sequence: sequence, time: HybridTime(rawValue: times.max() ?? 0),
                context: VersionVector(), tables: [changes]), changes
        )
    }

    func testTheNewestAreKeptAndNoMoreThanTwiceTheLimit() {
        let random = SeededRandom(seed: 7)
        for limit in [1, 2, 7, 50, 5000, Int.max] {
            var newest = NewestChanges(limit)
            var all: [(time: UInt64, object: ObjectID)] = []
            for sequence in (1...10).reversed() {
                let times = (0..<300).map { _ in random.next() % 1000 }
                let (changeset, changes) = changeset(UInt64(sequence), times)
                newest.take(changes, of: changeset)
                all += changes.operations.map { ($0.time.rawValue, $0.object) }
                XCTAssertLessThanOrEqual(newest.kept.count, limit > 3000 ? 3000 : 2 * limit)
            }
            XCTAssertEqual(newest.count, 3000)
            let places = all.indices.sorted { left, right in
                all[left].time != all[right].time ? all[left].time > all[right].time : left < right
            }
            XCTAssertEqual(newest.sorted().map(\.object), places.prefix(limit).map { all[$0].object })
        }
    }
}
