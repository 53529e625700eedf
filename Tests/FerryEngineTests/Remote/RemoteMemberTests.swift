import FerryContainer
import FerryCore
import FerryStore
import Foundation
import XCTest

@testable import FerryEngine

/// Calls about members and containers by a process that knows a storage's listing of a while ago: they look afresh.
final class RemoteMemberTests: XCTestCase {
    func testADeviceThatWasRemovedMeanwhileMayAskToBeLetInAgain() throws {
        let home = try RemoteHome()
        home.isSealed = true
        for _ in 0..<2 { try home.addDevice() }
        try home.settle()
        XCTAssertFalse(try home.replicas[1].needsEnrolment())
        XCTAssertThrowsError(try home.replicas[1].checkNeedsEnrolment())
        _ = try home.replicas[0].remove("device1")
        XCTAssertNoThrow(try home.replicas[1].checkNeedsEnrolment())
        XCTAssertTrue(try home.replicas[1].needsEnrolment())
    }

    func testAContainerInWhichSomebodyPublishedStaysThoughItsRecoveryCodeCannotBeKept() throws {
        let home = try RemoteHome()
        XCTAssertTrue(FileManager.default.createFile(atPath: home.databasePath(0), contents: nil))
        let store = try Store(path: home.databasePath(0), clock: home.clock)
        try store.write { try $0.execute("CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT)") }
        func create(_ keep: @escaping RecoveryCodeKeeper) throws {
            _ = try ReplicaSetup(environment: home.environment, sealing: .sealed(recovery: keep)).create(
                store, containerPath: RemoteHome.place, name: "device0")
        }
        let full = FerryError(.inputOutput, "The disk is full.")
        XCTAssertThrowsError(try create { _ in throw full })
        XCTAssertEqual(home.storage.contents.keys.sorted(), [])
        let head = Container.directory(of: DeviceID(high: 1, low: 2)) + "/head"
        XCTAssertThrowsError(
            try create { _ in
                home.storage.set(head, [1])
                throw full
            })
        XCTAssertEqual(home.storage.contents.keys.sorted(), [ContainerDescription.fileName, head])
    }
}
