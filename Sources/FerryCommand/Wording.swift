import Ferry
import Foundation

/// Numbers, times and lists as people write them. English, and the same in every locale.
enum Wording {
    /// `1 change`, `15,607 changes`.
    static func count(_ number: Int, _ singular: String, _ plural: String? = nil) -> String {
        "\(grouped(number)) \(number == 1 ? singular : plural ?? singular + "s")"
    }

    /// The words for flushes of a device's changes: `1 set of changes`, `3 sets of changes`.
    static func changesets(_ number: Int) -> String { count(number, "set of changes", "sets of changes") }

    /// `15,607`.
    static func grouped(_ number: Int) -> String {
        var text = ""
        let digits = String(number.magnitude)
        for (index, digit) in digits.enumerated() {
            if index > 0 && (digits.count - index) % 3 == 0 { text += "," }
            text.append(digit)
        }
        return number < 0 ? "-" + text : text
    }

    /// `312 bytes`, `4.2 kB`, `17 MB`, in powers of ten.
    static func bytes(_ number: Int) -> String {
        if number < 1000 { return count(number, "byte") }
        var (amount, unit) = (Double(number) / 1000, 0)
        while amount >= 999.5, unit < 3 { (amount, unit) = (amount / 1000, unit + 1) }
        let rounded = amount < 9.95 ? (amount * 10).rounded() / 10 : amount.rounded()
        let text = rounded == rounded.rounded() ? grouped(Int(rounded)) : "\(rounded)"
        return text + " " + ["kB", "MB", "GB", "TB"][unit]
    }

    /// `a`, `a and b`, `a, b and c`.
    static func list(_ words: [String]) -> String { listed(words) }

    /// `40 ms`, `1.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`.
    static func duration(_ seconds: Double) -> String {
        if seconds < 1 { return "\(Int(max(seconds, 0) * 1000)) ms" }
        if seconds < 10, seconds != seconds.rounded() { return "\((seconds * 10).rounded() / 10) s" }
        let whole = Int(seconds.rounded())
        switch whole {
        case ..<60: return "\(whole) s"
        case ..<3600: return "\(whole / 60) min \(whole % 60) s"
        default: return "\(whole / 3600) h \(whole % 3600 / 60) min"
        }
    }

    static func duration(milliseconds: Int64) -> String { duration(Double(milliseconds) / 1000) }

    /// The age where the other device's clock is ahead.
    static let inTheFuture = "in the future"

    /// `just now`, `5 minutes ago`, `yesterday`'s worth in hours, then days; `in the future` where a clock is wrong.
    static func age(sinceMilliseconds then: Int64, now: Int64) -> String {
        let seconds = now.milliseconds(since: then) / 1000
        switch seconds {
        case ..<(-60): return inTheFuture
        case ..<10: return "just now"
        case ..<60: return count(Int(seconds), "second") + " ago"
        case ..<3600: return count(Int(seconds / 60), "minute") + " ago"
        case ..<86_400: return count(Int(seconds / 3600), "hour") + " ago"
        default: return count(Int(seconds / 86_400), "day") + " ago"
        }
    }

    /// ` (for 3 hours)`; empty for less than a minute.
    static func waiting(sinceMilliseconds then: Int64?, now: Int64) -> String {
        guard let then, now.milliseconds(since: then) >= 60_000 else { return "" }
        return " (for " + age(sinceMilliseconds: then, now: now).replacing(" ago", with: "") + ")"
    }

    /// `2026-03-01 14:05:09` by the local clock.
    static func dateAndTime(_ milliseconds: Int64) -> String { "\(LocalTime(milliseconds).date) \(time(milliseconds))" }

    /// `2026-03-01 14:05:09.120` by the local clock: exact, as `ferry restore --at` takes the time. With the difference to UTC where the clock
    /// showed the time twice.
    static func exactTime(_ milliseconds: Int64) -> String {
        if LocalTime.comesTwice(milliseconds) { return exactTimeWithZone(milliseconds) }
        return "\(dateAndTime(milliseconds)).\(LocalTime.padded(((milliseconds % 1000) + 1000) % 1000, 3))"
    }

    /// `2026-10-25 02:30:00.929+02:00` by the local clock.
    static func exactTimeWithZone(_ milliseconds: Int64) -> String {
        let fraction = LocalTime.padded(((milliseconds % 1000) + 1000) % 1000, 3)
        return "\(dateAndTime(milliseconds)).\(fraction)\(LocalTime(milliseconds).zone)"
    }

    /// `14:05:09` by the local clock.
    static func time(_ milliseconds: Int64) -> String { LocalTime(milliseconds).time }

    /// A word for a shell: quoted if necessary.
    static func shellWord(_ word: String) -> String {
        let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./~+:@%,")
        if !word.isEmpty && word.allSatisfy(plain.contains) { return word }
        return "'" + word.replacing("'", with: #"'\''"#) + "'"
    }

    /// The most scalars that make a character here: a letter with a dozen marks has thirteen.
    private static let maximumScalars = 32

    /// The text on a single line, without a terminal's control characters, cut off at the limit.
    static func oneLine(_ text: String, limit: Int = 60) -> String {
        // The rest of a long text costs nothing.
        let (most, isEndless) = limit.multipliedReportingOverflow(by: maximumScalars)
        let start = text.unicodeScalars.prefix(isEndless ? .max : most)
        let clean = String(String.UnicodeScalarView(start.map { $0.isControl ? .instead : $0 }))
        let isWhole = start.endIndex == text.unicodeScalars.endIndex
        return isWhole && clean.count <= limit ? clean : clean.prefix(limit - 1) + "…"
    }
}
