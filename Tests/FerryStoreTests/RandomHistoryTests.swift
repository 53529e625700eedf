import Foundation
import XCTest

@testable import FerryStore

/// Random histories against the oracle. `FERRY_SEEDS=20000` runs more of them, `FERRY_FIRST_SEED=5000` others, and
/// `FERRY_SEED=17` one.
final class RandomHistoryTests: XCTestCase {
    private static let workers = 2
    private static let maximumFailures = 5

    func testRandomHistoriesShowWhatTheOracleSays() throws {
        try play(defaultCount: 2000, restores: false)
    }

    /// With conflicts that are restored, and hooks that write during replay.
    func testRandomHistoriesWithRestoredConflictsShowWhatTheOracleSays() throws {
        try play(defaultCount: 300, restores: true)
    }

    private func play(defaultCount: UInt64, restores: Bool) throws {
        let environment = ProcessInfo.processInfo.environment
        if let one = environment["FERRY_SEED"].flatMap(UInt64.init) {
            var history = try RandomHistory(
                seed: one, oracles: Self.makeOracles(), checkInterval: 1, restores: restores)
            return try history.play()
        }
        let first = environment["FERRY_FIRST_SEED"].flatMap(UInt64.init) ?? 1
        let count = environment["FERRY_SEEDS"].flatMap(UInt64.init) ?? defaultCount
        let failures = Failures()
        DispatchQueue.concurrentPerform(iterations: Self.workers) { worker in
            do {
                let oracles = try Self.makeOracles()
                for seed in stride(from: first + UInt64(worker), to: first + count, by: Self.workers) {
                    if failures.all.count >= Self.maximumFailures { return }
                    if let failure = Self.failure(of: seed, oracles, restores) { failures.add(failure) }
                }
            } catch {
                failures.add("\(error)")
            }
        }
        for failure in failures.all { XCTFail(failure) }
    }

    private static func makeOracles() throws -> [Oracle] { try TestSchema.all.map { try Oracle($0) } }

    private static func failure(of seed: UInt64, _ oracles: [Oracle], _ restores: Bool) -> String? {
        do {
            var history = try RandomHistory(seed: seed, oracles: oracles, restores: restores)
            try history.play()
            return nil
        } catch {
            // The same history again, checked after every pass: what goes wrong first.
            do {
                var history = try RandomHistory(seed: seed, oracles: oracles, checkInterval: 1, restores: restores)
                try history.play()
            } catch let earlier {
                return "\(earlier)"
            }
            return "\(error)"
        }
    }

    /// Unchecked, because a lock guards it.
    private final class Failures: @unchecked Sendable {
        private let lock = NSLock()
        private var found: [String] = []

        var all: [String] { lock.withLock { found } }
        func add(_ failure: String) { lock.withLock { found.append(failure) } }
    }
}
