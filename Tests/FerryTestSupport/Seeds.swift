import Foundation

/// The seeds that a random test plays: `FERRY_SEEDS` says how many, `FERRY_FIRST_SEED` from which on, and `FERRY_SEED`
/// which one alone.
package struct Seeds {
    /// In ascending order, without gaps.
    package let all: ClosedRange<UInt64>
    /// The one that was asked for by itself, to be looked at closely.
    package let single: UInt64?

    package var count: Int { all.count }

    /// - Parameter defaultCount: how many there are where nobody says.
    package init(defaultCount: UInt64) {
        func number(_ name: String) -> UInt64? { ProcessInfo.processInfo.environment[name].flatMap(UInt64.init) }
        single = number("FERRY_SEED")
        let first = number("FERRY_FIRST_SEED") ?? 1
        all = single.map { $0...$0 } ?? first...(first + max(number("FERRY_SEEDS") ?? defaultCount, 1) - 1)
    }
}
