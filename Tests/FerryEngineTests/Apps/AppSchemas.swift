import FerryCore

/// Databases as known kinds of apps make them, with what people write on two devices at once. Written for these tests, in the
/// manner of the apps that they are named after.
struct AppSchema {
    var name: String
    var schema: String
    /// References that the schema does not declare.
    var references: [UndeclaredReference] = []
    /// What both devices have in the end, as queries that must give the same on all of them.
    var queries: [String]
    var laptop: String
    var phone: String

    static let all = [coreData, library, cards, references, django, rails, geography]

    /// Core Data: integer keys in every table, a table that counts the greatest of them, blobs of its own.
    static let coreData = AppSchema(
        name: "Core Data",
        schema: """
            CREATE TABLE ZNOTE ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZFOLDER INTEGER, ZCREATED TIMESTAMP,
                ZTITLE VARCHAR, ZBODY VARCHAR );
            CREATE TABLE ZFOLDER ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR );
            CREATE INDEX ZNOTE_ZFOLDER_INDEX ON ZNOTE (ZFOLDER);
            CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
            CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
            CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB);
            INSERT INTO Z_PRIMARYKEY VALUES (1, 'Folder', 0, 1), (2, 'Note', 0, 2);
            INSERT INTO ZFOLDER VALUES (1, 1, 1, 'Inbox');
            INSERT INTO ZNOTE VALUES (1, 2, 1, 1, 700000000.5, 'First', 'one'), (2, 2, 1, 1, 700000001.5, 'Second', 'two');
            """,
        references: [UndeclaredReference(table: "ZNOTE", column: "ZFOLDER", parent: "ZFOLDER")],
        queries: [
            "SELECT ZTITLE, ZBODY, ZOPT FROM (SELECT ZTITLE, ZBODY, Z_OPT AS ZOPT FROM ZNOTE) ORDER BY 1, 2",
            "SELECT ZNAME FROM ZFOLDER ORDER BY 1",
        ],
        laptop: """
            UPDATE Z_PRIMARYKEY SET Z_MAX = 3 WHERE Z_NAME = 'Note';
            INSERT INTO ZNOTE VALUES (3, 2, 1, 1, 700000002.5, 'Third, of the laptop', NULL);
            UPDATE ZNOTE SET ZTITLE = 'First, edited', Z_OPT = Z_OPT + 1 WHERE Z_PK = 1;
            """,
        phone: """
            UPDATE Z_PRIMARYKEY SET Z_MAX = 3 WHERE Z_NAME = 'Note';
            INSERT INTO ZNOTE VALUES (3, 2, 1, 1, 700000003.5, 'Third, of the phone', 'text');
            DELETE FROM ZNOTE WHERE Z_PK = 2;
            """)

    /// Calibre: references kept by triggers that refuse, collations in small letters, a sort key made by a trigger.
    static let library = AppSchema(
        name: "Calibre",
        schema: """
            CREATE TABLE books ( id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL DEFAULT 'Unknown' COLLATE NOCASE,
                sort TEXT COLLATE NOCASE, last_modified TIMESTAMP NOT NULL DEFAULT "2000-01-01 00:00:00+00:00");
            CREATE TABLE tags ( id INTEGER PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE, UNIQUE (name) );
            CREATE TABLE books_tags_link ( id INTEGER PRIMARY KEY, book INTEGER NOT NULL, tag INTEGER NOT NULL,
                UNIQUE(book, tag) );
            CREATE TRIGGER books_insert_trg AFTER INSERT ON books BEGIN
                UPDATE books SET sort = upper(NEW.title) WHERE id = NEW.id;
            END;
            CREATE TRIGGER fkc_insert BEFORE INSERT ON books_tags_link BEGIN
                SELECT CASE
                    WHEN (SELECT id FROM books WHERE id = NEW.book) IS NULL
                        THEN RAISE(ABORT, 'Foreign key violation: book not in books')
                    WHEN (SELECT id FROM tags WHERE id = NEW.tag) IS NULL
                        THEN RAISE(ABORT, 'Foreign key violation: tag not in tags')
                END;
            END;
            CREATE TRIGGER fkc_delete_on_tags BEFORE DELETE ON tags BEGIN
                SELECT CASE WHEN (SELECT count(id) FROM books_tags_link WHERE tag = OLD.id) > 0
                    THEN RAISE(ABORT, 'Foreign key violation: tags is still referenced') END;
            END;
            INSERT INTO books(title) VALUES ('Emma'), ('Ulysses');
            INSERT INTO tags(name) VALUES ('Novel');
            INSERT INTO books_tags_link(book, tag) VALUES (1, 1), (2, 1);
            """,
        references: [
            UndeclaredReference(table: "books_tags_link", column: "book", parent: "books"),
            UndeclaredReference(table: "books_tags_link", column: "tag", parent: "tags"),
        ],
        queries: [
            "SELECT title, sort FROM books ORDER BY 1", "SELECT lower(name) FROM tags ORDER BY 1",
            """
            SELECT title, lower(name) FROM books_tags_link l JOIN books b ON b.id = l.book JOIN tags t ON t.id = l.tag
            ORDER BY 1, 2
            """,
        ],
        laptop: """
            INSERT INTO books(title) VALUES ('Middlemarch');
            INSERT INTO tags(name) VALUES ('Classic');
            INSERT INTO books_tags_link(book, tag) SELECT 3, id FROM tags WHERE name = 'Classic';
            """,
        phone: """
            INSERT INTO books(title) VALUES ('Persuasion');
            INSERT INTO tags(name) VALUES ('classic');
            INSERT INTO books_tags_link(book, tag) SELECT 1, id FROM tags WHERE name = 'classic';
            UPDATE books SET title = 'Ulysses, annotated' WHERE id = 2;
            """)

