import FerryCore

/// What a column's default means, from its text as `PRAGMA table_xinfo` gives it: a literal, a word, or an expression without
/// the brackets around it.
enum DefaultText {
    /// An expression that has the default's value in any statement. A word or a quoted name, which is a column elsewhere, is
    /// a text in a default. https://www.sqlite.org/lang_createtable.html#the_default_clause
    static func expression(_ text: String) -> String {
        let tokens = tokens(text)
        guard tokens.count == 1, let first = tokens[0].first else { return text }
        if first == "'" || isNumber(tokens[0]) { return text }
        switch foldedName(text) {
        case "true": return "1"
        case "false": return "0"
        case "null", "current_time", "current_date", "current_timestamp": return text
        default: return "'" + IndexText.unquoted(tokens[0]).replacing("'", with: "''") + "'"
        }
    }

    /// Whether an expression has one value throughout a statement, whoever computes it, and however often: the time is one.
    /// What is not known to be so is not: functions of an app's own, which other programs lack, and those that give something
    /// else each time.
    static func isSteady(_ expression: String) -> Bool {
        let tokens = tokens(expression)
        return tokens.indices.allSatisfy { place in
            let (token, next) = (tokens[place], place + 1 < tokens.endIndex ? tokens[place + 1] : "")
            guard let first = token.first else { return false }
            if first == "'" || isNumber(token) { return true }
            // Quoted names mean a text only where SQLite was built so.
            if first == "\"" || first == "`" || first == "[" { return false }
            guard first.isLetter || first == "_" else { return first != "?" && first != "@" && first != ":" }
            let word = foldedName(token)
            if next == "(" { return functions.contains(word) || words.contains(word) }
            return words.contains(word) || word == "x" && next.hasPrefix("'")
        }
    }

    /// Whether an expression gives a value of so many random bits that none comes twice: what `random()`, `randomblob(8)` or a
    /// random UUID have.
    static func isUnique(_ expression: String) -> Bool { randomBits(tokens(expression)[...]) >= 63 }

    /// The random bits of an expression's value, as far as it is put together of random ones without losing any.
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

    /// - Parameter tokens: what stands between two `||`.
    /// - Returns: `nil` where it is more than a literal, a call or brackets, so that another operator may take it apart.
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

    /// Functions that every SQLite has, and that give the same for the same.
    private static let functions: Set<String> = [
        "abs", "char", "coalesce", "date", "datetime", "glob", "hex", "ifnull", "iif", "instr", "julianday", "length",
        "like", "lower", "ltrim", "max", "min", "nullif", "printf", "quote", "replace", "round", "rtrim", "strftime",
        "substr", "time", "trim", "typeof", "unicode", "unixepoch", "upper", "zeroblob",
    ]

    /// Words of expressions that are no names of functions or columns, types in a CAST and collations.
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
