import FerryCore

/// Finds the parts of a `CREATE INDEX` statement not reported by any PRAGMA: expressions of terms, and the WHERE
/// clause. Also finds the expressions of generated columns in a `CREATE TABLE`.
///
/// SQLite has already parsed the text. This type only finds where parts begin and end, past strings, quoted names,
/// comments and brackets.
package struct IndexText {
    /// The texts between the commas of the column list, without collation and order.
    package private(set) var terms: [String] = []
    /// The text after WHERE.
    package private(set) var condition: String?

    /// - Parameter columns: the names of the table's columns.
    package init(_ sql: String, columns: some Sequence<String>) {
        let bytes = Array(sql.utf8)
        let ranges = Self.tokens(bytes)
        let tokens = ranges.map { String(decoding: bytes[$0], as: UTF8.self) }
        guard let open = tokens.firstIndex(where: { $0 == "(" }) else { return }
        let expression = SchemaExpression(bytes: bytes, ranges: ranges, columns: Set(columns.map(foldedName)))
        var depth = 0
        var start = open + 1
        var end = tokens.endIndex
        for position in open..<tokens.endIndex {
            let token = tokens[position]
            if token == "(" { depth += 1 }
            if token == ")" { depth -= 1 }
            if depth == 0 || (depth == 1 && token == ",") {
                terms.append(expression.text(Self.withoutOrder(start..<position, tokens)))
                start = position + 1
            }
            if depth == 0 {
                end = position
                break
            }
        }
        guard let place = tokens[end...].firstIndex(where: { foldedName($0) == "where" }) else { return }
        let last = tokens.last == ";" ? tokens.endIndex - 1 : tokens.endIndex
        condition = expression.text(place + 1..<last)
    }

    /// Drops a trailing COLLATE, ASC or DESC from a term.
    private static func withoutOrder(_ term: Range<Int>, _ tokens: [String]) -> Range<Int> {
        var rest = term
        if let last = rest.last, ["asc", "desc"].contains(foldedName(tokens[last])) { rest.removeLast() }
        if rest.count > 2, foldedName(tokens[rest.upperBound - 2]) == "collate" { rest.removeLast(2) }
        return rest
    }

    /// Returns the expressions of a table's generated columns by folded name, from the `CREATE TABLE` text.
    /// - Parameter columns: the names of the table's columns.
    package static func generatedColumns(_ sql: String, columns: some Sequence<String>) -> [String: String] {
        let bytes = Array(sql.utf8)
        let ranges = tokens(bytes)
        let tokens = ranges.map { String(decoding: bytes[$0], as: UTF8.self) }
        var found: [String: String] = [:]
        guard let open = tokens.firstIndex(of: "(") else { return found }
        let expression = SchemaExpression(bytes: bytes, ranges: ranges, columns: Set(columns.map(foldedName)))
        var depth = 0
        var name: String?
        var position = open
        while position < tokens.endIndex {
            let token = tokens[position]
            if token == "(" { depth += 1 }
            if token == ")" { depth -= 1 }
            if depth == 0 { break }
            let following = position + 1 < tokens.endIndex ? tokens[position + 1] : ""
            if depth == 1, token == "," || position == open {
                name = unquoted(following)
            } else if depth == 1, foldedName(token) == "as", following == "(", let name {
                let start = position + 2
                position += 2
                var inner = 1
                while position < tokens.endIndex {
                    if tokens[position] == "(" { inner += 1 }
                    if tokens[position] == ")" { inner -= 1 }
                    if inner == 0 { break }
                    position += 1
                }
                if start < position, position < tokens.endIndex {
                    found[foldedName(name)] = expression.text(start..<position)
                }
            }
            position += 1
        }
        return found
    }

    /// Returns the texts between the brackets of a table's CHECK constraints, from the `CREATE TABLE` text.
    package static func checks(_ sql: String) -> [String] {
        let bytes = Array(sql.utf8)
        let ranges = tokens(bytes)
        let tokens = ranges.map { String(decoding: bytes[$0], as: UTF8.self) }
        return tokens.indices.dropLast().compactMap { place in
            guard foldedName(tokens[place]) == "check", tokens[place + 1] == "(" else { return nil }
            var depth = 0
            let end = tokens[(place + 1)...].firstIndex { token in
                if token == "(" { depth += 1 }
                if token == ")" { depth -= 1 }
                return depth == 0
            }
            guard let end, end > place + 2 else { return nil }
            return String(decoding: bytes[ranges[place + 2].lowerBound..<ranges[end - 1].upperBound], as: UTF8.self)
        }
    }

    /// True if a `CREATE TABLE` text ends with the option STRICT.
    package static func isStrict(_ sql: String) -> Bool {
        let bytes = Array(sql.utf8)
        let words = tokens(bytes).map { foldedName(String(decoding: bytes[$0], as: UTF8.self)) }
        guard let close = words.lastIndex(of: ")") else { return false }
        return words[close...].contains("strict")
    }

    /// True if a text of the schema contains a column's name. The match may be a different word with the same letters.
    package static func mentions(_ text: String, _ name: String) -> Bool {
        let bytes = Array(text.utf8)
        return tokens(bytes).contains {
            equalNames(unquoted(String(decoding: bytes[$0], as: UTF8.self)), name)
        }
    }

    package static func unquoted(_ token: String) -> String {
        // Scalars: a quote and a combining mark behind it are one character.
        let scalars = token.unicodeScalars
        guard let first = scalars.first, let last = scalars.dropFirst().last else { return token }
        let content = scalars.dropFirst().dropLast()
        switch (first, last) {
        case ("\"", "\""), ("'", "'"), ("`", "`"):
            var plain = String.UnicodeScalarView()
            var isDoubled = false
            for scalar in content {
                isDoubled = scalar == first && !isDoubled
                if scalar != first || isDoubled { plain.append(scalar) }
            }
            return String(plain)
        case ("[", "]"): return String(content)
        default: return token
        }
    }

    /// Splits a text into words, quoted tokens and single characters; skips comments and white space.
    package static func tokens(_ bytes: [UInt8]) -> [Range<Int>] {
        var tokens: [Range<Int>] = []
        var position = 0
        func isWord(_ byte: UInt8) -> Bool {
            byte >= 0x80 || byte == 0x5f || byte == 0x24 || byte == 0x2e || (0x30...0x39).contains(byte)
                || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
        }
        while position < bytes.count {
            let start = position
            let byte = bytes[position]
            let following = position + 1 < bytes.count ? bytes[position + 1] : 0
            if byte == 0x20 || (0x09...0x0d).contains(byte) {
                position += 1
                continue
            } else if byte == UInt8(ascii: "-"), following == byte {
                while position < bytes.count, bytes[position] != 0x0a { position += 1 }
                continue
            } else if byte == UInt8(ascii: "/"), following == UInt8(ascii: "*") {
                position += 2
                while position < bytes.count,
                    !(bytes[position] == UInt8(ascii: "/") && bytes[position - 1] == UInt8(ascii: "*")
                        && position > start + 2)
                {
                    position += 1
                }
                position += 1
                continue
            } else if [UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "`"), UInt8(ascii: "[")].contains(byte) {
                let close = byte == UInt8(ascii: "[") ? UInt8(ascii: "]") : byte
                position += 1
                while position < bytes.count {
                    if bytes[position] == close {
                        let isDoubled = close == byte && position + 1 < bytes.count && bytes[position + 1] == close
                        if !isDoubled { break }
                        position += 1
                    }
                    position += 1
                }
                position += 1
            } else if isWord(byte) {
                while position < bytes.count, isWord(bytes[position]) { position += 1 }
            } else if "<=>|&!".utf8.contains(byte) {
                while position < bytes.count, "<=>|&!".utf8.contains(bytes[position]) { position += 1 }
            } else {
                position += 1
            }
            tokens.append(start..<min(position, bytes.count))
        }
        return tokens
    }
}
