import FerryCore
import FerryTestSupport
import XCTest

@testable import FerryEngine

/// What an app's update brings before Ferry looks: triggers that run before Ferry's, and another `user_version`.
final class LaterTriggerTests: XCTestCase {
    /// SQLite runs the newest trigger first, so Ferry's triggers see the moved key before the insertion.
    func testARowThatALaterTriggerMovesIsSent() throws {
        let fleet = try Fleet.two(
            """
            CREATE TABLE n(id INTEGER PRIMARY KEY, x TEXT);
            CREATE TABLE s(id TEXT PRIMARY KEY NOT NULL DEFAULT '', x TEXT);
            CREATE TABLE c(a TEXT NOT NULL, b INTEGER NOT NULL DEFAULT 0, x TEXT, PRIMARY KEY(a, b));
            """)
        try fleet.shell(
            0,
            """
            CREATE TRIGGER numbers AFTER INSERT ON n WHEN new.id < 1000 BEGIN
                UPDATE n SET id = new.id + 1000 WHERE id = new.id; END;
            CREATE TRIGGER names AFTER INSERT ON s WHEN new.id = '' BEGIN
                UPDATE s SET id = 's-' || new.x WHERE rowid = new.rowid; END;
            CREATE TRIGGER versions AFTER INSERT ON c WHEN new.b = 0 BEGIN
                UPDATE c SET b = (SELECT max(b) FROM c WHERE a = new.a) + 1 WHERE a = new.a AND b = 0; END;
            INSERT INTO n(x) VALUES ('n1'); INSERT INTO n(x) VALUES ('n2'); UPDATE n SET x = 'n2b' WHERE x = 'n2';
            INSERT INTO s(x) VALUES ('s1'); INSERT INTO c(a, x) VALUES ('k', 'c1'); INSERT INTO c(a, x) VALUES ('k', 'c2');
            """)
        try fleet.settle()
        let rows = "SELECT id, x FROM n UNION ALL SELECT id, x FROM s UNION ALL SELECT a || b, x FROM c ORDER BY 2"
        for device in 0...1 {
            XCTAssertEqual(
                try fleet.shell(device, rows), "k1|c1\nk2|c2\n1001|n1\n1002|n2b\ns-s1|s1\n", "device \(device)")
        }
        try fleet.assertSoundAndInStep()
    }

    /// A migration of rows alone leaves SQLite's version of the schema. Whoever joins must not run the migration again.
    func testARaisedUserVersionReachesWhoeverJoins() throws {
        let fleet = try Fleet.two(
            "CREATE TABLE item(id INTEGER PRIMARY KEY, price INTEGER); INSERT INTO item(price) VALUES (5); PRAGMA user_version = 1;"
        )
        try fleet.settle()
        try fleet.shell(0, "BEGIN; UPDATE item SET price = price * 100; PRAGMA user_version = 2; COMMIT;")
        try fleet.settle()
        try fleet.join()
        XCTAssertEqual(try fleet.shell(2, "PRAGMA user_version"), "2\n")
        try fleet.shell(0, "PRAGMA user_version = 3")
        _ = try fleet.replicas[0].sync()
        XCTAssertFalse(try fleet.replicas[0].store.needsPass())
        try fleet.join()
        XCTAssertEqual(try fleet.shell(3, "PRAGMA user_version"), "3\n")
    }
}
