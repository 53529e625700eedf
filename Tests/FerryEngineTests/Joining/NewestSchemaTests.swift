import FerryCore
import FerrySchema
import FerryStore
import XCTest

@testable import FerryEngine

/// The schema that a joining device and a backup get: the one that was migrated to last.
final class NewestSchemaTests: XCTestCase {
    private func stamp(_ store: Store) throws -> Stamp {
        try XCTUnwrap(try store.read { try NewestSchema($0).read() }).stamp
    }

    /// Without rows no clock has moved. The IDs of devices are drawn, so each of them is the smaller one in some of the fleets.
    func testAMigrationOfEmptyTablesIsNewerThanWhatOtherDevicesHave() throws {
        for _ in 0..<5 {
            let fleet = try Fleet.two("CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT);")
            try fleet.shell(
                0, "CREATE TABLE doc(id TEXT PRIMARY KEY NOT NULL, body TEXT); ALTER TABLE note ADD COLUMN extra TEXT;")
            _ = try fleet.replicas[0].sync()
            XCTAssertGreaterThan(try stamp(fleet.replicas[0].store).time, try stamp(fleet.replicas[1].store).time)
            try fleet.shell(
                0, "INSERT INTO doc VALUES ('x', 'precious'); INSERT INTO note VALUES (1, 'a', 'precious too');")
            try fleet.settle()
            try fleet.join()
            XCTAssertEqual(
                try fleet.shell(2, "SELECT * FROM doc; SELECT extra FROM note;"), "x|precious\nprecious too\n")
        }
    }

    /// A device without writes for long migrates after another one did.
    func testAMigrationIsAsNewAsItsMoment() throws {
        let fleet = try Fleet.two("CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT);")
        try fleet.shell(1, "ALTER TABLE note ADD COLUMN colour TEXT; INSERT INTO note(body) VALUES ('b');")
        _ = try fleet.replicas[1].sync()
        try fleet.shell(0, "ALTER TABLE note ADD COLUMN colour TEXT; ALTER TABLE note ADD COLUMN extra TEXT;")
        // Packs without having read what the other device did.
        _ = try fleet.replicas[0].store.pass(
            replaying: [], encode: fleet.replicas[0].segmentEncoding(for: fleet.replicas[0].identity))
        try fleet.settle()
        for replica in fleet.replicas {
            XCTAssertEqual(try stamp(replica.store).device, fleet.replicas[0].identity.device)
        }
        try fleet.join()
        XCTAssertEqual(
            try fleet.shell(2, "SELECT count(*) FROM pragma_table_info('note') WHERE name = 'extra';"), "1\n")
    }
}