    /// Anki: keys that are milliseconds, references that no schema declares, a row that counts.
    static let cards = AppSchema(
        name: "Anki",
        schema: """
            CREATE TABLE col (id integer primary key, crt integer not null, mod integer not null, conf text not null);
            CREATE TABLE notes (id integer primary key, guid text not null, mod integer not null, tags text not null,
                flds text not null, sfld integer not null, csum integer not null);
            CREATE TABLE cards (id integer primary key, nid integer not null, ord integer not null, due integer not null,
                ivl integer not null, reps integer not null);
            CREATE TABLE graves (oid integer not null, type integer not null, PRIMARY KEY (oid, type)) WITHOUT ROWID;
            CREATE INDEX ix_cards_nid on cards (nid);
            INSERT INTO col VALUES (1, 1500000000, 1500000001000, '{}');
            INSERT INTO notes VALUES (1500000002000, 'aB#;', 1500000002, ' greek ', 'alpha' || char(31) || 'a', 'alpha', 7);
            INSERT INTO cards VALUES (1500000002001, 1500000002000, 0, 10, 1, 0);
            """,
        references: [UndeclaredReference(table: "cards", column: "nid", parent: "notes")],
        queries: [
            "SELECT guid, tags, hex(flds), typeof(sfld) FROM notes ORDER BY 1",
            "SELECT due, ivl, reps FROM cards ORDER BY 1",
        ],
        laptop: """
            UPDATE cards SET due = 12, ivl = 2, reps = reps + 1 WHERE id = 1500000002001;
            UPDATE col SET mod = 1500000005000;
            """,
        phone: """
            INSERT INTO notes VALUES (1500000003000, 'cD$!', 1500000003, '', 'beta' || char(31) || 'b', 'beta', 8);
            INSERT INTO cards VALUES (1500000003001, 1500000003000, 0, 20, 0, 0);
            UPDATE notes SET tags = ' greek letters ' WHERE id = 1500000002000;
            """)

