import FerryCore

/// Tells integer keys that a CHECK constraint holds to given integers, as in `settings(id INTEGER PRIMARY KEY CHECK (id = 1))`.
///
/// Such an integer means the same on every device: the only row of the table, or one of a few. No device may choose another integer, so the
/// key's value identifies the row.
enum PinnedKey {
    /// True for a table whose integer key a CHECK constraint pins.
    static func isThere(in table: SchemaTable) -> Bool {
        guard table.isIntegerKey, let key = table.primaryKey.first else { return false }
        return table.checks.contains { pins($0, key) }
    }

    /// The largest integer of a range that counts as given: whoever numbers rows freely is held to larger ones.
    private static let maximum: Int64 = 1_000

    /// True if a condition, or a part of it joined by AND, has one of the forms `id = 1`, `1 = id`, `id IS 1`, `id IN (1, 2)`,
    /// `id BETWEEN 1 AND 7`, `id <= 7` and `id < 8`.
    static func pins(_ condition: String, _ key: String) -> Bool {
        let bytes = Array(condition.utf8)
        let tokens = IndexText.tokens(bytes).map { range -> String in
            let token = String(decoding: bytes[range], as: UTF8.self)
            return token.first != "'" && equalNames(IndexText.unquoted(token), key) ? name : foldedName(token)
        }
        if !Set(tokens).isDisjoint(with: ["or", "not", "case"]) { return false }
        func number(_ place: Int) -> Int64? { tokens.indices.contains(place) ? Int64(tokens[place]) : nil }
        func isSmall(_ place: Int) -> Bool { number(place).map { $0 <= maximum } ?? false }
        return tokens.indices.contains { place in
            guard tokens[place] == name else { return false }
            if place >= 2, ["=", "=="].contains(tokens[place - 1]), number(place - 2) != nil { return true }
            guard place + 1 < tokens.count else { return false }
            switch tokens[place + 1] {
            case "=", "==", "is": return number(place + 2) != nil
            case "<", "<=": return isSmall(place + 2)
            case "in": return tokens.indices.contains(place + 2) && tokens[place + 2] == "(" && number(place + 3) != nil
            case "between": return isSmall(place + 4)
            default: return false
            }
        }
    }

    /// Stands for the key among tokens, whatever its spelling.
    private static let name = "\u{0}"
}
