#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A point in time by the local clock and the Gregorian calendar. A formatter of Foundation takes 1 ms to be made.
struct LocalTime {
    private let parts: tm

    /// - Parameter milliseconds: since the Unix epoch.
    init(_ milliseconds: Int64) {
        var parts = tm()
        // Rounded down also before the epoch.
        let (quotient, rest) = milliseconds.quotientAndRemainder(dividingBy: 1000)
        var seconds = time_t(rest < 0 ? quotient - 1 : quotient)
        localtime_r(&seconds, &parts)
        self.parts = parts
    }

    /// `2026-03-01`.
    var date: String {
        "\(Self.padded(Int64(parts.tm_year) + 1900, 4))-\(Self.padded(parts.tm_mon + 1, 2))-\(Self.padded(parts.tm_mday, 2))"
    }

    /// `14:05:09`.
    var time: String {
        "\(Self.padded(parts.tm_hour, 2)):\(Self.padded(parts.tm_min, 2)):\(Self.padded(parts.tm_sec, 2))"
    }

    /// The difference to UTC, in seconds.
    var offset: Int64 { Int64(parts.tm_gmtoff) }

    /// The difference to UTC as ISO 8601 writes it: `+02:00`.
    var zone: String {
        let minutes = abs(offset) / 60
        return (offset < 0 ? "-" : "+") + Self.padded(minutes / 60, 2) + ":" + Self.padded(minutes % 60, 2)
    }

    /// True if the local clock showed the time of a moment twice: at another moment, too.
    /// - Parameter milliseconds: since the Unix epoch.
    static func comesTwice(_ milliseconds: Int64) -> Bool {
        let offset = LocalTime(milliseconds).offset
        return [Int64(-86_400_000), 86_400_000].contains { distance in
            let other = LocalTime(milliseconds + distance).offset
            return other != offset && LocalTime(milliseconds + 1000 * (offset - other)).offset == other
        }
    }

    /// A number with zeros in front, up to a width.
    static func padded(_ number: some BinaryInteger, _ width: Int) -> String {
        let digits = "\(number)"
        return String(repeating: "0", count: max(width - digits.count, 0)) + digits
    }
}
