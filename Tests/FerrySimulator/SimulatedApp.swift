import GRDB

/// The app of a simulation: a feed reader with a constraint of each kind in the schema. The app's program knows nothing
/// of Ferry.
enum SimulatedApp {
    static let schema = """
        CREATE TABLE feed(
            id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, title TEXT, unread INTEGER NOT NULL DEFAULT 0);
        CREATE TABLE article(
            id INTEGER PRIMARY KEY, feed INTEGER NOT NULL REFERENCES feed ON DELETE CASCADE, guid TEXT NOT NULL,
            note TEXT, UNIQUE(feed, guid));
        CREATE TABLE star(id INTEGER PRIMARY KEY, article INTEGER REFERENCES article ON DELETE SET NULL, note TEXT);
        CREATE TABLE download(
            id INTEGER PRIMARY KEY, feed INTEGER NOT NULL REFERENCES feed ON DELETE RESTRICT, note TEXT);
        CREATE TABLE tag(name TEXT PRIMARY KEY NOT NULL, colour TEXT) WITHOUT ROWID;
        CREATE TABLE tagged(
            article INTEGER NOT NULL REFERENCES article ON DELETE CASCADE,
            tag TEXT NOT NULL REFERENCES tag ON DELETE CASCADE, PRIMARY KEY(article, tag)) WITHOUT ROWID;
        CREATE TABLE line(text TEXT PRIMARY KEY NOT NULL) WITHOUT ROWID;
        CREATE TABLE cell(name TEXT PRIMARY KEY NOT NULL, value TEXT);
        CREATE TABLE half(pair TEXT NOT NULL, side INTEGER NOT NULL, PRIMARY KEY(pair, side)) WITHOUT ROWID;
        """

    /// The schema changes of each new version of the app.
    static let migrations = [
        "ALTER TABLE star ADD COLUMN colour TEXT",
        "CREATE TABLE extra(key TEXT PRIMARY KEY NOT NULL, value TEXT)",
        """
        CREATE TABLE download2(
            id INTEGER PRIMARY KEY, feed INTEGER NOT NULL REFERENCES feed ON DELETE RESTRICT, note TEXT,
            size INTEGER NOT NULL DEFAULT 0);
        INSERT INTO download2(id, feed, note) SELECT id, feed, note FROM download;
        DROP TABLE download;
        ALTER TABLE download2 RENAME TO download;
        """,
    ]

    /// The rows as people see them, without integers that each device chooses for itself.
    static func queries(version: Int) -> [String] {
        let queries = [
            "SELECT url, title, unread FROM feed ORDER BY 1",
            "SELECT url, guid, note FROM article JOIN feed ON feed.id = feed ORDER BY 1, 2",
            "SELECT guid, url, star.note FROM star LEFT JOIN article ON article.id = article LEFT JOIN feed ON feed.id = feed ORDER BY 3, 1, 2",
            "SELECT url, note FROM download JOIN feed ON feed.id = feed ORDER BY 2, 1",
            "SELECT name, colour FROM tag ORDER BY 1",
            "SELECT url, guid, tag FROM tagged JOIN article ON article.id = article JOIN feed ON feed.id = feed ORDER BY 1, 2, 3",
            "SELECT text FROM line ORDER BY 1",
            "SELECT name, value FROM cell ORDER BY 1",
            "SELECT pair, side FROM half ORDER BY 1, 2",
        ]
        let later = [
            "SELECT note, colour FROM star ORDER BY 1, 2", "SELECT key, value FROM extra ORDER BY 1",
            "SELECT note, size FROM download ORDER BY 1, 2",
        ]
        return queries + later.prefix(version)
    }

