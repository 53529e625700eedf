import FerryCore
import FerryEngine
import FerrySchema
import FerryTestSupport
import XCTest

@testable import FerryStore

/// Names that differ in the form of Unicode alone: two names to SQLite, and equal to Swift.
final class NameFormTests: XCTestCase {
    private let composed = "\"caf\u{e9}\""
    private let decomposed = "\"cafe\u{301}\""

    func testTwoTablesStayTwo() throws {
        for key in ["INTEGER PRIMARY KEY", "TEXT PRIMARY KEY NOT NULL"] {
            let fleet = try Fleet.two(
                "CREATE TABLE \(composed)(id \(key), v TEXT); CREATE TABLE \(decomposed)(id \(key), v TEXT);")
            try fleet.shell(0, "INSERT INTO \(composed) VALUES (1, 'c'); INSERT INTO \(decomposed) VALUES (1, 'd')")
            try fleet.shell(1, "INSERT INTO \(decomposed) VALUES (2, 'e')")
            let query = "SELECT v FROM \(composed) ORDER BY id; SELECT v FROM \(decomposed) ORDER BY id;"
            try fleet.assertSettled(query, "c\nd\ne\n")
            try fleet.shell(1, "UPDATE \(composed) SET v = 'C'; DELETE FROM \(decomposed) WHERE id = 1")
            try fleet.assertSettled(query, "C\ne\n")
            try fleet.join()
            try fleet.assertSettled(query, "C\ne\n")
            try fleet.shell(0, "DROP TABLE \(decomposed)")
            _ = try fleet.replicas[0].sync()
            XCTAssertEqual(try fleet.shell(1, query), "C\ne\n")
        }
    }

    func testARenamedTableIsTheSameTable() throws {
        let query = "SELECT v FROM \(composed) ORDER BY v; SELECT count(*) FROM kid;"
        let fleet = try Fleet.two(
            """
            CREATE TABLE \(decomposed)(id INTEGER PRIMARY KEY, v TEXT UNIQUE, w);
            CREATE TABLE kid(id INTEGER PRIMARY KEY, p INTEGER REFERENCES \(decomposed) ON DELETE CASCADE);
            INSERT INTO \(decomposed) VALUES (1, 'x', 'w'); INSERT INTO kid(p) VALUES (1);
            """)
        let rename = "ALTER TABLE \(decomposed) RENAME TO \(composed);"
        try fleet.shell(0, "\(rename) INSERT INTO \(composed)(v) VALUES ('new-a')")
        try fleet.shell(1, "INSERT INTO \(decomposed)(v) VALUES ('new-b')")
        try fleet.settle()
        try fleet.shell(1, "\(rename) INSERT INTO \(composed)(v) VALUES ('late-b')")
        try fleet.assertSettled(query, "late-b\nnew-a\nnew-b\nx\n1\n")
        try fleet.join()
        try fleet.assertSettled(query, "late-b\nnew-a\nnew-b\nx\n1\n")
    }

