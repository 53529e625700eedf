import FerryCore

/// The content of an XML document as a tree of elements, for the answers of storages. Attributes are passed over.
///
/// Limits: `maximumBytes`, `maximumDepth`, `maximumElements`. Documents with a DTD are refused, so nothing expands.
struct XMLElement {
    static let maximumBytes = 4 << 20
    static let maximumDepth = 16
    static let maximumElements = 20_000

    /// Without a prefix.
    let name: String
    /// The text directly in the element, decoded.
    fileprivate(set) var text = ""
    fileprivate(set) var children: [XMLElement] = []

    fileprivate init(name: String) { self.name = name }

    /// The first child of a name.
    func child(_ name: String) -> XMLElement? { children.first { $0.name == name } }

    /// The text of the first child of a name.
    func value(_ name: String) -> String? { child(name)?.text }

    /// Reads a document.
    /// - Returns: the root; `nil` for bytes that are no document within the limits.
    init?(_ bytes: [UInt8]) {
        guard bytes.count <= Self.maximumBytes else { return nil }
        var parser = XMLTreeParser(bytes)
        guard let root = parser.root() else { return nil }
        self = root
    }
}

/// A parser for the part of XML in `XMLElement`.
private struct XMLTreeParser {
    private let bytes: [UInt8]
    private var position = 0
    private var count = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func root() -> XMLElement? {
        guard skipProlog(), let root = element(depth: 0), skipProlog(), position == bytes.count else { return nil }
        return root
    }

    private func isAt(_ text: StaticString) -> Bool {
        let length = text.utf8CodeUnitCount
        guard bytes.count - position >= length else { return false }
        return (0..<length).allSatisfy { bytes[position + $0] == text.utf8Start[$0] }
    }

    /// Passes over a text and everything before.
    private mutating func skip(through text: StaticString) -> Bool {
        while position < bytes.count {
            if isAt(text) {
                position += text.utf8CodeUnitCount
                return true
            }
            position += 1
        }
        return false
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0a || byte == 0x0d }

    private mutating func skipSpace() {
        while position < bytes.count, Self.isSpace(bytes[position]) { position += 1 }
    }

    /// Passes over white space, declarations and comments outside of the root.
    private mutating func skipProlog() -> Bool {
        if isAt("\u{FEFF}") { position += 3 }
        while true {
            skipSpace()
            if isAt("<?") {
                guard skip(through: "?>") else { return false }
            } else if isAt("<!--") {
                guard skip(through: "-->") else { return false }
            } else {
                return true
            }
        }
    }

    private mutating func name() -> String? {
        let start = position
        while position < bytes.count, !Self.isSpace(bytes[position]), bytes[position] != UInt8(ascii: ">"),
            bytes[position] != UInt8(ascii: "/"), bytes[position] != UInt8(ascii: "=")
        {
            position += 1
        }
        guard position > start, position - start <= 256 else { return nil }
        let name = String(decoding: bytes[start..<position], as: UTF8.self)
        return name.lastIndex(of: ":").map { String(name[name.index(after: $0)...]) } ?? name
    }

    /// Reads an element. The next character must be `<`.
    private mutating func element(depth: Int) -> XMLElement? {
        count += 1
        guard depth < XMLElement.maximumDepth, count <= XMLElement.maximumElements, isAt("<") else { return nil }
        position += 1
        guard let name = self.name() else { return nil }
        var element = XMLElement(name: name)
        guard let isEmpty = skipAttributes() else { return nil }
        if isEmpty { return element }
        var text: [UInt8] = []
        while position < bytes.count {
            if isAt("</") {
                position += 2
                guard self.name() == name else { return nil }
                skipSpace()
                guard isAt(">") else { return nil }
                position += 1
                element.text = String(decoding: text, as: UTF8.self)
                return element
            } else if isAt("<!--") {
                guard skip(through: "-->") else { return nil }
            } else if isAt("<") {
                guard let child = self.element(depth: depth + 1) else { return nil }
                element.children.append(child)
            } else if isAt("&") {
                guard let character = reference() else { return nil }
                text += Array(String(character).utf8)
            } else {
                text.append(bytes[position])
                position += 1
            }
        }
        return nil
    }

    /// Passes over attributes and the end of a tag.
    /// - Returns: true for an element without content, closed by the tag itself.
    private mutating func skipAttributes() -> Bool? {
        while true {
            skipSpace()
            if isAt("/>") {
                position += 2
                return true
            }
            if isAt(">") {
                position += 1
                return false
            }
            guard name() != nil else { return nil }
            skipSpace()
            guard isAt("=") else { return nil }
            position += 1
            skipSpace()
            let isDouble = isAt("\"")
            guard isDouble || isAt("'") else { return nil }
            position += 1
            guard isDouble ? skip(through: "\"") : skip(through: "'") else { return nil }
        }
    }

    /// Reads a character's reference.
    private mutating func reference() -> Character? {
        let start = position + 1
        guard let end = bytes[start...].prefix(12).firstIndex(of: UInt8(ascii: ";")) else { return nil }
        let name = String(decoding: bytes[start..<end], as: UTF8.self)
        position = end + 1
        switch name {
        case "amp": return "&"
        case "lt": return "<"
        case "gt": return ">"
        case "quot": return "\""
        case "apos": return "'"
        default:
            guard name.hasPrefix("#") else { return nil }
            let number = name.hasPrefix("#x") ? UInt32(name.dropFirst(2), radix: 16) : UInt32(name.dropFirst(1))
            return number.flatMap(Unicode.Scalar.init).map(Character.init)
        }
    }
}
