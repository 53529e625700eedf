import FerryTestSupport
import Foundation
import XCTest

@testable import FerrySimulator

/// Simulated lives of containers in an object storage (Docs/Testing.md, "Lives in a storage").
///
/// `FERRY_SEEDS` says how many of each kind, `FERRY_FIRST_SEED` from which on. `make simulate PROVIDER=objectStorage` repeats one and
/// shrinks it.
final class RemoteSimulationTests: XCTestCase {
    override class func setUp() {
        super.setUp()
        _ = Lives.quiet
    }

    func testLivesInAnObjectStorage() throws { try play(.objectStorage, sealed: false) }
    func testLivesInALaggingStorage() throws { try play(.laggingRemote, sealed: false) }
    func testSealedLivesInAnObjectStorage() throws { try play(.objectStorage, sealed: true) }
    func testSealedLivesInALaggingStorage() throws { try play(.laggingRemote, sealed: true) }

    private func play(_ provider: ProviderKind, sealed: Bool) throws {
        let seeds = Seeds(defaultCount: 3)
        let tally = try Lives.run(seeds, steps: 25, devices: nil, sealed: sealed, provider: provider)
        let kinds = Self.kinds + (provider == .laggingRemote ? ["storage lagging"] : ["storage conditions"])
        for kind in kinds where seeds.count >= 50 {
            XCTAssertGreaterThan(tally.counts[kind] ?? 0, 0, "\(kind) did not happen")
        }
    }

    /// A fault counts only where a run shows that it happened.
    private static let kinds =
        [
            "changes replayed", "cloned", "copied", "crashed in the database", "joined", "killed at a step",
            "latest finds", "latest lost, listing finds", "quiet points", "restored", "segments collected",
            "snapshots written", "storage answerLost", "storage empty", "storage foreign", "storage full",
            "storage lateObjects", "storage missing", "storage oldReads", "storage oldState", "storage refused",
            "storage slow", "storage staleListing", "storage unavailable", "storage unreadable",
            "syncs between requests",
            "watches that left nothing", "watching failed", "watching synced",
        ] + LatestLoss.allCases.map { "latest \($0.rawValue)" }

    func testTheSameSeedTellsTheSameStory() throws {
        for (provider, sealed) in [(ProviderKind.objectStorage, true), (.laggingRemote, false)] {
            let plan = Simulation.Plan(seed: 5, steps: 25, provider: provider, sealed: sealed)
            let (first, second) = (try Simulation.run(plan), try Simulation.run(plan))
            XCTAssertEqual(first.trace, second.trace)
            XCTAssertEqual(first.tally.text, second.tally.text)
        }
    }

    func testAListingThatHidesADeviceIsNoticed() throws {
        for provider in ProviderKind.remotes {
            var plan = Simulation.Plan(seed: 11, devices: 2, steps: 0, provider: provider, sealed: false)
            XCTAssertEqual(try Simulation.run(plan).problems, [])
            plan.hidesFromListings = true
            let problems = try Simulation.run(plan).problems
            XCTAssertTrue(problems.contains { $0.contains("does not find by") }, "\(problems)")
        }
    }

    /// Lives in folders stay the same, whatever storages there are.
    func testAFolderIsDrawnAsWithoutStorages() throws {
        let folders = ["syncthing", "dropbox", "iCloud", "oneDrive", "googleDrive", "network", "stick"]
        XCTAssertEqual(ProviderKind.folders.map(\.rawValue), folders)
        for seed in 1...30 as ClosedRange<UInt64> {
            let random = SimulatedRandom(seed: seed)
            let simulation = try Simulation(Simulation.Plan(seed: seed, steps: 0))
            try FileManager.default.removeItem(at: simulation.folder)
            if simulation.kind.isRemote { continue }
            XCTAssertEqual(simulation.kind.rawValue, folders[random.below(folders.count)], "seed \(seed)")
        }
    }
}
