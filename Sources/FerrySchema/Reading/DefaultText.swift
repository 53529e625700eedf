import FerryCore
import FerrySQL

/// Interprets a column's default. `PRAGMA table_xinfo` gives a literal, a word, or an expression without the brackets
/// around the expression.
package enum DefaultText {
    /// Returns an expression with the default's value in any statement. A word or a quoted name is a text in a default,
    /// and a column elsewhere. https://www.sqlite.org/lang_createtable.html#the_default_clause
    package static func expression(_ text: String) -> String {
        let tokens = tokens(text)
        guard tokens.count == 1, let first = tokens[0].first else { return text }
        if first == "'" || isNumber(tokens[0]) { return text }
        switch foldedName(text) {
        case "true": return "1"
        case "false": return "0"
        case "null", "current_time", "current_date", "current_timestamp": return text
        default: return quotedText(IndexText.unquoted(tokens[0]))
        }
    }

    /// True if an expression has a single value throughout a statement, for every program and every evaluation. The
    /// current time qualifies.
    ///
    /// Unknown functions count as nondeterministic: different programs may lack an app's functions, or a function may
    /// return something new at each call.
    package static func isSteady(_ expression: String) -> Bool {
        let tokens = tokens(expression)
        return tokens.indices.allSatisfy { place in
            let (token, next) = (tokens[place], place + 1 < tokens.endIndex ? tokens[place + 1] : "")
            guard let first = token.first else { return false }
            if first == "'" || isNumber(token) { return true }
            // A quoted name means a text only in some builds of SQLite.
            if first == "\"" || first == "`" || first == "[" { return false }
            guard first.isLetter || first == "_" else { return first != "?" && first != "@" && first != ":" }
            let word = foldedName(token)
            if next == "(" { return functions.contains(word) || words.contains(word) }
            return words.contains(word) || word == "x" && next.hasPrefix("'")
        }
    }

    /// True if an expression has a single value at all times, on every device.
    package static func isConstant(_ expression: String) -> Bool {
        isSteady(expression) && !tokens(expression).contains { timely.contains(foldedName($0)) }
    }

    /// True if the value has so many random bits, as `random()`, `randomblob(8)` or a random UUID, as never to repeat.
    package static func isUnique(_ expression: String) -> Bool { randomBits(tokens(expression)[...]) >= 63 }

    /// Counts the random bits of an expression's value, for operators and functions known to lose none.
    private static func randomBits(_ tokens: ArraySlice<String>) -> Int {
        var operands: [ArraySlice<String>] = []
        var (start, depth) = (tokens.startIndex, 0)
        for place in tokens.indices {
            if tokens[place] == "(" { depth += 1 }
            if tokens[place] == ")" { depth -= 1 }
            if depth == 0, tokens[place] == "||" {
                operands.append(tokens[start..<place])
                start = place + 1
            }
        }
        operands.append(tokens[start...])
        let bits = operands.map(randomBits(ofOperand:))
        return bits.contains(nil) ? 0 : bits.reduce(0) { $0 + min($1 ?? 0, 64) }
    }

    /// Counts the random bits of an operand.
    /// - Parameter tokens: the tokens between two `||`.
    /// - Returns: `nil` for anything more than a literal, a call or brackets: an operator might lose bits.
    private static func randomBits(ofOperand tokens: ArraySlice<String>) -> Int? {
        guard let first = tokens.first, let last = tokens.last else { return nil }
        if tokens.count == 1 { return 0 }
        guard let open = tokens.firstIndex(of: "("), open <= tokens.startIndex + 1, last == ")" else { return nil }
        var depth = 0
        for token in tokens[open...].dropLast() {
            if token == "(" { depth += 1 }
            if token == ")" { depth -= 1 }
            if depth == 0 { return nil }
        }
        let inner = tokens[(open + 1)...].dropLast()
        if open == tokens.startIndex { return randomBits(inner) }
        switch foldedName(first) {
        case "random": return 64
        case "randomblob": return inner.count == 1 ? min(Int(inner[inner.startIndex]) ?? 0, 8) * 8 : 0
        case "hex", "lower", "upper": return randomBits(inner)
        case "abs": return max(randomBits(inner) - 1, 0)
        default: return 0
        }
    }

    /// Functions present in every SQLite, with a result determined by their arguments.
    private static let functions: Set<String> = [
        "abs", "char", "coalesce", "date", "datetime", "glob", "hex", "ifnull", "iif", "instr", "julianday", "length",
        "like", "lower", "ltrim", "max", "min", "nullif", "printf", "quote", "replace", "round", "rtrim", "strftime",
        "substr", "time", "trim", "typeof", "unicode", "unixepoch", "upper", "zeroblob",
    ]

    /// Words and functions that may give the current time.
    private static let timely: Set<String> = [
        "current_date", "current_time", "current_timestamp", "date", "datetime", "julianday", "strftime", "time",
        "unixepoch",
    ]

    /// Words of expressions besides names of functions and columns; also types in a CAST, and collations.
    private static let words: Set<String> = [
        "and", "as", "between", "binary", "blob", "case", "cast", "collate", "current_date", "current_time",
        "current_timestamp", "distinct", "else", "end", "escape", "false", "from", "glob", "in", "integer", "is",
        "isnull", "like", "nocase", "not", "notnull", "null", "numeric", "or", "real", "rtrim", "text", "then", "true",
        "when",
    ]

    private static func tokens(_ text: String) -> [String] {
        let bytes = Array(text.utf8)
        return IndexText.tokens(bytes).map { String(decoding: bytes[$0], as: UTF8.self) }
    }

    private static func isNumber(_ token: String) -> Bool {
        token.first.map { $0.isASCII && $0.isNumber || $0 == "." } ?? false
    }
}
