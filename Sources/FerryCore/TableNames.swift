/// What a name is looked up by: SQLite takes two names for the same name if and only if these keys are equal.
///
/// SQLite compares bytes, and folds ASCII letters. Swift compares texts by canonical equivalence: a composed and a decomposed
/// `é` are equal there, and one entry of a dictionary. So a key has ASCII alone (`exactKey`), with letters in lower case.
///
/// Keys stay in memory, and in JSON of Ferry's own tables. What is hashed, sent or shown, and what SQLite is asked for, is
/// `foldedText`. A key stands for its name in all functions of this file.
package func foldedName(_ name: String) -> String {
    // Most names are in lower case.
    if !name.utf8.contains(where: { $0 >= 0x80 || isCapital($0) }) { return name }
    return String(decoding: escaped(name, folding: true), as: UTF8.self)
}

/// What a text is looked up by whose letters count: two texts have the same bytes if and only if these keys are equal.
///
/// A key has ASCII alone: a byte of another letter becomes `escape`, and two hexadecimal digits. The order of keys is the order
/// of bytes. No name has a NUL, and `escape` has one. So no key is the key of another name, and the key of a key is the key.
package func exactKey(_ text: String) -> String {
    // ASCII alone has as many bytes as UTF-16 units. A text knows whether it is ASCII, so nothing is searched.
    if text.utf8.count == text.utf16.count { return text }
    return String(decoding: escaped(text, folding: false), as: UTF8.self)
}

/// The text of a key (`exactKey`). Any other text stays.
package func plainText(_ key: String) -> String {
    if !key.utf8.contains(0) { return key }
    let bytes = Array(key.utf8)
    var text: [UInt8] = []
    text.reserveCapacity(bytes.count)
    var place = 0
    while place < bytes.count {
        if place + 3 < bytes.count, bytes[place] == escape[0], bytes[place + 1] == escape[1],
            let high = digit(bytes[place + 2]), let low = digit(bytes[place + 3])
        {
            text.append(high << 4 | low)
            place += 4
        } else {
            text.append(bytes[place])
            place += 1
        }
    }
    return String(decoding: text, as: UTF8.self)
}

/// A name with its ASCII letters in lower case, and otherwise its bytes: as Ferry hashes and sends names, and as SQLite's
/// `lower` folds them. Two of them may be equal to Swift and differ in bytes: they are no keys.
package func foldedText(_ name: String) -> String {
    if !name.utf8.contains(where: { $0 == 0 || isCapital($0) }) { return name }
    return String(decoding: plainText(name).utf8.map(folded), as: UTF8.self)
}

/// True if SQLite takes two names for the same.
package func equalNames(_ left: String, _ right: String) -> Bool {
    let (count, other) = (left.utf8.count, right.utf8.count)
    if count == other { return zip(left.utf8, right.utf8).allSatisfy { folded($0) == folded($1) } }
    // A name and its key: each escaped byte makes the key longer by three.
    let (longer, difference) = count > other ? (left, count - other) : (right, other - count)
    guard difference % 3 == 0, longer.utf8.contains(0) else { return false }
    return foldedName(left) == foldedName(right)
}

/// True if two texts have the same bytes. To Swift texts are equal, too, that differ in the form of Unicode.
@inlinable package func equalBytes(_ left: String, _ right: String) -> Bool {
    // Texts of the same bytes are equal to Swift. Of ASCII, which nearly all names are, the reverse holds: `exactKey`.
    guard left.utf8.count == right.utf8.count, left == right else { return false }
    return left.utf8.count == left.utf16.count || left.utf8.elementsEqual(right.utf8)
}

/// The order of texts that Ferry hashes or sends one after the other: Swift's, and by bytes where Swift takes two for the same.
package func textOrder(_ left: String, _ right: String) -> Bool {
    left == right ? left.utf8.lexicographicallyPrecedes(right.utf8) : left < right
}

extension Dictionary where Key == String {
    /// The same by keys (`foldedName`): an earlier Ferry wrote folded names into its tables.
    package var byNameKeys: [String: Value] {
        if keys.allSatisfy({ foldedName($0) == $0 }) { return self }
        return Dictionary(map { (foldedName($0), $1) }) { first, _ in first }
    }

    /// The same by exact keys (`exactKey`): an earlier Ferry wrote the names themselves into its tables.
    package var byExactKeys: [String: Value] {
        if keys.allSatisfy({ exactKey($0) == $0 }) { return self }
        return Dictionary(map { (exactKey($0), $1) }) { first, _ in first }
    }
}

/// The last ASCII character, which sorts behind every other one, and a NUL, which no name has.
private let escape: [UInt8] = [0x7f, 0]

private func escaped(_ text: String, folding: Bool) -> [UInt8] {
    var key: [UInt8] = []
    key.reserveCapacity(text.utf8.count * 2)
    for byte in text.utf8 {
        if byte < 0x80 {
            key.append(folding ? folded(byte) : byte)
        } else {
            key += [escape[0], escape[1], hexadecimal(byte >> 4), hexadecimal(byte & 0xf)]
        }
    }
    return key
}

private func isCapital(_ byte: UInt8) -> Bool { (0x41...0x5a).contains(byte) }

private func folded(_ byte: UInt8) -> UInt8 { isCapital(byte) ? byte + 0x20 : byte }

private func hexadecimal(_ digit: UInt8) -> UInt8 { digit < 10 ? 0x30 + digit : 0x57 + digit }

private func digit(_ character: UInt8) -> UInt8? {
    switch character {
    case 0x30...0x39: character - 0x30
    case 0x61...0x66: character - 0x57
    default: nil
    }
}

/// True if a table, index or trigger is Ferry's own, travelling or not: an app's name never begins like this.
package func isFerryName(_ name: String) -> Bool { foldedName(name).hasPrefix("ferry_") }
