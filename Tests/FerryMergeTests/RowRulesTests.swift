import FerryCore
import FerryMerge
import XCTest

final class RowRulesTests: XCTestCase {
    private func token(_ id: UInt64, _ table: Int = 0) -> RowToken {
        RowToken(table: table, id: ObjectID(high: 0, low: id))
    }

    private func object(
        _ id: UInt64, alive: Bool = true, age: Int64 = 1, to references: [(UInt64, ReferenceAction)] = [],
        claims: [UInt64] = [], refused: Bool = false
    ) -> RuleObject {
        RuleObject(
            token: token(id), isAlive: alive, isRestorable: true,
            inserted: Stamp(time: HybridTime(milliseconds: age), device: DeviceID(high: 0, low: id)),
            references: references.map { RuleReference(target: token($0.0), action: $0.1) },
            claims: claims.map { RuleClaim(token: token($0, 1), references: []) }, isRefused: refused)
    }

    private func solve(_ objects: [RuleObject], shownOutside: Set<UInt64> = []) -> [RowOutcome] {
        let outside = Set(shownOutside.map { token($0) })
        let outcomes = RowRules.solve(objects) { outside.contains($0) }
        // The order in which objects are given never decides.
        let reversed = RowRules.solve(objects.reversed()) { outside.contains($0) }
        XCTAssertEqual(Array(reversed.reversed()), outcomes)
        return outcomes
    }

    private let plain = RowOutcome.shown(cleared: [], isRevived: false)

    func testADeletedTargetIsHeldBackByRestrict() {
        XCTAssertEqual(
            solve([object(1, alive: false), object(2, to: [(1, .restrict)])]),
            [.shown(cleared: [], isRevived: true), plain])
    }

    func testHoldingBackGoesUpTheChain() {
        let outcomes = solve([
            object(1, alive: false), object(2, alive: false, to: [(1, .restrict)]), object(3, to: [(2, .restrict)]),
        ])
        XCTAssertEqual(outcomes[0], .shown(cleared: [], isRevived: true))
        XCTAssertEqual(outcomes[1], .shown(cleared: [], isRevived: true))
    }

    func testACycleOfDeletedObjectsDoesNotHoldItself() {
        XCTAssertEqual(
            solve([object(1, alive: false, to: [(2, .restrict)]), object(2, alive: false, to: [(1, .restrict)])]),
            [.gone, .gone])
    }

    func testCascadeHidesDownTheChainAndSetNullClears() {
        let outcomes = solve([
            object(1, alive: false), object(2, to: [(1, .cascade)]), object(3, to: [(2, .cascade)]),
            object(4, to: [(2, .clear)]),
        ])
        XCTAssertEqual(
            outcomes, [.gone, .waits(reference: 0), .waits(reference: 0), .shown(cleared: [0], isRevived: false)])
    }

    func testACycleOfAliveObjectsIsShown() {
        XCTAssertEqual(solve([object(1, to: [(2, .restrict)]), object(2, to: [(1, .cascade)])]), [plain, plain])
    }

    func testATargetOutsideOfTheRegionCounts() {
        XCTAssertEqual(solve([object(2, to: [(1, .cascade)])], shownOutside: [1]), [plain])
        XCTAssertEqual(solve([object(2, to: [(1, .cascade)])]), [.waits(reference: 0)])
    }

    func testTheOldestInsertionKeepsAUniqueValue() {
        XCTAssertEqual(
            solve([object(1, age: 5, claims: [7]), object(2, age: 3, claims: [7]), object(3, age: 9, claims: [8])]),
            [.outranked(claim: 0), plain, plain])
    }

    func testWhoIsHiddenClaimsNothing() {
        let outcomes = solve([
            object(1, age: 1, to: [(9, .cascade)], claims: [7]), object(2, age: 2, claims: [7]),
        ])
        XCTAssertEqual(outcomes, [.waits(reference: 0), plain])
    }

    func testARefusedRowHidesWhatRefersToIt() {
        XCTAssertEqual(
            solve([object(1, refused: true), object(2, to: [(1, .restrict)])]), [.refused, .waits(reference: 0)])
    }
}
