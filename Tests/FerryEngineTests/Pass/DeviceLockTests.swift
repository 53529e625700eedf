import FerryCore
import FerryTestSupport
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

    /// A database, and a symbolic link to the database.
    private func linked() throws -> (scratch: ScratchFolder, paths: [String]) {
        let scratch = try ScratchFolder()
        XCTAssertTrue(FileManager.default.createFile(atPath: scratch.path("a.sqlite"), contents: nil))
        try FileManager.default.createSymbolicLink(
            atPath: scratch.path("b.sqlite"), withDestinationPath: "a.sqlite")
        return (scratch, [scratch.path("a.sqlite"), scratch.path("b.sqlite")])
    }

    func testTwoNamesOfADatabaseHaveOneLock() throws {
        let (scratch, paths) = try linked()
        try DeviceLock(databasePath: paths[0]).withLock {
            XCTAssertThrowsError(try DeviceLock(databasePath: paths[1]).withLock(waitMilliseconds: 0) {}) { error in
                XCTAssertEqual((error as? FerryError)?.code, .busy)
            }
        }
        let leaders = paths.map { LeaderLock(databasePath: $0) }
        XCTAssertTrue(try leaders[0].acquire())
        XCTAssertFalse(try leaders[1].acquire())
        leaders[0].release()
        XCTAssertTrue(try leaders[1].acquire())
        let names = try FileManager.default.contentsOfDirectory(atPath: scratch.path)
        XCTAssertEqual(names.filter { $0.hasPrefix("b.sqlite-") }, [])
    }

    /// A command ran once as another account. For root every file can be written, so root sees only who gets the file.
    func testALockFileThatCanOnlyBeReadIsLockedAllTheSame() throws {
        let (scratch, paths) = try linked()
        defer { withExtendedLifetime(scratch) {} }
        if geteuid() == 0 {
            XCTAssertEqual(chown(paths[0], 65_534, 65_534), 0)
            try DeviceLock(databasePath: paths[0]).withLock {}
            XCTAssertTrue(try LeaderLock(databasePath: paths[0]).acquire())
            for name in ["lock", "leader"] {
                var status = stat()
                XCTAssertEqual(stat(paths[0] + "-ferry-" + name, &status), 0)
                XCTAssertEqual(status.st_uid, 65_534, name)
            }
            return
        }
        for name in ["lock", "leader"] {
            XCTAssertTrue(
                FileManager.default.createFile(
                    atPath: paths[0] + "-ferry-" + name, contents: nil, attributes: [.posixPermissions: 0o444]))
        }
        try DeviceLock(databasePath: paths[0]).withLock {
            XCTAssertThrowsError(try DeviceLock(databasePath: paths[0]).withLock(waitMilliseconds: 0) {}) { error in
                XCTAssertEqual((error as? FerryError)?.code, .busy)
            }
        }
        let leaders = [LeaderLock(databasePath: paths[0]), LeaderLock(databasePath: paths[0])]
        XCTAssertTrue(try leaders[0].acquire())
        XCTAssertFalse(try leaders[1].acquire())
    }
}
