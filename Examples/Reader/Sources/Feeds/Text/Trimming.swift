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

    /// With a space for each control character and line end.
    var withoutControlCharacters: String {
        guard unicodeScalars.contains(where: \.isControl) else { return String(self) }
        return String(String.UnicodeScalarView(unicodeScalars.map { $0.isControl ? " " : $0 }))
    }

    /// Trimmed, with each run of white space as one space.
    var collapsed: String { split(whereSeparator: \.isWhitespace).joined(separator: " ") }
}

extension Unicode.Scalar {
    /// Whether it steers a terminal or ends a line instead of being seen.
    var isControl: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
