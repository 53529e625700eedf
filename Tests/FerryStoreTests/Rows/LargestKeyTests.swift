import XCTest

@testable import FerryStore

/// An app has a row under the largest integer that SQLite knows: others get a free one all the same.
final class LargestKeyTests: XCTestCase {
    private static let largest = "9223372036854775807"

    func testRowsUnderATakenIntegerGetAnotherThoughTheLargestIsTaken() throws {
        for clause in ["", " AUTOINCREMENT"] {
            let schema = TestSchema(name: "largest", sql: "CREATE TABLE t(id INTEGER PRIMARY KEY\(clause), x)")
            try story(
                schema, together: "INSERT INTO t VALUES (\(Self.largest), 'sentinel')",
                one: "INSERT INTO t VALUES (1, 'one'), (2, 'one two')", other: "INSERT INTO t VALUES (1, 'other')",
                query: "SELECT x, id > 0 FROM t ORDER BY x",
                shows: ["one|1", "one two|1", "other|1", "sentinel|1"])
            try story(
                schema, one: "INSERT INTO t VALUES (\(Self.largest), 'one')",
                other: "INSERT INTO t VALUES (\(Self.largest), 'other')", query: "SELECT x FROM t ORDER BY x",
                shows: ["one", "other"])
        }
    }

    func testAnotherIntegerIsFreeOnNobodysDevice() throws {
        let schema = TestSchema(name: "largest", sql: "CREATE TABLE t(id INTEGER PRIMARY KEY, x)")
        let one = try TestDevice(1, schema)
        let other = try TestDevice(2, schema)
        // The largest below each power of two is taken as well, but for one.
        let edges = (5..<63).map { "(\((Int64(1) << Int64($0)) - 1), 'edge')" }
        try one.run("INSERT INTO t VALUES (\(Self.largest), 'sentinel'), \(edges.joined(separator: ", "))")
        try one.flush()
        try other.receive(one)
        try one.run("INSERT INTO t VALUES (7, 'one')")
        try other.run("INSERT INTO t VALUES (7, 'other')")
        try one.flush()
        try other.flush()
        try one.receive(other)
        try other.receive(one)
        XCTAssertEqual(
            try one.query("SELECT id, x FROM t WHERE x <> 'edge' ORDER BY id"),
            ["7|one", "8|other", "\(Self.largest)|sentinel"])
        XCTAssertEqual(
            try other.query("SELECT id, x FROM t WHERE x <> 'edge' ORDER BY id"),
            ["7|other", "8|one", "\(Self.largest)|sentinel"])
    }
}
