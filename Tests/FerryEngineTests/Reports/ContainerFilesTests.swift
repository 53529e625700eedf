import FerryContainer
import FerryCore
import XCTest

@testable import FerryEngine

/// The files of a container as people see them.
final class ContainerFilesTests: XCTestCase {
    func testEachDeviceHasItsFilesAndTheirSizes() throws {
        let home = try MemoryHome()
        for _ in 0..<2 { try home.addDevice() }
        for _ in 0..<2 { for replica in home.replicas { _ = try replica.sync() } }
        let report = try home.replicas[1].containerFiles()
        XCTAssertEqual(report.devices.map(\.name), ["device1", "device0"])
        XCTAssertEqual(report.devices.map(\.isThisDevice), [true, false])
        for device in report.devices {
            XCTAssertEqual(device.kinds["head"]?.files, 1)
            XCTAssertGreaterThan(device.kinds["head"]?.bytes ?? 0, 0)
            XCTAssertEqual(device.files, device.kinds.values.reduce(0) { $0 + $1.files })
            XCTAssertEqual(device.bytes, device.kinds.values.reduce(0) { $0 + $1.bytes })
        }
        XCTAssertEqual(report.files, report.devices.reduce(0) { $0 + $1.files })
        XCTAssertEqual(
            try JSONDecoder().decode(ContainerFilesReport.self, from: JSONEncoder().encode(report)), report)
    }
}
