import Ferry
import Foundation

/// A point in time as people write it: an age (`90s`, `20min`, `2h`, `3d`, `1w`), or ISO 8601. ISO 8601 may have a zone
/// (`2026-03-01`, `2026-03-01T14:05`, `2026-03-01 14:05:09.120`, `2026-03-01T13:05:09Z`, `…+01:00`). Without a zone the
/// time is local.
///
/// Behind a time stands the number that tells changes of the same millisecond apart: `…09.120#256`. `before joining` is the time of
/// pre-existing rows.
struct PointInTime: Equatable {
    /// The time, included.
    let time: HybridTime

    var milliseconds: Int64 { time.milliseconds }

    /// Why a text names no point in time.
    enum Refusal: Error, Equatable {
        case noTime
        /// The local clock was put forward over this time.
        case neverWas
        /// The local clock was put back over this time. The texts name the two moments.
        case isTwoMoments([String])

        /// A sentence for `--at`.
        func sentence(_ text: String) -> String {
            switch self {
            case .noTime: "--at takes how long ago, like 2h, or a time, like 2026-03-01T14:05; not \"\(text)\"."
            case .neverWas:
                "There was no local time \"\(text)\": the clock was put forward over it. Say another time, or the time with its zone."
            case .isTwoMoments(let texts):
                "The local time \"\(text)\" came twice: the clock was put back over it. Say which: "
                    + texts.map { "\"\($0)\"" }.joined(separator: " or ") + "."
            }
        }
    }

    private static let beforeJoining = "before joining"

    /// - Parameters:
    ///   - now: milliseconds since the Unix epoch.
    ///   - offset: the local clock's difference to UTC at a time, in seconds.
    init(
        _ text: String, now: Int64, offset: (_ milliseconds: Int64) -> Int64 = { LocalTime($0).offset }
    ) throws(Refusal) {
        var words = text.trimmingCharacters(in: .whitespaces)
        var number: UInt16?
        if let mark = words.lastIndex(of: "#") {
            guard let given = UInt16(words[words.index(after: mark)...]) else { throw .noTime }
            number = given
            words = String(words[..<mark])
        }
        if words == Self.beforeJoining {
            time = number.map { HybridTime(rawValue: UInt64($0)) } ?? .unknown
            return
        }
        if number == nil, let ago = Self.ago(words) {
            time = .end(ofMillisecond: now - ago)
            return
        }
        let milliseconds = try Self.milliseconds(words, offset)
        time = number.map { HybridTime(milliseconds: milliseconds, counter: $0) } ?? .end(ofMillisecond: milliseconds)
    }

    // MARK: Texts

    /// The texts for the times of a row's changes, each as `init` takes the time back. A change that shares a millisecond with another one has
    /// its number behind the time.
    /// - Parameter moment: writes a time in milliseconds.
    static func texts(_ times: [HybridTime], _ moment: (Int64) -> String) -> [String] {
        func shared(_ time: HybridTime) -> Int64 { time.isKnown ? time.milliseconds : -1 }
        var numbers: [Int64: Set<HybridTime>] = [:]
        for time in times { numbers[shared(time), default: []].insert(time) }
        return times.map { time in
            let text = time.isKnown ? moment(time.milliseconds) : beforeJoining
            if numbers[shared(time)]?.count == 1 || time == .unknown { return text }
            return "\(text)#\(time.counter)"
        }
    }

    // MARK: Parsing

    private static func milliseconds(_ text: String, _ offset: (Int64) -> Int64) throws(Refusal) -> Int64 {
        // Patterns with a zone at the end come first; a date alone has no zone.
        for (pattern, hasZone) in patterns {
            let formatter = DateFormatter()
            formatter.locale = Locale(identifier: "en_US_POSIX")
            formatter.calendar = Calendar(identifier: .gregorian)
            formatter.timeZone = TimeZone(secondsFromGMT: 0)
            formatter.isLenient = false
            formatter.dateFormat = pattern
            guard let date = formatter.date(from: text.replacing(" ", with: "T", maxReplacements: 1)) else { continue }
            let milliseconds = Int64((date.timeIntervalSince1970 * 1000).rounded())
            return hasZone ? milliseconds : try local(milliseconds, offset, isDay: pattern == day)
        }
        throw .noTime
    }

    /// The moment when the local clock showed a time.
    /// - Parameters:
    ///   - shown: the shown time, as if clocks showed UTC.
    ///   - isDay: true for a day, which begins at the first moment with its date.
    private static func local(
        _ shown: Int64, _ offset: (Int64) -> Int64, isDay: Bool
    ) throws(Refusal) -> Int64 {
        func distance(_ milliseconds: Int64) -> Int64 { 1000 * offset(milliseconds) }
        let (before, after) = (distance(shown - 86_400_000), distance(shown + 86_400_000))
        let moments = Set([before, after].map { shown - $0 }).filter { distance($0) == shown - $0 }.sorted()
        if let first = moments.first, isDay || moments.count == 1 { return first }
        // A day that begins with a leap of the clock.
        if isDay { return shown - before }
        if moments.isEmpty { throw .neverWas }
        throw .isTwoMoments(moments.map(Wording.exactTimeWithZone))
    }

    private static let day = "yyyy-MM-dd"
    private static let patterns: [(pattern: String, hasZone: Bool)] =
        ["XXXXX", "XX", "X", ""].flatMap { zone in
            ["yyyy-MM-dd'T'HH:mm:ss.SSS", "yyyy-MM-dd'T'HH:mm:ss", "yyyy-MM-dd'T'HH:mm"].map {
                ($0 + zone, !zone.isEmpty)
            }
        } + [(day, false)]

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
