/// A name with its ASCII letters in lower case: SQLite takes names with the same one for the same name, and no others.
package func foldedName(_ name: String) -> String {
    String(decoding: name.utf8.map { (0x41...0x5a).contains($0) ? $0 + 0x20 : $0 }, as: UTF8.self)
}

/// Whether SQLite takes two names for the same.
package func equalNames(_ left: String, _ right: String) -> Bool { foldedName(left) == foldedName(right) }

/// Whether a table, index or trigger is Ferry's own, be it one that travels: an app's name never begins like that.
package func isFerryName(_ name: String) -> Bool { foldedName(name).hasPrefix("ferry_") }
