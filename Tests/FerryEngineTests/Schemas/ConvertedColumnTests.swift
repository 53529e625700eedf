import FerryCore
import FerryStore
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryEngine

/// A migration that converts a whole column is nobody's write: it overwrites nothing, on whichever device it runs last.
final class ConvertedColumnTests: XCTestCase {
    private func rebuild(_ columns: String, _ values: String) -> String {
        """
        BEGIN; CREATE TABLE q(id INTEGER PRIMARY KEY, \(columns)); INSERT INTO q SELECT id, \(values) FROM p;
        DROP TABLE p; ALTER TABLE q RENAME TO p; COMMIT;
        """
    }

    /// The first device migrates and writes; the second device migrates later and writes nothing.
    private func play(
        _ former: String, _ rows: String, _ next: String, _ values: String, write: String, expect: String,
        sends: Bool = false,
        line: UInt = #line
    ) throws {
        for _ in 0..<3 {
            let fleet = try Fleet.two("CREATE TABLE p(id INTEGER PRIMARY KEY, \(former)); INSERT INTO p VALUES \(rows)")
            try fleet.settle()
            try fleet.shell(1, rebuild(next, values))
            XCTAssertEqual(try fleet.replicas[1].sync().published.changes > 0, sends, line: line)
            try fleet.shell(1, write)
            _ = try fleet.replicas[1].sync()
            try fleet.shell(0, rebuild(next, values))
            try fleet.settle()
            for device in 0...1 {
                XCTAssertEqual(
                    try fleet.shell(device, "SELECT *, typeof(n) FROM p ORDER BY id"), expect, "device \(device)",
                    line: line)
                if !sends { XCTAssertEqual(try fleet.replicas[device].store.conflictCount(), 0, line: line) }
            }
            try fleet.assertSoundAndInStep()
            let joined = try fleet.join()
            XCTAssertEqual(joined.waiting, [], line: line)
            try fleet.settle()
            XCTAssertEqual(try fleet.shell(2, "SELECT *, typeof(n) FROM p ORDER BY id"), expect, "newcomer", line: line)
            try fleet.assertSoundAndInStep()
        }
    }

    func testAnotherTypeWritesNoValue() throws {
        try play(
            "n INTEGER", "(1, 6), (2, 7), (3, NULL)", "n TEXT", "n", write: "UPDATE p SET n = '99' WHERE id = 1",
            expect: "1|99|text\n2|7|text\n3||null\n")
        try play(
            "n TEXT", "(1, '6'), (2, '7'), (3, 'x')", "n INTEGER", "n", write: "UPDATE p SET n = 99 WHERE id = 1",
            expect: "1|99|integer\n2|7|integer\n3|x|text\n")
        try play(
            "n INTEGER", "(1, 6), (2, 7)", "n REAL", "n", write: "UPDATE p SET n = 9.5 WHERE id = 1",
            expect: "1|9.5|real\n2|7.0|real\n")
        try play(
            "n REAL", "(1, 6), (2, 7.5)", "n TEXT", "n", write: "UPDATE p SET n = '99' WHERE id = 1",
            expect: "1|99|text\n2|7.5|text\n")
        try play(
            "n REAL", "(1, 6), (2, 7)", "n NUMERIC", "n", write: "UPDATE p SET n = 99 WHERE id = 1",
            expect: "1|99|integer\n2|7|integer\n")
    }

    func testSeveralColumnsOfAnotherTypeWriteNoValue() throws {
        try play(
            "n INTEGER, m INTEGER, t TEXT, r REAL", "(1, 6, 61, '62', 63), (2, 7, 71, '72', 73)",
            "n TEXT, m REAL, t INTEGER, r TEXT", "n, m, t, r", write: "UPDATE p SET n = '99' WHERE id = 1",
            expect: "1|99|61.0|62|63.0|text\n2|7|71.0|72|73.0|text\n")
    }

    /// Values that the column itself would not convert, or that show no trace of the former value, count as old as the former values.
    func testValuesThatTheMigrationComputesOverwriteNothing() throws {
        try play(
            "n TEXT", "(1, 'six'), (2, 'seven')", "n BLOB", "CAST(n AS BLOB)",
            write: "UPDATE p SET n = 99 WHERE id = 1",
            expect: "1|99|integer\n2|seven|blob\n", sends: true)
        try play(
            "n", "(1, 6), (2, '7')", "n", "CAST(n AS TEXT)", write: "UPDATE p SET n = '99' WHERE id = 1",
            expect: "1|99|text\n2|7|text\n", sends: true)
        try play(
            "n REAL", "(1, 6.5), (2, 7.5)", "n INTEGER", "CAST(n AS INTEGER)",
            write: "UPDATE p SET n = 99 WHERE id = 1",
            expect: "1|99|integer\n2|7|integer\n", sends: true)
        try play(
            "n INTEGER", "(1, NULL), (2, NULL)", "n INTEGER NOT NULL DEFAULT 0", "coalesce(n, 0)",
            write: "UPDATE p SET n = 99 WHERE id = 1", expect: "1|99|integer\n2|0|integer\n", sends: true)
    }

    /// A value written between the rebuild and Ferry's look is a write as ever.
    func testAValueWrittenAfterTheRebuildTravels() throws {
        let fleet = try Fleet.two(
            "CREATE TABLE p(id INTEGER PRIMARY KEY, n INTEGER); INSERT INTO p VALUES (1, 6), (2, 7)")
        try fleet.settle()
        try fleet.shell(0, rebuild("n TEXT", "n") + "UPDATE p SET n = '99' WHERE id = 1")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(1, "SELECT n FROM p ORDER BY id"), "99\n7\n")
        try fleet.shell(1, rebuild("n TEXT", "n"))
        try fleet.settle()
        for device in 0...1 { XCTAssertEqual(try fleet.shell(device, "SELECT n FROM p ORDER BY id"), "99\n7\n") }
        try fleet.assertSoundAndInStep()
    }
}
