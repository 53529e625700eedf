import FerrySimulator
import FerryTestSupport
import XCTest

/// Simulated lives of sealed containers, with a malicious provider and thieves (Docs/Testing.md, "Sealed lives").
///
/// `FERRY_SEEDS` says how many, `FERRY_FIRST_SEED` from which on. `make simulate SEALED=1` repeats one and shrinks it.
final class SealedSimulationTests: XCTestCase {
    override class func setUp() {
        super.setUp()
        _ = Lives.quiet
    }

    /// Lives of sealed containers, with a malicious provider and thieves.
    func testLivesOfSealedContainers() throws {
        let seeds = Seeds(defaultCount: 20)
        let tally = try Lives.run(seeds, steps: 25, devices: nil, sealed: true)
        for kind in Self.sealedKinds where seeds.count >= 150 {
            XCTAssertGreaterThan(tally.counts[kind] ?? 0, 0, "\(kind) did not happen")
        }
    }

    private static let sealedKinds = [
        "accomplices", "approved by words", "came back", "error keyMissing", "error notMember", "file invented",
        "file moved", "file renamed", "file rolledBack", "file withheld", "files searched", "forged records", "invited",
        "joined", "left", "let in", "recovered", "removed", "removed by a thief", "removed by the recovery code",
        "renewed keys", "rotated", "sealed lives", "thieves", "thieves after their removal", "thieves' acts",
    ]

    func testWhatBreaksAPromiseOfSealingIsNoticed() throws {
        for sabotage in SealedSabotage.allCases {
            var plan = Simulation.Plan(seed: 11, devices: 3, steps: 0, sealed: true)
            XCTAssertEqual(try Simulation.run(plan).problems, [])
            plan.sealedSabotage = sabotage
            let problems = try Simulation.run(plan).problems
            XCTAssertTrue(problems.contains { $0.contains(sabotage.finding) }, "\(sabotage): \(problems)")
        }
    }

    /// An open container's files show names of tables and devices: the search finds what it looks for.
    func testTheSearchFindsAWord() {
        let word = Array("Qmark".utf8)
        XCTAssertTrue(Simulation.contains([1, 2] + word + [3], word))
        XCTAssertTrue(Simulation.contains(word, word))
        XCTAssertFalse(Simulation.contains(Array("Qmar".utf8), word))
        XCTAssertFalse(Simulation.contains(Array("QmarQmar".utf8), word))
        XCTAssertTrue(Simulation.contains(Array("QQmark".utf8), word))
    }
}
