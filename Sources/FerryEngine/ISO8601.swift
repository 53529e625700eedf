import Foundation

/// Points in time as text that `--at` takes.
enum ISO8601 {
    /// `2026-03-01T14:05:09.120Z`.
    static func text(_ milliseconds: Int64) -> String {
        let seconds = Double(milliseconds) / 1000
        return Date(timeIntervalSince1970: seconds).formatted(.iso8601.time(includingFractionalSeconds: true))
    }
}
