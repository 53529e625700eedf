/// Takes HTML apart into tags and text, as it is met and not as it should be: any text is HTML.
struct HTMLTokens {
    enum Token: Equatable {
        /// With characters that were written by name or number.
        case text(String)
        /// Name and names of attributes in lower case.
        case tag(name: String, isClosing: Bool, attributes: [String: String])
    }

    private let bytes: [UInt8]
    private var position = 0

    init(_ html: String) { bytes = Array(html.utf8) }

    init(_ html: [UInt8]) { bytes = html }

    mutating func next() -> Token? {
        while position < bytes.count {
            if bytes[position] == UInt8(ascii: "<"), let isTag = startsMarkup() {
                if !isTag { continue }  // a comment or declaration was passed over
                return tag()
            }
            let start = position
            position += 1
            while position < bytes.count, bytes[position] != UInt8(ascii: "<") { position += 1 }
            return .text(Self.decodingCharacters(bytes[start..<position]))
        }
        return nil
    }

    /// Whether a tag begins here; false if something else did, which was passed over; nil if it is a bare `<`.
    private mutating func startsMarkup() -> Bool? {
        guard position + 1 < bytes.count else { return nil }
        let next = bytes[position + 1]
        if Self.isLetter(next) { return true }
        if next == UInt8(ascii: "/") {
            return position + 2 < bytes.count && Self.isLetter(bytes[position + 2]) ? true : nil
        }
        guard next == UInt8(ascii: "!") || next == UInt8(ascii: "?") else { return nil }
        if bytes[position...].starts(with: Array("<!--".utf8)) {
            pass(over: Array("-->".utf8))
        } else {
            pass(over: [UInt8(ascii: ">")])
        }
        return false
    }

    private mutating func pass(over ending: [UInt8]) {
        while position < bytes.count, !bytes[position...].starts(with: ending) { position += 1 }
        position = min(bytes.count, position + ending.count)
    }

    private mutating func tag() -> Token {
        position += 1
        let isClosing = bytes[position] == UInt8(ascii: "/")
        if isClosing { position += 1 }
        let name = word { Self.isSpace($0) || $0 == UInt8(ascii: ">") || $0 == UInt8(ascii: "/") }
        var attributes: [String: String] = [:]
        while position < bytes.count, bytes[position] != UInt8(ascii: ">") {
            if Self.isSpace(bytes[position]) || bytes[position] == UInt8(ascii: "/") {
                position += 1
                continue
            }
            let start = position
            let key = word { Self.isSpace($0) || "=>/".utf8.contains($0) }
            let value = attributeValue()
            if attributes[key] == nil { attributes[key] = value }
            if position == start { position += 1 }  // a stray character
        }
        position = min(bytes.count, position + 1)
        return .tag(name: name, isClosing: isClosing, attributes: attributes)
    }

    private mutating func attributeValue() -> String {
        skipSpace()
        guard position < bytes.count, bytes[position] == UInt8(ascii: "=") else { return "" }
        position += 1
        skipSpace()
        guard position < bytes.count else { return "" }
        let quote = bytes[position]
        let start: Int
        if quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
            position += 1
            start = position
            while position < bytes.count, bytes[position] != quote { position += 1 }
            defer { position = min(bytes.count, position + 1) }
            return Self.decodingCharacters(bytes[start..<position])
        }
        start = position
        while position < bytes.count, !Self.isSpace(bytes[position]), bytes[position] != UInt8(ascii: ">") {
            position += 1
        }
        return Self.decodingCharacters(bytes[start..<position])
    }

    private mutating func word(until ends: (UInt8) -> Bool) -> String {
        let start = position
        while position < bytes.count, !ends(bytes[position]) { position += 1 }
        return String(decoding: bytes[start..<position], as: UTF8.self).lowercased()
    }

    private mutating func skipSpace() {
        while position < bytes.count, Self.isSpace(bytes[position]) { position += 1 }
    }

    // MARK: Characters by name or number

    /// The text with `&eacute;`, `&#233;` and the like as the characters they mean; what means none stays.
    static func decodingCharacters(_ bytes: ArraySlice<UInt8>) -> String {
        guard bytes.contains(UInt8(ascii: "&")) else { return String(decoding: bytes, as: UTF8.self) }
        var output: [UInt8] = []
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let byte = bytes[index]
            if byte == UInt8(ascii: "&") {
                let rest = bytes[(index + 1)...].prefix(40)
                if let end = rest.firstIndex(of: UInt8(ascii: ";")),
                    let scalar = character(String(decoding: bytes[(index + 1)..<end], as: UTF8.self))
                {
                    output += String(scalar).utf8
                    index = end + 1
                    continue
                }
            }
            output.append(byte)
            index += 1
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// The character that `eacute`, `#233` or `#xE9` means.
    static func character(_ name: String) -> Unicode.Scalar? {
        if name.hasPrefix("#") {
            let digits = name.dropFirst()
            let isHexadecimal = digits.first == "x" || digits.first == "X"
            let value = isHexadecimal ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
            return value.map(HTMLEntities.scalar(numbered:))
        }
        return HTMLEntities.codePoint(named: name).flatMap(Unicode.Scalar.init)
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte & 0xDF) }
}
