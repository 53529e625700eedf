import FerryCore

/// The parts of a `CREATE VIRTUAL TABLE` statement as stored in `sqlite_schema`.
package struct VirtualTableText {
    /// The module's name, in lower case.
    package let module: String

    /// Modules shipped with SQLite. They only read and write their own tables.
    private static let knownModules: Set<String> = [
        "fts3", "fts4", "fts5", "fts4aux", "fts5vocab", "rtree", "rtree_i32", "geopoly",
    ]

    /// - Returns: `nil` for any different statement.
    package init?(_ sql: String) {
        let bytes = Array(sql.utf8)
        let words = IndexText.tokens(bytes).map { foldedName(String(decoding: bytes[$0], as: UTF8.self)) }
        guard words.count > 4, words[0] == "create", words[1] == "virtual", words[2] == "table" else { return nil }
        // The search starts behind the table's name, since a table may be named `using`.
        guard let using = words.indices.dropFirst(4).first(where: { words[$0] == "using" }), using + 1 < words.count
        else { return nil }
        module = foldedName(IndexText.unquoted(words[using + 1]))
    }

    /// True if the module may run for a schema from outside.
    package var isOfKnownModule: Bool { Self.knownModules.contains(module) }
}
