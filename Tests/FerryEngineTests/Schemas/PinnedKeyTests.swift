import FerryCore
import FerryTestSupport
import XCTest

@testable import FerryEngine
@testable import FerrySchema

/// Integer keys that a CHECK constraint holds to given integers.
final class PinnedKeyTests: XCTestCase {
    func testFormsOfConditions() {
        let pinned = [
            "id = 1", "id == 1", "(id = 1)", "\"id\" = 1", "[ID] IS 1", "`id` = 0", "1 = id", "id IN (1, 2, 3)",
            "id BETWEEN 1 AND 7",
            "id >= 0 AND id < 8", "id > 0 and id <= 7", "theme <> '' AND id = 1",
        ]
        for condition in pinned { XCTAssertTrue(PinnedKey.pins(condition, "id"), condition) }
        let free = [
            "id > 0", "id >= 1", "id < 4294967296", "id BETWEEN 1 AND 2147483647", "size = 1", "id = size",
            "id = 1 OR theme IS NULL",
            "NOT id = 1", "id <> 0", "'id' = 1", "length(id) = 1", "id % 2 = 1", "",
        ]
        for condition in free { XCTAssertFalse(PinnedKey.pins(condition, "id"), condition) }
    }

    private let settings = """
        CREATE TABLE settings(id INTEGER PRIMARY KEY CHECK (id = 1), theme TEXT, size INTEGER);
        INSERT INTO settings VALUES (1, 'light', 10);
        """

    private func write(_ fleet: Fleet) throws {
        try fleet.shell(0, "UPDATE settings SET theme = 'dark'")
        try fleet.shell(1, "UPDATE settings SET size = 14")
        try fleet.settle()
        for device in 0...1 { XCTAssertEqual(try fleet.shell(device, "SELECT * FROM settings"), "1|dark|14\n") }
        try fleet.assertSoundAndInStep()
    }

    func testTheOnlyRowIsOneWhereAMigrationMakesIt() throws {
        let fleet = try Fleet.two("CREATE TABLE t(x TEXT PRIMARY KEY NOT NULL)")
        for device in 0...1 { try fleet.shell(device, settings) }
        try fleet.settle()
        try write(fleet)
    }

    func testTheOnlyRowIsOneWhereBothHaveItBeforeTheJoin() throws {
        let fleet = try Fleet()
        try fleet.start(settings)
        try fleet.join(settings)
        try fleet.settle()
        try write(fleet)
    }
}
