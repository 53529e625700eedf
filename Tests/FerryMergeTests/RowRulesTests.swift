import FerryCore
import FerryMerge
import XCTest

final class RowRulesTests: XCTestCase {
    private func token(_ id: UInt64, _ table: Int = 0) -> RowToken {
        RowToken(table: table, id: ObjectID(high: 0, low: id))
    }

    private func object(
        _ id: UInt64, alive: Bool = true, age: Int64 = 1, to references: [(UInt64, ReferenceAction)] = [],
        refused: Bool = false
    ) -> RuleObject {
        RuleObject(
            token: token(id), isAlive: alive, isRestorable: true,
            inserted: Stamp(time: HybridTime(milliseconds: age), device: DeviceID(high: 0, low: id)),
            references: references.map { RuleReference(target: token($0.0), action: $0.1) },
            isRefused: refused)
    }

    func testOfSeveralDeletedRowsThatAValueMayMeanTheOneDeletedLastComesBack() throws {
        func deleted(_ id: UInt64, age: Int64, at time: Int64) -> RuleObject {
            var made = object(id, alive: false, age: age)
            made.parentKeys = [token(9)]
            made.deleted = Stamp(time: HybridTime(milliseconds: time), device: DeviceID(high: 0, low: 1))
            return made
        }
        let child = object(5, to: [(9, .restrict)])
        let all = [deleted(1, age: 1, at: 40), deleted(2, age: 2, at: 50), deleted(3, age: 3, at: 50), child]
        let shown = RowOutcome.shown(cleared: [], isRevived: true)
        let outcomes = try solved(all).outcomes
        XCTAssertEqual(Array(outcomes.prefix(3)), [.gone, shown, .gone], "of two deleted at once the oldest")
        // Whether or not the others are remembered.
        XCTAssertEqual(try solved([all[1], all[3]]).outcomes[0], shown)
    }

    /// Claims by the object's number: a value, and perhaps a reference that is part of it.
    private struct Claim {
        var value: UInt64
        var reference: Int?
        var hidesLosers = false
    }

    private struct Surroundings: RuleSurroundings {
        var objects: [RuleObject]
        var outside: Set<RowToken>
        var claims: [UInt64: [Claim]]

        func isShownOutside(_ token: RowToken) -> Bool { outside.contains(token) }

        func claims(of object: Int, _ classes: RowClasses) -> [RuleClaim] {
            guard case .shown(let cleared, _) = classes.outcomes[object] else { return [] }
            return (claims[objects[object].token.id.low] ?? []).compactMap { claim in
                var high: UInt64 = 1
                if let reference = claim.reference {
                    if cleared.contains(reference) { return nil }
                    let token = objects[object].references[reference].target
                    let target = classes.target(of: object, reference: reference, token: token)
                    high = target.map { objects[classes.representative(of: $0)].token.id.low } ?? token.id.low
                }
                let id = ObjectID(high: high, low: claim.value)
                return RuleClaim(token: RowToken(table: 1, id: id), index: 0, hidesLosers: claim.hidesLosers)
            }
        }

        func claims(ofClass representative: Int, _ classes: RowClasses) -> [RuleClaim] {
            claims(of: representative, classes)
        }

        func resolvedLinks(_ classes: RowClasses) -> [RuleLink] { [] }
        func brokenReferences(_ classes: RowClasses) -> [RuleLink] { [] }
    }

    private func solved(
        _ objects: [RuleObject], shownOutside: Set<UInt64> = [], claims: [UInt64: [Claim]] = [:]
    ) throws -> (outcomes: [RowOutcome], classes: [Set<UInt64>]) {
        let outside = Set(shownOutside.map { token($0) })
        func solve(_ objects: [RuleObject]) throws -> (outcomes: [RowOutcome], classes: [Set<UInt64>]) {
            let solution = try RowRules.solve(
                objects, Surroundings(objects: objects, outside: outside, claims: claims))
            let classes = objects.indices.map { index in
                Set(
                    solution.classes.members(of: solution.classes.representative(of: index)).map {
                        objects[$0].token.id.low
                    })
            }
            return (solution.outcomes, classes)
        }
        // The order in which objects are given never decides.
        let (given, reversed) = (try solve(objects), try solve(objects.reversed()))
        XCTAssertEqual(Array(reversed.outcomes.reversed()), given.outcomes)
        XCTAssertEqual(Array(reversed.classes.reversed()), given.classes)
        return given
    }

    private func solve(_ objects: [RuleObject], shownOutside: Set<UInt64> = []) -> [RowOutcome] {
        do {
            return try solved(objects, shownOutside: shownOutside).outcomes
        } catch {
            XCTFail("\(error)")
            return []
        }
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

    func testWhoClaimsOneValueIsOneRow() throws {
        let objects = [object(1, age: 5), object(2, age: 3), object(3, age: 9), object(4, age: 1)]
        let claims: [UInt64: [Claim]] = [
            1: [Claim(value: 7)], 2: [Claim(value: 7), Claim(value: 8)], 3: [Claim(value: 8)], 4: [Claim(value: 9)],
        ]
        let result = try solved(objects, claims: claims)
        XCTAssertEqual(result.classes, [[1, 2, 3], [1, 2, 3], [1, 2, 3], [4]])
        XCTAssertEqual(result.outcomes, [plain, plain, plain, plain])
        let solution = try RowRules.solve(objects, Surroundings(objects: objects, outside: [], claims: claims))
        XCTAssertEqual(
            [0, 1, 2].map { solution.classes.representative(of: $0) }, [1, 1, 1], "the oldest stands for all")
    }

    func testRowsThatReferToWhatIsOneRowBecomeOneRowThemselves() throws {
        let objects = [
            object(1), object(2), object(3, to: [(1, .cascade)]), object(4, to: [(2, .cascade)]),
            object(5, to: [(3, .cascade)]), object(6, to: [(4, .cascade)]),
        ]
        let claims: [UInt64: [Claim]] = [
            1: [Claim(value: 7)], 2: [Claim(value: 7)], 3: [Claim(value: 1, reference: 0)],
            4: [Claim(value: 1, reference: 0)], 5: [Claim(value: 2, reference: 0)], 6: [Claim(value: 2, reference: 0)],
        ]
        XCTAssertEqual(
            try solved(objects, claims: claims).classes, [[1, 2], [1, 2], [3, 4], [3, 4], [5, 6], [5, 6]])
    }

    func testOfRivalsUnderAnIndexThatHidesLosersTheOldestIsShown() throws {
        let claim = Claim(value: 7, hidesLosers: true)
        let result = try solved(
            [object(1, age: 5), object(2, age: 3), object(3, age: 9, to: [(1, .cascade)])],
            claims: [1: [claim], 2: [claim]])
        let lost = RuleClaim(
            token: RowToken(table: 1, id: ObjectID(high: 1, low: 7)), index: 0, hidesLosers: true)
        XCTAssertEqual(result.outcomes, [.outranked(claim: lost), plain, .waits(reference: 0)])
    }

    func testWhoIsHiddenClaimsNothing() throws {
        let result = try solved(
            [object(1, age: 1, to: [(9, .cascade)]), object(2, age: 2)],
            claims: [1: [Claim(value: 7)], 2: [Claim(value: 7)]])
        XCTAssertEqual(result.outcomes, [.waits(reference: 0), plain])
        XCTAssertEqual(result.classes, [[1], [2]])
    }

    func testARefusedRowHidesWhatRefersToIt() {
        XCTAssertEqual(
            solve([object(1, refused: true), object(2, to: [(1, .restrict)])]), [.refused, .waits(reference: 0)])
    }
}
