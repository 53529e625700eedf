import XCTest

@testable import FerryEngine

final class DeviceLabelsTests: XCTestCase {
    func testDevicesOfOneNameAreToldApartByTheirIDs() {
        let labels = DeviceLabels([("1a2b-x", "laptop"), ("3c4d-x", "laptop"), ("5e6f-x", "phone")])
        XCTAssertEqual(labels["1a2b-x"], "laptop (1a2b)")
        XCTAssertEqual(labels["3c4d-x"], "laptop (3c4d)")
        XCTAssertEqual(labels["5e6f-x"], "phone")
        XCTAssertEqual(labels["none"], "none")
    }

    func testAsManyDigitsAreShownAsAreNeeded() {
        let labels = DeviceLabels([("1a2b3c", "laptop"), ("1a2b3d", "laptop")])
        XCTAssertEqual(labels["1a2b3d"], "laptop (1a2b3d)")
    }

    func testADeviceWithoutANameIsCalledByItsID() {
        let labels = DeviceLabels([("1a2b-x", ""), ("3c4d-x", ""), ("5e6f-x", "phone")])
        XCTAssertEqual(["1a2b-x", "3c4d-x", "5e6f-x"].map { labels[$0] }, ["1a2b-x", "3c4d-x", "phone"])
    }
}
