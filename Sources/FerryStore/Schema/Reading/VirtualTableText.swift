import FerryCore

/// The parts of a `CREATE VIRTUAL TABLE` statement as `sqlite_schema` keeps it.
struct VirtualTableText {
    /// The module's name, in lower case.
    let module: String

    /// Modules that come with SQLite, and that do nothing but keep tables of their own, or read those.
    private static let knownModules: Set<String> = [
        "fts3", "fts4", "fts5", "fts4aux", "fts5vocab", "rtree", "rtree_i32", "geopoly",
    ]

    /// - Returns: `nil` where the statement makes something else.
    init?(_ sql: String) {
        let bytes = Array(sql.utf8)
        let words = IndexText.tokens(bytes).map { foldedName(String(decoding: bytes[$0], as: UTF8.self)) }
        guard words.count > 4, words[0] == "create", words[1] == "virtual", words[2] == "table" else { return nil }
        // Behind the table's name, which may be the word itself.
        guard let using = words.indices.dropFirst(4).first(where: { words[$0] == "using" }), using + 1 < words.count
        else { return nil }
        module = foldedName(IndexText.unquoted(words[using + 1]))
    }

    /// Whether the module may run on behalf of a schema that comes from outside.
    var isOfKnownModule: Bool { Self.knownModules.contains(module) }
}
