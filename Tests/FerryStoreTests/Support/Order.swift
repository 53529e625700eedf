import XCTest

@testable import FerryStore

extension XCTestCase {
    /// Fails where the oracle or `verify --deep` finds a row of a device that is not what the state says.
    func assertInOrder(_ device: TestDevice) throws {
        XCTAssertEqual(try Oracle(device.schema).complaints(about: device), [])
        XCTAssertEqual(try device.store.verify(deep: true).differences, [])
    }
}
