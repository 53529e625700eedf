extension TestSchema {
    /// Defaults that nobody knows before, of few values, under UNIQUE: rows displace each other by them. `total_changes()`
    /// makes them so that a seed tells them all the same.
    static let unforeseenDefaults = [
        TestSchema(
            name: "unforeseen defaults",
            sql: """
                CREATE TABLE ticket(
                    id INTEGER PRIMARY KEY, title TEXT, code INTEGER NOT NULL DEFAULT (total_changes() % 5) UNIQUE,
                    parent INTEGER REFERENCES ticket(id) ON DELETE SET NULL);
                CREATE TABLE part(
                    name TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, kind TEXT,
                    code INTEGER NOT NULL ON CONFLICT REPLACE DEFAULT (total_changes() % 3),
                    ticket INTEGER REFERENCES ticket(id) ON DELETE CASCADE,
                    UNIQUE(kind, code) ON CONFLICT REPLACE) WITHOUT ROWID;
                CREATE TABLE mention(
                    id INTEGER PRIMARY KEY, code INTEGER REFERENCES ticket(code) ON DELETE CASCADE ON UPDATE CASCADE,
                    part TEXT COLLATE NOCASE REFERENCES part(name), note TEXT);
                """),
        TestSchema(
            name: "unforeseen defaults in keys",
            sql: """
                CREATE TABLE place(
                    id INTEGER PRIMARY KEY NOT NULL DEFAULT (total_changes() % 6), title TEXT, size INTEGER) WITHOUT ROWID;
                CREATE TABLE visit(
                    place INTEGER NOT NULL REFERENCES place(id) ON DELETE CASCADE ON UPDATE CASCADE,
                    day INTEGER NOT NULL DEFAULT (total_changes() % 3),
                    turn TEXT NOT NULL DEFAULT (char(97 + total_changes() % 4)), upper TEXT AS (upper(turn)), note TEXT,
                    PRIMARY KEY(place, day));
                CREATE UNIQUE INDEX visit_turn ON visit(upper) WHERE note <> 'a';
                """),
    ]
}
