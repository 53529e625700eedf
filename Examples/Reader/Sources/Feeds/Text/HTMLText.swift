/// HTML as plain text, and plain text as HTML.
public enum HTMLText {
    /// The text of a piece of HTML: tags, scripts and styles are gone, characters that were written by name or number
    /// are themselves, paragraphs are separated by an empty line, list items begin with a bullet.
    public static func plainText(_ html: String) -> String {
        var writer = PlainTextWriter()
        var tokens = HTMLTokens(html)
        while let token = tokens.next() {
            switch token {
            case .text(let text): writer.write(text)
            case .tag(let name, let isClosing, _): writer.tag(name, isClosing: isClosing)
            }
        }
        return writer.text.trimmed
    }

    /// The text of a piece of HTML in one line.
    public static func singleLine(_ html: String) -> String { plainText(html).collapsed }

    /// Plain text as HTML that shows the same.
    public static func html(fromPlainText text: String) -> String {
        var html = ""
        html.reserveCapacity(text.utf8.count)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": html += "&amp;"
            case "<": html += "&lt;"
            case ">": html += "&gt;"
            case "\"": html += "&quot;"
            case "\n": html += "<br>\n"
            default: html.unicodeScalars.append(scalar)
            }
        }
        return html
    }

    /// Whether a text that may be either has tags or named or numbered characters.
    static func looksLikeHTML(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        for (index, byte) in bytes.enumerated() where byte == UInt8(ascii: "<") || byte == UInt8(ascii: "&") {
            let rest = bytes[(index + 1)...].prefix(40)
            guard let first = rest.first else { continue }
            let isLetter = (0x41...0x5A).contains(first & 0xDF)
            if byte == UInt8(ascii: "<") {
                if isLetter || first == UInt8(ascii: "/") || first == UInt8(ascii: "!") { return true }
            } else if isLetter || first == UInt8(ascii: "#") {
                let name = rest.prefix { $0 != UInt8(ascii: ";") }
                if name.count < rest.count, HTMLTokens.character(String(decoding: name, as: UTF8.self)) != nil {
                    return true
                }
            }
        }
        return false
    }
}

/// Puts text together, with one space for each run of white space and line ends where blocks end.
private struct PlainTextWriter {
    private(set) var text = ""
    private var needsSpace = false
    private var lineEnds = 0
    private var hiddenIn: String?
    private var preformatted = 0

    private static let paragraphs: Set<String> = [
        "p", "div", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "dl", "blockquote", "pre", "table", "section",
        "article", "figure", "header", "footer", "hr",
    ]
    private static let lines: Set<String> = ["br", "li", "tr", "dt", "dd", "figcaption"]
    private static let hidden: Set<String> = ["script", "style", "head", "noscript", "template", "iframe", "svg"]

    mutating func tag(_ name: String, isClosing: Bool) {
        if let hidden = hiddenIn {
            if isClosing, name == hidden { hiddenIn = nil }
            return
        }
        if Self.hidden.contains(name), !isClosing {
            hiddenIn = name
        } else if Self.paragraphs.contains(name) {
            endLines(2)
            if name == "pre" { preformatted = max(0, preformatted + (isClosing ? -1 : 1)) }
        } else if Self.lines.contains(name) {
            if name == "br" { lineEnds += text.isEmpty ? 0 : 1 } else { endLines(1) }
            if name == "li", !isClosing { write("• ") }
        } else if name == "td" || name == "th", isClosing {
            needsSpace = true
        }
    }

    private mutating func endLines(_ count: Int) {
        if !text.isEmpty { lineEnds = max(lineEnds, count) }
        needsSpace = false
    }

    mutating func write(_ piece: String) {
        if hiddenIn != nil { return }
        if preformatted > 0 {
            flushLineEnds()
            text += piece
            return
        }
        var isFirst = true
        for word in piece.split(omittingEmptySubsequences: false, whereSeparator: \.isWhitespace) {
            if !isFirst { needsSpace = true }
            isFirst = false
            if word.isEmpty { continue }
            flushLineEnds()
            if needsSpace, let last = text.last, !last.isWhitespace { text += " " }
            needsSpace = false
            text += word
        }
    }

    private mutating func flushLineEnds() {
        guard lineEnds > 0 else { return }
        text += String(repeating: "\n", count: min(lineEnds, 2))
        lineEnds = 0
        needsSpace = false
    }
}
