import Feeds
import Foundation
import GRDB

/// What this device knows of a feed's server; it never travels.
///
/// The validators, by which a server tells that nothing is new, are written once the feed was imported whole: an import
/// that was interrupted starts again from the feed, and spares what is there.
struct FetchRecord: Codable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "fetch"

    var url: String
    var etag: String?
    var lastModified: String?
    /// Not to be fetched before, because the server says so. Seconds since the Unix epoch, like the others.
    var notBefore: Int64?
    var failedAt: Int64?
    /// Why it failed last, in one line; nil since it went well.
    var problem: String?

    enum CodingKeys: String, CodingKey {
        case url, etag, problem
        case lastModified = "last_modified"
        case notBefore = "not_before"
        case failedAt = "failed_at"
    }

    init(url: String) { self.url = url }

    var validators: FeedValidators? {
        get { etag == nil && lastModified == nil ? nil : FeedValidators(etag: etag, lastModified: lastModified) }
        set { (etag, lastModified) = (newValue?.etag, newValue?.lastModified) }
    }
}

extension Library {
    /// What is known of a feed's server.
    /// - Returns: `articles`: whether there are any. Where there are none the validators are left out, since the articles
    ///   that came with them are gone.
    func fetchRecord(_ feed: Feed) throws -> FetchRecord {
        try pool.read { database in
            var record = try FetchRecord.fetchOne(database, key: feed.url) ?? FetchRecord(url: feed.url)
            let hasArticles = try Bool.fetchOne(
                database, sql: "SELECT EXISTS(SELECT 1 FROM article WHERE feed = ?)", arguments: [feed.id])
            if hasArticles != true { record.validators = nil }
            return record
        }
    }

    /// Notes it, unless the feed was removed meanwhile.
    func save(_ record: FetchRecord) throws {
        try pool.write { database in
            let isThere = try Bool.fetchOne(
                database, sql: "SELECT EXISTS(SELECT 1 FROM feed WHERE url = ?)", arguments: [record.url])
            if isThere == true { try record.save(database) }
        }
    }
}
