extension TestSchema {
    /// Indexes on integer keys that mean the same on every device, whichever integers its rows have.
    static let indexesOnKeys = [
        TestSchema(
            name: "indexes on keys",
            sql: """
                CREATE TABLE setting(id INTEGER PRIMARY KEY, name TEXT, value INTEGER, kind TEXT);
                CREATE UNIQUE INDEX setting_name ON setting(name) WHERE id IS NOT NULL;
                CREATE UNIQUE INDEX setting_kind ON setting(kind, value, id IS NULL);
                CREATE TABLE choice(
                    id INTEGER PRIMARY KEY AUTOINCREMENT, setting INTEGER REFERENCES setting(id) ON DELETE CASCADE,
                    label TEXT, twin INTEGER AS (id - id));
                CREATE UNIQUE INDEX choice_label ON choice(setting, label, twin) WHERE rowid > -1000;
                CREATE TABLE note(
                    id INTEGER PRIMARY KEY, choice INTEGER NOT NULL REFERENCES choice(id), text TEXT UNIQUE,
                    tag TEXT AS (text || '-' || id) UNIQUE);
                """)
    ]
}
