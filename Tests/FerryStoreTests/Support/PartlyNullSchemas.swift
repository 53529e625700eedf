extension TestSchema {
    /// Shelves with integer keys, boxes known by shelf and label, and things in them; a thing may have a shelf and no label,
    /// and SQLite does not ask whether there is such a shelf then.
    /// - Parameters:
    ///   - action: what a thing says of its box.
    ///   - shelf: what a thing says of its shelf, if anything.
    static func boxes(_ action: String, shelf: String = "") -> TestSchema {
        TestSchema(
            name: "boxes, \(action) \(shelf)",
            sql: """
                CREATE TABLE shelf(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
                CREATE TABLE box(
                    shelf INTEGER NOT NULL REFERENCES shelf(id) ON DELETE CASCADE, label TEXT NOT NULL, color TEXT,
                    PRIMARY KEY(shelf, label));
                CREATE TABLE thing(
                    id INTEGER PRIMARY KEY, name TEXT, shelf INTEGER \(shelf), label TEXT,
                    FOREIGN KEY(shelf, label) REFERENCES box(shelf, label) \(action));
                """)
    }

    /// Compound foreign keys that may be NULL in part, while their other column holds an integer that differs from device to
    /// device.
    static let partlyNull = [
        boxes("ON DELETE RESTRICT"),
        boxes("ON DELETE CASCADE ON UPDATE CASCADE"),
        boxes("ON DELETE SET NULL"),
        boxes("ON UPDATE CASCADE", shelf: "REFERENCES shelf(id) ON DELETE CASCADE"),
        TestSchema(
            name: "crates",
            sql: """
                CREATE TABLE shelf(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
                CREATE TABLE crate(
                    id INTEGER PRIMARY KEY, shelf INTEGER REFERENCES shelf(id) ON DELETE CASCADE, label TEXT,
                    UNIQUE(shelf, label));
                CREATE TABLE thing(
                    id INTEGER PRIMARY KEY, shelf INTEGER, label TEXT, n INTEGER,
                    FOREIGN KEY(shelf, label) REFERENCES crate(shelf, label) ON DELETE CASCADE ON UPDATE CASCADE,
                    UNIQUE(shelf, n));
                """),
        TestSchema(
            name: "links of integers",
            sql: """
                CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT UNIQUE);
                CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
                CREATE TABLE song_tag(
                    song INTEGER NOT NULL REFERENCES song(id) ON DELETE CASCADE,
                    tag INTEGER NOT NULL REFERENCES tag(id) ON DELETE CASCADE, PRIMARY KEY(song, tag));
                CREATE TABLE remark(
                    id INTEGER PRIMARY KEY, song INTEGER, tag INTEGER, text TEXT,
                    FOREIGN KEY(song, tag) REFERENCES song_tag(song, tag) ON DELETE CASCADE ON UPDATE CASCADE);
                """),
    ]
}