    /// A statement as a person may cause, chosen at random. The statement may change nothing.
    /// - Parameter count: a number unique to the statement.
    static func statement(_ random: SimulatedRandom, version: Int, count: Int) -> String {
        let feed = "(SELECT id FROM feed ORDER BY url LIMIT 1 OFFSET \(random.below(4)))"
        let article = "(SELECT id FROM article ORDER BY guid, id LIMIT 1 OFFSET \(random.below(6)))"
        func row(_ table: String) -> String {
            "(SELECT id FROM \(table) ORDER BY id LIMIT 1 OFFSET \(random.below(5)))"
        }
        let (url, tag) = ("url \(random.below(6))", "tag \(random.below(5))")
        var statements = [
            "INSERT OR IGNORE INTO feed(url, title) VALUES ('\(url)', 'title \(count)')",
            "INSERT OR REPLACE INTO feed(url, title) VALUES ('\(url)', 'title \(count)')",
            "UPDATE OR IGNORE feed SET url = '\(url)' WHERE id = \(feed)",
            "UPDATE feed SET unread = unread + \(1 + random.below(9)) WHERE id = \(feed)",
            "UPDATE feed SET title = 'title \(count)' WHERE id = \(feed)",
            "DELETE FROM feed WHERE id = \(feed) AND id NOT IN (SELECT feed FROM download)",
            "INSERT OR IGNORE INTO article(feed, guid, note) SELECT id, 'guid \(random.below(5))', 'note \(count)' FROM feed WHERE id = \(feed)",
            "INSERT INTO article(feed, guid, note) SELECT id, 'guid \(random.below(5))', 'note \(count)' FROM feed WHERE id = \(feed) ON CONFLICT DO UPDATE SET note = excluded.note",
            "UPDATE OR IGNORE article SET feed = \(feed), note = 'note \(count)' WHERE id = \(article) AND \(feed) IS NOT NULL",
            "UPDATE article SET note = 'note \(count)' WHERE id = \(article)",
            "UPDATE OR IGNORE article SET id = \(1000 + count) WHERE id = \(article)",
            "DELETE FROM article WHERE id = \(article)",
            "INSERT INTO star(article, note) VALUES (\(article), 'note \(count)')",
            "UPDATE star SET note = 'note \(count)', article = \(article) WHERE id = \(row("star"))",
            "DELETE FROM star WHERE id = \(row("star"))",
            "INSERT INTO download(feed, note) SELECT id, 'note \(count)' FROM feed WHERE id = \(feed)",
            "DELETE FROM download WHERE id = \(row("download"))",
            "INSERT INTO tag VALUES ('\(tag)', 'colour \(count)') ON CONFLICT DO UPDATE SET colour = excluded.colour",
            "UPDATE tag SET colour = 'colour \(count)' WHERE name = '\(tag)'",
            "UPDATE OR IGNORE tag SET name = 'tag \(random.below(5))' WHERE name = '\(tag)' AND name NOT IN (SELECT tag FROM tagged)",
            "DELETE FROM tag WHERE name = '\(tag)'",
            "INSERT OR IGNORE INTO tagged SELECT article.id, tag.name FROM article, tag WHERE article.id = \(article) AND tag.name = '\(tag)'",
            "DELETE FROM tagged WHERE article = \(article)",
        ]
        if version >= 1 { statements.append("UPDATE star SET colour = 'colour \(count)' WHERE id = \(row("star"))") }
        if version >= 2 {
            statements.append("INSERT OR REPLACE INTO extra VALUES ('key \(random.below(4))', 'value \(count)')")
            statements.append("DELETE FROM extra WHERE key = 'key \(random.below(4))'")
        }
        if version >= 3 { statements.append("UPDATE download SET size = \(count) WHERE id = \(row("download"))") }
        return statements[random.below(statements.count)]
    }

    /// Opens the database like a separate program.
    static func open(_ path: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.label = "simulated app"
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    /// The rows of a query, each as a line.
    static func rows(_ database: Database, _ sql: String) throws -> [String] {
        try Row.fetchAll(database, sql: sql).map { row in
            row.databaseValues.map { $0.isNull ? "NULL" : $0.description }.joined(separator: "|")
        }
    }
}

/// The facts that must hold for the rows in the end, by people's writes.
struct Ledger {
    /// Texts of `line`, which nobody deletes.
    private(set) var lines: Set<String> = []
    /// Committed values that may be lost all the same: their device was restored or lost before sending them.
    private(set) var uncertain: Set<String> = []
    /// Values that a device and its copy may publish with different times.
    private var ambiguous: Set<String> = []
    /// The devices that others are copies of.
    private var originals: [Int: Int] = [:]
    /// For each value written to a `cell`, the value that the writer saw before.
    private var seen: [String: [String: String]] = [:]

    /// The values of `line` and `cell` committed on each device.
    private var written: [Int: Set<String>] = [:]

    /// The values committed on a device, whether still shown there or not.
    func values(by device: Int) -> Set<String> { written[device] ?? [] }

    mutating func note(line: String, by device: Int) {
        lines.insert(line)
        written[device, default: []].insert(line)
    }

    mutating func note(cell: String, value: String, seeing before: String?, by device: Int) {
        seen[cell, default: [:]][value] = before ?? ""
        written[device, default: []].insert(value)
    }

    /// Marks values of `line` and `cell` that may be lost from now on.
    mutating func doubt(_ values: some Sequence<String>) { uncertain.formUnion(values) }

    /// Marks the values of a copied device and its copy. With clocks more than a day apart, both may publish a change with different times:
    /// whoever replaced the earlier one may lose to the later one.
    mutating func expectTwoTimes(by device: Int) {
        ambiguous.formUnion(values(by: device))
        if let original = originals[device] { expectTwoTimes(by: original) }
    }

    /// Notes that a device begins with the changes of another one.
    mutating func note(copy: Int, of original: Int) { originals[copy] = original }

    /// Marks values as safe, because another device has them.
    mutating func trust(_ values: some Sequence<String>) { uncertain.subtract(values) }

    /// Problems of the values of `line`.
    func problems(lines found: [String]) -> [String] {
        let found = Set(found)
        let (lost, invented) = (certainLines.subtracting(found), found.subtracting(lines))
        return (lost.isEmpty ? [] : ["lost lines \(lost.sorted())"])
            + (invented.isEmpty ? [] : ["invented lines \(invented.sorted())"])
    }

    /// The problem of a cell's value: the value was never written, or a writer who saw the value replaced it.
    func problem(cell: String, value: String) -> String? {
        guard let written = seen[cell], written[value] != nil else { return "invented value \(value) of \(cell)" }
        if ambiguous.contains(value) { return nil }
        let overwriting = written.filter { $0.value == value && !uncertain.contains($0.key) }.keys.sorted()
        return overwriting.isEmpty ? nil : "\(cell) is \(value), which \(overwriting) had replaced"
    }

    /// The lines that must be present.
    var certainLines: Set<String> { lines.subtracting(uncertain) }

    /// The written cells that must be present.
    var certainCells: Set<String> {
        Set(seen.filter { !$0.value.keys.allSatisfy(uncertain.contains) }.keys)
    }
}
