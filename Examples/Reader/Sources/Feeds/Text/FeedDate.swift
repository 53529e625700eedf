import Foundation

/// Reads the dates that feeds write: RFC 822 and its successors, RFC 3339, ISO 8601, and what is met instead of them.
public enum FeedDate {
    /// Reads a date, or returns nil if it is none.
    ///
    /// - RFC 822: with or without the day of the week, seconds and zone; two-digit years (below 50: this century); full
    ///   names of months; zones by name, as `+0100`, `+01:00` or `GMT+1`; 12-hour times with AM or PM.
    /// - C's form, `Mon Jan 5 10:00:00 UTC 2026`, and `January 5, 2026`.
    /// - `2020/1/10 14:33:00`: year, month and day in numbers of any length, with slashes, dots or dashes.
    /// - ISO 8601 and RFC 3339: from a year alone to fractions of a second, with `T` or a space, with or without a zone.
    ///
    /// A date without a zone is in UTC, one without a time is at midnight. A day that a month does not have is no date.
    public static func parse(_ text: String) -> Date? {
        let text = text.trimmed
        guard text.utf8.count <= 100, let first = text.utf8.first else { return nil }
        let parts =
            if isDigit(first), let numeric = iso8601(text) ?? numeric(text) { numeric } else { rfc822(text) }
        return parts?.date
    }

    private struct Parts {
        var year = 0
        var month = 1
        var day = 1
        var hour = 0
        var minute = 0
        var second = 0.0
        var offsetSeconds = 0

        var date: Date? {
            guard (1...9999).contains(year), (1...12).contains(month), day >= 1, day <= daysInMonth else { return nil }
            guard (0...24).contains(hour), (0...59).contains(minute), (0..<61).contains(second) else { return nil }
            if hour == 24, minute != 0 || second != 0 { return nil }
            guard abs(offsetSeconds) <= 16 * 3600 else { return nil }
            let days = FeedDate.daysSince1970(year: year, month: month, day: day)
            let whole = days * 86400 + hour * 3600 + minute * 60 - offsetSeconds
            return Date(timeIntervalSince1970: Double(whole) + second)
        }

        private var daysInMonth: Int {
            let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
            return [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
        }
    }

    /// Days from the first of January 1970, in the Gregorian calendar (H. Hinnant, "chrono-compatible low-level date
    /// algorithms").
    private static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    // MARK: ISO 8601

    private static func iso8601(_ text: String) -> Parts? {
        var scanner = DateScanner(text)
        var parts = Parts()
        guard let year = scanner.digits(exactly: 4) else { return nil }
        parts.year = year
        let extended = scanner.skip("-")
        if let month = scanner.digits(exactly: 2) {
            parts.month = month
            if extended { _ = scanner.skip("-") }
            if let day = scanner.digits(exactly: 2) {
                parts.day = day
            } else if !extended {
                return nil
            }
        } else if extended {
            return nil
        }
        if scanner.isAtEnd { return parts }
        guard scanner.skip("T") || scanner.skip("t") || scanner.skip(" ") else { return nil }
        scanner.skipSpaces()
        guard let hour = scanner.digits(exactly: 2) else { return nil }
        parts.hour = hour
        let colons = scanner.skip(":")
        if let minute = scanner.digits(exactly: 2) {
            parts.minute = minute
            if !colons || scanner.skip(":"), let second = scanner.digits(exactly: 2) {
                parts.second = Double(second) + scanner.fraction()
            }
        }
        scanner.skipSpaces()
        if scanner.isAtEnd { return parts }
        guard let offset = zoneOffset(String(scanner.rest)) else { return nil }
        parts.offsetSeconds = offset
        return parts
    }

    // MARK: Numbers alone

