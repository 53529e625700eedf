import FerryCore
import FerryStore
import XCTest

@testable import FerryEngine

/// A device that comes back after the others forgot what they deleted meanwhile.
final class ReturningDeviceTests: XCTestCase {
    func testARowThatAnAwayDeviceWroteToComesBackThoughItsDeletionIsForgotten() throws {
        var retention = RetentionSettings()
        retention.silentAfterMilliseconds = 86_400_000
        retention.replacedMilliseconds = 60_000
        retention.tombstoneMilliseconds = 0
        retention.snapshotMinimumBytes = 1
        retention.firstSnapshotChangesPerRow = 0
        let home = try MemoryHome(retention: retention)
        for _ in 0..<2 { try home.addDevice() }
        try home.write(0, "INSERT INTO item VALUES (1, 'kept'), (2, 'deleted')")
        for index in [0, 1, 0, 1] { _ = try home.replicas[index].sync() }
        // Of this nobody hears for long.
        try home.write(1, "UPDATE item SET name = 'written' WHERE name = 'deleted'")
        try home.write(0, "DELETE FROM item WHERE name = 'deleted'")
        for _ in 0..<4 {
            home.clock.advance(days: 1)
            try home.write(0, "UPDATE item SET name = 'kept' || random() WHERE id = 1")
            _ = try home.replicas[0].sync()
            _ = try home.replicas[0].compact()
        }
        try home.write(0, "UPDATE item SET name = 'kept' WHERE id = 1")
        XCTAssertEqual(try home.replicas[0].store.tombstoneCount(), 0)
        for index in [1, 0, 1, 0] { _ = try home.replicas[index].sync() }
        let rows: [[FieldValue]] = [[.text("kept"), .integer(1)], [.text("written"), .integer(1)]]
        for index in 0..<2 {
            XCTAssertEqual(try home.rows(index), rows, "\(index)")
            XCTAssertTrue(try home.replicas[index].verify(deep: true).isSound, "\(index)")
        }
    }
}
