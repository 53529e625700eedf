import Ferry
import Foundation
import GRDB

/// Opens the app's database: an ordinary GRDB pool with ordinary migrations.
public func openContacts(
    at path: String, configuration: Configuration = Configuration()
) throws -> DatabasePool {
    let pool = try DatabasePool(path: path, configuration: configuration)
    var migrator = DatabaseMigrator()
    migrator.registerMigration("contacts") { try createContacts($0) }
    migrator.registerMigration("pictures") { try createPictures($0) }
    migrator.registerMigration("indexes") { try createIndexes($0) }
    migrator.registerMigration("keywords") { try createKeywords($0) }
    migrator.registerMigration("full text") { try createFullText($0) }
    migrator.registerMigration("counts") { try createCounts($0) }
    try migrator.migrate(pool)
    return pool
}

/// Puts the database into a container. Keywords and counts are made of the contacts by triggers, on every device for itself.
public func trackContacts(_ pool: DatabasePool, container: String, name: String, isFirst: Bool) throws -> Store {
    let store = Store(pool)
    store.willCommitReplay = mendCanonicalNames
    let selection = TableSelection(except: ["keyword", "groupCount"])
    if isFirst {
        // Contacts that are made of a seed are no secret.
        _ = try Replica.create(store, containerPath: container, sealing: .open, name: name, selection: selection)
    } else {
        _ = try Replica.join(store, containerPath: container, name: name)
    }
    return store
}

private func createContacts(_ database: Database) throws {
    try database.execute(
        sql: """
            CREATE TABLE contactGroup(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
            CREATE TABLE contact(
                id INTEGER PRIMARY KEY,
                firstName TEXT NOT NULL,
                lastName TEXT NOT NULL,
                city TEXT NOT NULL,
                birthYear INTEGER NOT NULL,
                groupID INTEGER REFERENCES contactGroup ON DELETE SET NULL,
                sortName TEXT NOT NULL);
            CREATE TABLE phone(
                id INTEGER PRIMARY KEY,
                contactID INTEGER NOT NULL REFERENCES contact ON DELETE CASCADE,
                number TEXT NOT NULL);
            CREATE TABLE email(
                id INTEGER PRIMARY KEY,
                contactID INTEGER NOT NULL REFERENCES contact ON DELETE CASCADE,
                address TEXT NOT NULL,
                domain TEXT GENERATED ALWAYS AS (substr(address, instr(address, '@') + 1)) VIRTUAL);
            """)
}

// snippet pictures
func createPictures(_ database: Database) throws {
    try database.execute(
        sql: """
            CREATE TABLE picture(
                contactID INTEGER PRIMARY KEY REFERENCES contact ON DELETE CASCADE,
                data BLOB NOT NULL)
            """)
}

func picture(of contact: Int64, _ database: Database) throws -> Data? {
    try Picture.fetchOne(database, key: contact)?.data
}
// end

// snippet indexes
func createIndexes(_ database: Database) throws {
    try database.execute(
        sql: """
            CREATE INDEX contact_list ON contact(sortName, id, firstName, lastName);
            CREATE INDEX contact_group ON contact(groupID, birthYear);
            CREATE INDEX phone_contact ON phone(contactID);
            CREATE INDEX email_contact ON email(contactID);
            CREATE INDEX email_address ON email(address);
            CREATE INDEX email_domain ON email(domain, contactID);
            """)
}

func email(_ address: String, _ database: Database) throws -> Email? {
    try Email.filter(Column("address") == address).fetchOne(database)
}

func plan(_ sql: String, _ database: Database) throws -> [String] {
    try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN " + sql).map { $0["detail"] }
}
// end

// snippet keywords
func createKeywords(_ database: Database) throws {
    try database.execute(
        sql: """
            CREATE TABLE keyword(
                word TEXT NOT NULL, contactID INTEGER NOT NULL, PRIMARY KEY (word, contactID)) WITHOUT ROWID;
            CREATE INDEX keyword_contact ON keyword(contactID);
            CREATE TRIGGER contact_inserted_words AFTER INSERT ON contact BEGIN
                INSERT OR IGNORE INTO keyword SELECT value, new.id
                    FROM json_each('[' || replace(json_quote(new.sortName), ' ', '","') || ']');
            END;
            CREATE TRIGGER contact_updated_words AFTER UPDATE OF id, sortName ON contact BEGIN
                DELETE FROM keyword WHERE contactID = old.id;
                INSERT OR IGNORE INTO keyword SELECT value, new.id
                    FROM json_each('[' || replace(json_quote(new.sortName), ' ', '","') || ']');
            END;
            CREATE TRIGGER contact_deleted_words AFTER DELETE ON contact BEGIN
                DELETE FROM keyword WHERE contactID = old.id;
            END;
            """)
}

func contacts(withWord prefix: String, _ database: Database) throws -> [Int64] {
    let prefix = canonical(prefix)
    return try Int64.fetchAll(
        database,
        sql: "SELECT DISTINCT contactID FROM keyword WHERE word >= ? AND word < ? ORDER BY contactID",
        arguments: [prefix, prefix + "\u{10FFFF}"])
}
// end

// snippet fulltext
func createFullText(_ database: Database) throws {
    try database.create(virtualTable: "contactText", using: FTS5()) { table in
        table.synchronize(withTable: "contact")
        table.tokenizer = .unicode61(diacritics: .remove)
        table.prefixes = [2, 3]
        table.column("firstName")
        table.column("lastName")
    }
}

func contacts(matching prefix: String, _ database: Database) throws -> [Int64] {
    let pattern = FTS5Pattern(matchingAllPrefixesIn: prefix)
    return try Int64.fetchAll(
        database, sql: "SELECT rowid FROM contactText WHERE contactText MATCH ? ORDER BY rowid", arguments: [pattern])
}
// end

// snippet counts
func createCounts(_ database: Database) throws {
    try database.execute(
        sql: """
            CREATE TABLE groupCount(groupID INTEGER PRIMARY KEY, contacts INTEGER NOT NULL);
            CREATE TRIGGER contact_inserted_count AFTER INSERT ON contact WHEN new.groupID IS NOT NULL BEGIN
                INSERT INTO groupCount VALUES (new.groupID, 1)
                    ON CONFLICT (groupID) DO UPDATE SET contacts = contacts + 1;
            END;
            CREATE TRIGGER contact_deleted_count AFTER DELETE ON contact WHEN old.groupID IS NOT NULL BEGIN
                UPDATE groupCount SET contacts = contacts - 1 WHERE groupID = old.groupID;
            END;
            CREATE TRIGGER contact_moved_count AFTER UPDATE OF groupID ON contact
            WHEN new.groupID IS NOT old.groupID BEGIN
                UPDATE groupCount SET contacts = contacts - 1 WHERE groupID = old.groupID;
                INSERT INTO groupCount SELECT new.groupID, 1 WHERE new.groupID IS NOT NULL
                    ON CONFLICT (groupID) DO UPDATE SET contacts = contacts + 1;
            END;
            """)
}

func groupCounts(_ database: Database) throws -> [Int64: Int] {
    let rows = try Row.fetchCursor(database, sql: "SELECT groupID, contacts FROM groupCount WHERE contacts > 0")
    return try Dictionary(uniqueKeysWithValues: rows.map { ($0[0], $0[1]) })
}
// end
