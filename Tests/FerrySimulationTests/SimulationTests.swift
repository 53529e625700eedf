import FerrySimulator
import FerryTestSupport
import Foundation
import XCTest

/// Simulated lives of a container (Docs/Testing.md, "The simulator").
///
/// `FERRY_SEEDS` says how many, `FERRY_FIRST_SEED` from which on. `make simulate` repeats one and shrinks it.
final class SimulationTests: XCTestCase {
    override class func setUp() {
        super.setUp()
        _ = Lives.quiet
    }

    func testAThousandShortLives() throws {
        let seeds = Seeds(defaultCount: 1000)
        let tally = try Lives.run(seeds, steps: 8, devices: 2, sealed: false)
        // A fault counts only where a run shows that it happened.
        for kind in Self.frequentKinds where seeds.count >= 1000 {
            XCTAssertGreaterThan(tally.counts[kind] ?? 0, 0, "\(kind) did not happen")
        }
    }

    func testLongLives() throws {
        let seeds = Seeds(defaultCount: 30)
        let tally = try Lives.run(seeds, steps: 40, devices: nil, sealed: false)
        for kind in Self.rareKinds where seeds.count >= 30 {
            XCTAssertGreaterThan(tally.counts[kind] ?? 0, 0, "\(kind) did not happen")
        }
    }

    private static let frequentKinds = [
        "archives", "changes replayed", "crashed in the database", "database busy", "database full",
        "database read", "database synchronize", "database write", "power lost", "clocks set wrong", "cloned",
        "conflicted copy", "conflicts", "copied",
        "could not join yet", "file duplicate", "file empty", "file evicted", "file exchanged", "file garbled",
        "file olderState", "file otherCase", "file partial", "file vanished", "files delivered out of order",
        "folder empty", "folder foreign", "folder full", "folder missing", "joined", "killed at a step",
        "migrated", "network lostAnswer", "network staleHandle", "network staleListing", "own log mended",
        "quiet points",
        "renewed as cloned", "renewed as copied", "renewed as restored", "restored", "retired", "segments collected",
        "segments rolled up",
        "snapshots written", "stick moved", "syncs while things happen", "tombstones collected",
        "watches", "watches that left nothing", "watching failed", "watching synced",
    ]
    private static let rareKinds = [
        "lost devices", "power lost", "crashed in the database", "joined", "segments collected", "segments rolled up",
    ]

    func testTheSameSeedTellsTheSameStory() throws {
        for (seed, sealed) in [(3, false), (4, true)] as [(UInt64, Bool)] {
            let plan = Simulation.Plan(seed: seed, steps: 25, sealed: sealed)
            let (first, second) = (try Simulation.run(plan), try Simulation.run(plan))
            XCTAssertEqual(first.trace, second.trace)
            XCTAssertEqual(first.tally.text, second.tally.text)
        }
    }

    /// In another process tables are hashed in another way, and memory lies elsewhere.
    func testTheSameSeedTellsTheSameStoryInAnotherProcess() throws {
        // Products lie beside the bundle of the tests, which is a folder on Apple's systems.
        let bundle = Bundle(for: Self.self).bundleURL
        let products = bundle.pathExtension == "xctest" ? bundle.deletingLastPathComponent() : bundle
        let program = products.appendingPathComponent("ferry-simulate")
        for (seed, sealed) in [(6, false), (7, true)] as [(UInt64, Bool)] {
            let process = Process()
            process.executableURL = program
            process.arguments = [
                "--seed", "\(seed)", "--steps", "25", "--trace", sealed ? "--sealed" : "--open",
            ]
            let pipe = Pipe()
            process.standardOutput = pipe
            try process.run()
            let output = try XCTUnwrap(try pipe.fileHandleForReading.readToEnd())
            process.waitUntilExit()
            let outcome = try Simulation.run(Simulation.Plan(seed: seed, steps: 25, sealed: sealed))
            let story = outcome.trace.joined(separator: "\n") + "\n"
            XCTAssertEqual(String(decoding: output, as: UTF8.self).prefix(story.count), story[...])
        }
    }

    func testWhatIsDoneBehindFerrysBackIsNoticed() throws {
        let sabotages = [
            "DELETE FROM feed WHERE url = 'url 0'", "INSERT INTO line VALUES ('nobody wrote this')",
            "UPDATE feed SET title = 'other' WHERE url = 'url 1'",
        ]
        for sabotage in sabotages {
            var plan = Simulation.Plan(seed: 11, devices: 3, steps: 0)
            plan.sabotage = sabotage
            XCTAssertFalse(try Simulation.run(plan).problems.isEmpty, sabotage)
        }
    }

    func testAFailureIsShrunkToTheStepsThatItNeeds() {
        var asked = 0
        let smallest = Shrinking.smallest(of: Array(0..<64)) { steps in
            asked += 1
            return steps.contains(7) && steps.contains(41) && steps.contains(42)
        }
        XCTAssertEqual(smallest, [7, 41, 42])
        XCTAssertLessThan(asked, 100)
    }
}
