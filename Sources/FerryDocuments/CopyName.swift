import FerryCore

/// The name of a version that becomes a separate document: `Trio (phone, 1 March).pdf`.
package enum CopyName {
    /// The most UTF-8 bytes of a device's label in a name.
    private static let labelBytes = 60

    /// - Parameters:
    ///   - name: the document's.
    ///   - label: the name of the version's author device.
    ///   - madeMilliseconds: when the version was made, in milliseconds since the Unix epoch.
    ///   - secondsFromGMT: of the reader's time zone.
    package static func of(
        _ name: String, label: String, madeMilliseconds: Int64, secondsFromGMT: Int = 0
    ) -> String {
        let (text, day) = (shortened(label), date(madeMilliseconds, secondsFromGMT))
        return DocumentName.adding(" (\(text.isEmpty ? "" : text + ", ")\(day))", to: DocumentName.shown(name))
    }

    /// The author and the day of a version, for names of a different form: `phone 1 March`.
    package static func words(label: String, madeMilliseconds: Int64, secondsFromGMT: Int = 0) -> String {
        let (text, day) = (shortened(label), date(madeMilliseconds, secondsFromGMT))
        return text.isEmpty ? day : text + " " + day
    }

    private static func shortened(_ label: String) -> String {
        var text = ""
        for character in label where !character.unicodeScalars.contains(where: { $0 == "/" || $0.value == 0 }) {
            guard text.utf8.count + character.utf8.count <= labelBytes else { break }
            text.append(character)
        }
        return text
    }

    /// A day such as `1 March`.
    private static func date(_ milliseconds: Int64, _ secondsFromGMT: Int) -> String {
        let day = 86_400_000 as Int64
        // Times beyond the year 10,000 come from a wrong clock. They are shown as the first days of the year 10,000.
        let bounded = min(max(milliseconds, -day), 253_402_300_800_000) + Int64(secondsFromGMT) * 1000
        let days = bounded / day - (bounded % day < 0 ? 1 : 0)
        // Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days: years begin with March.
        let shifted = days + 719_468
        let era = shifted - shifted / 146_097 * 146_097
        let year = (era - era / 1460 + era / 36_524 - era / 146_096) / 365
        let dayOfYear = era - (365 * year + year / 4 - year / 100)
        let month = (5 * dayOfYear + 2) / 153
        return "\(dayOfYear - (153 * month + 2) / 5 + 1) \(months[Int(month)])"
    }

    private static let months = [
        "March", "April", "May", "June", "July", "August", "September", "October", "November", "December", "January",
        "February",
    ]
}
