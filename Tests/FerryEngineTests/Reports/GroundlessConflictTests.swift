import FerryEngine
import FerryTestSupport
import XCTest

/// Conflicts in which nothing was lost are not told.
final class GroundlessConflictTests: XCTestCase {
    private let schema = """
        CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
        CREATE TABLE item(id INTEGER PRIMARY KEY, tag_id INTEGER REFERENCES tag);
        INSERT INTO item(id) VALUES (1);
        """

    private func tag(_ fleet: Fleet, _ device: Int, _ name: String) throws {
        try fleet.shell(
            device,
            "INSERT INTO tag(name) VALUES ('\(name)'); UPDATE item SET tag_id = (SELECT id FROM tag WHERE name = '\(name)')"
        )
    }

    func testTwoReferencesToRowsThatBecomeOneAreNoConflict() throws {
        let fleet = try Fleet.two(schema)
        for device in 0...1 { try tag(fleet, device, "same") }
        try fleet.assertSettled("SELECT item.id, name FROM item JOIN tag ON tag.id = tag_id", "1|same\n")
        for replica in fleet.replicas { XCTAssertEqual(try replica.store.conflictCount(), 0) }
    }

    func testTwoReferencesToTwoRowsAreAConflict() throws {
        let fleet = try Fleet.two(schema)
        for device in 0...1 { try tag(fleet, device, "tag of \(device)") }
        try fleet.settle()
        for replica in fleet.replicas { XCTAssertEqual(try replica.store.conflictCount(), 1) }
    }
}
