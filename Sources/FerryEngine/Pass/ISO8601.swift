import Foundation

/// Formats points in time as text for `--at`.
package enum ISO8601 {
    /// `2026-03-01T14:05:09.120Z`.
    package static func text(_ milliseconds: Int64) -> String {
        // The fraction is written separately: a date's binary fraction may be a little less.
        let fraction = ((milliseconds % 1000) + 1000) % 1000
        let whole = Date(timeIntervalSince1970: Double((milliseconds - fraction) / 1000)).formatted(.iso8601)
        let digits = String(fraction)
        return whole.dropLast() + "." + String(repeating: "0", count: 3 - digits.count) + digits + "Z"
    }
}
