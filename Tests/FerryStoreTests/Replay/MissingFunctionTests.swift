import FerryCore
import FerryTestSupport
import GRDB
import XCTest

@testable import FerryStore

/// A schema uses a collation or a function of the app's own, and a process that syncs has neither: the rows of such a table wait
/// for the app, and everything else goes on.
final class MissingFunctionTests: XCTestCase {
    private static let sql = """
        CREATE TABLE "t 1"(k TEXT PRIMARY KEY, v TEXT COLLATE plain UNIQUE);
        CREATE TABLE g(k TEXT PRIMARY KEY, v TEXT); CREATE UNIQUE INDEX i ON g(folded(v));
        CREATE TABLE o(k TEXT PRIMARY KEY, v)
        """
    /// A table that needs the app's collation, its parent and its children.
    private static let family = """
        CREATE TABLE owner(id INTEGER PRIMARY KEY, name TEXT UNIQUE, age);
        CREATE TABLE word(id INTEGER PRIMARY KEY, owner INTEGER REFERENCES owner(id) ON DELETE CASCADE,
            v TEXT COLLATE plain UNIQUE, note TEXT);
        CREATE INDEX word_owner ON word(owner);
        CREATE TABLE usage(k TEXT PRIMARY KEY, word INTEGER REFERENCES word(id) ON DELETE SET NULL, text TEXT);
        CREATE TABLE o(k TEXT PRIMARY KEY, v)
        """

    private func equip(_ device: TestDevice) throws {
        try device.queue.write { database in
            database.add(
                collation: DatabaseCollation("plain") { left, right in
                    left.lowercased().compare(right.lowercased())
                })
            database.add(
                function: DatabaseFunction("folded", argumentCount: 1, pure: true) { values in
                    String.fromDatabaseValue(values[0])?.lowercased()
                })
        }
    }

    private func device(_ number: Int, _ sql: String = MissingFunctionTests.sql) throws -> TestDevice {
        let device = try TestDevice(number, TestSchema(name: "empty", sql: ""), hoursAhead: Int64(number))
        try equip(device)
        try device.run(sql)
        try device.flush()
        return device
    }

    /// What a connection has not, it lacks as another process does.
    private func strip(_ device: TestDevice) throws {
        try device.queue.write { database in
            database.remove(collation: DatabaseCollation("plain") { _, _ in .orderedSame })
            database.remove(function: DatabaseFunction("folded", argumentCount: 1) { _ in nil })
        }
    }

    /// What the app writes, which has everything.
    private func write(_ device: TestDevice, _ sql: String) throws {
        try equip(device)
        try device.run(sql)
        try strip(device)
    }

    private func waiting(_ device: TestDevice) throws -> [String: Int] {
        Dictionary(uniqueKeysWithValues: try device.store.reading().waitingTables.map { ($0.table, $0.rows) })
    }

    /// Lets the devices tell each other everything, all of them with what the app has, and compares them.
    private func settle(
        _ devices: [TestDevice], _ queries: [String], file: StaticString = #filePath, line: UInt = #line
    ) throws {
        for device in devices { try equip(device) }
        for _ in 0..<3 {
            for device in devices {
                for other in devices where other !== device {
                    let refused = try device.receive(other).refused
                    XCTAssertEqual(refused.count, 0, "\(refused)", file: file, line: line)
                }
            }
        }
        for device in devices {
            XCTAssertEqual(try waiting(device), [:], file: file, line: line)
            XCTAssertFalse(try device.store.needsPass(), file: file, line: line)
            for query in queries {
                XCTAssertEqual(try device.query(query), try devices[0].query(query), query, file: file, line: line)
            }
            XCTAssertEqual(
                try device.store.statePosition().digests, try devices[0].store.statePosition().digests, file: file,
                line: line)
            let report = try device.store.verify(deep: true)
            XCTAssertTrue(report.isSound, "\(report)", file: file, line: line)
        }
    }

