/// Text for one line of a terminal.
enum PlainLine {
    /// The text without anything that a terminal could take for a command: control characters become spaces, and marks
    /// that turn the direction of writing go.
    static func safe(_ text: some StringProtocol) -> String {
        var safe = ""
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029: safe.unicodeScalars.append(" ")
            case 0x202A...0x202E, 0x2066...0x2069: break
            default: safe.unicodeScalars.append(scalar)
            }
        }
        return safe
    }

    /// How many columns a character takes: 2 for East Asian ones and emoji, 0 for marks that stand on the one before.
    static func width(_ character: Character) -> Int {
        guard let scalar = character.unicodeScalars.first else { return 0 }
        if scalar.value < 0x300 { return 1 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        if scalar.properties.isEmojiPresentation || character.unicodeScalars.contains("\u{FE0F}") { return 2 }
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
            0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x20000...0x3FFFD:
            return 2
        default: return 1
        }
    }

    static func width(_ text: some StringProtocol) -> Int { text.reduce(0) { $0 + width($1) } }

    /// The text in exactly so many columns: cut off with an ellipsis, or filled with spaces.
    static func fitted(_ text: some StringProtocol, _ columns: Int) -> String {
        if columns <= 0 { return "" }
        let full = width(text)
        if full <= columns { return text + String(repeating: " ", count: columns - full) }
        var fitted = ""
        var used = 0
        for character in text {
            let next = width(character)
            if used + next > columns - 1 { break }
            fitted.append(character)
            used += next
        }
        return fitted + "…" + String(repeating: " ", count: columns - 1 - used)
    }

    /// Lines of at most so many columns, broken between words; words that are too long are broken where they must be.
    static func wrapped(_ text: String, _ columns: Int) -> [String] {
        let columns = max(columns, 2)
        var lines: [String] = []
        for paragraph in text.split(separator: "\n", omittingEmptySubsequences: false) {
            var line = ""
            var used = 0
            for word in safe(paragraph).split(separator: " ") {
                var (rest, size) = (String(word), width(word))
                if used > 0, used + 1 + size > columns {
                    lines.append(line)
                    (line, used) = ("", 0)
                }
                while size > columns {
                    var piece = ""
                    var pieceSize = 0
                    while let next = rest.first, pieceSize + width(next) <= columns {
                        piece.append(rest.removeFirst())
                        pieceSize += width(next)
                    }
                    lines.append(piece)
                    size -= pieceSize
                }
                line += (used > 0 ? " " : "") + rest
                used += (used > 0 ? 1 : 0) + size
            }
            lines.append(line)
        }
        return lines
    }
}
