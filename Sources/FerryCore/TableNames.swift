/// A name with its ASCII letters in lower case: SQLite takes two names for the same name if and only if these are
/// equal.
package func foldedName(_ name: String) -> String {
    // Most names are in lower case.
    if !name.utf8.contains(where: isCapital) { return name }
    return String(decoding: name.utf8.map(folded), as: UTF8.self)
}

/// True if SQLite takes two names for the same.
package func equalNames(_ left: String, _ right: String) -> Bool {
    left.utf8.count == right.utf8.count && zip(left.utf8, right.utf8).allSatisfy { folded($0) == folded($1) }
}

private func isCapital(_ byte: UInt8) -> Bool { (0x41...0x5a).contains(byte) }

private func folded(_ byte: UInt8) -> UInt8 { isCapital(byte) ? byte + 0x20 : byte }

/// True if a table, index or trigger is Ferry's own, travelling or not: an app's name never begins like this.
package func isFerryName(_ name: String) -> Bool { foldedName(name).hasPrefix("ferry_") }
