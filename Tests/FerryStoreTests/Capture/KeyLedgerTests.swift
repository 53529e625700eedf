import FerryCore
import FerryTestSupport
import XCTest

@testable import FerryStore

/// Who has which key within a flush.
final class KeyLedgerTests: XCTestCase {
    private let table = 7
    private func object(_ number: UInt64) -> ObjectID { ObjectID(high: 1, low: number) }
    private func time(_ milliseconds: Int64) -> HybridTime { HybridTime(milliseconds: milliseconds, counter: 0) }

    func testAnUntouchedKeyIsNeitherHeldNorFree() {
        let ledger = KeyLedger()
        XCTAssertNil(ledger.holder(of: .integer(1), in: table))
        XCTAssertFalse(ledger.isFree(.integer(1), in: table))
        XCTAssertEqual(ledger.earlierHolders(of: .integer(1), in: table), [])
    }

    func testAKeyIsHeldOrFreeAndNeverBoth() {
        var ledger = KeyLedger()
        var random = Chance(seed: 7)
        var expected: [FieldValue: ObjectID?] = [:]
        for _ in 0..<2_000 {
            let key: FieldValue = random.oneIn(2) ? .integer(Int64(random.below(9))) : .text("k\(random.below(9))")
            if random.oneIn(3) {
                ledger.free(key, in: table)
                expected[key] = .some(nil)
            } else {
                let holder = object(UInt64(random.below(5)))
                ledger.hold(key, in: table, by: holder, isGone: random.oneIn(2))
                expected[key] = holder
            }
            for (key, holder) in expected {
                XCTAssertEqual(ledger.holder(of: key, in: table)?.object, holder)
                XCTAssertEqual(ledger.isFree(key, in: table), holder == nil)
            }
        }
        XCTAssertNil(ledger.holder(of: .integer(1), in: table + 1))
        XCTAssertFalse(ledger.isFree(.integer(1), in: table + 1))
    }

    func testEarlierHoldersComeOldestFirstAndAnotherRecordOfTheHolderIsNone() {
        var ledger = KeyLedger()
        ledger.hold(.integer(1), in: table, by: object(1))
        ledger.hold(.integer(1), in: table, by: object(1), isGone: true)
        XCTAssertEqual(ledger.earlierHolders(of: .integer(1), in: table), [])
        ledger.hold(.integer(1), in: table, by: object(2))
        ledger.free(.integer(1), in: table)
        ledger.hold(.integer(1), in: table, by: object(3))
        XCTAssertEqual(ledger.earlierHolders(of: .integer(1), in: table), [object(1), object(2)])
    }

    func testAKeyIsAnnouncedUntilItsChangeIsRead() {
        var ledger = KeyLedger()
        ledger.announce(.integer(2), in: table, for: .integer(1))
        ledger.announce(.integer(3), in: table, for: .integer(3))
        XCTAssertEqual(ledger.announcement(of: .integer(2), in: table), .integer(1))
        XCTAssertNil(ledger.announcement(of: .integer(3), in: table), "a key that stays is no news")
        XCTAssertNil(ledger.announcement(of: .integer(2), in: table + 1))
        ledger.fulfill(.integer(2), in: table)
        XCTAssertNil(ledger.announcement(of: .integer(2), in: table))
    }

    func testAReservedObjectIsNotUnmadeAndHoldsItsKey() {
        var ledger = KeyLedger()
        ledger.unmake(object(1))
        XCTAssertTrue(ledger.isUnmade(object(1)))
        ledger.free(.integer(1), in: table)
        ledger.reserve(.integer(1), in: table, for: object(1))
        XCTAssertFalse(ledger.isUnmade(object(1)))
        XCTAssertFalse(ledger.isFree(.integer(1), in: table))
        XCTAssertEqual(ledger.holder(of: .integer(1), in: table)?.object, object(1))
        XCTAssertEqual(ledger.holder(of: .integer(1), in: table)?.isGone, false)
        XCTAssertEqual(ledger.reservations, [.init(table: table, object: object(1), key: .integer(1))])
        ledger.removeReservations { $0.object == self.object(1) }
        XCTAssertEqual(ledger.reservations, [])
        XCTAssertTrue(ledger.hasReserved(object(1)), "the flush made the object all the same")
    }

    func testATakenKeyKeepsItsFirstMeaningAndALostKeyHasItsLast() {
        var ledger = KeyLedger()
        let first = KeyLedger.TakenKey(meaning: .reference(object(1)), time: time(1))
        ledger.take(.integer(5), in: table, from: first)
        ledger.take(.integer(5), in: table, from: .init(meaning: .integer(5), time: time(2)))
        ledger.take(.integer(4), in: table, from: .init(meaning: .integer(4), time: time(3)))
        XCTAssertEqual(ledger.takenKeys(in: table).map(\.key), [.integer(4), .integer(5)])
        XCTAssertEqual(ledger.takenKeys(in: table).last?.former, first)
        XCTAssertTrue(ledger.isTaken(.integer(5), in: table))
        XCTAssertEqual(ledger.tablesWithTakenKeys, [table])
        ledger.lose(.integer(6), in: table, meaning: .reference(object(1)))
        ledger.lose(.integer(6), in: table, meaning: .reference(object(2)))
        XCTAssertEqual(ledger.lostMeaning(of: .integer(6), in: table), .reference(object(2)))
        XCTAssertEqual(ledger.tablesWithLostKeys, [table])
    }

    func testUnmadeKeysComeByTableInTheOrderOfTheirRecords() {
        var ledger = KeyLedger()
        ledger.recordUnmade([.integer(2), .integer(1)], in: 9, of: object(1), at: time(1))
        ledger.recordUnmade([.integer(3)], in: table, of: object(2), at: time(2))
        ledger.recordUnmade([.integer(4)], in: 9, of: object(3), at: time(3))
        XCTAssertEqual(ledger.unmadeKeys.map(\.table), [table, 9])
        XCTAssertEqual(ledger.unmadeKeys[1].keys.map(\.key), [.integer(2), .integer(1), .integer(4)])
    }

    func testAPlaceholderOfAnObjectWithARowStaysReservable() {
        var ledger = KeyLedger()
        ledger.leavePlaceholder(.integer(-2_000_000_000), in: table)
        XCTAssertTrue(ledger.isLeftPlaceholder(.integer(-2_000_000_000), in: table))
        XCTAssertFalse(ledger.isLeftPlaceholder(.integer(1), in: table))
    }
}
