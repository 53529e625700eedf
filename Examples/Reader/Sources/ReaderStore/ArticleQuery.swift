import GRDB

/// Which articles to list, and how.
public struct ArticleQuery: Sendable, Hashable {
    public enum Sort: String, Sendable, CaseIterable, Codable {
        case newest, oldest, title
    }

    public enum Group: String, Sendable, CaseIterable, Codable {
        case none, day, feed
    }

    public var feed: Int64?
    public var category: String?
    public var unreadOnly = false
    public var starredOnly = false
    /// Words that title or text contain.
    public var search: String?
    public var sort = Sort.newest
    /// What divides the list; it comes before `sort`.
    public var group = Group.none
    public var limit: Int?

    public init() {}
}

/// An article in a list.
public struct ArticleLine: Codable, FetchableRecord, Sendable, Hashable, Identifiable {
    public var id: Int64
    public var mark: String
    public var title: String?
    public var feedID: Int64
    public var feed: String
    public var author: String?
    /// Seconds since the Unix epoch: when it was published, or else changed.
    public var time: Int64?
    public var isRead: Bool
    public var isStarred: Bool
    /// The day, `2026-11-22`, or the feed, as `ArticleQuery.group` says; empty otherwise.
    public var section: String
}

extension ArticleQuery {
    /// The list as SQL. Read and starred are asked of the key-value store's table of sets: it may be read like any other
    /// table, and written by `KeyValueStore` alone.
    public var request: SQLRequest<ArticleLine> {
        var (conditions, arguments) = conditions
        if conditions.isEmpty { conditions = ["1"] }
        var sql = """
            SELECT article.id, article.mark, article.title, feed.id AS feedID, coalesce(feed.title, feed.url) AS feed,
                author.name AS author, \(Self.time) AS time,
                \(Self.isMember("read")) AS isRead, \(Self.isMember("starred")) AS isStarred, \(section) AS section
            FROM article JOIN feed ON feed.id = article.feed LEFT JOIN author ON author.id = article.author
            WHERE \(conditions.joined(separator: " AND "))
            ORDER BY \(order)
            """
        if let limit {
            sql += " LIMIT ?"
            arguments.append(limit)
        }
        return SQLRequest(sql: sql, arguments: StatementArguments(arguments))
    }

    /// The marks of the articles in the list, in no order.
    var marks: SQLRequest<String> {
        let (conditions, arguments) = conditions
        let condition = conditions.isEmpty ? "1" : conditions.joined(separator: " AND ")
        return SQLRequest(
            sql: "SELECT article.mark FROM article WHERE \(condition)", arguments: StatementArguments(arguments))
    }

    private static let time = "coalesce(article.published, article.updated)"

    private static func isMember(_ set: String) -> String {
        "EXISTS(SELECT 1 FROM ferry_kv_member WHERE \"set\" = '\(set)' AND member = article.mark)"
    }

    private var conditions: ([String], [any DatabaseValueConvertible]) {
        var conditions: [String] = []
        var arguments: [any DatabaseValueConvertible] = []
        if let feed {
            conditions.append("article.feed = ?")
            arguments.append(feed)
        }
        if let category {
            conditions.append(
                """
                article.id IN (SELECT article FROM article_category JOIN category ON category.id = category
                WHERE category.name = ?)
                """)
            arguments.append(category)
        }
        if unreadOnly { conditions.append("NOT " + Self.isMember("read")) }
        if starredOnly { conditions.append(Self.isMember("starred")) }
        if let search, let pattern = SearchIndex.pattern(search) {
            conditions.append("article.id IN (SELECT rowid FROM article_search WHERE article_search MATCH ?)")
            arguments.append(pattern)
        }
        return (conditions, arguments)
    }

    private var section: String {
        switch group {
        case .none: "''"
        case .day: "coalesce(date(\(Self.time), 'unixepoch', 'localtime'), 'undated')"
        case .feed: "coalesce(feed.title, feed.url)"
        }
    }

    private var order: String {
        let newest = "time DESC, article.id DESC"
        let within =
            switch sort {
            case .newest: newest
            case .oldest: "time IS NULL, time, article.id"
            case .title: "article.title COLLATE NOCASE, \(newest)"
            }
        return switch group {
        case .none: within
        case .day: sort == .title ? "date(time, 'unixepoch', 'localtime') DESC, \(within)" : within
        case .feed: "feed.title COLLATE NOCASE, feed.id, \(within)"
        }
    }
}

extension Library {
    public func articles(_ query: ArticleQuery) throws -> [ArticleLine] {
        if query.search != nil { try indexForSearch() }
        return try pool.read { try query.request.fetchAll($0) }
    }

    /// Takes up articles that came since into the index, before a search.
    public func indexForSearch() throws { try SearchIndex.catchUp(pool) }
}
