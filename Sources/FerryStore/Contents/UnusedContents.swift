import FerryContent
import FerryCore
import FerrySQL
import FerrySchema

/// Since when nothing uses a content on this device: the owner of `ferry_content_unused`.
struct UnusedContents {
    private let connection: SQLConnection

    /// - Parameter connection: of a store that has the tables (`DocumentTables`), in a writing transaction.
    init(_ connection: SQLConnection) { self.connection = connection }

    /// Takes in what nothing uses now.
    /// - Parameter unused: living contents that nothing uses.
    /// - Returns: what the look finds; contents to delete stay noted until their row is gone.
    func look(
        _ unused: Set<ContentID>, nowMilliseconds: Int64, unusedMilliseconds: Int64
    ) throws -> ContentCollection.Look {
        try connection.executeScript(DocumentTables.createUnused)
        var since: [ContentID: Int64] = [:]
        try connection.forEachRow("SELECT content, since FROM ferry_content_unused") { row in
            if let id: ContentID = row.id(0) { since[id] = row.integer(1) }
        }
        let look = ContentCollection.look(
            at: unused.union(since.keys), since: { since[$0] }, nowMilliseconds: nowMilliseconds,
            unusedMilliseconds: unusedMilliseconds, isUsed: { !unused.contains($0) })
        for content in look.unused.sorted() {
            try connection.execute(
                "INSERT OR IGNORE INTO ferry_content_unused(content, since) VALUES (?, ?)", .blob(content.bytes[...]),
                .integer(nowMilliseconds))
        }
        // What is used again, and what has no row any more.
        for content in look.usedAgain {
            try connection.execute("DELETE FROM ferry_content_unused WHERE content = ?", .blob(content.bytes[...]))
        }
        return look
    }
}
