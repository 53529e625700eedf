extension TestSchema {
    /// Schemas with links whose keys refer by value to rows that become one, and with rows that refer to these links, or are
    /// known by that.
    static let valueLinks = [
        TestSchema(
            name: "remarks on links",
            sql: """
                CREATE TABLE a(id INTEGER PRIMARY KEY, x TEXT UNIQUE, y TEXT UNIQUE);
                CREATE TABLE c(
                    y TEXT NOT NULL REFERENCES a(y) ON UPDATE CASCADE, k INTEGER NOT NULL, n INTEGER, PRIMARY KEY(y, k));
                CREATE TABLE d(
                    id INTEGER PRIMARY KEY, y TEXT, k INTEGER, n INTEGER,
                    FOREIGN KEY(y, k) REFERENCES c(y, k) ON DELETE CASCADE ON UPDATE CASCADE);
                CREATE TABLE e(
                    y TEXT NOT NULL, k INTEGER NOT NULL, z INTEGER NOT NULL, n INTEGER, PRIMARY KEY(y, k, z),
                    FOREIGN KEY(y, k) REFERENCES c(y, k) ON UPDATE CASCADE);
                """),
        TestSchema(
            name: "pairs by value",
            sql: """
                CREATE TABLE a(id INTEGER PRIMARY KEY, x TEXT UNIQUE, y TEXT UNIQUE);
                CREATE TABLE p(
                    one TEXT NOT NULL REFERENCES a(y), other TEXT NOT NULL REFERENCES a(y), n INTEGER,
                    PRIMARY KEY(one, other));
                CREATE TABLE q(
                    id INTEGER PRIMARY KEY, one TEXT, other TEXT,
                    FOREIGN KEY(one, other) REFERENCES p(one, other) ON DELETE SET NULL);
                """),
        TestSchema(
            name: "links with values",
            sql: """
                CREATE TABLE a(id INTEGER PRIMARY KEY, x TEXT UNIQUE, y TEXT COLLATE NOCASE UNIQUE);
                CREATE TABLE b(id INTEGER PRIMARY KEY, x TEXT UNIQUE, n INTEGER);
                CREATE TABLE c(
                    y TEXT COLLATE NOCASE NOT NULL REFERENCES a(y) ON DELETE CASCADE,
                    b INTEGER NOT NULL REFERENCES b(id), u TEXT UNIQUE, n INTEGER, PRIMARY KEY(y, b));
                CREATE TABLE f(id INTEGER PRIMARY KEY, u TEXT REFERENCES c(u), n INTEGER);
                """),
    ]
}