    func testTheRowsOfTheTableWaitForTheAppAndEverythingElseGoesOn() throws {
        for (table, other) in [("\"t 1\"", "g"), ("g", "\"t 1\"")] {
            let (a, b, third) = (try device(1), try device(2), try device(3))
            try strip(b)
            try a.run("INSERT INTO \(table) VALUES ('1', 'Rock'); INSERT INTO o VALUES ('with it', 1)")
            try a.flush()
            try a.run("INSERT INTO o VALUES ('after it', 1)")
            try a.flush()
            try third.run("INSERT INTO o VALUES ('o', 1)")
            try third.flush()
            XCTAssertEqual(try b.receive(a).refused.count, 0)
            XCTAssertEqual(try b.receive(third).refused.count, 0)
            XCTAssertEqual(try b.query("SELECT k FROM o ORDER BY k"), ["after it", "o", "with it"])
            XCTAssertEqual(try b.query("SELECT k FROM \(table)"), [])
            XCTAssertEqual(try waiting(b), [table == "g" ? "g" : "t 1": 1])
            XCTAssertFalse(try b.store.needsPass())
            // What the app writes is packed all the same.
            try write(b, "INSERT INTO \(table) VALUES ('2', 'rock'); INSERT INTO \(other) VALUES ('3', 'x')")
            try b.flush()
            try a.receive(b)
            XCTAssertEqual(try a.query("SELECT k, v FROM \(table)"), ["1|rock"])
            XCTAssertEqual(try a.query("SELECT k, v FROM \(other)"), ["3|x"])
            try equip(b)
            XCTAssertTrue(try b.store.needsPass())
            try b.flush()
            XCTAssertEqual(try b.query("SELECT k, v FROM \(table)"), ["1|rock"])
            try settle([a, b, third], ["SELECT * FROM \(table)", "SELECT * FROM g", "SELECT k FROM o ORDER BY k"])
        }
    }

    func testUpdatesAndDeletionsWaitAndFollow() throws {
        let (a, b) = (try device(1), try device(2))
        try a.run("INSERT INTO g VALUES ('1', 'a'), ('2', 'b'), ('3', 'c')")
        try a.flush()
        try b.receive(a)
        try strip(b)
        try a.run("UPDATE g SET v = 'A2' WHERE k = '1'; DELETE FROM g WHERE k = '2'; INSERT INTO g VALUES ('4', 'd')")
        try a.flush()
        try b.receive(a)
        try a.run("UPDATE g SET v = 'A3' WHERE k = '1'; DELETE FROM g WHERE k = '4'")
        try a.run("INSERT INTO g VALUES ('2', 'again')")
        try a.flush()
        try b.receive(a)
        XCTAssertEqual(try b.query("SELECT k, v FROM g ORDER BY k"), ["1|a", "2|b", "3|c"])
        XCTAssertEqual(try waiting(b), ["g": 2])
        // The state is the same, and what is shown is not.
        let (own, others) = (try a.store.reading().tables, try b.store.reading().tables)
        XCTAssertEqual(own.map(\.state), others.map(\.state))
        XCTAssertNotEqual(own.first { $0.name == "g" }?.rows, others.first { $0.name == "g" }?.rows)
        try settle([a, b], ["SELECT k, v FROM g ORDER BY k"])
        XCTAssertEqual(try b.query("SELECT k, v FROM g ORDER BY k"), ["1|A3", "2|again", "3|c"])
    }

    func testWhatTheAppWritesToARowThatWaitsIsNotLostAndWhatItOverwroteIsAConflict() throws {
        let (a, b) = (try device(1), try device(2))
        try a.run("INSERT INTO \"t 1\" VALUES ('1', 'a'), ('2', 'b'), ('3', 'c')")
        try a.flush()
        try b.receive(a)
        try strip(b)
        try a.run("UPDATE \"t 1\" SET v = 'theirs' WHERE k = '1'; DELETE FROM \"t 1\" WHERE k = '2'")
        try a.run("INSERT INTO \"t 1\" VALUES ('4', 'theirs too')")
        try a.flush()
        try b.receive(a)
        try write(b, "UPDATE \"t 1\" SET v = 'ours' WHERE k IN ('1'); UPDATE \"t 1\" SET v = 'kept' WHERE k = '2'")
        try write(b, "INSERT INTO \"t 1\" VALUES ('4', 'ours too')")
        try b.flush()
        try settle([a, b], ["SELECT k, v FROM \"t 1\" ORDER BY k"])
        XCTAssertEqual(try a.query("SELECT k, v FROM \"t 1\" ORDER BY k"), ["1|ours", "2|kept", "3|c", "4|ours too"])
        let conflicts = try b.store.conflicts()
        XCTAssertEqual(conflicts.filter { $0.kind == .field }.count, 2, "\(conflicts)")
        XCTAssertEqual(conflicts.filter { $0.kind == .revived }.count, 1, "\(conflicts)")
    }

