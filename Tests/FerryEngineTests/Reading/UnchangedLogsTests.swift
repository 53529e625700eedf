import FerryCore
import FerryTestSupport
import XCTest

@testable import FerryEngine

/// A thorough look lists only directories that changed, and every one now and then.
final class UnchangedLogsTests: XCTestCase {
    /// How many directories a thorough sync lists.
    private func listings(_ home: MemoryHome) throws -> Int {
        let before = home.files.listingCount
        let report = try home.replicas[0].sync(isThorough: true)
        XCTAssertEqual(report.replayed.changes, 0)
        return home.files.listingCount - before
    }

    private func advance(_ home: MemoryHome, seconds: Int64) {
        home.clock.set(home.clock.milliseconds() + seconds * 1000)
    }

    func testADirectoryIsListedAgainOnceItChangesAndEveryTenMinutes() throws {
        let home = try MemoryHome()
        for _ in 0..<3 { try home.addDevice() }
        for _ in 0..<2 { for replica in home.replicas { _ = try replica.sync() } }
        _ = try listings(home)
        advance(home, seconds: 2)
        let all = try listings(home)
        let few = try listings(home)
        XCTAssertEqual(few, all - 2, "those of both other devices")
        advance(home, seconds: 599)
        XCTAssertEqual(try listings(home), few)
        advance(home, seconds: 1)
        XCTAssertEqual(try listings(home), all)
        XCTAssertEqual(try listings(home), few)
        advance(home, seconds: -60)
        XCTAssertEqual(try listings(home), all, "a clock that was set back says nothing")
    }

    func testAFileThatNoHeadAnnouncesIsFound() throws {
        let home = try MemoryHome()
        for _ in 0..<2 { try home.addDevice() }
        for _ in 0..<2 { for replica in home.replicas { _ = try replica.sync() } }
        for _ in 0..<2 {
            _ = try listings(home)
            advance(home, seconds: 2)
        }
        let quiet = try listings(home)
        // Its segment arrives, and its head does not.
        let device = home.replicas[1].identity.device
        let path = "/shared/c/devices/\(device.hex)/head"
        let head = try XCTUnwrap(try home.files.readFile(at: path, maximumBytes: .max))
        try home.replicas[1].store.write { try $0.execute("INSERT INTO item(name) VALUES ('new')") }
        _ = try home.replicas[1].sync()
        try home.files.removeFile(at: path)
        try home.files.write(head, toNewFileAt: path)
        let before = home.files.listingCount
        XCTAssertEqual(try home.replicas[0].sync(isThorough: true).replayed.changes, 1)
        XCTAssertGreaterThan(home.files.listingCount - before, quiet)
    }

    /// A sync of the first device, after looks that found everything as before.
    private func newsAfterQuiet(_ home: MemoryHome, isThorough: Bool) throws -> Int {
        try home.replicas[0].sync(isThorough: isThorough).replayed.changes
    }

    private func rest(_ home: MemoryHome) throws {
        for _ in 0..<2 { for replica in home.replicas { _ = try replica.sync() } }
        for _ in 0..<3 {
            for isThorough in [true, false] {
                XCTAssertEqual(try newsAfterQuiet(home, isThorough: isThorough), 0)
            }
            advance(home, seconds: 2)
        }
    }

    func testNothingIsReadOfWhatLooksTheSameAndAllOfWhatDoesNot() throws {
        let home = try MemoryHome()
        for _ in 0..<3 { try home.addDevice() }
        for isThorough in [true, false] {
            try rest(home)
            let reads = home.files.readCount
            XCTAssertEqual(try newsAfterQuiet(home, isThorough: isThorough), 0)
            XCTAssertEqual(home.files.readCount - reads, 1, "the container's marker")
            // Of two others one has news.
            try home.write(1, "INSERT INTO item(name) VALUES ('\(isThorough)')")
            _ = try home.replicas[1].sync()
            XCTAssertEqual(try newsAfterQuiet(home, isThorough: isThorough), 1)
        }
    }

    func testADeviceThatComesIsRead() throws {
        let home = try MemoryHome()
        for _ in 0..<2 { try home.addDevice() }
        try rest(home)
        try home.addDevice()
        try home.write(2, "INSERT INTO item(name) VALUES ('new')")
        _ = try home.replicas[2].sync()
        XCTAssertEqual(try newsAfterQuiet(home, isThorough: false), 1)
    }

    func testAHeadThatIsGoneOrGarbledIsNotTheOneBefore() throws {
        let home = try MemoryHome()
        for _ in 0..<3 { try home.addDevice() }
        try rest(home)
        let path = "/shared/c/devices/\(home.replicas[2].identity.device.hex)/head"
        let head = try XCTUnwrap(try home.files.readFile(at: path, maximumBytes: .max))
        try home.files.removeFile(at: path)
        XCTAssertEqual(try home.replicas[0].sync(isThorough: true).waiting.map(\.code), [])
        try home.files.write(Array(head.dropLast()), toNewFileAt: path)
        XCTAssertEqual(try home.replicas[0].sync(isThorough: true).waiting.map(\.code), ["fileNotThereYet"])
        try home.files.removeFile(at: path)
        try home.files.write(head, toNewFileAt: path)
        XCTAssertEqual(try home.replicas[0].sync(isThorough: true).waiting.map(\.code), [])
    }
}
