import FerryCore

extension TestSchema {
    /// Integer keys, references by every action, UNIQUE, CHECK, NOT NULL, a self reference.
    static let library = TestSchema(
        name: "library",
        sql: """
            CREATE TABLE person(
                id INTEGER PRIMARY KEY, name TEXT, email TEXT UNIQUE, age INTEGER CHECK (age < 5),
                boss INTEGER REFERENCES person(id) ON DELETE SET NULL);
            CREATE TABLE album(
                id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL DEFAULT 'x',
                owner INTEGER REFERENCES person(id) ON DELETE CASCADE, UNIQUE(owner, title));
            CREATE TABLE song(
                id INTEGER PRIMARY KEY, album INTEGER NOT NULL REFERENCES album(id) ON DELETE RESTRICT, place INTEGER,
                writer INTEGER REFERENCES person(id), UNIQUE(album, place)) STRICT;
            """)

    /// Keys of values, compound keys with references, WITHOUT ROWID, NOCASE, ON UPDATE CASCADE, a generated column.
    static let tags = TestSchema(
        name: "tags",
        sql: """
            CREATE TABLE item(id INTEGER PRIMARY KEY, title TEXT, size INT, twice INT GENERATED ALWAYS AS (size * 2));
            CREATE TABLE tag(name TEXT PRIMARY KEY COLLATE NOCASE NOT NULL, color TEXT) WITHOUT ROWID;
            CREATE TABLE item_tag(
                item INTEGER NOT NULL REFERENCES item(id) ON DELETE CASCADE,
                tag TEXT NOT NULL COLLATE NOCASE REFERENCES tag(name) ON DELETE CASCADE ON UPDATE CASCADE,
                note, PRIMARY KEY (item, tag));
            CREATE TABLE remark(
                id INTEGER PRIMARY KEY, item INTEGER NOT NULL, tag TEXT COLLATE NOCASE NOT NULL, text,
                FOREIGN KEY (item, tag) REFERENCES item_tag(item, tag) ON DELETE CASCADE);
            """)

    /// A declared identity, by-value references to a UNIQUE column, SET DEFAULT, a partial UNIQUE index.
    static let catalogue = TestSchema(
        name: "catalogue",
        sql: """
            CREATE TABLE category(id INTEGER PRIMARY KEY, name TEXT, rank INTEGER);
            CREATE TABLE maker(id INTEGER PRIMARY KEY, code TEXT UNIQUE, country TEXT);
            CREATE TABLE status(code TEXT PRIMARY KEY NOT NULL, label TEXT);
            CREATE TABLE product(
                id INTEGER PRIMARY KEY, category INTEGER REFERENCES category(id) ON DELETE CASCADE,
                maker TEXT REFERENCES maker(code) ON DELETE SET NULL ON UPDATE CASCADE,
                status TEXT DEFAULT 'a' REFERENCES status(code) ON DELETE SET DEFAULT, price REAL, serial INTEGER);
            CREATE UNIQUE INDEX product_serial ON product(serial) WHERE price > 0.7;
            CREATE TABLE stock(
                product INTEGER PRIMARY KEY REFERENCES product(id) ON DELETE RESTRICT, amount INTEGER,
                maker TEXT REFERENCES maker(code));
            """, declared: ["category": ["name"]])

    /// References in a circle and to itself, by CASCADE and by RESTRICT; a CHECK over two columns.
    static let circles = TestSchema(
        name: "circles",
        sql: """
            CREATE TABLE node(
                id INTEGER PRIMARY KEY, parent INTEGER REFERENCES node(id) ON DELETE CASCADE, label TEXT,
                UNIQUE(parent, label));
            CREATE TABLE left(
                id INTEGER PRIMARY KEY, other INTEGER REFERENCES right(id) DEFERRABLE INITIALLY DEFERRED, x TEXT UNIQUE);
            CREATE TABLE right(
                id INTEGER PRIMARY KEY, other INTEGER REFERENCES left(id) DEFERRABLE INITIALLY DEFERRED,
                node INTEGER REFERENCES node(id) ON DELETE SET NULL);
            CREATE TABLE span(id INTEGER PRIMARY KEY, low INTEGER, high INTEGER, CHECK (low <= high));
            CREATE TABLE chain(name TEXT PRIMARY KEY NOT NULL, next TEXT REFERENCES chain(name), data ANY) STRICT;
            """)

    /// References that no foreign key declares: plain ones, to itself, in a key, below a declared one, to a declared
    /// identity, as the whole key.
    static let loose = TestSchema(
        name: "loose",
        sql: """
            CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE song(
                id INTEGER PRIMARY KEY CHECK (id > 0), album INTEGER NOT NULL DEFAULT 0, folder INTEGER,
                writer INTEGER REFERENCES artist(id) ON DELETE SET NULL, title TEXT UNIQUE);
            CREATE TABLE album(id INTEGER PRIMARY KEY, artist INTEGER, title TEXT UNIQUE);
            CREATE TABLE folder(id INTEGER PRIMARY KEY AUTOINCREMENT, parent INTEGER, label TEXT);
            CREATE TABLE tag(id INTEGER PRIMARY KEY CHECK (id > 0), name TEXT);
            CREATE TABLE song_tag(song INTEGER NOT NULL, tag INTEGER NOT NULL, note, PRIMARY KEY (song, tag));
            CREATE TABLE remark(
                id INTEGER PRIMARY KEY, song INTEGER NOT NULL, tag INTEGER NOT NULL, text,
                FOREIGN KEY (song, tag) REFERENCES song_tag(song, tag) ON DELETE CASCADE);
            CREATE TABLE cover(song INTEGER PRIMARY KEY, place INTEGER);
            """, declared: ["tag": ["name"]],
        references: [
            UndeclaredReference(table: "album", column: "artist", parent: "artist"),
            UndeclaredReference(table: "song", column: "album", parent: "album"),
            UndeclaredReference(table: "song", column: "folder", parent: "folder"),
            UndeclaredReference(table: "folder", column: "parent", parent: "folder"),
            UndeclaredReference(table: "song_tag", column: "song", parent: "song"),
            UndeclaredReference(table: "song_tag", column: "tag", parent: "tag"),
            UndeclaredReference(table: "cover", column: "song", parent: "song"),
        ])

    static let all = [library, tags, catalogue, circles, loose]
}
