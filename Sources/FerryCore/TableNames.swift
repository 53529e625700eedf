/// A name with its ASCII letters in lower case: SQLite takes names with the same one for the same name, and no others.
package func foldedName(_ name: String) -> String {
    // Most names are in lower case.
    if !name.utf8.contains(where: isCapital) { return name }
    return String(decoding: name.utf8.map(folded), as: UTF8.self)
}

/// Whether SQLite takes two names for the same.
package func equalNames(_ left: String, _ right: String) -> Bool {
    left.utf8.count == right.utf8.count && zip(left.utf8, right.utf8).allSatisfy { folded($0) == folded($1) }
}

private func isCapital(_ byte: UInt8) -> Bool { (0x41...0x5a).contains(byte) }

private func folded(_ byte: UInt8) -> UInt8 { isCapital(byte) ? byte + 0x20 : byte }

/// Whether a table, index or trigger is Ferry's own, be it one that travels: an app's name never begins like that.
package func isFerryName(_ name: String) -> Bool { foldedName(name).hasPrefix("ferry_") }
