extension StringProtocol {
    /// The cells of a terminal that the text takes: two for a character of Chinese, Japanese or Korean and for a picture, else one.
    /// Accents and other marks take no cell of their own. Sequences of colors count as characters.
    var cellWidth: Int { reduce(0) { $0 + $1.cellWidth } }

    /// The text with spaces behind, up to a number of cells.
    func padded(to cells: Int) -> String { self + String(repeating: " ", count: Swift.max(cells - cellWidth, 0)) }
}

extension Character {
    fileprivate var cellWidth: Int {
        // The first scalar decides; the second may ask for a picture in place of a sign (U+FE0F).
        guard let first = unicodeScalars.first else { return 0 }
        if first.properties.generalCategory == .format, unicodeScalars.count == 1 { return 0 }
        let isPicture = first.properties.isEmojiPresentation || unicodeScalars.contains("\u{FE0F}")
        return isPicture || Self.wide.contains { $0.contains(first.value) } ? 2 : 1
    }

    /// The blocks whose characters are wide or full-width: https://www.unicode.org/reports/tr11/
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF,
        0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF01...0xFF60,
        0xFFE0...0xFFE6, 0x16FE0...0x18D8F, 0x1AFF0...0x1B2FF, 0x1F200...0x1F2FF, 0x20000...0x3FFFD,
    ]
}
