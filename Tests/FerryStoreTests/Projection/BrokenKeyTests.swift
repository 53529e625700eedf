import FerryCore
import FerrySchema
import XCTest

@testable import FerryStore

/// Foreign keys that data breaks become plain references for all devices: no row goes from an app's own table because of them.
final class BrokenKeyTests: XCTestCase {
    private static func schema(_ action: String) -> TestSchema {
        TestSchema(
            name: "shelves",
            sql: """
                CREATE TABLE "a shelf"(id INTEGER PRIMARY KEY, name TEXT);
                CREATE TABLE book(id INTEGER PRIMARY KEY, title TEXT, "on" INTEGER REFERENCES "A Shelf"(ID) \(action));
                CREATE TABLE loan(book INTEGER REFERENCES book \(action), who TEXT, PRIMARY KEY (book, who)) WITHOUT ROWID;
                CREATE TABLE author(code TEXT PRIMARY KEY COLLATE NOCASE, name TEXT);
                CREATE TABLE wrote(id INTEGER PRIMARY KEY, author TEXT REFERENCES author \(action));
                """)
    }

    private static let actions = [
        "", "ON DELETE RESTRICT", "ON DELETE CASCADE", "ON DELETE SET NULL", "ON DELETE SET DEFAULT",
    ]
    private static let books = "SELECT title, name FROM Book LEFT JOIN \"a shelf\" s ON s.id = \"on\" ORDER BY 1"
    private static let key = "reference:book.on=a shelf"

    private func check(_ devices: [TestDevice], _ schema: TestSchema, line: UInt = #line) throws {
        let oracle = try Oracle(schema)
        for device in devices {
            XCTAssertEqual(try oracle.complaints(about: device), [], "device \(device.id.low)", line: line)
            let report = try device.store.verify(deep: true)
            XCTAssertTrue(report.isSound, "\(report)", line: line)
        }
    }

    func testARowThatRefersToNothingWhenItsDatabaseIsTrackedStaysAndIsShownEverywhere() throws {
        for action in Self.actions {
            let schema = Self.schema(action)
            let rows = """
                ;PRAGMA foreign_keys = OFF; INSERT INTO "a shelf" VALUES (1, 'top');
                INSERT INTO Book VALUES (1, 'fine', 1), (2, 'precious', 99); PRAGMA foreign_keys = ON
                """
            let d = [try TestDevice(1, schema, rows: rows), try TestDevice(2, schema), try TestDevice(3, schema)]
            XCTAssertEqual(try d[0].store.plainReferences().map(\.table), ["book"])
            try d[0].flush()
            XCTAssertEqual(try d[0].query("SELECT * FROM Book"), ["1|fine|1", "2|precious|99"], action)
            try d[1].run("INSERT INTO \"a shelf\" VALUES (99, 'bottom')")
            try d[1].flush()
            try d[1].receive(d[0])
            try d[2].receive(d[1], d[0])
            try d[0].receive(d[1])
            for device in d { XCTAssertEqual(try device.query(Self.books), ["fine|top", "precious|NULL"], action) }
            try check(d, schema)
        }
    }

    func testARowThatIsWrittenLaterWithForeignKeysOffStaysOnAllDevices() throws {
        for action in Self.actions {
            for isReversed in [false, true] {
                let schema = Self.schema(action)
                let d = try (1...3).map { try TestDevice($0, schema) }
                try d[0].run("INSERT INTO \"a shelf\" VALUES (1, 'top'); INSERT INTO Book VALUES (1, 'a', 1)")
                try d[0].flush()
                try d[1].receive(d[0])
                try d[1].run("INSERT INTO Book VALUES (2, 'dangling', 77), (3, 'b', 1)", foreignKeys: false)
                try d[1].run("INSERT INTO author VALUES ('x', 'X')")
                try d[0].run("UPDATE Book SET title = 'A' WHERE id = 1")
                try d[1].flush()
                XCTAssertEqual(try d[1].query("SELECT * FROM Book ORDER BY 1"), ["1|a|1", "2|dangling|77", "3|b|1"])
                try d[0].flush()
                if isReversed {
                    try d[2].receive(d[1])
                    try d[2].receive(d[0])
                } else {
                    try d[2].receive(d[0], d[1])
                }
                try d[0].receive(d[1])
                try d[1].receive(d[0])
                for device in d {
                    XCTAssertEqual(try device.query(Self.books), ["A|top", "b|top", "dangling|NULL"], action)
                    XCTAssertEqual(try device.query("SELECT target FROM ferry_policy"), [Self.key])
                }
                try check(d, schema)
            }
        }
    }