    /// A date with the year first, and numbers of any length: `2020/1/10 14:33:00`, `2020.1.10`, `2020-1-10T4:05`.
    private static func numeric(_ text: String) -> Parts? {
        var scanner = DateScanner(text)
        var parts = Parts()
        guard let year = scanner.digits(exactly: 4), let sign = scanner.rest.first, "/.-".contains(sign) else {
            return nil
        }
        _ = scanner.skip(sign)
        guard let month = scanner.digits(upTo: 2), scanner.skip(sign), let day = scanner.digits(upTo: 2) else {
            return nil
        }
        (parts.year, parts.month, parts.day) = (year, month, day)
        if scanner.isAtEnd { return parts }
        guard scanner.skip("T") || scanner.skip(" ") else { return nil }
        let words = scanner.rest.split(whereSeparator: \.isWhitespace).map(String.init)
        guard let first = words.first, words.count <= 3, let time = time(first) else { return nil }
        (parts.hour, parts.minute, parts.second) = time
        for word in words.dropFirst() {
            if ["am", "pm"].contains(word.lowercased()), (1...12).contains(parts.hour) {
                parts.hour = parts.hour % 12 + (word.lowercased() == "pm" ? 12 : 0)
            } else {
                guard let offset = zoneOffset(word) else { return nil }
                parts.offsetSeconds = offset
            }
        }
        return parts
    }

    // MARK: RFC 822

    /// Takes the words in any order: each kind of word can be told from the others.
    private static func rfc822(_ text: String) -> Parts? {
        var parts = Parts()
        var day: Int?
        var month: Int?
        var year: Int?
        var hasTime = false
        var words = text.split { $0.isWhitespace || $0 == "," }.map(String.init)
        // "05-Jan-2026"
        words = words.flatMap { word in
            let pieces = word.split(separator: "-")
            return pieces.count == 3 && monthNumber(String(pieces[1])) != nil ? pieces.map(String.init) : [word]
        }
        guard words.count <= 10 else { return nil }
        for word in words {
            if word.contains(":"), !hasTime, let time = time(word) {
                (parts.hour, parts.minute, parts.second) = time
                hasTime = true
            } else if let number = Int(word), isDigit(word.utf8.first ?? 0) {
                if day == nil, (1...31).contains(number), word.utf8.count <= 2 {
                    day = number
                } else if year == nil {
                    guard let full = fullYear(number, digits: word.utf8.count) else { return nil }
                    year = full
                } else {
                    return nil
                }
            } else if month == nil, let number = monthNumber(word) {
                month = number
            } else if weekdays.contains(word.prefix(3).lowercased()) {
                continue
            } else if ["am", "pm"].contains(word.lowercased()), hasTime, (1...12).contains(parts.hour) {
                parts.hour = parts.hour % 12 + (word.lowercased() == "pm" ? 12 : 0)
            } else if hasTime, let offset = zoneOffset(word) {
                parts.offsetSeconds = offset
            } else {
                return nil
            }
        }
        guard let day, let month, let year else { return nil }
        (parts.day, parts.month, parts.year) = (day, month, year)
        return parts
    }

    private static func fullYear(_ number: Int, digits: Int) -> Int? {
        switch digits {
        case 4: number
        case 3: 1900 + number  // RFC 2822, 4.3
        case 2: number < 50 ? 2000 + number : 1900 + number
        default: nil
        }
    }

    private static func time(_ word: String) -> (Int, Int, Double)? {
        var scanner = DateScanner(word)
        guard let hour = scanner.digits(upTo: 2), scanner.skip(":"), let minute = scanner.digits(upTo: 2) else {
            return nil
        }
        var second = 0.0
        if scanner.skip(":") {
            guard let whole = scanner.digits(upTo: 2) else { return nil }
            second = Double(whole) + scanner.fraction()
        }
        return scanner.isAtEnd ? (hour, minute, second) : nil
    }

    /// The months by their first three letters, in English.
    private static func monthNumber(_ word: String) -> Int? {
        guard word.utf8.count >= 3, word.allSatisfy({ $0.isLetter || $0 == "." }) else { return nil }
        let start = word.prefix(3).lowercased()
        guard let index = months.firstIndex(where: { $0.hasPrefix(start) }) else { return nil }
        let whole = word.lowercased().filter(\.isLetter)
        return months[index].hasPrefix(whole) || whole == "sept" ? index + 1 : nil
    }

