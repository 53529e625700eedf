import Feeds
import GRDB

/// An article in full.
public struct Article: Codable, FetchableRecord, Sendable, Hashable {
    public var id: Int64
    public var mark: String
    public var title: String?
    public var link: String?
    public var feed: String
    public var author: String?
    public var published: Int64?
    public var updated: Int64?
    /// HTML, as the feed has it.
    public var html: String?
    /// `ArticleExtras` as JSON.
    public var extensions: String?
    public var isRead: Bool
    public var isStarred: Bool
    /// By name, separated by commas.
    public var categories: String?

    /// The article without markup.
    public var text: String { html.map(HTMLText.plainText) ?? "" }

    /// Files that belong to it, such as a podcast's episode.
    public func enclosures() throws -> [ParsedEnclosure] {
        try extensions.map { try ArticleExtras(json: $0) }?.enclosures ?? []
    }
}

extension Library {
    /// - Throws: `nothingFound`.
    public func article(_ id: Int64) throws -> Article {
        let article = try pool.read { database in
            try Article.fetchOne(
                database,
                sql: """
                    SELECT article.id, article.mark, article.title, article.link, coalesce(feed.title, feed.url) AS feed,
                        author.name AS author, article.published, article.updated,
                        coalesce(article.content, article.summary) AS html, article.extensions,
                        EXISTS(SELECT 1 FROM ferry_kv_member WHERE "set" = 'read' AND member = article.mark) AS isRead,
                        EXISTS(SELECT 1 FROM ferry_kv_member
                            WHERE "set" = 'starred' AND member = article.mark) AS isStarred,
                        (SELECT group_concat(name, ', ') FROM (SELECT category.name FROM article_category
                            JOIN category ON category.id = category WHERE article = article.id
                            ORDER BY category.name)) AS categories
                    FROM article JOIN feed ON feed.id = article.feed LEFT JOIN author ON author.id = article.author
                    WHERE article.id = ?
                    """, arguments: [id])
        }
        guard let article else { throw ReaderError.noArticle(id) }
        return article
    }

    /// The marks of articles by their numbers on this device.
    /// - Throws: `nothingFound` where one is missing.
    func marks(_ ids: [Int64]) throws -> [String] {
        try pool.read { database in
            try ids.map { id in
                let mark = try String.fetchOne(database, sql: "SELECT mark FROM article WHERE id = ?", arguments: [id])
                guard let mark else { throw ReaderError.noArticle(id) }
                return mark
            }
        }
    }
}