    func testADeletedParentLeavesItsChildrenWhereForeignKeysAreOff() throws {
        for action in Self.actions {
            let schema = Self.schema(action)
            let d = try (1...3).map { try TestDevice($0, schema) }
            try d[0].run("INSERT INTO \"a shelf\" VALUES (1, 'top'), (2, 'low'); INSERT INTO Book VALUES (1, 'a', 1)")
            try d[0].flush()
            for device in d[1...] { try device.receive(d[0]) }
            try d[1].run("DELETE FROM \"a shelf\" WHERE id = 1", foreignKeys: false)
            // Without knowing of it.
            try d[2].run("INSERT INTO Book VALUES (5, 'c', 1)")
            try d[1].flush()
            XCTAssertEqual(try d[1].query("SELECT * FROM Book"), ["1|a|1"], action)
            try d[2].flush()
            try d[1].receive(d[2])
            try d[2].receive(d[1])
            try d[0].receive(d[2], d[1])
            for device in d {
                XCTAssertEqual(try device.query(Self.books), ["a|NULL", "c|NULL"], action)
                XCTAssertEqual(try device.query("SELECT name FROM \"a shelf\""), ["low"])
            }
            try check(d, schema)
        }
    }

    func testARowWithABrokenReferenceInItsKeyStays() throws {
        for action in Self.actions where action != "ON DELETE SET NULL" {
            let schema = Self.schema(action)
            let d = try (1...2).map { try TestDevice($0, schema) }
            try d[0].run("INSERT INTO Book(id, title) VALUES (1, 'a'); INSERT INTO loan VALUES (1, 'me')")
            try d[0].flush()
            try d[1].receive(d[0])
            try d[0].run("INSERT INTO loan VALUES (8, 'you')", foreignKeys: false)
            try d[0].flush()
            XCTAssertEqual(try d[0].query("SELECT * FROM loan ORDER BY who"), ["1|me", "8|you"])
            try d[1].receive(d[0])
            XCTAssertEqual(try d[1].query("SELECT who FROM loan ORDER BY who"), ["me", "you"])
            try check(d, schema)
        }
    }

    func testAValueThatRefersToNothingStaysWhatItIs() throws {
        for action in Self.actions {
            let schema = Self.schema(action)
            let d = try (1...2).map { try TestDevice($0, schema) }
            try d[0].run("INSERT INTO author VALUES ('k', 'K'); INSERT INTO wrote VALUES (1, 'K')")
            try d[0].flush()
            try d[1].receive(d[0])
            try d[1].run("INSERT INTO wrote VALUES (2, 'nobody'); DELETE FROM author", foreignKeys: false)
            try d[1].flush()
            try d[0].receive(d[1])
            for device in d {
                XCTAssertEqual(try device.query("SELECT * FROM wrote ORDER BY 1"), ["1|K", "2|nobody"], action)
            }
            try check(d, schema)
        }
    }

    func testWhatSQLiteDidForAPlainReferenceTravelsAsItWasDone() throws {
        let schema = Self.schema("ON DELETE SET NULL")
        let d = try (1...3).map { try TestDevice($0, schema) }
        try d[0].run(
            "INSERT INTO \"a shelf\" VALUES (1, 'top'), (2, 'low'); INSERT INTO Book VALUES (1, 'a', 1), (2, 'b', 2)")
        try d[0].flush()
        try d[1].receive(d[0])
        // Cleared before the foreign key is a plain reference, in the same flush, and after it.
        try d[1].run("DELETE FROM \"a shelf\" WHERE id = 1")
        try d[1].flush()
        try d[1].run("INSERT INTO Book VALUES (3, 'dangling', 50)", foreignKeys: false)
        try d[1].run("DELETE FROM \"a shelf\" WHERE id = 2")
        try d[1].flush()
        try d[1].run("INSERT INTO \"a shelf\" VALUES (3, 'new'); INSERT INTO Book VALUES (4, 'c', 3)")
        try d[1].flush()
        try d[1].run("DELETE FROM \"a shelf\" WHERE id = 3")
        try d[1].flush()
        XCTAssertEqual(try d[1].query("SELECT id, \"on\" FROM Book"), ["1|NULL", "2|NULL", "3|50", "4|NULL"])
        try d[0].receive(d[1])
        try d[2].receive(d[1], d[0])
        for device in d { XCTAssertEqual(try device.query("SELECT id FROM Book WHERE \"on\" IS NOT NULL"), ["3"]) }
        try check(d, schema)
    }

    func testRowsThatWaitedAreShownOnceTheForeignKeyIsAPlainReference() throws {
        let schema = Self.schema("ON DELETE CASCADE")
        let d = try (1...3).map { try TestDevice($0, schema) }
        try d[0].run("INSERT INTO \"a shelf\" VALUES (1, 'top')")
        try d[0].flush()
        for device in d[1...] { try device.receive(d[0]) }
        try d[0].run("DELETE FROM \"a shelf\"")
        try d[1].run("INSERT INTO Book VALUES (1, 'a', 1)")
        try d[0].flush()
        try d[1].flush()
        for device in d { try device.receive(d[0], d[1]) }
        for device in d { XCTAssertEqual(try device.query(Self.books), []) }
        try d[2].run("INSERT INTO Book VALUES (2, 'dangling', 9)", foreignKeys: false)
        try d[2].flush()
        for device in d { try device.receive(d[2]) }
        for device in d { XCTAssertEqual(try device.query(Self.books), ["a|NULL", "dangling|NULL"]) }
        try check(d, schema)
    }

