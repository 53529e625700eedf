import FerryContainer
import FerryCore
import FerryStore
import FerryTestSupport
import XCTest

@testable import FerryEngine

/// What a device has stored itself it does not read from its own packs.
final class StoredCopyTests: XCTestCase {
    /// A content of one chunk, one of several, and one with packs of its own.
    private let contents = [noise(60_000, seed: 1), noise(900_000, seed: 2), noise(9 << 20, seed: 3)]

    private func packBytes(_ home: MemoryHome) -> Int { home.files.readBytes(ofFilesEnding: "pack") }

    func testWhatWasStoredHereIsNotReadFromPacks() throws {
        let home = try MemoryHome.withPhotos()
        let before = packBytes(home)
        for (number, bytes) in contents.enumerated() { try home.photos(0).attach("\(number)", bytes) }
        for (number, bytes) in contents.enumerated() {
            XCTAssertTrue(try home.photos(0).isHere("\(number)"), "\(number)")
            XCTAssertEqual(try home.photos(0).bytes("\(number)"), bytes, "\(number)")
        }
        XCTAssertEqual(try home.replicas[0].sync().documents?.fetched ?? 0, 0)
        _ = try home.replicas[0].sync()
        XCTAssertEqual(packBytes(home), before, "bytes of packs that were read")
        XCTAssertEqual(
            try home.photos(0).count("SELECT count(*) FROM ferry_content_state WHERE whole = 1"), contents.count)
        // Another device reads each byte once.
        try home.settle()
        XCTAssertTrue(try home.photos(1).isHere("2"))
        let read = packBytes(home) - before
        XCTAssertGreaterThan(read, contents.reduce(0) { $0 + $1.count } - 1)
        XCTAssertLessThan(read, contents.reduce(0) { $0 + $1.count } * 11 / 10)
    }

    func testFilesOfAMirrorAreNotReadFromPacksEither() throws {
        let home = try MemoryHome.withPhotos(1)
        let photos = home.photos(0)
        let before = packBytes(home)
        let stored = try photos.replica.storeEach(contents.map { try photos.source($0) })
        for (number, content) in stored.enumerated() { try photos.insert("\(number)", content.get()) }
        _ = try home.replicas[0].sync()
        XCTAssertEqual(packBytes(home), before)
        for (number, bytes) in contents.enumerated() { XCTAssertEqual(try photos.bytes("\(number)"), bytes) }
        XCTAssertEqual(packBytes(home), before)
    }

    /// The settings for fetching say nothing of what was stored here.
    func testADeviceKeepsAsManyCopiesAsItKeepsContents() throws {
        let home = try MemoryHome.withPhotos(1)
        var settings = try home.replicas[0].store.contentSettings()
        settings.fetchBytes = 100_000
        try home.replicas[0].store.setContentSettings(settings)
        for (number, bytes) in contents.prefix(2).enumerated() { try home.photos(0).attach("\(number)", bytes) }
        XCTAssertTrue(try home.photos(0).isHere("0"))
        XCTAssertTrue(try home.photos(0).isHere("1"), "no other device may ever fetch it")
        _ = try home.replicas[0].sync()
        XCTAssertTrue(try home.photos(0).isHere("1"))
        settings.fetchBytes = 0
        settings.keepBytes = try home.replicas[0].store.readContentStates { try $0.wholeBytes() } + 50_000
        try home.replicas[0].store.setContentSettings(settings)
        try home.photos(0).attach("more", noise(50_000, seed: 9))
        XCTAssertTrue(try home.photos(0).isHere("more"))
        _ = try home.replicas[0].sync()
        try home.photos(0).attach("too much", noise(51_000, seed: 10))
        XCTAssertFalse(try home.photos(0).isHere("too much"))
    }

    func testADiskWithoutRoomStoresWithoutACopy() throws {
        let home = try MemoryHome.withPhotos(1)
        home.files.setAvailableBytes(2 << 30)
        try home.photos(0).attach("new", contents[0])
        XCTAssertFalse(try home.photos(0).isHere("new"))
        home.files.setAvailableBytes(nil)
        _ = try home.replicas[0].sync()
        XCTAssertEqual(try home.photos(0).bytes("new"), contents[0])
    }

    func testACopyOfAContentThatNobodyRefersToGoes() throws {
        let home = try MemoryHome.withPhotos(1)
        let photos = home.photos(0)
        _ = try photos.store(contents[0])
        XCTAssertEqual(try photos.names(below: photos.shelf + "/whole").count, 1)
        for _ in 0..<3 {
            home.clock.advance(days: 8)
            _ = try home.replicas[0].sync()
        }
        XCTAssertEqual(try photos.names(below: photos.shelf + "/whole").count, 1)
        for _ in 0..<2 {
            home.clock.advance(days: 16)
            _ = try home.replicas[0].sync()
        }
        XCTAssertEqual(try photos.names(below: photos.shelf), [])
    }
}
