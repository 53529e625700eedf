/// A database, and changes on two devices, whose merge is hard: everything depends on everything, or there is very much of one
/// thing. Each step says what runs in the measured process.
struct HardCase: Sendable {
    var name: String
    /// What `n` counts.
    var counts: String
    /// The least `n`; it is measured with two, four and eight times as many too.
    var size: Int
    /// What is in the first database before the container is made.
    var schema: @Sendable (Int) -> String
    /// What the first device writes after the second one has joined; it syncs then.
    var first: @Sendable (Int) -> String = { _ in "" }
    /// What the second device writes meanwhile.
    var second: @Sendable (Int) -> String = { _ in "" }
    /// What the first device writes once both have synced all of that; it syncs then.
    var later: (@Sendable (Int) -> String)?
    var measured = MeasuredProcess.Command.sync

    static let all: [HardCase] = references + uniqueValues + apps + tables

    // MARK: References

    private static let references: [HardCase] = [
        HardCase(
            name: "a chain of CASCADE below a row that was deleted elsewhere", counts: "rows", size: 1000,
            schema: { _ in
                "CREATE TABLE t(id INTEGER PRIMARY KEY, p INTEGER REFERENCES t ON DELETE CASCADE, x TEXT);"
                    + "INSERT INTO t VALUES (1, NULL, 'x')"
            },
            first: { _ in "DELETE FROM t" },
            second: { "\(numbers(2, $0)) INSERT INTO t SELECT i, i - 1, 'x' FROM n" }),
        HardCase(
            name: "children of one parent that was deleted elsewhere", counts: "rows", size: 12_500,
            schema: { _ in parentAndChildren }, first: { _ in "DELETE FROM p" }, second: { children($0) }),
        HardCase(
            name: "a new row beside hidden ones", counts: "hidden rows", size: 2500, schema: { _ in parentAndChildren },
            first: { _ in "DELETE FROM p" }, second: { children($0) },
            later: { _ in "INSERT INTO p VALUES (2); INSERT INTO c VALUES (1000000, 2, 'x')" }),
        HardCase(
            name: "deleted rows that others refer to, without an index", counts: "rows", size: 2500,
            schema: {
                "CREATE TABLE p(id INTEGER PRIMARY KEY, x TEXT);"
                    + "CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER REFERENCES p, x TEXT);"
                    + "\(numbers(1, $0)) INSERT INTO p SELECT i, 'x' FROM n"
            },
            first: { _ in "DELETE FROM p" }, second: { _ in "INSERT INTO c SELECT id, id, 'x' FROM p" }),
    ]

    private static let parentAndChildren =
        "CREATE TABLE p(id INTEGER PRIMARY KEY); INSERT INTO p VALUES (1);"
        + "CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER REFERENCES p ON DELETE CASCADE, x TEXT)"

    private static func children(_ count: Int) -> String {
        "\(numbers(1, count)) INSERT INTO c SELECT i, 1, 'x' FROM n"
    }

    // MARK: UNIQUE values

    private static let uniqueValues: [HardCase] = [
        HardCase(
            name: "rows that become one by UNIQUE, two by two", counts: "rows", size: 6250,
            schema: { _ in "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT UNIQUE, x TEXT)" },
            first: { "\(numbers(1, $0)) INSERT INTO t SELECT i, 'name ' || i, 'first' FROM n" },
            second: { "\(numbers(1, $0)) INSERT INTO t SELECT i + 7, 'name ' || i, 'second' FROM n" }),
        HardCase(
            name: "rows that all become one by UNIQUE", counts: "rows", size: 6250,
            schema: { _ in "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, x TEXT)" },
            first: { "\(numbers(1, $0)) INSERT INTO t SELECT i, 'name', 'x' || i FROM n" },
            second: { _ in "CREATE UNIQUE INDEX one ON t(name)" }),
        HardCase(
            name: "children that become one, two by two, as their parents do", counts: "rows", size: 6250,
            schema: { _ in
                "CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT UNIQUE);"
                    + "CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER REFERENCES p ON DELETE CASCADE, name TEXT,"
                    + " UNIQUE(p, name))"
            }, first: { family($0, "first") }, second: { family($0, "second") }),
        HardCase(
            name: "rows replaced elsewhere by OR REPLACE", counts: "rows", size: 6250, schema: { named($0) },
            first: { _ in replacement }),
        HardCase(
            name: "rows replaced here by OR REPLACE", counts: "rows", size: 6250, schema: { named($0) },
            second: { _ in replacement }),
    ]

