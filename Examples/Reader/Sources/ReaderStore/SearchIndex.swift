import Feeds
import GRDB

/// The index for searching: the plain text of articles, on each device for itself.
///
/// Triggers take an article out of it when it changes or goes, in whatever process. What is missing, be it because an
/// import or another device brought it, is put in by `catchUp`, which comes before every search.
enum SearchIndex {
    private static let batchSize = 500

    /// Puts in what is missing, in batches.
    static func catchUp(_ writer: any DatabaseWriter) throws {
        var isComplete = false
        while !isComplete { isComplete = try writer.write { try addSome($0) < batchSize } }
    }

    private static func addSome(_ database: Database) throws -> Int {
        let rows = try Row.fetchAll(
            database,
            sql: """
                SELECT id, title, summary, content FROM article
                WHERE id NOT IN (SELECT id FROM article_search_docsize) LIMIT ?
                """, arguments: [batchSize])
        for row in rows {
            let parts = [row["summary"] as String?, row["content"]].compactMap(\.self).map(HTMLText.plainText)
            try database.cachedStatement(sql: "INSERT INTO article_search(rowid, title, text) VALUES (?, ?, ?)")
                .execute(arguments: [row["id"], row["title"], parts.joined(separator: "\n")])
        }
        return rows.count
    }

    /// What a person typed as a query of FTS5: all words, the last one as the beginning of a word. nil where there is
    /// none.
    static func pattern(_ text: String) -> String? {
        let words = text.split { !($0.isLetter || $0.isNumber) }.map { "\"\($0)\"" }
        return words.isEmpty ? nil : words.joined(separator: " ") + "*"
    }
}
