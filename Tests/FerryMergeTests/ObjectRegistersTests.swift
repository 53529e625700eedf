import FerryCore
import FerryMerge
import FerryTestSupport
import XCTest

final class ObjectRegistersTests: XCTestCase {
    private func stamp(_ milliseconds: Int64, _ device: UInt64 = 1) -> Stamp {
        Stamp(time: HybridTime(milliseconds: milliseconds), device: DeviceID(high: 0, low: device))
    }

    func testTheFloorIsTheLastDeletionThatAnInsertionFollowedInWhateverOrderTheyCome() {
        let (deletions, insertions) = ([10, 30, 50], [5, 20, 40])
        var writes = deletions.map { (time: $0, isDeletion: true) } + insertions.map { (time: $0, isDeletion: false) }
        for turn in 0..<200 {
            var registers = ObjectRegisters()
            for write in writes {
                let written = stamp(Int64(write.time))
                if write.isDeletion { registers.mergeDeletion(written) } else { registers.mergeInsertion(written) }
            }
            XCTAssertEqual(registers.floor, stamp(30))
            XCTAssertEqual(registers.deleted, stamp(50))
            XCTAssertEqual(registers.earlierDeletions, [stamp(30)])
            XCTAssertTrue(registers.isTombstone)
            registers.mergeInsertion(stamp(60))
            XCTAssertEqual(registers.floor, stamp(50))
            XCTAssertEqual(registers.earlierDeletions, [])
            XCTAssertFalse(registers.isTombstone)
            writes.swapAt(turn % 6, (turn * 7 + turn / 6) % 6)
        }
    }

    func testAnObjectIsAliveWhileSomethingIsLaterThanItsDeletion() {
        var registers = ObjectRegisters()
        XCTAssertFalse(registers.isAlive)
        registers.mergeInsertion(stamp(10))
        XCTAssertTrue(registers.isAlive)
        registers.mergeDeletion(stamp(20))
        XCTAssertFalse(registers.isAlive)
        XCTAssertTrue(registers.mergeField(0, stamp(30), value: .integer(1)))
        XCTAssertTrue(registers.isAlive)
        registers.mergeDeletion(stamp(15))
        XCTAssertTrue(registers.isAlive)
    }

    func testAnObjectWhoseInsertionHasNotArrivedIsNotAlive() {
        var registers = ObjectRegisters()
        XCTAssertTrue(registers.mergeField(0, stamp(30), value: .integer(1)))
        XCTAssertFalse(registers.isAlive)
    }

    func testEqualStampsAreDecidedByTheValueInEitherOrder() {
        var first = ObjectRegisters()
        XCTAssertTrue(first.mergeField(0, stamp(1), value: .integer(5)))
        XCTAssertFalse(first.mergeField(0, stamp(1), value: .integer(4), present: .integer(5)))
        var second = ObjectRegisters()
        XCTAssertTrue(second.mergeField(0, stamp(1), value: .integer(4)))
        XCTAssertTrue(second.mergeField(0, stamp(1), value: .integer(5), present: .integer(4)))
    }

    /// Commutative, associative, idempotent: any order and repetition of the same writes gives the same registers.
    func testAnyOrderAndRepetitionGivesTheSameState() {
        struct Write {
            var kind: Int
            var column: Int
            var stamp: Stamp
            var value: FieldValue
        }
        for seed in UInt64(1)...500 {
            var generator = Chance(state: seed)
            let writes = (0..<12).map { _ in
                Write(
                    kind: Int.random(in: 0..<4, using: &generator), column: Int.random(in: 0..<3, using: &generator),
                    stamp: stamp(
                        Int64.random(in: 1..<6, using: &generator), UInt64.random(in: 1..<4, using: &generator)),
                    value: .integer(Int64.random(in: 0..<3, using: &generator)))
            }
            func fold(_ writes: [Write]) -> (ObjectRegisters, [Int: FieldValue]) {
                var registers = ObjectRegisters(fields: [nil, nil, nil])
                var values: [Int: FieldValue] = [:]
                for write in writes {
                    switch write.kind {
                    case 0: registers.mergeInsertion(write.stamp)
                    case 1: registers.mergeDeletion(write.stamp)
                    default:
                        let wins = registers.mergeField(
                            write.column, write.stamp, value: write.value, present: values[write.column])
                        if wins { values[write.column] = write.value }
                    }
                }
                return (registers, values)
            }
            let expected = fold(writes)
            for _ in 0..<5 {
                let other = fold((writes + writes.shuffled(using: &generator)).shuffled(using: &generator))
                XCTAssertEqual(other.0, expected.0, "seed \(seed)")
                XCTAssertEqual(other.1, expected.1, "seed \(seed)")
            }
        }
    }
}
