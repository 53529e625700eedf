/// A database, and changes on two devices, whose merge is hard: everything depends on everything, or there is very much of one
/// thing. Each step says what runs in the measured process.
struct HardCase: Sendable {
    var name: String
    /// What `n` counts.
    var counts: String
    /// The least `n`; it is measured with twice and four times as many too.
    var size: Int
    /// What is in the first database before the container is made.
    var schema: @Sendable (Int) -> String
    /// What the first device writes after the second one has joined; it syncs then.
    var first: @Sendable (Int) -> String = { _ in "" }
    /// What the second device writes meanwhile.
    var second: @Sendable (Int) -> String = { _ in "" }
    var measured = MeasuredProcess.Command.sync

    static let all: [HardCase] = [
        HardCase(
            name: "a chain of CASCADE below a row that was deleted elsewhere", counts: "rows", size: 2000,
            schema: { _ in
                "CREATE TABLE t(id INTEGER PRIMARY KEY, p INTEGER REFERENCES t ON DELETE CASCADE, x TEXT);"
                    + "INSERT INTO t VALUES (1, NULL, 'x')"
            },
            first: { _ in "DELETE FROM t" },
            second: { "\(numbers(2, $0)) INSERT INTO t SELECT i, i - 1, 'x' FROM n" }),
        HardCase(
            name: "children of one parent that was deleted elsewhere", counts: "rows", size: 25_000,
            schema: { _ in
                "CREATE TABLE p(id INTEGER PRIMARY KEY); INSERT INTO p VALUES (1);"
                    + "CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER REFERENCES p ON DELETE CASCADE, x TEXT)"
            },
            first: { _ in "DELETE FROM p" },
            second: { "\(numbers(1, $0)) INSERT INTO c SELECT i, 1, 'x' FROM n" }),
        HardCase(
            name: "deleted rows that others refer to, without an index", counts: "rows", size: 5000,
            schema: {
                "CREATE TABLE p(id INTEGER PRIMARY KEY, x TEXT);"
                    + "CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER REFERENCES p, x TEXT);"
                    + "\(numbers(1, $0)) INSERT INTO p SELECT i, 'x' FROM n"
            },
            first: { _ in "DELETE FROM p" }, second: { _ in "INSERT INTO c SELECT id, id, 'x' FROM p" }),
        HardCase(
            name: "rows that become one by UNIQUE", counts: "rows", size: 12_500,
            schema: { _ in "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT UNIQUE, x TEXT)" },
            first: { "\(numbers(1, $0)) INSERT INTO t SELECT i, 'name ' || i, 'first' FROM n" },
            second: { "\(numbers(1, $0)) INSERT INTO t SELECT i + 7, 'name ' || i, 'second' FROM n" }),
        HardCase(
            name: "rows replaced by OR REPLACE", counts: "rows", size: 12_500,
            schema: {
                "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT UNIQUE, x TEXT);"
                    + "\(numbers(1, $0)) INSERT INTO t SELECT i, 'name ' || i, 'old' FROM n"
            },
            first: { _ in "INSERT OR REPLACE INTO t(name, x) SELECT name, 'new' FROM t" }),
        HardCase(
            name: "a trigger of the app's and a full-text index, first join", counts: "rows", size: 12_500,
            schema: {
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
                \(numbers(1, $0)) INSERT INTO note SELECT i, 'the note number ' || i FROM n
                """
            }, measured: .join),
        HardCase(
            name: "conflicts", counts: "rows", size: 12_500,
            schema: {
                "CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT); \(numbers(1, $0)) INSERT INTO t SELECT i, 'x' FROM n"
            },
            first: { _ in "UPDATE t SET x = 'first'" }, second: { _ in "UPDATE t SET x = 'second'" }),
        HardCase(
            name: "tables, init", counts: "tables", size: 125,
            schema: { count in (1...count).map { "CREATE TABLE t\($0)(id INTEGER PRIMARY KEY, a, b, c);" }.joined() },
            measured: .create),
        HardCase(
            name: "tables, a sync after ADD COLUMN in one", counts: "tables", size: 125,
            schema: { count in (1...count).map { "CREATE TABLE t\($0)(id INTEGER PRIMARY KEY, a, b, c);" }.joined() },
            second: { _ in "ALTER TABLE t1 ADD COLUMN d" }),
        HardCase(
            name: "columns, first join of 1,000 rows", counts: "columns", size: 75,
            schema: { count in
                let names = (1...count).map { "c\($0)" }.joined(separator: ", ")
                let values = (1...count).map { "i + \($0)" }.joined(separator: ", ")
                return "CREATE TABLE t(id INTEGER PRIMARY KEY, \(names));"
                    + "\(numbers(1, 1000)) INSERT INTO t SELECT i, \(values) FROM n"
            }, measured: .join),
    ]

    /// Numbers from one to another, as `n(i)`.
    private static func numbers(_ first: Int, _ last: Int) -> String {
        "WITH RECURSIVE n(i) AS (SELECT \(first) UNION ALL SELECT i + 1 FROM n WHERE i < \(last))"
    }
}