    func testWhatDependsOnRowsThatWaitWaitsWithThemAndTheRestOfItsTablesGoesOn() throws {
        let (a, b) = (try device(1, Self.family), try device(2, Self.family))
        try a.run(
            """
            INSERT INTO owner VALUES (1, 'one', 1), (2, 'two', 2);
            INSERT INTO word VALUES (1, 1, 'x', ''), (2, 2, 'y', ''); INSERT INTO usage VALUES ('u', 1, '')
            """)
        try a.flush()
        try b.receive(a)
        try strip(b)
        try a.run(
            """
            INSERT INTO owner VALUES (3, 'three', 3); INSERT INTO word VALUES (3, 3, 'z', '');
            INSERT INTO usage VALUES ('new', 3, ''), ('old', 1, ''); UPDATE usage SET text = 'new' WHERE k = 'u';
            DELETE FROM owner WHERE id = 2
            """)
        try a.flush()
        XCTAssertEqual(try b.receive(a).refused.count, 0)
        XCTAssertEqual(try b.query("SELECT name FROM owner ORDER BY id"), ["one", "two", "three"])
        XCTAssertEqual(try b.query("SELECT k, text FROM usage ORDER BY k"), ["old|", "u|new"])
        XCTAssertEqual(try b.query("SELECT count(*) FROM word"), ["2"])
        XCTAssertEqual(try waiting(b), ["owner": 1, "usage": 1, "word": 2])
        XCTAssertEqual(try b.query("PRAGMA foreign_key_check"), [])
        try settle(
            [a, b],
            [
                "SELECT name, age FROM owner ORDER BY name", "SELECT v, note, owner FROM word ORDER BY v",
                "SELECT * FROM usage ORDER BY k",
            ])
    }

    func testNotesThatCannotBePackedWaitAndKeepNobodyElseWaiting() throws {
        let sql = "CREATE TABLE p(k TEXT COLLATE plain PRIMARY KEY, v); CREATE TABLE o(k TEXT PRIMARY KEY, v)"
        let (a, b) = (try device(1, sql), try device(2, sql))
        try a.run("INSERT INTO p VALUES ('a', 1)")
        try a.flush()
        try b.receive(a)
        try strip(b)
        try write(b, "UPDATE p SET v = 2; INSERT INTO p VALUES ('b', 1); INSERT INTO o VALUES ('o', 1)")
        XCTAssertEqual(try b.flush().packed, 1)
        XCTAssertFalse(try b.store.needsPass())
        try a.receive(b)
        XCTAssertEqual(try a.query("SELECT k FROM o"), ["o"])
        // What others write there waits too, or it would meet what is not packed yet.
        try a.run("UPDATE p SET v = 3 WHERE k = 'a'")
        try a.flush()
        XCTAssertEqual(try b.receive(a).refused[a.id]?.code, .missingFunction)
        XCTAssertEqual(try b.query("SELECT * FROM p ORDER BY v"), ["b|1", "a|2"])
        try write(b, "INSERT INTO p VALUES ('c', 1)")
        XCTAssertEqual(try b.flush().packed, 0)
        try settle([a, b], ["SELECT k, v FROM p ORDER BY k", "SELECT * FROM o"])
        XCTAssertEqual(try a.query("SELECT k FROM p ORDER BY k"), ["a", "b", "c"])
        XCTAssertEqual(try a.query("SELECT * FROM ferry_pending"), [])
    }

    /// A key by the app's collation, and a column under a policy: their tables cannot be merged without the app.
    func testALogWaitsForATableThatCannotBeMergedAndGoesOnInAllOtherTables() throws {
        let sql = """
            CREATE TABLE p(k TEXT COLLATE plain PRIMARY KEY, v);
            CREATE TABLE n(k TEXT PRIMARY KEY, v TEXT COLLATE plain UNIQUE, count INTEGER);
            CREATE TABLE o(k TEXT PRIMARY KEY, v)
            """
        for (name, statement) in [
            ("p", "INSERT INTO p VALUES ('a', 1)"), ("n", "INSERT INTO n VALUES ('a', 'Rock', 1)"),
        ] {
            let (a, b, third) = (try device(1, sql), try device(2, sql), try device(3, sql))
            try a.store.setPolicies([PolicySetting(.column(table: "n", column: "count"), ColumnPolicy.counter.word)])
            try a.flush()
            for device in [b, third] { try device.receive(a) }
            try strip(b)
            try a.run("\(statement); INSERT INTO o VALUES ('with it', 1)")
            try a.flush()
            try a.run("INSERT INTO o VALUES ('after it', 1); UPDATE o SET v = 2 WHERE k = 'with it'")
            try a.flush()
            let outcome = try b.receive(a)
            XCTAssertEqual(outcome.refused[a.id]?.code, .missingFunction)
            XCTAssertEqual(try b.query("SELECT * FROM o ORDER BY k"), ["after it|1", "with it|2"])
            XCTAssertEqual(try b.query("SELECT v FROM \(name) NOT INDEXED"), [])
            // Nothing is done twice.
            let before = try b.store.dataVersion()
            XCTAssertEqual(try b.receive(a).replayed, 0)
            XCTAssertEqual(try b.store.dataVersion(), before)
            XCTAssertFalse(try b.store.needsPass())
            // What comes later goes on too, and what this device writes meanwhile is later than what it saw.
            try write(b, "UPDATE o SET v = 3 WHERE k = 'after it'")
            try b.flush()
            try a.run("UPDATE o SET v = 4 WHERE k = 'with it'")
            try a.flush()
            try b.receive(a)
            try third.receive(a)
            try third.receive(b)
            XCTAssertEqual(try b.query("SELECT * FROM o ORDER BY k"), ["after it|3", "with it|4"])
            XCTAssertEqual(try third.query("SELECT * FROM o ORDER BY k"), ["after it|3", "with it|4"])
            try settle([a, b, third], ["SELECT * FROM \(name)", "SELECT * FROM o ORDER BY k"])
            XCTAssertEqual(try b.query("SELECT count(*) FROM \(name)"), ["1"])
        }
    }

