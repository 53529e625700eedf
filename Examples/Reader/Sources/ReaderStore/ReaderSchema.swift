import GRDB

/// The tables of the reader: an ordinary GRDB schema. Nothing in this file knows of Ferry.
///
/// | table | travels |
/// | --- | --- |
/// | `feed` | always |
/// | `kept` | always: files of articles that a person keeps; their bytes are attachments |
/// | `article`, `author`, `category`, `article_category` | if the reader was set up with `--articles` |
/// | `fetch`, `article_search` | never: what this device knows of servers, and its index for searching |
///
/// Read and starred articles are no column: they are sets of marks (`ArticleMark`) in Ferry's key-value store, so that they
/// travel whether articles do or not, and before a device has fetched the article.
enum ReaderSchema {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("reader") { try $0.execute(sql: tables) }
        migrator.registerMigration("kept files") { try $0.execute(sql: keptFiles) }
        return migrator
    }

    /// Times are seconds since the Unix epoch. `extensions` is `ArticleExtras` as JSON.
    private static let tables = """
        CREATE TABLE feed(
            id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, title TEXT, site TEXT, folder TEXT, added INTEGER NOT NULL);
        CREATE TABLE author(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
        CREATE TABLE category(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE COLLATE NOCASE);
        CREATE TABLE article(
            id INTEGER PRIMARY KEY, feed INTEGER NOT NULL REFERENCES feed(id) ON DELETE CASCADE,
            guid TEXT NOT NULL, mark TEXT NOT NULL, link TEXT, title TEXT,
            author INTEGER REFERENCES author(id) ON DELETE SET NULL,
            published INTEGER, updated INTEGER, summary TEXT, content TEXT, extensions TEXT, UNIQUE(feed, guid));
        CREATE INDEX article_mark ON article(mark);
        CREATE INDEX article_author ON article(author);
        CREATE TABLE article_category(
            article INTEGER NOT NULL REFERENCES article(id) ON DELETE CASCADE,
            category INTEGER NOT NULL REFERENCES category(id) ON DELETE CASCADE, PRIMARY KEY(article, category));
        CREATE INDEX article_category_category ON article_category(category);

        -- What other devices know nothing of. Where one of them removes a feed, its rows go here as ON DELETE says; so do
        -- articles, where they stay on the device.
        CREATE TABLE fetch(
            url TEXT PRIMARY KEY REFERENCES feed(url) ON DELETE CASCADE ON UPDATE CASCADE, etag TEXT, last_modified TEXT,
            not_before INTEGER, failed_at INTEGER, problem TEXT);
        -- Plain text, which triggers cannot make from HTML: they take articles out, and SearchIndex puts them in again.
        CREATE VIRTUAL TABLE article_search USING fts5(title, text, tokenize = 'unicode61 remove_diacritics 2');
        CREATE TRIGGER article_leaves_search AFTER DELETE ON article BEGIN
            DELETE FROM article_search WHERE rowid = OLD.id;
        END;
        CREATE TRIGGER article_changes_search AFTER UPDATE OF id, title, summary, content ON article BEGIN
            DELETE FROM article_search WHERE rowid = OLD.id;
        END;
        """

    /// `content` is the ID of an attachment. An article is told by its mark, because articles may stay on their device.
    private static let keptFiles = """
        CREATE TABLE kept(
            mark TEXT NOT NULL, url TEXT NOT NULL, name TEXT NOT NULL, bytes INTEGER NOT NULL, content BLOB NOT NULL,
            PRIMARY KEY(mark, url)) WITHOUT ROWID;
        """

    /// What travels where articles do not.
    static let alwaysTravelling = ["feed", "kept"]
    /// What travels besides where they do.
    static let articleTables = ["article", "author", "category", "article_category"]
    /// By what rows of different devices are known to be the same.
    static let identities = [
        "feed": ["url"], "article": ["feed", "guid"], "author": ["name"], "category": ["name"],
    ]
}
