import FerryCore
import FerryStore
import XCTest

@testable import FerryEngine

/// Sound rows with which a deep check found fault, and the faults that the same cases showed. Each case runs on the fast paths and without.
final class SoundRowTests: XCTestCase {
    private func each(_ schema: String, _ body: (Fleet) throws -> Void) throws {
        for paths in [FastPaths.all, .none] {
            let fleet = try Fleet.two(schema)
            for replica in fleet.replicas { replica.store.fastPaths = paths }
            try fleet.settle()
            try body(fleet)
            try fleet.assertSoundAndInStep()
        }
    }

    /// SQLite takes −0.0 for 0.0, so no trigger tells.
    func testAKeyOfZeroMayGetASign() throws {
        for first in ["0.0", "-0.0"] {
            try each("CREATE TABLE k(a PRIMARY KEY, v); CREATE TABLE pair(a, b, v, PRIMARY KEY (a, b))") { fleet in
                try fleet.shell(0, "INSERT INTO k VALUES (\(first), 1); INSERT INTO pair VALUES (\(first), 1, 1)")
                try fleet.settle()
                try fleet.shell(0, "UPDATE k SET a = -a; UPDATE pair SET a = -a")
                try fleet.settle()
                try fleet.shell(1, "UPDATE k SET v = 2; UPDATE pair SET v = 2")
                try fleet.settle()
                for device in 0...1 {
                    XCTAssertEqual(try fleet.shell(device, "SELECT v FROM k; SELECT v FROM pair"), "2\n2\n")
                }
            }
        }
    }

    /// The app's trigger runs after Ferry's, and gives a row the value that REPLACE then displaces.
    func testARowDisplacedAfterATriggerOfTheAppKeepsItsValues() throws {
        let trigger = "CREATE TRIGGER g BEFORE INSERT ON t BEGIN UPDATE t SET u = NEW.u WHERE id = 1; END;"
        for comesLater in [false, true] {
            let table = """
                CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE, v);
                CREATE TABLE child(id INTEGER PRIMARY KEY, t INTEGER REFERENCES t(id));
                INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2);
                """
            try each(table + (comesLater ? "" : trigger)) { fleet in
                if comesLater {
                    try fleet.shell(0, trigger)
                    try fleet.settle()
                }
                try fleet.shell(0, "REPLACE INTO t(u, v) VALUES ('q', 9)", foreignKeys: false)
                _ = try fleet.replicas[0].sync()
                XCTAssertEqual(try fleet.replicas[0].verify(deep: true).differences, [])
                // The second device brings the row back, whole.
                try fleet.shell(1, "INSERT INTO child(t) VALUES (1)")
                try fleet.settle()
                for device in 0...1 {
                    XCTAssertEqual(
                        try fleet.shell(device, "SELECT id, u, v FROM t ORDER BY id"), "1|a|1\n2|b|2\n3|q|9\n")
                }
            }
        }
    }

    /// References to missing rows are different values, each.
    func testAnExpressionOfReferencesToMissingRowsIsNoSingleValue() throws {
        try each(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, r INTEGER REFERENCES t(id), v);
            CREATE UNIQUE INDEX i ON t(r + 0);
            """
        ) { fleet in
            try fleet.shell(1, "INSERT INTO t(r, v) VALUES (15, 'one'), (16, 'two')", foreignKeys: false)
            try fleet.settle()
            try fleet.shell(0, "UPDATE t SET v = v || ', again'", foreignKeys: false)
            try fleet.settle()
            for device in 0...1 {
                XCTAssertEqual(try fleet.shell(device, "SELECT v FROM t ORDER BY id"), "one, again\ntwo, again\n")
                XCTAssertEqual(try fleet.replicas[device].status().hidden, 0)
                XCTAssertEqual(try fleet.replicas[device].verify(deep: true).differences, [])
            }
            // SQLite's own check of foreign keys has findings until the rows are gone.
            try fleet.shell(0, "DELETE FROM t", foreignKeys: false)
            try fleet.settle()
        }
    }

    /// References to rows of the same flush are different values: their IDs differ in a few bits alone.
    func testAnExpressionOfReferencesToRowsOfAFlushIsNoSingleValue() throws {
        try each(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY, n);
            CREATE TABLE c(id INTEGER PRIMARY KEY, r INTEGER REFERENCES p(id), v);
            CREATE UNIQUE INDEX i ON c(r + 0);
            INSERT INTO p VALUES (1, 'a'), (2, 'b');
            """
        ) { fleet in
            for device in 0...1 {
                try fleet.shell(device, "INSERT INTO c(r, v) VALUES (1, 'x\(device)'), (2, 'y\(device)')")
            }
            try fleet.settle()
            for device in 0...1 {
                XCTAssertEqual(try fleet.shell(device, "SELECT r, substr(v, 1, 1) FROM c ORDER BY r"), "1|x\n2|y\n")
            }
        }
    }
}
