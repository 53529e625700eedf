extension StringProtocol {
    /// Without white space at both ends: space, tab, line ends and the no-break space.
    var trimmed: String {
        let isSpace: (Character) -> Bool = { $0.isWhitespace }
        guard let start = firstIndex(where: { !isSpace($0) }), let end = lastIndex(where: { !isSpace($0) }) else {
            return ""
        }
        return String(self[start...end])
    }

    /// Trimmed; nil if nothing is left.
    var trimmedOrNil: String? {
        let text = trimmed
        return text.isEmpty ? nil : text
    }

    /// Trimmed, with each run of white space as one space.
    var collapsed: String { split(whereSeparator: \.isWhitespace).joined(separator: " ") }
}
