import Feeds
import Foundation
import GRDB

/// What an import did so far.
public struct ImportCounts: Sendable, Hashable, Codable {
    public var new = 0
    public var changed = 0
    public var unchanged = 0

    public init() {}

    public var all: Int { new + changed + unchanged }
}

/// Puts the articles of one feed into the database while the feed is read, in transactions of some hundred articles.
///
/// What was committed stays, whatever comes after. An article that is there already is updated, and written only if
/// something is different. Of articles with the same GUID in one document the first counts, which is the newer one.
/// In memory there is one batch, and one integer for each article so far.
final class ArticleImporter {
    static let batchSize = 300

    private let connection: ImportConnection
    private let feedURL: String
    /// The articles that this import wrote or found, by number: a GUID counts once in a feed, on whichever page.
    private var seen: Set<Int64> = []
    private var batch: [ParsedArticle] = []
    private(set) var counts = ImportCounts()

    init(_ connection: ImportConnection, feedURL: String) {
        self.connection = connection
        self.feedURL = feedURL
    }

    /// Takes an article, and writes the batch when it is full.
    /// - Throws: `nothingFound` where the feed was removed meanwhile.
    func add(_ article: ParsedArticle) throws {
        batch.append(article)
        if batch.count >= Self.batchSize { try flush() }
    }

    /// Writes what is left.
    func flush() throws {
        if batch.isEmpty { return }
        let articles = batch
        batch.removeAll(keepingCapacity: true)
        (counts, seen) = try connection.write { database, connection in
            var (counts, seen) = (counts, seen)
            let feed = try requireFeed(database)
            for article in articles {
                switch try ArticleWriter(database, connection, feed: feed, url: feedURL).write(article, &seen) {
                case .new: counts.new += 1
                case .changed: counts.changed += 1
                case .unchanged: counts.unchanged += 1
                case .repeated: break
                }
            }
            return (counts, seen)
        }
    }

    /// Gives the feed the title and site that it says it has, where it has none yet: a title travels, and one that a person
    /// chose stays.
    func describe(_ feed: ParsedFeed) throws {
        try connection.write { database, _ in
            try database.execute(
                sql: """
                    UPDATE feed SET title = coalesce(title, ?1), site = coalesce(site, ?2) WHERE url = ?3
                    AND (title IS NULL AND ?1 IS NOT NULL OR site IS NULL AND ?2 IS NOT NULL)
                    """, arguments: [feed.title, feed.link, feedURL])
        }
    }

    private func requireFeed(_ database: Database) throws -> Int64 {
        let find = try database.cachedStatement(sql: "SELECT id FROM feed WHERE url = ?")
        guard let id = try Int64.fetchOne(find, arguments: [feedURL]) else {
            throw ReaderError(.nothingFound, "the feed \(feedURL) was removed while it was being read")
        }
        return id
    }
}

/// Writes articles within one transaction.
private struct ArticleWriter {
    enum Outcome { case new, changed, unchanged, repeated }

    let database: Database
    let connection: ImportConnection
    let feed: Int64
    let url: String

    init(_ database: Database, _ connection: ImportConnection, feed: Int64, url: String) {
        self.database = database
        self.connection = connection
        self.feed = feed
        self.url = url
    }

    /// - Parameter seen: the articles that this import wrote or found already.
    func write(_ article: ParsedArticle, _ seen: inout Set<Int64>) throws -> Outcome {
        let find = try database.cachedStatement(sql: "SELECT id FROM article WHERE feed = ? AND guid = ?")
        let known = try Int64.fetchOne(find, arguments: [feed, article.guid])
        if let known, !seen.insert(known).inserted { return .repeated }
        let values = try values(of: article)
        let id: Int64
        var outcome = Outcome.new
        if let known {
            id = known
            outcome = try update(id, values) ? .changed : .unchanged
        } else {
            id = try insert(article.guid, values)
            seen.insert(id)
        }
        if try setCategories(article.categories, of: id), outcome == .unchanged { outcome = .changed }
        return outcome
    }

    private static let columns = [
        "link", "title", "author", "published", "updated", "summary", "content", "extensions",
    ]

    private func values(of article: ParsedArticle) throws -> [(any DatabaseValueConvertible)?] {
        let author = try article.authorNames.first { !$0.isEmpty }.map { try connection.author($0, in: database) }
        return [
            article.link, article.title, author, article.published.map(Self.seconds), article.updated.map(Self.seconds),
            article.summary, article.content, try ArticleExtras(article).json(),
        ]
    }

    private static func seconds(_ date: Date) -> Int64 { Int64(date.timeIntervalSince1970.rounded(.down)) }

    private func insert(_ guid: String, _ values: [(any DatabaseValueConvertible)?]) throws -> Int64 {
        let names = Self.columns.joined(separator: ", ")
        let marks = Self.columns.map { _ in ", ?" }.joined()
        let mark = ArticleMark.mark(feed: url, guid: guid)
        try database.cachedStatement(
            sql: "INSERT INTO article(feed, guid, mark, \(names)) VALUES (?, ?, ?\(marks))"
        ).execute(arguments: StatementArguments([feed, guid, mark] + values))
        return database.lastInsertedRowID
    }

    /// - Returns: whether anything was different. What is the same is not written, so it does not travel either.
    private func update(_ id: Int64, _ values: [(any DatabaseValueConvertible)?]) throws -> Bool {
        let settings = Self.columns.enumerated().map { "\($1) = ?\($0 + 2)" }.joined(separator: ", ")
        let differs = Self.columns.enumerated().map { "\($1) IS NOT ?\($0 + 2)" }.joined(separator: " OR ")
        try database.cachedStatement(sql: "UPDATE article SET \(settings) WHERE id = ?1 AND (\(differs))")
            .execute(arguments: StatementArguments([id] + values))
        return database.changesCount > 0
    }

    private func setCategories(_ parsed: [ParsedCategory], of article: Int64) throws -> Bool {
        var wanted: Set<Int64> = []
        for category in parsed {
            let name = category.label ?? category.term
            if !name.isEmpty { wanted.insert(try connection.category(name, in: database)) }
        }
        let find = try database.cachedStatement(sql: "SELECT category FROM article_category WHERE article = ?")
        let present = try Set(Int64.fetchAll(find, arguments: [article]))
        for category in present.subtracting(wanted) {
            try database.cachedStatement(sql: "DELETE FROM article_category WHERE article = ? AND category = ?")
                .execute(arguments: [article, category])
        }
        for category in wanted.subtracting(present).sorted() {
            try database.cachedStatement(sql: "INSERT INTO article_category(article, category) VALUES (?, ?)")
                .execute(arguments: [article, category])
        }
        return wanted != present
    }
}