    private static let months = [
        "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
        "december",
    ]
    private static let weekdays: Set<String> = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]

    // MARK: Zones

    /// Seconds east of Greenwich.
    private static func zoneOffset(_ text: String) -> Int? {
        var word = text.trimmed.uppercased()
        if word.hasPrefix("("), word.hasSuffix(")") { return 0 }  // a comment after the zone
        if let hours = namedZones[word] { return Int(hours * 3600) }
        for prefix in ["GMT", "UTC", "UT", "Z"] where word.hasPrefix(prefix) && word.utf8.count > prefix.utf8.count {
            word.removeFirst(prefix.count)
            break
        }
        var scanner = DateScanner(word)
        let isWest = scanner.skip("-") || scanner.skip("\u{2212}")
        guard isWest || scanner.skip("+"), let number = scanner.digits(upTo: 4) else { return nil }
        var seconds: Int
        if scanner.skip(":") {
            guard let minutes = scanner.digits(exactly: 2) else { return nil }
            seconds = number * 3600 + minutes * 60
        } else {
            seconds = number <= 24 ? number * 3600 : number / 100 * 3600 + number % 100 * 60
        }
        if isWest { seconds = -seconds }
        return scanner.isAtEnd ? seconds : nil
    }

    /// Hours east of Greenwich. Of names that mean several zones, the one most feeds mean. The military letters other
    /// than Z were specified the wrong way round and are read as UTC (RFC 2822, 4.3).
    private static let namedZones: [String: Double] = {
        var zones: [String: Double] = [
            "Z": 0, "UT": 0, "UTC": 0, "GMT": 0, "WET": 0, "WEST": 1, "BST": 1, "IST": 5.5, "CET": 1, "MEZ": 1,
            "CEST": 2, "MESZ": 2, "MEST": 2, "EET": 2, "EEST": 3, "MSK": 3, "MSD": 4, "HKT": 8, "SGT": 8, "AWST": 8,
            "JST": 9, "KST": 9, "ACST": 9.5, "ACDT": 10.5, "AEST": 10, "AEDT": 11, "NZST": 12, "NZDT": 13,
            "EST": -5, "EDT": -4, "ET": -5, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7, "PT": -8,
            "AST": -4, "ADT": -3, "NST": -3.5, "NDT": -2.5, "AKST": -9, "AKDT": -8, "HST": -10, "BRT": -3, "ART": -3,
        ]
        for letter in "ABCDEFGHIKLMNOPQRSTUVWXY" { zones[String(letter)] = 0 }
        return zones
    }()

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}

/// Reads digits and signs off the front of a text.
private struct DateScanner {
    var rest: Substring

    init(_ text: String) { rest = text[...] }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func skip(_ character: Character) -> Bool {
        guard rest.first == character else { return false }
        rest.removeFirst()
        return true
    }

    mutating func skipSpaces() { rest = rest.drop(while: \.isWhitespace) }

    /// As many digits as asked for, or nothing is taken.
    mutating func digits(exactly count: Int) -> Int? {
        let found = rest.prefix(count)
        guard found.count == count, found.allSatisfy({ $0.isASCII && $0.isNumber }) else { return nil }
        rest = rest.dropFirst(count)
        return Int(found)
    }

    /// At least one digit.
    mutating func digits(upTo count: Int) -> Int? {
        let found = rest.prefix(count).prefix { $0.isASCII && $0.isNumber }
        rest = rest.dropFirst(found.count)
        return Int(found)
    }

    /// What follows a decimal point or comma, as a part of one; 0 if there is none.
    mutating func fraction() -> Double {
        guard let point = rest.first, point == "." || point == "," else { return 0 }
        let found = rest.dropFirst().prefix { $0.isASCII && $0.isNumber }
        rest = rest.dropFirst(1 + found.count)
        return Double("0." + found) ?? 0
    }
}
