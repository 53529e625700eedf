import FerryCore
import FerrySchema
import FerryStore
import XCTest

@testable import FerryEngine

/// What apps keep beside their rows: counters, indexes in virtual tables, triggers that ask whether a replay is writing.
final class AppsAsTheyAreTests: XCTestCase {

    // MARK: Triggers that ask ferry_replay

    private static let asking = """
        CREATE TABLE t(id INTEGER PRIMARY KEY, x);
        CREATE TABLE log(m);
        CREATE TRIGGER "ask it" AFTER INSERT ON t WHEN (SELECT active FROM Ferry_Replay) = 0
            BEGIN INSERT INTO log VALUES (new.x); END;
        CREATE VIEW asks AS SELECT active FROM ferry_replay;
        """

    func testATriggerThatAsksWorksWhenFerryHasLeft() throws {
        let fleet = try Fleet()
        try fleet.start(Self.asking)
        XCTAssertEqual(try fleet.replicas[0].leave().askers, ["ask it", "asks"])
        XCTAssertEqual(
            try fleet.shell(0, "INSERT INTO t VALUES (1, 'a'); SELECT * FROM log; SELECT * FROM asks"), "a\n0\n")
        XCTAssertEqual(try fleet.shell(0, "SELECT name FROM sqlite_schema WHERE name LIKE 'ferry%'"), "ferry_replay\n")
        // The next container takes the table over.
        let store = try Store(path: fleet.databasePath(0))
        let (replica, _) = try Replica.create(
            store, containerPath: fleet.containerPath + "2", sealing: .open, name: "again")
        XCTAssertEqual(try fleet.shell(0, "INSERT INTO t VALUES (2, 'b'); SELECT * FROM log"), "a\nb\n")
        XCTAssertTrue(try replica.verify(deep: true).isSound)
    }

    func testNothingStaysWhereNobodyAsks() throws {
        let fleet = try Fleet()
        try fleet.start("CREATE TABLE t(id INTEGER PRIMARY KEY, x)")
        XCTAssertEqual(try fleet.replicas[0].leave().askers, [])
        XCTAssertEqual(try fleet.shell(0, "SELECT name FROM sqlite_schema WHERE name LIKE 'ferry%'"), "")
    }

    func testAnImportedDatabaseCanBeWrittenTo() throws {
        let fleet = try Fleet()
        try fleet.start(Self.asking)
        let file = fleet.folder.appendingPathComponent("archive.ferry").path
        _ = try fleet.replicas[0].exportSnapshot(to: file)
        _ = try Replica.importDatabase(at: fleet.databasePath(5), from: file)
        XCTAssertEqual(try fleet.shell(5, "INSERT INTO t VALUES (1, 'a'); SELECT * FROM log"), "a\n")
    }

