import Foundation
import XCTest

@testable import FerryStore

/// Random histories against the oracle. `FERRY_SEEDS=20000` runs more of them, `FERRY_SEED=17` one.
final class RandomHistoryTests: XCTestCase {
    func testRandomHistoriesShowWhatTheOracleSays() throws {
        let oracles = try TestSchema.all.map { try Oracle($0) }
        let environment = ProcessInfo.processInfo.environment
        if let one = environment["FERRY_SEED"].flatMap(UInt64.init) {
            var history = try RandomHistory(seed: one, oracles: oracles, checkInterval: 1)
            return try history.play()
        }
        let first = environment["FERRY_FIRST_SEED"].flatMap(UInt64.init) ?? 1
        let count = environment["FERRY_SEEDS"].flatMap(UInt64.init) ?? 2000
        var failures = 0
        for seed in first..<first + count {
            do {
                var history = try RandomHistory(seed: seed, oracles: oracles)
                try history.play()
            } catch {
                XCTFail("\(Self.firstFailure(of: seed, oracles) ?? error)")
                failures += 1
                if failures >= 5 { return }
            }
        }
    }

    /// The same history again, checked after every pass: what goes wrong first.
    private static func firstFailure(of seed: UInt64, _ oracles: [Oracle]) -> (any Error)? {
        do {
            var history = try RandomHistory(seed: seed, oracles: oracles, checkInterval: 1)
            try history.play()
            return nil
        } catch {
            return error
        }
    }
}
