import Foundation

/// A point in time as people write it: an age (`90s`, `20min`, `2h`, `3d`, `1w`), or ISO 8601. ISO 8601 may have a zone
/// (`2026-03-01`, `2026-03-01T14:05`, `2026-03-01 14:05:09.120`, `2026-03-01T13:05:09Z`, `…+01:00`). Without a zone the
/// time is local.
enum PointInTime {
    /// Milliseconds since the Unix epoch; `nil` for text in a different form.
    static func parse(_ text: String, now: Int64, zone: TimeZone = .current) -> Int64? {
        let trimmed = text.trimmingCharacters(in: .whitespaces)
        if let ago = ago(trimmed) { return now - ago }
        // Patterns with a zone at the end come first; a date alone has no zone.
        for (pattern, hasZone) in patterns {
            let formatter = DateFormatter()
            formatter.locale = Locale(identifier: "en_US_POSIX")
            formatter.calendar = Calendar(identifier: .gregorian)
            formatter.timeZone = hasZone ? TimeZone(secondsFromGMT: 0) : zone
            formatter.isLenient = false
            formatter.dateFormat = pattern
            if let date = formatter.date(from: trimmed.replacing(" ", with: "T", maxReplacements: 1)) {
                return Int64((date.timeIntervalSince1970 * 1000).rounded())
            }
        }
        return nil
    }

    private static let patterns: [(pattern: String, hasZone: Bool)] =
        ["XXXXX", "XX", "X", ""].flatMap { zone in
            ["yyyy-MM-dd'T'HH:mm:ss.SSS", "yyyy-MM-dd'T'HH:mm:ss", "yyyy-MM-dd'T'HH:mm"].map {
                ($0 + zone, !zone.isEmpty)
            }
        } + [("yyyy-MM-dd", false)]

    /// Milliseconds of an age such as `2h`.
    private static func ago(_ text: String) -> Int64? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let number = Int64(digits), let unit = units[String(text.dropFirst(digits.count))] else { return nil }
        let (product, overflow) = number.multipliedReportingOverflow(by: unit)
        return overflow || product > Int64(1) << 53 ? nil : product
    }

    private static let units: [String: Int64] = [
        "s": 1000, "min": 60_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000,
    ]
}
