import FerryCore
import Foundation
import XCTest

@testable import FerryEngine

final class DeviceLockTests: XCTestCase {
    func testWhoWaitsTooLongIsToldThatAnotherIsWorking() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("ferry-lock-\(UUID().uuidString)").path
        defer { DeviceLock(databasePath: path).remove() }
        try DeviceLock(databasePath: path).withLock {
            XCTAssertThrowsError(try DeviceLock(databasePath: path).withLock(waitMilliseconds: 20) {}) { error in
                XCTAssertEqual((error as? FerryError)?.code, .busy)
            }
        }
        XCTAssertNoThrow(try DeviceLock(databasePath: path).withLock(waitMilliseconds: 0) {})
    }
}
