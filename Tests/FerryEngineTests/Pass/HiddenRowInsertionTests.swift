import FerryCore
import FerryStore
import XCTest

@testable import FerryEngine

/// An app sees no row under the key of a hidden row, and inserts one. What the hidden row held is among the conflicts.
final class HiddenRowInsertionTests: XCTestCase {
    private let schema = """
        CREATE TABLE grp(id TEXT PRIMARY KEY); INSERT INTO grp VALUES ('g1'), ('g2');
        CREATE TABLE item(k TEXT PRIMARY KEY, note TEXT, g TEXT REFERENCES grp(id) ON DELETE CASCADE);
        CREATE TABLE span(k TEXT PRIMARY KEY, low INT, high INT, note TEXT, CHECK(low <= high));
        """

    private func lost(_ fleet: Fleet, _ device: Int) throws -> Set<String> {
        let values = try fleet.replicas[device].store.conflicts().map { conflict in
            guard case .text(let bytes)? = conflict.lost.value else { return conflict.column ?? "" }
            return "\(conflict.column ?? ""): \(String(decoding: bytes, as: UTF8.self))"
        }
        return Set(values)
    }

    /// Device 0 wrote the row, and device 1 deleted its parent. Either may insert, in either way.
    func testAChildOfADeletedParent() throws {
        for (device, verb) in [(0, "INSERT"), (1, "INSERT"), (0, "INSERT OR REPLACE"), (1, "REPLACE")] {
            let fleet = try Fleet.two(schema)
            try fleet.shell(1, "DELETE FROM grp WHERE id = 'g1'")
            try fleet.shell(0, "INSERT INTO item VALUES ('k', 'long work', 'g1')")
            try fleet.settle()
            XCTAssertEqual(try fleet.shell(0, "SELECT count(*) FROM item"), "0\n")
            try fleet.shell(device, "\(verb) INTO item VALUES ('k', 'new', 'g2')")
            try fleet.assertSettled("SELECT * FROM item", "k|new|g2\n")
            XCTAssertEqual(try lost(fleet, device), ["note: long work", "g: g1"], verb)
            XCTAssertEqual(try lost(fleet, 1 - device), [], verb)
            let number = try XCTUnwrap(fleet.replicas[device].store.conflicts().first { $0.column == "note" }?.number)
            _ = try fleet.replicas[device].restoreConflict(number)
            try fleet.assertSettled("SELECT * FROM item", "k|long work|g2\n")
        }
    }

    func testARowThatAConstraintRefuses() throws {
        let fleet = try Fleet.two(schema)
        try fleet.shell(0, "INSERT INTO span VALUES ('k', 1, 10, 'long work')")
        try fleet.settle()
        try fleet.shell(0, "UPDATE span SET low = 9")
        try fleet.shell(1, "UPDATE span SET high = 2")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(0, "SELECT count(*) FROM span"), "0\n")
        try fleet.shell(0, "INSERT INTO span VALUES ('k', 1, 2, 'new')")
        try fleet.assertSettled("SELECT * FROM span", "k|1|2|new\n")
        let found = try lost(fleet, 0)
        XCTAssertTrue(found.contains("note: long work"), "\(found)")
    }

    /// A deleted row is seen by nobody and missed by nobody: an insertion under its key begins anew.
    func testADeletedRowLeavesNoConflict() throws {
        let fleet = try Fleet.two(schema)
        try fleet.shell(0, "INSERT INTO item VALUES ('k', 'old', 'g1')")
        try fleet.settle()
        try fleet.shell(1, "DELETE FROM item")
        try fleet.settle()
        try fleet.shell(0, "INSERT INTO item VALUES ('k', 'new', 'g2')")
        try fleet.assertSettled("SELECT * FROM item", "k|new|g2\n")
        XCTAssertEqual(try lost(fleet, 0), [])
        XCTAssertEqual(try lost(fleet, 1), [])
    }
}
