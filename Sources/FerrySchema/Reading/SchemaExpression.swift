import FerryCore
import FerrySQL

/// An expression of the app's schema in a form that any statement understands: that of an index's term or condition, or of a
/// generated column.
///
/// Such an expression names nothing but columns of its own table. SQLite takes two spellings there that do not mean the same in a
/// statement of Ferry's, or in a trigger that runs in the app:
///
/// - a column may have the name of its table before it (`WHERE item.deleted = 0`), which a statement may know by an alias only;
/// - a name in double quotes that no column has is a text (`WHERE state = "active"`), which a connection may refuse
///   (https://www.sqlite.org/quirks.html#dblquote).
package struct SchemaExpression {
    /// The statement's bytes, and where its tokens lie.
    package let bytes: [UInt8]
    package let ranges: [Range<Int>]
    /// The names of the table's columns, in lower case.
    package let columns: Set<String>

    private static let dot = UInt8(ascii: ".")
    private static let rowIDs: Set<String> = ["rowid", "oid", "_rowid_"]

    /// The text of some tokens, with what stands between them.
    package func text(_ places: Range<Int>) -> String {
        guard let first = places.first else { return "" }
        var text: [UInt8] = []
        var copied = ranges[first].lowerBound
        var place = first
        while place < places.upperBound {
            let start = ranges[place].lowerBound
            if isName(place) {
                let beginning = place
                while goesOn(behind: place, in: places) { place += 1 }
                text += bytes[copied..<start]
                text += place == beginning && isText(place, in: places) ? textLiteral(place) : lastName(place)
                copied = ranges[place].upperBound
            }
            place += 1
        }
        text += bytes[copied..<ranges[places.upperBound - 1].upperBound]
        return String(decoding: text, as: UTF8.self)
    }

    private func isDigit(_ byte: UInt8?) -> Bool { byte.map { (0x30...0x39).contains($0) } ?? false }

    /// Whether a token is a word or something quoted, and no number.
    private func isName(_ place: Int) -> Bool {
        let first = bytes[ranges[place].lowerBound]
        return first != Self.dot && !isDigit(first)
    }

    /// Whether a name goes on behind a token: a dot belongs to the word beside the dot, and stands alone between quoted names.
    private func goesOn(behind place: Int, in places: Range<Int>) -> Bool {
        guard place + 1 < places.upperBound else { return false }
        let following = bytes[ranges[place + 1]]
        return bytes[ranges[place]].last == Self.dot
            || following.first == Self.dot && !isDigit(following.dropFirst().first)
    }

    /// The name behind the last dot.
    private func lastName(_ place: Int) -> ArraySlice<UInt8> {
        let token = bytes[ranges[place]]
        let isQuoted = token.first.map { "'\"`[".utf8.contains($0) } ?? false
        guard !isQuoted, let last = token.lastIndex(of: Self.dot) else { return token }
        return token[(last + 1)...]
    }

    /// Whether a name in double quotes is a text: it is no column, and no name of a function, a collation or a type.
    private func isText(_ place: Int, in places: Range<Int>) -> Bool {
        guard bytes[ranges[place].lowerBound] == UInt8(ascii: "\"") else { return false }
        let name = foldedName(IndexText.unquoted(token(place)))
        if columns.contains(name) || Self.rowIDs.contains(name) { return false }
        if place + 1 < places.upperBound, token(place + 1) == "(" { return false }
        return place == places.lowerBound || !["collate", "as"].contains(foldedName(token(place - 1)))
    }

    private func textLiteral(_ place: Int) -> ArraySlice<UInt8> {
        Array(quotedText(IndexText.unquoted(token(place))).utf8)[...]
    }

    private func token(_ place: Int) -> String { String(decoding: bytes[ranges[place]], as: UTF8.self) }
}
