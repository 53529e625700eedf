import FerryTestSupport
import Foundation
import XCTest

@testable import FerryStore

/// Random histories in which devices make tables anew, with writes pending before and after that no trigger has seen.
/// `FERRY_SEEDS`, `FERRY_FIRST_SEED` and `FERRY_SEED` as in `RandomHistoryTests`.
final class RandomRebuildTests: XCTestCase {
    func testRandomHistoriesWithRebuildsShowWhatTheOracleSays() throws {
        try play({ try TestSchema.all.map { try Oracle($0) } }, defaultCount: 60)
    }

    func testRandomHistoriesWithRebuildsOverGeneratedSchemasShowWhatTheOracleSays() throws {
        try play({ [] }, defaultCount: 60)
    }

    private func play(_ makeOracles: () throws -> [Oracle], defaultCount: UInt64) throws {
        let seeds = Seeds(defaultCount: defaultCount)
        let oracles = try makeOracles()
        var failures = 0
        var rebuilds = 0
        for seed in seeds.single.map({ [$0] }) ?? Array(seeds.all) {
            do {
                var history = try RandomHistory(
                    seed: seed, oracles: oracles, checkInterval: seeds.single == nil ? 4 : 1, rebuilds: true)
                try history.play()
                rebuilds += history.met["rebuilds"] ?? 0
            } catch {
                failures += 1
                XCTFail("\(error)")
                if failures >= 3 { return }
            }
        }
        if seeds.count >= 20 { XCTAssertGreaterThan(rebuilds, 0) }
    }
}
