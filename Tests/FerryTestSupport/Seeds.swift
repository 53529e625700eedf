import Foundation

/// The seeds of a random test: `FERRY_SEEDS` sets their number, `FERRY_FIRST_SEED` the first seed, and `FERRY_SEED` a
/// single seed.
package struct Seeds {
    /// In ascending order, without gaps.
    package let all: ClosedRange<UInt64>
    /// The seed requested by itself, for a close look.
    package let single: UInt64?

    package var count: Int { all.count }

    /// - Parameter defaultCount: the number of seeds without a setting.
    package init(defaultCount: UInt64) {
        func number(_ name: String) -> UInt64? { ProcessInfo.processInfo.environment[name].flatMap(UInt64.init) }
        single = number("FERRY_SEED")
        let first = number("FERRY_FIRST_SEED") ?? 1
        all = single.map { $0...$0 } ?? first...(first + max(number("FERRY_SEEDS") ?? defaultCount, 1) - 1)
    }
}
