/// A travelling table that only the app's process can write to.
package struct TableOfTheApp: Codable, Equatable, Sendable {
    /// The name of the table.
    package var table: String
    /// The missing part, in SQLite's words: `no such collation sequence: unicase`.
    package var missing: String

    package init(table: String, missing: String) {
        self.table = table
        self.missing = missing
    }
}
