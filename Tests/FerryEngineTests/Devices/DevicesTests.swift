import FerryContainer
import FerryCore
import FerryStore
import XCTest

@testable import FerryEngine

/// Devices that are renamed, retired, fall silent and return.
final class DevicesTests: XCTestCase {
    private func threeDevices() throws -> MemoryHome {
        let home = try MemoryHome()
        for _ in 0..<3 { try home.addDevice() }
        for _ in 0..<2 { for replica in home.replicas { _ = try replica.sync() } }
        return home
    }

    private func activities(_ home: MemoryHome, _ index: Int) throws -> [String: String] {
        Dictionary(
            try home.replicas[index].devices().devices.map { ($0.name, $0.activity.rawValue) }, uniquingKeysWith: { $1 }
        )
    }

    private func code(_ body: () throws -> Void) -> FerryError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? FerryError)?.code
        }
    }

    func testARenamedDeviceIsKnownByItsNewNameEverywhere() throws {
        let home = try threeDevices()
        try home.replicas[0].rename("study")
        XCTAssertEqual(try home.replicas[0].devices().devices.first?.name, "study")
        // The replica that was opened before goes on.
        _ = try home.replicas[0].sync()
        _ = try home.replicas[1].sync()
        XCTAssertEqual(try home.replicas[1].status().devices.map(\.name).sorted(), ["device2", "study"])
        XCTAssertEqual(code { try home.replicas[0].rename("") }, .invalidArgument)
    }

    func testARetiredDeviceHoldsNothingBackAndCountsAgainWhenItReturns() throws {
        let home = try threeDevices()
        XCTAssertEqual(try home.replicas[0].retire("device2"), "device2")
        _ = try home.replicas[0].sync()
        _ = try home.replicas[1].sync()
        XCTAssertEqual(try activities(home, 0)["device2"], "retired")
        XCTAssertEqual(try activities(home, 1)["device2"], "retired")
        // The retirement is passed on by those who have heard of it.
        XCTAssertNotNil(
            try home.container.readHead(of: home.replicas[1].identity.device)?
                .retired[home.replicas[2].identity.device])
        // It finds itself retired, and says that it is not, though it has nothing else to say.
        home.clock.advance(hours: 1)
        _ = try home.replicas[2].sync()
        for index in [0, 1, 0, 1] { _ = try home.replicas[index].sync() }
        XCTAssertEqual(try activities(home, 0)["device2"], "active")
        XCTAssertEqual(try activities(home, 1)["device2"], "active")
        for index in 0..<2 {
            XCTAssertEqual(
                try home.container.readHead(of: home.replicas[index].identity.device)?.retired, [:], "\(index)")
        }
        // And everybody comes to rest.
        let steps = home.files.stepCount
        for replica in home.replicas { _ = try replica.sync() }
        XCTAssertEqual(home.files.stepCount, steps)
    }

    func testOnlyAnotherDeviceThatIsMeantClearlyIsRetired() throws {
        let home = try threeDevices()
        XCTAssertEqual(code { try home.replicas[0].retire("nobody") }, .nothingFound)
        XCTAssertEqual(code { try home.replicas[0].retire("device0") }, .invalidArgument)
        try home.replicas[1].rename("twin")
        try home.replicas[2].rename("twin")
        for index in [1, 2, 0] { _ = try home.replicas[index].sync() }
        XCTAssertEqual(code { try home.replicas[0].retire("twin") }, .invalidArgument)
        let id = home.replicas[2].identity.device.description
        XCTAssertEqual(try home.replicas[0].retire(String(id.prefix(13))), "twin")
        XCTAssertEqual(
            try home.replicas[0].devices().devices.first { $0.id == id }?.activity, .retired)
    }

    func testADeviceThatRunsNeverFallsSilentThoughNothingIsNew() throws {
        let home = try threeDevices()
        for _ in 0..<20 {
            home.clock.advance(days: 8)
            for index in 0..<2 { _ = try home.replicas[index].sync(isThorough: false) }
        }
        XCTAssertEqual(try activities(home, 0), ["device0": "active", "device1": "active", "device2": "silent"])
        let status = try home.replicas[0].status()
        XCTAssertEqual(status.devices.first { $0.name == "device2" }?.activity, .silent)
        XCTAssertEqual(status.devices.first { $0.name == "device2" }?.isLeftBehind, false)
        _ = try home.replicas[2].sync()
        _ = try home.replicas[0].sync()
        XCTAssertEqual(try activities(home, 0)["device2"], "active")
    }

    func testWhatADeviceHoldsBackIsTold() throws {
        var retention = RetentionSettings()
        retention.snapshotMinimumBytes = 1000
        retention.firstSnapshotChangesPerRow = 0
        let home = try MemoryHome(retention: retention)
        for _ in 0..<2 { try home.addDevice() }
        try home.flush(0, 40)
        XCTAssertNotNil(try home.replicas[0].compact().snapshot)
        let peer = try XCTUnwrap(try home.replicas[0].devices().devices.last)
        XCTAssertGreaterThan(peer.holdsBackSegments, 0)
        XCTAssertGreaterThan(peer.holdsBackBytes, 0)
        XCTAssertEqual(peer.unacknowledged, 40)
        XCTAssertEqual(try home.replicas[0].compact().heldBackBy, ["device1"])
        _ = try home.replicas[1].sync()
        let report = try home.replicas[0].compact()
        XCTAssertEqual(report.heldBackBy, [])
        XCTAssertGreaterThan(report.removed.segments, 0)
        XCTAssertEqual(report.segments, 1)
        XCTAssertEqual(try home.replicas[0].devices().devices.last?.holdsBackSegments, 0)
        try home.checkLog(0)
        XCTAssertEqual(try home.rows(0), try home.rows(1))
        // A new device starts from the snapshot, for the log does not begin at its beginning any more.
        try home.addDevice()
        XCTAssertEqual(try home.rows(0), try home.rows(2))
    }

    func testADeviceThatWasAwayTooLongIsLeftBehindAndReturnsWithWhatOnlyItHas() throws {
        var retention = RetentionSettings()
        retention.snapshotMinimumBytes = 1000
        retention.firstSnapshotChangesPerRow = 0
        let home = try MemoryHome(retention: retention)
        for _ in 0..<3 { try home.addDevice() }
        for _ in 0..<2 { for replica in home.replicas { _ = try replica.sync() } }
        try home.write(0, "INSERT INTO item(id, name) VALUES (500, 'goes'), (501, 'stays')")
        for index in [0, 1, 2] { _ = try home.replicas[index].sync() }
        // From now on only two of them sync, and by themselves they keep the container small.
        try home.write(2, "INSERT INTO item(name) VALUES ('written away')")
        try home.write(0, "DELETE FROM item WHERE id = 500")
        for day in 0..<100 {
            home.clock.advance(days: 1)
            for index in 0..<2 {
                try home.write(index, "INSERT INTO item(name) VALUES ('day \(day) of \(index)')")
                _ = try home.replicas[index].sync()
            }
        }
        XCTAssertGreaterThan(try home.replicas[0].store.reading().logStart, 1)
        XCTAssertLessThan(try home.segments(0).count, 40)
        let away = try XCTUnwrap(try home.replicas[0].devices().devices.first { $0.name == "device2" })
        XCTAssertEqual(away.activity, .silent)
        XCTAssertTrue(away.isLeftBehind)
        let status = try home.replicas[0].status()
        XCTAssertEqual(status.devices.first { $0.name == "device2" }?.isLeftBehind, true)

        for index in [2, 0, 1, 2, 0] { XCTAssertEqual(try home.replicas[index].sync().waiting, [], "\(index)") }
        XCTAssertEqual(try home.rows(0), try home.rows(2))
        XCTAssertEqual(try home.rows(0), try home.rows(1))
        XCTAssertTrue(try home.rows(0).contains([.text("written away"), .integer(1)]))
        XCTAssertFalse(try home.rows(2).contains([.text("goes"), .integer(1)]))
        XCTAssertEqual(try activities(home, 0)["device2"], "active")
    }

    func testDeletionsAreForgottenOnceEveryActiveDeviceKnowsOfThem() throws {
        let home = try threeDevices()
        try home.write(0, "INSERT INTO item(id, name) VALUES (500, 'goes')")
        for _ in 0..<2 { for replica in home.replicas { _ = try replica.sync() } }
        try home.write(0, "DELETE FROM item WHERE id = 500")
        for index in [0, 1, 0] { _ = try home.replicas[index].sync() }
        home.clock.advance(days: 2)
        XCTAssertEqual(try home.replicas[0].compact().tombstones, 0, "the third device has not seen it")
        XCTAssertGreaterThan(try home.replicas[0].store.tombstoneCount(), 0)
        for index in [2, 1, 0] { _ = try home.replicas[index].sync() }
        home.clock.advance(days: 2)
        for index in [2, 1, 0, 1, 2] { _ = try home.replicas[index].sync() }
        for replica in home.replicas { XCTAssertEqual(try replica.store.tombstoneCount(), 0) }
        XCTAssertEqual(Set(try home.replicas[0].status().devices.map(\.standing)), [.inStep])
    }

    func testDevicesAreToldWhileTheContainerIsAway() throws {
        let fleet = try Fleet()
        try fleet.start("CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT);")
        try fleet.join()
        try fleet.settle()
        try FileManager.default.removeItem(atPath: fleet.containerPath)
        let report = try fleet.replicas[0].devices()
        XCTAssertFalse(report.reachable)
        XCTAssertEqual(report.devices.map(\.name), ["device0", "device1"])
        XCTAssertEqual(try fleet.replicas[0].retire("device1"), "device1")
    }
}