    func testRandomStoriesEndWithTheSameRows() throws {
        let seeds = ProcessInfo.processInfo.environment["FERRY_SEEDS"].flatMap { Int($0) } ?? 40
        var (waits, holds) = (0, 0)
        for seed in 1...seeds {
            var random = Chance(seed: UInt64(seed))
            func number(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }
            let sql = [
                Self.family, Self.family + "; CREATE UNIQUE INDEX word_v ON word(folded(v)) WHERE folded(v) <> ''",
                Self.family.replacing("usage(k TEXT PRIMARY KEY", with: "usage(k TEXT COLLATE plain PRIMARY KEY"),
                Self.family.replacing("age);", with: "age CHECK (folded(age) <> 'x'));"),
            ][seed % 4]
            let devices = try (1...3).map { try device($0, sql) }
            try devices[0].run(
                """
                INSERT INTO owner VALUES (1, 'n1', 0), (2, 'n2', 0), (3, 'n3', 0);
                INSERT INTO word VALUES (1, 1, 'a', ''), (2, 1, 'b', ''), (3, 2, 'c', '');
                INSERT INTO usage VALUES ('u1', 1, ''), ('u2', 2, ''), ('u3', NULL, '')
                """)
            try devices[0].flush()
            for device in devices.dropFirst() { try device.receive(devices[0]) }
            for device in devices.dropFirst() { try strip(device) }
            for step in 0..<60 {
                let device = devices[number(3)]
                if number(10) == 0 { try equip(device) } else if device !== devices[0] { try strip(device) }
                switch number(7) {
                case 0:
                    for other in devices.shuffled(using: &random) where other !== device { try device.receive(other) }
                case 1: try device.receive(devices[number(3)])
                case 2: try device.flush()
                default:
                    let (id, other) = (number(6) + 1, number(6) + 1)
                    let statement = [
                        "INSERT OR IGNORE INTO owner VALUES (\(id), 'n\(other)', \(step))",
                        "UPDATE OR IGNORE owner SET name = 'n\(other)' WHERE id = \(id)",
                        "UPDATE owner SET age = \(step) WHERE id = \(id)", "DELETE FROM owner WHERE id = \(id)",
                        "INSERT OR IGNORE INTO word SELECT \(id), id, '\("aAbBcC".map(String.init)[other - 1])', '\(step)' "
                            + "FROM owner WHERE id = \(other)",
                        "UPDATE OR IGNORE word SET v = '\("aAbBcC".map(String.init)[other - 1])' WHERE id = \(id)",
                        "UPDATE word SET note = '\(step)' WHERE id = \(id)", "DELETE FROM word WHERE id = \(id)",
                        "INSERT OR IGNORE INTO usage SELECT 'u\(id)', id, '\(step)' FROM word WHERE id = \(other)",
                        "UPDATE usage SET text = '\(step)' WHERE k = 'u\(id)'", "DELETE FROM usage WHERE k = 'u\(id)'",
                        "INSERT OR REPLACE INTO o VALUES ('\(id)', \(step))",
                    ][number(12)]
                    let isStripped = try !device.store.read { try $0.hasCollation("plain") }
                    try equip(device)
                    try device.run(statement)
                    if isStripped { try strip(device) }
                }
                XCTAssertEqual(try device.query("PRAGMA foreign_key_check"), [], "seed \(seed)")
                let tables = try device.store.reading().waitingTables
                if !tables.isEmpty { waits += 1 }
                if tables.contains(where: { $0.unpacked > 0 }) { holds += 1 }
            }
            try settle(
                devices,
                [
                    "SELECT name, age FROM owner ORDER BY name, age",
                    "SELECT name, v, note FROM word LEFT JOIN owner ON owner.id = owner ORDER BY v, note",
                    "SELECT k, v, text FROM usage LEFT JOIN word ON word.id = word ORDER BY k",
                    "SELECT k, v FROM o ORDER BY k",
                ])
            if testRun?.totalFailureCount ?? 0 > 0 { return XCTFail("seed \(seed)") }
        }
        XCTAssertGreaterThan(waits, seeds)
        XCTAssertGreaterThan(holds, 0)
    }
}