    func testAnAppMayMakeTheTableThatItAsksItself() throws {
        let fleet = try Fleet()
        try fleet.start(
            "CREATE TABLE ferry_replay(active INTEGER NOT NULL); INSERT INTO ferry_replay VALUES (0);" + Self.asking)
        try fleet.join()
        try fleet.shell(0, "INSERT INTO t VALUES (1, 'a')")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(0, "SELECT * FROM log"), "a\n")
        XCTAssertEqual(try fleet.shell(1, "SELECT x FROM t; SELECT * FROM log"), "a\n")
    }

    // MARK: Virtual tables

    func testADeviceJoinsWithIndexesInVirtualTablesAndTriggersFillThem() throws {
        let fleet = try Fleet()
        try fleet.start(
            """
            CREATE TABLE poi(id INTEGER PRIMARY KEY, x REAL, name TEXT);
            CREATE VIRTUAL TABLE place USING rtree(id, x0, x1);
            CREATE VIRTUAL TABLE whole USING "RTREE_I32"(id, x0, x1);
            CREATE VIRTUAL TABLE words USING fts4(name);
            CREATE VIRTUAL TABLE "my USING words" USING fts5(name);
            CREATE TRIGGER i AFTER INSERT ON poi BEGIN
                INSERT INTO place VALUES (new.id, new.x, new.x); INSERT INTO whole VALUES (new.id, new.x, new.x);
                INSERT INTO words(docid, name) VALUES (new.id, new.name);
                INSERT INTO "my USING words"(rowid, name) VALUES (new.id, new.name); END;
            INSERT INTO poi VALUES (1, 5, 'here');
            """)
        try fleet.join()
        try fleet.shell(0, "INSERT INTO poi VALUES (2, 7, 'there')")
        try fleet.settle()
        let query =
            "SELECT * FROM place; SELECT * FROM whole; SELECT docid FROM words WHERE name MATCH 'here OR there'; "
        try fleet.assertEqual(query + "SELECT rowid FROM \"my USING words\"('here OR there')")
        XCTAssertEqual(try fleet.shell(1, "SELECT id FROM place"), "1\n2\n")
    }

    func testAVirtualTableOfAnotherModuleIsLeftOutOfAJoin() throws {
        let fleet = try Fleet()
        try fleet.start(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, x);
            CREATE TABLE log(x);
            CREATE VIRTUAL TABLE pages USING dbstat;
            INSERT INTO t VALUES (1, 'a');
            CREATE TRIGGER l AFTER INSERT ON t BEGIN INSERT INTO log VALUES (new.x); END;
            CREATE TRIGGER p AFTER INSERT ON t BEGIN INSERT INTO log SELECT count(*) FROM pages; END;
            """)
        let report = try fleet.join()
        XCTAssertEqual(report.leftOut.map(\.name).filter { ["pages", "p"].contains($0) }.sorted(), ["p", "pages"])
        XCTAssertEqual(try fleet.shell(1, "INSERT INTO t VALUES (2, 'b'); SELECT * FROM log"), "a\nb\n")
        XCTAssertTrue(try fleet.replicas[1].verify(deep: true).isSound)
    }

    // MARK: Counters

    func testATotalThatATriggerCountsIsRightUnderThePolicyCounter() throws {
        let fleet = try Fleet()
        try fleet.start(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, x);
            CREATE TABLE total(k TEXT PRIMARY KEY, n INTEGER);
            INSERT INTO total VALUES ('t', 0);
            CREATE TRIGGER i AFTER INSERT ON t BEGIN UPDATE total SET n = n + 1 WHERE k = 't'; END;
            """)
        try fleet.replicas[0].setPolicies([PolicySetting(table: "total", column: "n", .counter)])
        try fleet.settle()
        try fleet.join()
        for device in [0, 1, 0] {
            try fleet.shell(device, "INSERT INTO t(x) VALUES (\(device))")
            try fleet.settle()
        }
        try fleet.shell(0, "INSERT INTO t(x) VALUES (4); INSERT INTO t(x) VALUES (5)")
        try fleet.shell(1, "INSERT INTO t(x) VALUES (6)")
        try fleet.settle()
        try fleet.join()
        try fleet.assertEqual("SELECT n FROM total")
        XCTAssertEqual(try fleet.shell(1, "SELECT n, (SELECT count(*) FROM t) FROM total"), "6|6\n")
    }

    /// The highest key that Core Data gave, and the number of rows that GeoPackage keeps: in tables that stay, by triggers.
    func testCountersThatStayFollowWhatIsReplayed() throws {
        let schema = """
            CREATE TABLE Z_PRIMARYKEY(Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER, n INT);
            CREATE TABLE ZARTIST(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR);
            INSERT INTO Z_PRIMARYKEY VALUES (1, 'Artist', 0, 0, 0);
            CREATE TRIGGER ZARTIST_max AFTER INSERT ON ZARTIST BEGIN
                UPDATE Z_PRIMARYKEY SET Z_MAX = max(Z_MAX, NEW.Z_PK), n = n + 1 WHERE Z_ENT = NEW.Z_ENT; END;
            CREATE TRIGGER ZARTIST_gone AFTER DELETE ON ZARTIST BEGIN
                UPDATE Z_PRIMARYKEY SET n = n - 1 WHERE Z_ENT = OLD.Z_ENT; END;
            """
        let fleet = try Fleet()
        try fleet.start(schema, selection: TableSelection(except: ["Z_PRIMARYKEY"]))
        try fleet.join(schema)
        try fleet.shell(0, "INSERT INTO ZARTIST VALUES (1, 1, 1, 'A')")
        try fleet.shell(
            1, "INSERT INTO ZARTIST VALUES (1, 1, 1, 'B'), (2, 1, 1, 'C'); DELETE FROM ZARTIST WHERE Z_PK = 2")
        try fleet.settle()
        for device in 0...1 {
            XCTAssertEqual(
                try fleet.shell(device, "SELECT n, Z_MAX >= (SELECT max(Z_PK) FROM ZARTIST) FROM Z_PRIMARYKEY"), "2|1\n"
            )
        }
    }
}
