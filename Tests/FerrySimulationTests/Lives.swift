import FerrySimulator
import FerryTestSupport
import Logging
import XCTest

/// Lives of containers, played for a suite.
enum Lives {
    /// What a watch would tell an app's log of the faults that it meets is part of the story. A process may say so once.
    static let quiet: Void = LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }

    /// Runs simulations, and says how each that fails is repeated.
    static func run(
        _ seeds: Seeds, steps: Int, devices: Int?, sealed: Bool, provider: ProviderKind? = nil
    ) throws -> Tally {
        var tally = Tally()
        for seed in seeds.all {
            let outcome = try Simulation.run(
                Simulation.Plan(seed: seed, devices: devices, steps: steps, provider: provider, sealed: sealed))
            tally.add(outcome.tally)
            for problem in outcome.problems {
                let plan =
                    "SEED=\(seed) STEPS=\(steps)" + (devices.map { " DEVICES=\($0)" } ?? "")
                    + (provider.map { " PROVIDER=\($0.rawValue)" } ?? "") + (sealed ? " SEALED=1" : " SEALED=0")
                XCTFail("make simulate \(plan): \(problem)")
            }
        }
        print("\(seeds.count) simulations met: \(tally.text)")
        return tally
    }
}