    func testARenamedColumnIsTheSameColumn() throws {
        let fleet = try Fleet.two(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, \(decomposed) TEXT, w); INSERT INTO t VALUES (1, 'x', 0);")
        try fleet.shell(0, "ALTER TABLE t RENAME COLUMN \(decomposed) TO \(composed)")
        _ = try fleet.replicas[0].sync()
        try fleet.shell(0, "INSERT INTO t(\(composed)) VALUES ('new-a'); UPDATE t SET \(composed) = 'x-a' WHERE id = 1")
        try fleet.shell(1, "INSERT INTO t(\(decomposed)) VALUES ('new-b')")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(0, "SELECT \(composed) FROM t ORDER BY 1"), "new-a\nnew-b\nx-a\n")
        XCTAssertEqual(try fleet.shell(1, "SELECT \(decomposed) FROM t ORDER BY 1"), "new-a\nnew-b\nx-a\n")
        try fleet.assertSoundAndInStep()
        try fleet.shell(
            1, "ALTER TABLE t RENAME COLUMN \(decomposed) TO \(composed); UPDATE t SET \(composed) = 'y' WHERE id = 1")
        try fleet.assertSettled("SELECT \(composed) FROM t ORDER BY 1", "new-a\nnew-b\ny\n")
        try fleet.join()
        try fleet.assertSettled("SELECT \(composed) FROM t ORDER BY 1", "new-a\nnew-b\ny\n")
    }

    func testTwoColumnsStayTwoInKeysUniqueValuesAndReferences() throws {
        let fleet = try Fleet.two(
            """
            CREATE TABLE k(\(composed) TEXT, \(decomposed) TEXT, v, PRIMARY KEY (\(composed), \(decomposed)));
            CREATE TABLE u(id INTEGER PRIMARY KEY, \(composed) TEXT UNIQUE, \(decomposed) TEXT UNIQUE);
            CREATE TABLE p(id INTEGER PRIMARY KEY);
            CREATE TABLE r(id INTEGER PRIMARY KEY, \(composed) INTEGER REFERENCES p ON DELETE CASCADE,
                \(decomposed) INTEGER REFERENCES p ON DELETE SET NULL);
            INSERT INTO p VALUES (1), (2); INSERT INTO r VALUES (1, 1, 2), (2, 2, 1);
            """)
        try fleet.shell(0, "DELETE FROM p WHERE id = 1; INSERT INTO k VALUES ('x', 'y', 1), ('y', 'x', 2)")
        try fleet.shell(0, "INSERT INTO u VALUES (1, 'a', 'q')")
        try fleet.shell(1, "INSERT INTO u VALUES (1, 'b', 'q')")
        let query = """
            SELECT \(composed) || \(decomposed) || v FROM k ORDER BY v; SELECT * FROM r; SELECT count(*) FROM u;
            """
        try fleet.assertSettled(query, "xy1\nyx2\n2|2|\n1\n")
        try fleet.join()
        try fleet.assertSettled(query, "xy1\nyx2\n2|2|\n1\n")
    }

    func testAViewAndAnIndexMayHaveTheNameOfATableInAnotherForm() throws {
        let fleet = try Fleet.two(
            """
            CREATE VIEW \(composed) AS SELECT 1 AS v; CREATE TABLE \(decomposed)(id INTEGER PRIMARY KEY, z TEXT);
            CREATE TABLE o(id INTEGER PRIMARY KEY, a TEXT, b TEXT);
            CREATE UNIQUE INDEX "\u{fc}" ON o(a); CREATE UNIQUE INDEX "u\u{308}" ON o(b) WHERE b <> '';
            """)
        try fleet.shell(0, "INSERT INTO \(decomposed)(z) VALUES ('z'); INSERT INTO o(a, b) VALUES ('1', '2')")
        try fleet.shell(1, "INSERT INTO o(a, b) VALUES ('3', '2')")
        let query = "SELECT z FROM \(decomposed); SELECT v FROM \(composed); SELECT count(*) FROM o;"
        try fleet.assertSettled(query, "z\n1\n1\n")
        try fleet.join()
        try fleet.assertSettled(query, "z\n1\n1\n")
    }

    func testPoliciesAndDeclaredIdentitiesNameOneOfTwoColumns() throws {
        let (first, second) = ("caf\u{e9}", "cafe\u{301}")
        let fleet = try Fleet()
        try fleet.start(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, \(composed) INTEGER DEFAULT 0, \(decomposed) INTEGER DEFAULT 0);
            CREATE TABLE \(composed)(id INTEGER PRIMARY KEY, name TEXT); CREATE TABLE \(decomposed)(id INTEGER PRIMARY KEY, name TEXT);
            INSERT INTO t(id) VALUES (1);
            """, selection: TableSelection(declaredIdentities: [exactKey(first): ["name"]]))
        try fleet.join()
        let store = fleet.replicas[0].store
        try store.setPolicies([
            PolicySetting(table: "t", column: first, .max), PolicySetting(table: "t", column: second, .min),
        ])
        XCTAssertEqual(try store.policies().map(\.word), ["min", "max"])
        try fleet.settle()
        for device in 0...1 {
            try fleet.shell(device, "UPDATE t SET \(composed) = \(device + 5), \(decomposed) = \(-device - 5)")
            try fleet.shell(
                device, "INSERT INTO \(composed)(name) VALUES ('n'); INSERT INTO \(decomposed)(name) VALUES ('n')")
        }
        let query = """
            SELECT \(composed), \(decomposed) FROM t; SELECT count(*) FROM \(composed); SELECT count(*) FROM \(decomposed);
            """
        try fleet.assertSettled(query, "6|-6\n1\n2\n")
        XCTAssertEqual(try store.removePolicies([.column(table: "t", column: first)]), 1)
        XCTAssertEqual(try store.policies().map(\.word), ["min"])
    }

    /// A store of an earlier Ferry has names in its notes, where this one has their keys.
    func testNotesOfAnEarlierFerryAreUnderstood() throws {
        let fleet = try Fleet.two(
            "CREATE TABLE \(composed)(id INTEGER PRIMARY KEY, \(decomposed) TEXT); INSERT INTO \(composed) VALUES (1, 'x');"
        )
        try fleet.shell(
            0, "ALTER TABLE \(composed) RENAME TO thing; ALTER TABLE thing RENAME COLUMN \(decomposed) TO \(composed)")
        try fleet.settle()
        let escape = "\u{7f}\\u0000"
        let notes = try fleet.shell(0, "SELECT value FROM ferry_meta WHERE instr(value, '\(escape)')")
        XCTAssertFalse(notes.isEmpty, "some notes have keys")
        let former = """
            UPDATE ferry_meta SET value = replace(replace(replace(replace(value, '\(escape)c3', 'Ã'), '\(escape)a9', '©'), 'Ã©', '\u{e9}'),
                '\(escape)cc\(escape)81', '\u{301}') WHERE instr(value, '\(escape)');
            """
        try fleet.shell(0, former)
        try fleet.shell(0, "INSERT INTO thing VALUES (2, 'y')")
        try fleet.shell(1, "UPDATE \(composed) SET \(decomposed) = 'X' WHERE id = 1")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(0, "SELECT \(composed) FROM thing ORDER BY id"), "X\ny\n")
        XCTAssertEqual(try fleet.shell(1, "SELECT \(decomposed) FROM \(composed) ORDER BY id"), "X\ny\n")
        try fleet.assertSoundAndInStep()
    }
}
