import FerryTestSupport
import Foundation
import XCTest

@testable import FerrySimulator

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

    /// A device is removed, wrote documents nevertheless, and comes back where nobody has the key any more that names them: it hands it on.
    func testTheKeyOfDocumentsComesBackWithTheirDevice() throws {
        let plan = Simulation.Plan(seed: 78, steps: 100, only: [3, 5, 6, 24, 29, 75, 78], sealed: true)
        let outcome = try Simulation.run(plan)
        XCTAssertEqual(outcome.problems, [])
        XCTAssertEqual(outcome.tally.counts["came back"], 1)
    }

    /// A computer was cloned, and the clone is stolen: the thief has the keys of a device that lives on, and that cannot remove itself.
    func testADeviceWhoseKeysAThiefHasGetsNewKeys() throws {
        let simulation = try Simulation(Simulation.Plan(seed: 11, devices: 2, steps: 0, sealed: true))
        defer {
            FaultVFS.setTime(milliseconds: nil)
            try? FileManager.default.removeItem(at: simulation.folder)  // a temporary folder
        }
        try simulation.begin()
        let machine = simulation.machines[0]
        let former = try machine.opened().identity.device
        try simulation.remove(former, by: machine)
        let knowledge = try XCTUnwrap(simulation.sealed).knowledge(of: machine)
        XCTAssertNotEqual(knowledge.device, former)
        XCTAssertNil(knowledge.roster.members[former])
        for machine in simulation.machines { try machine.close() }
    }

    /// A device lost its first segment and put a snapshot in the place. The segment came back, under a key that a newcomer never gets.
    func testASegmentWithASnapshotInItsPlaceIsNotWaitedFor() throws {
        let outcome = try replay(202_612_000_728, [0, 2, 8, 16])
        XCTAssertEqual(outcome.tally.counts["came back"], 1)
    }

    /// A thief makes an epoch and keeps its record. The only member left is held back, and the removal of the stolen device ends that.
    func testTheRemovalOfAThiefThatKeepsAKeyEndsTheWait() throws {
        let outcome = try replay(202_611_281_981, [4, 9, 12, 16, 22])
        XCTAssertEqual(outcome.tally.counts["thieves that kept a key"], 1)
    }

    /// Two members remove each other while they are apart. The one that is alone remembers its deletion until its return.
    func testAMemberThatIsAloneAndRemovedItselfSendsItsDeletionAgain() throws {
        let outcome = try replay(202_612_000_814, [5, 13, 18, 20, 29])
        XCTAssertEqual(outcome.tally.counts["came back"], 2)
    }

    /// A member hears of nobody but silent members, which have removed it. Its deletion counts after its return.
    func testAMemberRemovedBySilentMembersSendsItsDeletionAgain() throws {
        let outcome = try replay(202_612_005_334, [1, 5, 7, 17])
        XCTAssertEqual(outcome.tally.counts["came back"], 1)
    }

    /// A clone leaves under the ID of its original, which goes on writing and is lost. Whoever has read on tells the rest by a snapshot.
    func testALogThatGoesOnBehindADepartureIsToldByASnapshot() throws {
        let steps: Set = [2, 4, 5, 6, 8, 9, 10, 11, 12, 14, 20, 21, 22, 23, 24, 27, 28, 29, 30, 33, 34, 35, 36, 37, 39]
        _ = try replay(202_612_006_211, steps)
    }

    /// A file of a lost device is garbled. A snapshot replaces the file, and then nobody waits for it any more.
    func testADamagedFileOfALostDeviceIsReplacedByASnapshot() throws {
        let steps: Set = [0, 4, 11, 13, 14, 16, 19, 22, 27, 28]
        let outcome = try replay(202_612_004_924, steps)
        XCTAssertEqual(outcome.tally.counts["file garbled"], 1)
    }

    /// A thief has a clone of a device that left. The removal of the departed device ends what the thief can do.
    func testTheKeyOfADepartedDeviceLetsNobodyInAfterItsRemoval() throws {
        let outcome = try replay(202_612_006_590, [2, 4, 15, 21])
        XCTAssertEqual(outcome.tally.counts["removed"], 1)
    }

    /// A newcomer hears of a counter's policy after the rows, two of which are one row.
    func testANewcomerShowsAUnifiedRowByAPolicyHeardOfLater() throws {
        _ = try replay(202_612_006_501, [14, 18, 21, 27, 28])
    }

    /// A clone and its original use the same number, with a large value that both have. The original removes its segment and the value, so
    /// the clone's segment proves nothing but the clone.
    func testACloneWhoseSegmentLostItsLargeValueIsNoticed() throws {
        let steps: Set = [1, 2, 8, 17, 19, 20, 25, 26, 27, 29, 30, 38]
        let outcome = try replay(202_612_001_015, steps)
        XCTAssertEqual(outcome.tally.counts["cloned"], 1)
    }

    /// A disk fails after a member has read a record and before the member keeps the record. The next look reads the record again.
    func testARecordThatWasReadAndNotKeptIsReadAgain() throws {
        let outcome = try replay(202_612_002_019, [1, 32, 38])
        XCTAssertEqual(outcome.tally.counts["thieves"], 1)
    }

    /// A process dies with a write-ahead log that nobody synchronized, and the next process makes the log's name certain as SQLite does. A
    /// loss of power brings no older log back then.
    func testALogThatADeadProcessMadeIsNotReplacedByAnOlderOne() throws {
        let plan = Simulation.Plan(seed: 202_612_002_736, steps: 40, only: [4, 5, 12, 13, 14, 29])
        let outcome = try Simulation.run(plan)
        XCTAssertEqual(outcome.problems, [])
        XCTAssertEqual(outcome.tally.counts["crashed in the database"], 1)
    }

    /// A copy without a key knows no devices, and retires none.
    func testACopyWithoutAKeyRetiresNobody() throws {
        let plan = Simulation.Plan(seed: 114, steps: 40, only: [19, 28], sealed: true)
        XCTAssertEqual(try Simulation.run(plan).problems, [])
    }

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

    /// Plays the steps of a life that failed once, and asserts that the life has no problems now.
    private func replay(
        _ seed: UInt64, _ steps: Set<Int>, file: StaticString = #filePath, line: UInt = #line
    ) throws -> Simulation.Outcome {
        let outcome = try Simulation.run(Simulation.Plan(seed: seed, steps: 40, only: steps))
        XCTAssertEqual(outcome.problems, [], file: file, line: line)
        return outcome
    }
}
