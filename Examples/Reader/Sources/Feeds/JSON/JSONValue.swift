/// A value of JSON.
enum JSONValue: Equatable {
    case null
    case bool(Bool)
    /// As it was written.
    case number(String)
    case string(String)
    case array([JSONValue])
    /// In the order of the document; of members of the same name the last counts.
    case object([(name: String, value: JSONValue)])

    static func == (one: JSONValue, other: JSONValue) -> Bool { one.element(named: "") == other.element(named: "") }

    /// The member of an object.
    subscript(_ name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.name == name }?.value
    }

    /// A string, or a number as it was written: feeds have both for an `id`.
    var text: String? {
        switch self {
        case .string(let text), .number(let text): text
        default: nil
        }
    }

    var array: [JSONValue] {
        if case .array(let values) = self { values } else { [] }
    }

    /// The value as an element, in which form an article keeps what it has no field for: an object's members become
    /// elements, an array's values elements named `item`, and the attribute `type` tells what is no string.
    func element(named name: String) -> FeedElement {
        var element = FeedElement(name: name, namespace: Vocabulary.jsonFeedNamespace)
        let type: String?
        switch self {
        case .null: type = "null"
        case .bool(let value):
            type = "boolean"
            element.children = [.text(value ? "true" : "false")]
        case .number(let text):
            type = "number"
            element.children = [.text(text)]
        case .string(let text):
            type = nil
            if !text.isEmpty { element.children = [.text(text)] }
        case .array(let values):
            type = "array"
            element.children = values.map { .element($0.element(named: "item")) }
        case .object(let members):
            type = "object"
            element.children = members.map { .element($0.value.element(named: $0.name)) }
        }
        if let type { element.attributes = [FeedAttribute(name: "type", value: type)] }
        return element
    }
}

/// Reads one value of JSON (RFC 8259) from bytes that hold nothing else.
struct JSONValueReader {
    struct Malformed: Error {
        /// Where the fault is, from the beginning of the value's bytes.
        let offset: Int
    }

    private static let maximumDepth = 128

    private let bytes: ArraySlice<UInt8>
    private var position: Int
    private var depth = 0

    private init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    static func value(of bytes: ArraySlice<UInt8>) throws(Malformed) -> JSONValue {
        var reader = JSONValueReader(bytes)
        let value = try reader.value()
        reader.skipSpace()
        guard reader.position == bytes.endIndex else { throw reader.malformed }
        return value
    }

    private var malformed: Malformed { Malformed(offset: position - bytes.startIndex) }

    private var next: UInt8? { position < bytes.endIndex ? bytes[position] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        skipSpace()
        guard next == byte else { return false }
        position += 1
        return true
    }

    private mutating func value() throws(Malformed) -> JSONValue {
        skipSpace()
        switch next {
        case UInt8(ascii: "{"): return try object()
        case UInt8(ascii: "["): return try array()
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    private mutating func word(_ word: String, _ value: JSONValue) throws(Malformed) -> JSONValue {
        guard bytes[position...].starts(with: word.utf8) else { throw malformed }
        position += word.utf8.count
        return value
    }

    private mutating func number() throws(Malformed) -> JSONValue {
        let start = position
        while let byte = next, (0x30...0x39).contains(byte) || "+-.eE".utf8.contains(byte) { position += 1 }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        guard Double(text) != nil else {
            position = start
            throw malformed
        }
        return .number(text)
    }

    private mutating func enter() throws(Malformed) {
        position += 1
        depth += 1
        guard depth <= Self.maximumDepth else { throw malformed }
    }

    private mutating func array() throws(Malformed) -> JSONValue {
        try enter()
        defer { depth -= 1 }
        var values: [JSONValue] = []
        if take(UInt8(ascii: "]")) { return .array(values) }
        repeat { values.append(try value()) } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "]")) else { throw malformed }
        return .array(values)
    }

    private mutating func object() throws(Malformed) -> JSONValue {
        try enter()
        defer { depth -= 1 }
        var members: [(name: String, value: JSONValue)] = []
        if take(UInt8(ascii: "}")) { return .object(members) }
        repeat {
            skipSpace()
            guard next == UInt8(ascii: "\"") else { throw malformed }
            let name = try string()
            guard take(UInt8(ascii: ":")) else { throw malformed }
            members.append((name, try value()))
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "}")) else { throw malformed }
        return .object(members)
    }

    // MARK: Strings

    private mutating func string() throws(Malformed) -> String {
        position += 1
        let start = position
        while let byte = next, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") { position += 1 }
        if next == UInt8(ascii: "\"") {
            defer { position += 1 }
            return String(decoding: bytes[start..<position], as: UTF8.self)
        }
        var output = Array(bytes[start..<position])
        while let byte = next {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: output, as: UTF8.self)
            case UInt8(ascii: "\\"): try escape(into: &output)
            default: output.append(byte)
            }
        }
        throw malformed
    }

    private mutating func escape(into output: inout [UInt8]) throws(Malformed) {
        guard let byte = next else { throw malformed }
        position += 1
        switch byte {
        case UInt8(ascii: "n"): output.append(0x0A)
        case UInt8(ascii: "t"): output.append(0x09)
        case UInt8(ascii: "r"): output.append(0x0D)
        case UInt8(ascii: "b"): output.append(0x08)
        case UInt8(ascii: "f"): output.append(0x0C)
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): output.append(byte)
        case UInt8(ascii: "u"): output += String(try unicodeEscape()).utf8
        default: throw malformed
        }
    }

    /// Half of a surrogate pair that stands alone is U+FFFD.
    private mutating func unicodeEscape() throws(Malformed) -> Unicode.Scalar {
        let first = try codeUnit()
        guard UTF16.isLeadSurrogate(first), bytes[position...].starts(with: "\\u".utf8) else {
            return Unicode.Scalar(first) ?? "\u{FFFD}"
        }
        let afterFirst = position
        position += 2
        let second = try codeUnit()
        guard UTF16.isTrailSurrogate(second) else {
            position = afterFirst
            return "\u{FFFD}"
        }
        return Unicode.Scalar(0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00)) ?? "\u{FFFD}"
    }

    private mutating func codeUnit() throws(Malformed) -> UInt16 {
        let digits = bytes[position...].prefix(4)
        guard digits.count == 4, let unit = UInt16(String(decoding: digits, as: UTF8.self), radix: 16) else {
            throw malformed
        }
        position += 4
        return unit
    }
}