    /// Zotero: entity tables with values kept once, compound keys, foreign keys and triggers that refuse.
    static let references = AppSchema(
        name: "Zotero",
        schema: """
            CREATE TABLE items ( itemID INTEGER PRIMARY KEY, key TEXT NOT NULL, version INT NOT NULL DEFAULT 0, UNIQUE (key) );
            CREATE TABLE fields ( fieldID INTEGER PRIMARY KEY, fieldName TEXT );
            CREATE TABLE itemDataValues ( valueID INTEGER PRIMARY KEY, value UNIQUE );
            CREATE TABLE itemData ( itemID INT, fieldID INT, valueID INT NOT NULL, PRIMARY KEY (itemID, fieldID),
                FOREIGN KEY (itemID) REFERENCES items(itemID) ON DELETE CASCADE,
                FOREIGN KEY (fieldID) REFERENCES fields(fieldID),
                FOREIGN KEY (valueID) REFERENCES itemDataValues(valueID) );
            CREATE TABLE itemNotes ( itemID INTEGER PRIMARY KEY, parentItemID INT, note TEXT,
                FOREIGN KEY (itemID) REFERENCES items(itemID) ON DELETE CASCADE,
                FOREIGN KEY (parentItemID) REFERENCES items(itemID) ON DELETE CASCADE );
            CREATE TRIGGER fki_itemNotes BEFORE INSERT ON itemNotes
                FOR EACH ROW WHEN NEW.parentItemID IS NOT NULL BEGIN
                SELECT CASE WHEN NEW.parentItemID = NEW.itemID THEN RAISE(ABORT, 'an item is not its own parent') END;
            END;
            INSERT INTO fields VALUES (1, 'title'), (2, 'year');
            INSERT INTO items(key) VALUES ('ABCD2345');
            INSERT INTO itemDataValues(value) VALUES ('On the Origin'), (1859);
            INSERT INTO itemData VALUES (1, 1, 1), (1, 2, 2);
            """,
        queries: [
            """
            SELECT key, fieldName, value, typeof(value) FROM itemData JOIN items USING (itemID) JOIN fields USING (fieldID)
            JOIN itemDataValues USING (valueID) ORDER BY 1, 2
            """,
            "SELECT value FROM itemDataValues ORDER BY 1", "SELECT note FROM itemNotes ORDER BY 1",
        ],
        laptop: """
            INSERT INTO items(key) VALUES ('LAPTOP22');
            INSERT INTO itemDataValues(value) VALUES ('Emergence');
            INSERT INTO itemData SELECT 2, 1, valueID FROM itemDataValues WHERE value = 'Emergence';
            """,
        phone: """
            INSERT INTO items(key) VALUES ('PHONE333'), ('PHONE444');
            INSERT INTO itemDataValues(value) VALUES ('Emergence');
            INSERT INTO itemData SELECT 2, 1, valueID FROM itemDataValues WHERE value = 'Emergence';
            INSERT INTO itemNotes VALUES (3, 1, 'read again');
            """)

    /// Django: quoted names, deferred foreign keys, CHECKs on JSON, many-to-many tables.
    static let django = AppSchema(
        name: "Django",
        schema: """
            CREATE TABLE IF NOT EXISTS "django_migrations" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT,
                "app" varchar(255) NOT NULL, "name" varchar(255) NOT NULL, "applied" datetime NOT NULL);
            CREATE TABLE IF NOT EXISTS "blog_author" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT,
                "email" varchar(254) NOT NULL UNIQUE, "settings" text NOT NULL CHECK ((JSON_VALID("settings") OR "settings" IS NULL)));
            CREATE TABLE IF NOT EXISTS "blog_post" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT,
                "title" varchar(200) NOT NULL, "likes" integer unsigned NOT NULL CHECK ("likes" >= 0),
                "author_id" bigint NOT NULL REFERENCES "blog_author" ("id") DEFERRABLE INITIALLY DEFERRED);
            CREATE TABLE IF NOT EXISTS "blog_post_readers" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT,
                "post_id" bigint NOT NULL REFERENCES "blog_post" ("id") DEFERRABLE INITIALLY DEFERRED,
                "author_id" bigint NOT NULL REFERENCES "blog_author" ("id") DEFERRABLE INITIALLY DEFERRED);
            CREATE UNIQUE INDEX "blog_post_readers_uniq" ON "blog_post_readers" ("post_id", "author_id");
            CREATE INDEX "blog_post_author_id" ON "blog_post" ("author_id");
            INSERT INTO django_migrations(app, name, applied) VALUES ('blog', '0001_initial', '2026-01-01');
            INSERT INTO blog_author(email, settings) VALUES ('ada@example.org', '{"theme": "dark"}');
            INSERT INTO blog_post(title, likes, author_id) VALUES ('Hello', 0, 1);
            """,
        queries: [
            "SELECT email, settings FROM blog_author ORDER BY 1", "SELECT title, likes FROM blog_post ORDER BY 1",
            """
            SELECT title, email FROM blog_post_readers r JOIN blog_post p ON p.id = r.post_id
            JOIN blog_author a ON a.id = r.author_id ORDER BY 1, 2
            """,
        ],
        laptop: """
            INSERT INTO blog_author(email, settings) VALUES ('grace@example.org', '{}');
            INSERT INTO blog_post_readers(post_id, author_id) VALUES (1, 2);
            UPDATE blog_post SET title = 'Hello, world' WHERE id = 1;
            """,
        phone: """
            INSERT INTO blog_author(email, settings) VALUES ('grace@example.org', '[]');
            INSERT INTO blog_post_readers(post_id, author_id) VALUES (1, 2), (1, 1);
            UPDATE blog_post SET likes = 5 WHERE id = 1;
            """)