    func testAForeignKeyIsWholeAgainstConcurrentDeletionsAsLongAsNobodyBreaksIt() throws {
        try story(
            Self.schema("ON DELETE CASCADE"), together: "INSERT INTO \"a shelf\" VALUES (1, 'top')",
            one: "DELETE FROM \"a shelf\"", other: "INSERT INTO Book VALUES (1, 'a', 1)", query: Self.books, shows: [])
    }

    func testAForeignKeyThatARebuildBringsOverBrokenRowsIsAPlainReference() throws {
        let schema = TestSchema(
            name: "later",
            sql: "CREATE TABLE p(id INTEGER PRIMARY KEY); CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER)")
        let device = try TestDevice(1, schema)
        try device.run("INSERT INTO c VALUES (1, 5)")
        try device.flush()
        try device.run(
            """
            BEGIN; CREATE TABLE n(id INTEGER PRIMARY KEY, p INTEGER REFERENCES p); INSERT INTO n SELECT * FROM c;
            DROP TABLE c; ALTER TABLE n RENAME TO c; COMMIT
            """, foreignKeys: false)
        try device.flush()
        try device.run("UPDATE c SET id = 2")
        try device.flush()
        XCTAssertEqual(try device.query("SELECT * FROM c"), ["2|5"])
        XCTAssertEqual(try device.store.plainReferences().map(\.columns), [["p"]])
    }

    func testAForeignKeyCanBeNamedAsAPlainReference() throws {
        let schema = Self.schema("ON DELETE CASCADE")
        let device = try TestDevice(1, schema, plainReferences: [PlainReferenceName(table: "BOOK", columns: ["On"])])
        let other = try TestDevice(2, schema)
        XCTAssertEqual(try device.store.plainReferences().map(\.reason), ["somebody said so"])
        try device.run("INSERT INTO \"a shelf\" VALUES (1, 'top'); INSERT INTO Book VALUES (1, 'a', 1)")
        try device.flush()
        try other.receive(device)
        try other.run("DELETE FROM \"a shelf\"", foreignKeys: false)
        try device.run("INSERT INTO Book VALUES (2, 'b', 1)")
        try other.flush()
        try device.receive(other)
        XCTAssertEqual(try device.query(Self.books), ["a|NULL", "b|NULL"])
        for wrong in [["title"], ["on", "id"], ["nothing"]] {
            XCTAssertThrowsError(
                try TestDevice(3, schema, plainReferences: [PlainReferenceName(table: "Book", columns: wrong)])
            ) { XCTAssertEqual(($0 as? FerryError)?.code, .invalidArgument) }
        }
    }

    func testForeignKeysThatSQLiteCannotUseHoldNothingUp() throws {
        let schema = TestSchema(
            name: "sloppy",
            sql: """
                CREATE TABLE p(id INTEGER PRIMARY KEY, code TEXT, part TEXT);
                CREATE UNIQUE INDEX some ON p(part) WHERE part > 'a';
                CREATE VIEW v AS SELECT id FROM p;
                CREATE TABLE c(id INTEGER PRIMARY KEY, p TEXT REFERENCES p(code) ON DELETE CASCADE,
                    q TEXT REFERENCES p(part), v INTEGER REFERENCES v(id), w INTEGER REFERENCES missing,
                    x INTEGER REFERENCES p("no column"), r REAL REFERENCES p, y REFERENCES two);
                CREATE TABLE two(a INTEGER, b INTEGER, PRIMARY KEY (a, b));
                """)
        let d = try (1...2).map { try TestDevice($0, schema) }
        try d[0].run(
            "INSERT INTO p VALUES (1, 'k', 'z'); INSERT INTO c VALUES (1, 'k', 'z', 1, 5, 6, 1, 7), (2, 'none', 'none', 8, 9, 10, 12, 11)",
            foreignKeys: false)
        try d[0].flush()
        try d[1].receive(d[0])
        try d[1].run("DELETE FROM p", foreignKeys: false)
        try d[1].flush()
        try d[0].receive(d[1])
        for device in d {
            XCTAssertEqual(
                try device.query("SELECT id, p, q, v, w, x, y FROM c"), ["1|k|z|1|5|6|7", "2|none|none|8|9|10|11"],
                "device \(device.id.low)")
            let report = try device.store.verify(deep: true)
            XCTAssertTrue(report.isSound, "\(report)")
            XCTAssertEqual(Set(report.plainReferences.flatMap(\.columns)), ["p", "q", "v", "w", "x", "r", "y"])
        }
    }
}
