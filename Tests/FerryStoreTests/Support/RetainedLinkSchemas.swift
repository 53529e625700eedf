extension TestSchema {
    /// Rows that are known by references, and others that refer to them and keep them from being deleted; what they are known
    /// by becomes one with other rows.
    static let retainedLinks = [
        links("id INTEGER PRIMARY KEY, song INTEGER NOT NULL, tag INTEGER NOT NULL, text TEXT"),
        links("song INTEGER NOT NULL, tag INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY(song, tag, text)"),
        TestSchema(
            name: "a row for each",
            sql: """
                CREATE TABLE product(id INTEGER PRIMARY KEY, title TEXT, name TEXT UNIQUE);
                CREATE TABLE stock(product INTEGER PRIMARY KEY REFERENCES product(id) ON DELETE CASCADE, amount INTEGER);
                CREATE TABLE remark(id INTEGER PRIMARY KEY, product INTEGER REFERENCES stock(product), text TEXT);
                """),
    ]

    /// - Parameter columns: of what refers to links.
    private static func links(_ columns: String) -> TestSchema {
        TestSchema(
            name: "held links",
            sql: """
                CREATE TABLE song(
                    id INTEGER PRIMARY KEY, title TEXT, main INTEGER REFERENCES tag(id) ON DELETE SET NULL);
                CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
                CREATE TABLE song_tag(
                    song INTEGER NOT NULL REFERENCES song(id), tag INTEGER NOT NULL REFERENCES tag(id), note TEXT,
                    PRIMARY KEY(song, tag));
                CREATE TABLE remark(\(columns), FOREIGN KEY(song, tag) REFERENCES song_tag(song, tag));
                """)
    }
}
