extension TestSchema {
    /// Schemas whose rows refer by value to rows that become one, in chains, to themselves, by several columns, as part of a
    /// key and through a key: generated schemas have few of these.
    static let valueReferences = [
        TestSchema(
            name: "makers and items",
            sql: """
                CREATE TABLE maker(
                    id INTEGER PRIMARY KEY, name TEXT UNIQUE, code TEXT UNIQUE, boss TEXT REFERENCES maker(code));
                CREATE TABLE item(id INTEGER PRIMARY KEY, title TEXT UNIQUE, maker TEXT REFERENCES maker(code));
                CREATE TABLE part(
                    id INTEGER PRIMARY KEY, item TEXT REFERENCES item(title) ON DELETE CASCADE, n INTEGER);
                """),
        TestSchema(
            name: "chain of values",
            sql: """
                CREATE TABLE a(id INTEGER PRIMARY KEY, x TEXT UNIQUE, y TEXT UNIQUE);
                CREATE TABLE b(id INTEGER PRIMARY KEY, y TEXT UNIQUE REFERENCES a(y) ON UPDATE CASCADE, z TEXT UNIQUE);
                CREATE TABLE c(
                    id INTEGER PRIMARY KEY, y TEXT REFERENCES b(y) ON UPDATE CASCADE,
                    z TEXT REFERENCES b(z) ON DELETE SET NULL);
                """),
        TestSchema(
            name: "values in keys",
            sql: """
                CREATE TABLE a(
                    id INTEGER PRIMARY KEY, x TEXT COLLATE NOCASE UNIQUE, y TEXT COLLATE NOCASE UNIQUE, n INTEGER);
                CREATE TABLE b(
                    id INTEGER PRIMARY KEY, y TEXT COLLATE NOCASE REFERENCES a(y) ON UPDATE CASCADE ON DELETE CASCADE,
                    t TEXT, UNIQUE(y, t));
                CREATE TABLE c(
                    y TEXT COLLATE NOCASE NOT NULL REFERENCES a(y) ON DELETE RESTRICT, k INTEGER NOT NULL, n INTEGER,
                    PRIMARY KEY(y, k));
                """),
        TestSchema(
            name: "values of two columns",
            sql: """
                CREATE TABLE a(id INTEGER PRIMARY KEY, x TEXT UNIQUE, p TEXT, q TEXT, UNIQUE(p, q));
                CREATE TABLE b(
                    id INTEGER PRIMARY KEY, p TEXT, q TEXT, t TEXT, a INTEGER REFERENCES a(id),
                    FOREIGN KEY(p, q) REFERENCES a(p, q) ON UPDATE CASCADE, UNIQUE(t, a));
                """),
        TestSchema(
            name: "chain of integers",
            sql: """
                CREATE TABLE a(id INTEGER PRIMARY KEY, x TEXT UNIQUE, n INTEGER);
                CREATE TABLE b(id INTEGER PRIMARY KEY, a INTEGER UNIQUE REFERENCES a(id), z TEXT UNIQUE);
                CREATE TABLE c(id INTEGER PRIMARY KEY, ba INTEGER REFERENCES b(a), n INTEGER);
                """),
        TestSchema(
            name: "values as keys",
            sql: """
                CREATE TABLE a(x TEXT PRIMARY KEY NOT NULL, y TEXT UNIQUE);
                CREATE TABLE b(id INTEGER PRIMARY KEY, y TEXT REFERENCES a(y), t TEXT, z TEXT UNIQUE, UNIQUE(y, t));
                CREATE TABLE c(
                    y TEXT NOT NULL, t TEXT NOT NULL, n INTEGER, z TEXT REFERENCES b(z) ON UPDATE CASCADE,
                    PRIMARY KEY(y, t), FOREIGN KEY(y, t) REFERENCES b(y, t) ON DELETE CASCADE);
                """),
    ]
}