    /// Rails: types in words of its own, times as text, a polymorphic reference that no schema declares.
    static let rails = AppSchema(
        name: "Rails",
        schema: """
            CREATE TABLE "schema_migrations" ("version" varchar NOT NULL PRIMARY KEY);
            CREATE TABLE "ar_internal_metadata" ("key" varchar NOT NULL PRIMARY KEY, "value" varchar);
            CREATE TABLE "tasks" ("id" integer PRIMARY KEY AUTOINCREMENT NOT NULL, "title" varchar DEFAULT '' NOT NULL,
                "done" boolean DEFAULT 0, "list_id" integer, "created_at" datetime(6) NOT NULL,
                CONSTRAINT "fk_rails_1" FOREIGN KEY ("list_id") REFERENCES "lists" ("id") ON DELETE SET NULL);
            CREATE TABLE "lists" ("id" integer PRIMARY KEY AUTOINCREMENT NOT NULL, "name" varchar);
            CREATE TABLE "comments" ("id" integer PRIMARY KEY AUTOINCREMENT NOT NULL, "commentable_type" varchar,
                "commentable_id" integer, "body" text);
            CREATE UNIQUE INDEX "index_lists_on_lower_name" ON "lists" (lower(name));
            INSERT INTO schema_migrations VALUES ('20260101000000');
            INSERT INTO lists(name) VALUES ('Home');
            INSERT INTO tasks(title, list_id, created_at) VALUES ('Paint', 1, '2026-01-01 10:00:00.000000');
            INSERT INTO comments(commentable_type, commentable_id, body) VALUES ('Task', 1, 'blue');
            """,
        queries: [
            "SELECT title, done, name FROM tasks LEFT JOIN lists ON lists.id = list_id ORDER BY 1",
            "SELECT lower(name) FROM lists ORDER BY 1", "SELECT body FROM comments ORDER BY 1",
        ],
        laptop: """
            INSERT INTO lists(name) VALUES ('Work');
            INSERT INTO tasks(title, list_id, created_at) VALUES ('Plan', 2, '2026-01-02 10:00:00.000000');
            UPDATE tasks SET done = 1 WHERE id = 1;
            """,
        phone: """
            INSERT INTO lists(name) VALUES ('WORK');
            INSERT INTO tasks(title, list_id, created_at) VALUES ('Call', 2, '2026-01-02 11:00:00.000000');
            DELETE FROM lists WHERE name = 'Home';
            """)

    /// GeoPackage: blobs of geometry, a spatial index kept by triggers, a table that counts features.
    static let geography = AppSchema(
        name: "GeoPackage",
        schema: """
            CREATE TABLE gpkg_contents (table_name TEXT NOT NULL PRIMARY KEY, data_type TEXT NOT NULL, identifier TEXT UNIQUE,
                last_change DATETIME NOT NULL DEFAULT '2026-01-01T00:00:00.000Z');
            CREATE TABLE gpkg_ogr_contents(table_name TEXT NOT NULL PRIMARY KEY, feature_count INTEGER DEFAULT NULL);
            CREATE TABLE "points of interest" ( fid INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, x REAL, y REAL, name TEXT );
            CREATE VIRTUAL TABLE "rtree points" USING rtree(id, minx, maxx, miny, maxy);
            CREATE TRIGGER "rtree insert" AFTER INSERT ON "points of interest" BEGIN
                INSERT OR REPLACE INTO "rtree points" VALUES (NEW.fid, NEW.x, NEW.x, NEW.y, NEW.y);
            END;
            CREATE TRIGGER "rtree delete" AFTER DELETE ON "points of interest" BEGIN
                DELETE FROM "rtree points" WHERE id = OLD.fid;
            END;
            INSERT INTO gpkg_contents(table_name, data_type, identifier) VALUES ('points of interest', 'features', 'poi');
            INSERT INTO gpkg_ogr_contents VALUES ('points of interest', 2);
            INSERT INTO "points of interest"(x, y, name) VALUES (1.5, 2.5, 'Well'), (3.0, 4.0, 'Tree');
            """,
        queries: [
            "SELECT x, y, name FROM \"points of interest\" ORDER BY name",
            "SELECT count(*) FROM \"points of interest\" p JOIN \"rtree points\" r ON r.id = p.fid WHERE r.minx = p.x",
            "SELECT count(*) FROM \"rtree points\"",
        ],
        laptop: "INSERT INTO \"points of interest\"(x, y, name) VALUES (5.0, 6.0, 'Bridge');",
        phone: """
            INSERT INTO "points of interest"(x, y, name) VALUES (7.0, 8.0, 'Tower');
            DELETE FROM "points of interest" WHERE name = 'Tree';
            """)
}
