import FerryCore
import XCTest

@testable import FerryEngine

/// Values that no segment could hold, as they are: they take seconds.
final class LargeValueSizeTests: XCTestCase {
    func testABlobAndATextAboveTheLimitOfASegmentTravel() throws {
        let fleet = try Fleet.two("CREATE TABLE film(id INTEGER PRIMARY KEY, title TEXT, bytes BLOB)")
        try fleet.shell(
            0,
            """
            INSERT INTO film VALUES (1, 'blob', randomblob(150000000));
            INSERT INTO film VALUES (2, 'text', replace(hex(zeroblob(70000000)), '0000', 'ferry'));
            INSERT INTO film VALUES (3, 'small', x'01');
            """)
        let query = """
            SELECT id, typeof(bytes), length(bytes), hex(substr(bytes, 1, 8)), hex(substr(bytes, 90000000, 8)),
            hex(substr(bytes, -8)) FROM film;
            """
        try fleet.settle()
        try fleet.assertEqual(query)
        try fleet.shell(1, "UPDATE film SET title = 'other' WHERE id = 1; DELETE FROM film WHERE id = 2;")
        try fleet.settle()
        try fleet.assertEqual(query)
        for replica in fleet.replicas {
            XCTAssertEqual(try replica.verify().differences, [])
            XCTAssertEqual(try replica.status().tablesApart, [])
        }
        XCTAssertEqual(try fleet.shell(0, "SELECT title, length(bytes) FROM film;"), "other|150000000\nsmall|1\n")
    }
}
