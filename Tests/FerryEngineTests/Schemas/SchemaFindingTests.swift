import FerryCore
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryEngine

/// What `doctor` says of schemas that differ between devices.
final class SchemaFindingTests: XCTestCase {
    private func findings(_ fleet: Fleet, _ device: Int, about word: String) throws -> [DoctorReport.Finding] {
        try fleet.replicas[device].examine().findings.filter { $0.problem.contains(word) }
    }

    private func twoWithAnIndexOnOne(_ table: String, _ index: String, _ rows: (String, String)) throws -> Fleet {
        let fleet = try Fleet.two(table)
        try fleet.shell(0, rows.0)
        try fleet.shell(1, rows.1)
        try fleet.shell(0, index)
        try fleet.settle()
        return fleet
    }

    /// The app's migration would fail on the second device, and nothing else says why.
    func testAUniqueIndexOfAnotherDeviceThatRowsHereWouldBreakIsNamed() throws {
        let index = "CREATE UNIQUE INDEX tag_name ON tag(\"full name\" COLLATE NOCASE)"
        let fleet = try twoWithAnIndexOnOne(
            "CREATE TABLE tag(id INTEGER PRIMARY KEY, \"full name\" TEXT)", index,
            (
                "INSERT INTO tag VALUES (1, 'Milk'), (2, 'Tea'), (3, NULL)",
                "INSERT INTO tag VALUES (1, 'milk'), (2, 'Coffee'), (3, NULL)"
            ))
        XCTAssertThrowsError(try fleet.shell(1, index))
        let found = try XCTUnwrap(findings(fleet, 1, about: "UNIQUE index").first)
        XCTAssertEqual(found.severity, .warning)
        XCTAssertEqual(found.subject, "table tag")
        XCTAssertTrue(found.problem.contains("One value stands in several rows"), found.problem)
        let query = try XCTUnwrap(found.advice.firstRange(of: "SELECT ").map { String(found.advice[$0.lowerBound...]) })
        XCTAssertEqual(try fleet.shell(1, query).lowercased(), "milk|2\n")
        XCTAssertEqual(try findings(fleet, 0, about: "UNIQUE index"), [], "the device has the index")
        // The advice helps.
        try fleet.shell(1, "UPDATE tag SET \"full name\" = 'oat milk' WHERE \"full name\" = 'milk'; \(index)")
        try fleet.settle()
        XCTAssertEqual(try findings(fleet, 1, about: "UNIQUE index"), [])
        try fleet.assertEqual("SELECT \"full name\" FROM tag ORDER BY 1")
    }

    func testAnIndexThatNoRowBreaksIsNoFinding() throws {
        let fleet = try twoWithAnIndexOnOne(
            "CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT, gone INTEGER)",
            "CREATE UNIQUE INDEX tag_name ON tag(name) WHERE gone IS NULL",
            ("INSERT INTO tag VALUES (1, 'milk', 1)", "INSERT INTO tag VALUES (1, 'milk', NULL)"))
        XCTAssertEqual(try findings(fleet, 1, about: "UNIQUE index"), [])
    }

    /// An index here over fewer columns keeps the values apart as well.
    func testAConstraintOfTheTableCountsAsAnIndex() throws {
        let fleet = try twoWithAnIndexOnOne(
            "CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT UNIQUE, kind TEXT)",
            "CREATE UNIQUE INDEX tag_name ON tag(kind, name)",
            ("INSERT INTO tag VALUES (1, 'milk', 'a')", "INSERT INTO tag VALUES (2, 'tea', 'a')"))
        XCTAssertEqual(try findings(fleet, 1, about: "UNIQUE index"), [])
    }

    func testAReferenceOfAMigrationWithoutAForeignKeyIsNamed() throws {
        let fleet = try Fleet.two(
            """
            CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT);
            INSERT INTO person VALUES (1, 'Ada'), (2, 'Grace'); INSERT INTO note VALUES (1, 'a'), (2, 'b');
            """)
        try fleet.shell(0, "ALTER TABLE note ADD COLUMN person_id INTEGER; UPDATE note SET person_id = id")
        try fleet.settle()
        let found = try XCTUnwrap(findings(fleet, 0, about: "looks like a reference").first)
        XCTAssertEqual(found.subject, "table note")
        XCTAssertTrue(found.problem.contains("person_id looks like a reference to person"), found.problem)
    }
}