    private static func family(_ count: Int, _ device: String) -> String {
        "INSERT INTO p VALUES (\(device == "first" ? 1 : 2), 'parent');"
            + "\(numbers(1, count)) INSERT INTO c(p, name) SELECT id, 'name ' || i FROM n, p"
    }

    private static func named(_ count: Int) -> String {
        "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT UNIQUE, x TEXT);"
            + "\(numbers(1, count)) INSERT INTO t SELECT i, 'name ' || i, 'old' FROM n"
    }

    private static let replacement = "INSERT OR REPLACE INTO t(name, x) SELECT name, 'new' FROM t"

    // MARK: Much of one thing

    private static let apps: [HardCase] = [
        HardCase(
            name: "a trigger of the app's and a full-text index, first join", counts: "rows", size: 6250,
            schema: { notes($0) }, measured: .join),
        HardCase(
            name: "a trigger of the app's and a full-text index, updates", counts: "rows", size: 6250,
            schema: { notes($0) }, first: { _ in "UPDATE note SET body = body || ', changed'" }),
        HardCase(
            name: "conflicts", counts: "rows", size: 6250,
            schema: {
                "CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT); \(numbers(1, $0)) INSERT INTO t SELECT i, 'x' FROM n"
            },
            first: { _ in "UPDATE t SET x = 'first'" }, second: { _ in "UPDATE t SET x = 'second'" }),
        HardCase(
            name: "a text updated again and again", counts: "updates", size: 1250,
            schema: { _ in "CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT); INSERT INTO t VALUES (1, 'x')" },
            second: { count in
                let text = String(repeating: "A text of which a word changes. ", count: 64)
                return "BEGIN;" + (1...count).map { "UPDATE t SET x = '\(text)\($0)';" }.joined() + "COMMIT"
            }),
    ]

    private static func notes(_ count: Int) -> String {
        """
        CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT);
        CREATE VIRTUAL TABLE search USING fts5(body, content=note, content_rowid=id);
        CREATE TRIGGER note_insert AFTER INSERT ON note BEGIN
            INSERT INTO search(rowid, body) VALUES (NEW.id, NEW.body);
        END;
        CREATE TRIGGER note_update AFTER UPDATE ON note BEGIN
            INSERT INTO search(search, rowid, body) VALUES ('delete', OLD.id, OLD.body);
            INSERT INTO search(rowid, body) VALUES (NEW.id, NEW.body);
        END;
        \(numbers(1, count)) INSERT INTO note SELECT i, 'the note number ' || i FROM n
        """
    }

    // MARK: Schemas

    private static let tables: [HardCase] = [
        HardCase(name: "tables, init", counts: "tables", size: 125, schema: { tables($0) }, measured: .create),
        HardCase(name: "tables, first join", counts: "tables", size: 125, schema: { tables($0) }, measured: .join),
        HardCase(
            name: "tables, a sync after ADD COLUMN in one", counts: "tables", size: 125, schema: { tables($0) },
            second: { _ in "ALTER TABLE t1 ADD COLUMN d" }),
        HardCase(
            name: "columns, first join of 1,000 rows", counts: "columns", size: 40, schema: { columns($0) },
            measured: .join),
        HardCase(
            name: "columns, updates of all of 1,000 rows", counts: "columns", size: 40, schema: { columns($0) },
            first: { count in "UPDATE t SET " + (1...count).map { "c\($0) = c\($0) + 1" }.joined(separator: ", ") }),
    ]

    private static func tables(_ count: Int) -> String {
        (1...count).map { "CREATE TABLE t\($0)(id INTEGER PRIMARY KEY, a, b, c);" }.joined()
    }

    private static func columns(_ count: Int) -> String {
        let names = (1...count).map { "c\($0)" }.joined(separator: ", ")
        let values = (1...count).map { "i + \($0)" }.joined(separator: ", ")
        return "CREATE TABLE t(id INTEGER PRIMARY KEY, \(names));"
            + "\(numbers(1, 1000)) INSERT INTO t SELECT i, \(values) FROM n"
    }

    /// Numbers from one to another, as `n(i)`.
    private static func numbers(_ first: Int, _ last: Int) -> String {
        "WITH RECURSIVE n(i) AS (SELECT \(first) UNION ALL SELECT i + 1 FROM n WHERE i < \(last))"
    }
}
