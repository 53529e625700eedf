/// Dates of HTTP and of signatures: pure arithmetic on the Gregorian calendar, in UTC.
enum HTTPDate {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    private static let dayMilliseconds: Int64 = 86_400_000

    /// The parts of a time; the month from 1.
    static func parts(
        _ milliseconds: Int64
    ) -> (year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
        let days = Int(milliseconds.quotientAndRemainder(dividingBy: dayMilliseconds).quotient)
        let rest = Int(milliseconds - Int64(days) * dayMilliseconds) / 1000
        // Years begin in March here, so a leap day is the last day of the year.
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * month + 2) / 5 + 1
        let realMonth = month < 10 ? month + 3 : month - 9
        return (
            yearOfEra + era * 400 + (realMonth <= 2 ? 1 : 0), realMonth, day, rest / 3600, rest / 60 % 60, rest % 60
        )
    }

    /// Days since 1970 of a date.
    private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// Reads `Fri, 24 May 2013 00:00:00 GMT`, the form in servers' headers.
    /// - Returns: milliseconds since the Unix epoch; `nil` for anything else.
    static func milliseconds(header text: String) -> Int64? {
        let words = text.split(separator: " ")
        guard words.count == 6, words[5] == "GMT", let day = Int(words[1]),
            let month = months.firstIndex(of: String(words[2])),
            let year = Int(words[3]), (1970...9999).contains(year), (1...31).contains(day)
        else { return nil }
        return milliseconds(year, month + 1, day, words[4])
    }

    /// Reads `2026-11-24T14:00:00Z`, with or without a fraction of a second; the form of a credential's end.
    static func milliseconds(iso text: String) -> Int64? {
        let halves = text.split(separator: "T")
        guard halves.count == 2, halves[1].hasSuffix("Z") || halves[1].hasSuffix("+00:00") else { return nil }
        let date = halves[0].split(separator: "-").map { Int($0) }
        guard date.count == 3, let year = date[0], let month = date[1], let day = date[2], (1970...9999).contains(year),
            (1...12).contains(month), (1...31).contains(day)
        else { return nil }
        return milliseconds(year, month, day, halves[1].prefix(8))
    }

    private static func milliseconds(_ year: Int, _ month: Int, _ day: Int, _ time: Substring) -> Int64? {
        let time = time.split(separator: ":").map { Int($0) }
        guard time.count == 3, let hour = time[0], let minute = time[1], let second = time[2], (0...23).contains(hour),
            (0...59).contains(minute), (0...60).contains(second)
        else { return nil }
        return (Int64(days(year, month, day)) * 86_400 + Int64(hour * 3600 + minute * 60 + second)) * 1000
    }
}
