import FerryCore

/// Reads the elements of a JSON array (RFC 8259) as texts that are equal if the elements are equal. The texts have no
/// white space, a single way to write each string, and the members of objects in the order of their keys. Numbers stay
/// as written, so that none is rounded: 1 and 1.0 are two elements.
enum JSONArray {
    /// How deep arrays and objects may lie in each other; SQLite's own limit is 1000.
    static let maximumDepth = 200

    /// - Returns: the elements, each once, in their order; `nil` for anything but a text with a single array.
    static func elements(of value: FieldValue) -> [[UInt8]]? {
        guard case .text(let bytes) = value, String(validating: bytes, as: UTF8.self) != nil else { return nil }
        var reader = Reader(bytes: bytes)
        guard let all = reader.array(depth: 1), reader.isAtEnd() else { return nil }
        var known: Set<[UInt8]> = []
        return all.filter { known.insert($0).inserted }
    }

    static func text(of elements: [[UInt8]]) -> FieldValue { .text(joined(elements)[...]) }

    fileprivate static func joined(_ elements: [[UInt8]]) -> [UInt8] {
        [0x5b] + elements.joined(separator: [0x2c]) + [0x5d]
    }
}

/// A reader of JSON by recursive descent. Each function returns `nil` where the text is no JSON.
private struct Reader {
    let bytes: ArraySlice<UInt8>
    var position: Int

    init(bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    private var next: UInt8? { position < bytes.endIndex ? bytes[position] : nil }

    private mutating func skipSpace() {
        while let byte = next, [0x20, 0x09, 0x0a, 0x0d].contains(byte) { position += 1 }
    }

    /// Skips white space and then the character, if the character is next.
    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        skipSpace()
        guard next == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    mutating func isAtEnd() -> Bool {
        skipSpace()
        return next == nil
    }

    /// The canonical texts of an array's elements.
    mutating func array(depth: Int) -> [[UInt8]]? {
        guard depth <= JSONArray.maximumDepth, take("[") else { return nil }
        var elements: [[UInt8]] = []
        if take("]") { return elements }
        while true {
            guard let element = value(depth: depth) else { return nil }
            elements.append(element)
            if take("]") { return elements }
            guard take(",") else { return nil }
        }
    }

    private mutating func value(depth: Int) -> [UInt8]? {
        skipSpace()
        switch next {
        case UInt8(ascii: "["): return array(depth: depth + 1).map(JSONArray.joined)
        case UInt8(ascii: "{"): return object(depth: depth + 1)
        case UInt8(ascii: "\""): return string()
        case UInt8(ascii: "t"): return word("true")
        case UInt8(ascii: "f"): return word("false")
        case UInt8(ascii: "n"): return word("null")
        default: return number()
        }
    }

    private mutating func object(depth: Int) -> [UInt8]? {
        guard depth <= JSONArray.maximumDepth, take("{") else { return nil }
        var members: [(key: [UInt8], text: [UInt8])] = []
        if !take("}") {
            while true {
                skipSpace()
                guard let key = string(), take(":"), let value = value(depth: depth) else { return nil }
                members.append((key, key + [UInt8(ascii: ":")] + value))
                if take("}") { break }
                guard take(",") else { return nil }
            }
        }
        // Members with equal keys stay in their order, because the order decides which member counts.
        let order = members.indices.sorted { left, right in
            let (a, b) = (members[left].key, members[right].key)
            return a == b ? left < right : a.lexicographicallyPrecedes(b)
        }
        let text = order.map { members[$0].text }.joined(separator: [UInt8(ascii: ",")])
        return [UInt8(ascii: "{")] + text + [UInt8(ascii: "}")]
    }

    private mutating func word(_ text: String) -> [UInt8]? {
        let word = Array(text.utf8)
        guard bytes[position...].starts(with: word) else { return nil }
        position += word.count
        return word
    }

    private mutating func number() -> [UInt8]? {
        let start = position
        if next == UInt8(ascii: "-") { position += 1 }
        let first = position
        guard digits() else { return nil }
        if bytes[first] == UInt8(ascii: "0"), position - first > 1 { return nil }
        if next == UInt8(ascii: ".") {
            position += 1
            guard digits() else { return nil }
        }
        if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
            position += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { position += 1 }
            guard digits() else { return nil }
        }
        return Array(bytes[start..<position])
    }

    private mutating func digits() -> Bool {
        let start = position
        while let byte = next, (0x30...0x39).contains(byte) { position += 1 }
        return position > start
    }

    // MARK: Strings

    private mutating func string() -> [UInt8]? {
        guard next == UInt8(ascii: "\"") else { return nil }
        position += 1
        var text: [UInt8] = [UInt8(ascii: "\"")]
        while let byte = next {
            position += 1
            switch byte {
            case UInt8(ascii: "\""):
                text.append(byte)
                return text
            case UInt8(ascii: "\\"):
                guard escape(&text) else { return nil }
            case ..<0x20: return nil
            default: text.append(byte)
            }
        }
        return nil
    }

    /// Appends the character of an escape in its canonical form.
    private mutating func escape(_ text: inout [UInt8]) -> Bool {
        guard let byte = next else { return false }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): append(UInt32(byte), to: &text)
        case UInt8(ascii: "b"): append(0x08, to: &text)
        case UInt8(ascii: "f"): append(0x0c, to: &text)
        case UInt8(ascii: "n"): append(0x0a, to: &text)
        case UInt8(ascii: "r"): append(0x0d, to: &text)
        case UInt8(ascii: "t"): append(0x09, to: &text)
        case UInt8(ascii: "u"):
            guard let unit = hexUnit() else { return false }
            if (0xd800..<0xdc00).contains(unit), let low = lowSurrogate() {
                append(0x10000 + (unit - 0xd800) << 10 + (low - 0xdc00), to: &text)
            } else {
                append(unit, to: &text)
            }
        default: return false
        }
        return true
    }

    private mutating func hexUnit() -> UInt32? {
        guard bytes.endIndex - position >= 4 else { return nil }
        let digits = bytes[position..<position + 4]
        guard digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else { return nil }
        position += 4
        return UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
    }

    /// The second half of a pair, if next.
    private mutating func lowSurrogate() -> UInt32? {
        let start = position
        guard bytes[position...].starts(with: Array("\\u".utf8)) else { return nil }
        position += 2
        guard let unit = hexUnit(), (0xdc00..<0xe000).contains(unit) else {
            position = start
            return nil
        }
        return unit
    }

    private func append(_ code: UInt32, to text: inout [UInt8]) {
        switch code {
        case 0x22, 0x5c: text += [0x5c, UInt8(code)]
        case ..<0x20, 0xd800..<0xe000:
            // Control characters, and halves of pairs, which UTF-8 cannot hold.
            let digits = String(code, radix: 16)
            text += Array("\\u".utf8) + Array(repeating: 0x30, count: 4 - digits.utf8.count) + Array(digits.utf8)
        default:
            if let scalar = Unicode.Scalar(code) { text += Array(String(Character(scalar)).utf8) }
        }
    }
}
