import Foundation
import GRDB

/// A feed that is subscribed to, with its numbers of articles.
public struct Feed: Codable, FetchableRecord, Sendable, Hashable, Identifiable {
    public var id: Int64
    public var url: String
    public var title: String?
    public var site: String?
    public var folder: String?
    public var articles: Int
    public var unread: Int
    /// Why it could not be fetched last; nil if it could.
    public var problem: String?

    /// What to show.
    public var name: String { title ?? url }

    /// Feeds by folder and name. `ferry_kv_member` is the table of sets of Ferry's key-value store.
    static let sql = """
        SELECT feed.id, feed.url, feed.title, feed.site, feed.folder,
            count(article.id) AS articles, count(article.id) - count(member.member) AS unread, fetch.problem
        FROM feed
        LEFT JOIN article ON article.feed = feed.id
        LEFT JOIN ferry_kv_member AS member ON member."set" = 'read' AND member.member = article.mark
        LEFT JOIN fetch ON fetch.url = feed.url
        GROUP BY feed.id ORDER BY feed.folder COLLATE NOCASE, coalesce(feed.title, feed.url) COLLATE NOCASE, feed.id
        """

    /// For `LiveResults`.
    public static var request: SQLRequest<Feed> { SQLRequest(sql: sql) }
}

extension Library {
    public func feeds() throws -> [Feed] { try pool.read { try Feed.request.fetchAll($0) } }

    /// The feed that a person means: by its number, its address, or a part of its title or address that no other has.
    public func feed(_ word: String) throws -> Feed {
        let feeds = try feeds()
        if let feed = feeds.first(where: { $0.url == word || String($0.id) == word }) { return feed }
        let similar = feeds.filter { feed in
            feed.name.localizedCaseInsensitiveContains(word) || feed.url.localizedCaseInsensitiveContains(word)
        }
        if similar.count > 1 {
            let names = similar.prefix(5).map { "\($0.id) (\($0.name))" }.joined(separator: ", ")
            throw ReaderError(.usage, "“\(word)” may be several feeds; use the number of one: \(names)")
        }
        guard let feed = similar.first else { throw ReaderError.noFeed(word) }
        return feed
    }

    /// Subscribes to feeds; those that are subscribed to already stay as they are.
    /// - Returns: the numbers of the new ones.
    @discardableResult
    public func subscribe(_ entries: [OPMLDocument.Entry]) throws -> [Int64] {
        try pool.write { database in
            var added: [Int64] = []
            for entry in entries {
                try database.execute(
                    sql: """
                        INSERT INTO feed(url, title, site, folder, added) VALUES (?, ?, ?, ?, unixepoch())
                        ON CONFLICT(url) DO NOTHING
                        """, arguments: [entry.url, entry.title, entry.site, entry.folder])
                if database.changesCount > 0 { added.append(database.lastInsertedRowID) }
            }
            return added
        }
    }

    /// Ends a subscription, on all devices, and removes its articles.
    public func remove(_ feed: Feed) throws {
        try pool.write { try $0.execute(sql: "DELETE FROM feed WHERE id = ?", arguments: [feed.id]) }
    }

    /// All subscriptions, to be written to an OPML file.
    public func subscriptions() throws -> OPMLDocument {
        OPMLDocument(
            title: "Subscriptions",
            entries: try feeds().map { .init(url: $0.url, title: $0.title, site: $0.site, folder: $0.folder) })
    }
}
