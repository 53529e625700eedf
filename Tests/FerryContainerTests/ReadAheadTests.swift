import FerryCore
import XCTest

@testable import FerryContainer

final class ReadAheadTests: XCTestCase {
    private func bytes(_ count: Int) -> [UInt8] { [UInt8](repeating: 7, count: count) }

    func testReadFilesStayWhileThereIsRoomTheEarliestReadGoesFirst() {
        var ahead = ReadAhead(maximumBytes: 100)
        for name in ["a", "b", "c"] { ahead.keep(name, bytes(30), tag: name) }
        XCTAssertEqual(ahead.read("a")?.tag, "a")
        ahead.keep("d", bytes(30), tag: "d")
        XCTAssertEqual(["a", "b", "c", "d"].filter(ahead.has), ["a", "c", "d"])
        XCTAssertEqual(ahead.byteCount, 90)
        XCTAssertEqual(ahead.unreadByteCount, 0)
    }

    func testFilesThatAreNotReadYetStayAndTakeTheRoomOfReadFiles() {
        var ahead = ReadAhead(maximumBytes: 100)
        ahead.keep("read", bytes(60), tag: "1")
        for name in ["a", "b"] { ahead.add(name, bytes(50), tag: name) }
        XCTAssertFalse(ahead.has("read"))
        XCTAssertEqual(ahead.unreadByteCount, 100)
        XCTAssertEqual(ahead.read("a")?.bytes.count, 50)
        XCTAssertEqual(ahead.unreadByteCount, 50)
        // A larger file than the room is not kept.
        ahead.keep("large", bytes(101), tag: "2")
        XCTAssertFalse(ahead.has("large"))
        XCTAssertTrue(ahead.has("b"))
    }

    func testFilesAreRemovedAloneOrByKind() {
        var ahead = ReadAhead(maximumBytes: 100)
        ahead.add("a", bytes(10), tag: "1")
        ahead.add("a", bytes(20), tag: "2")
        ahead.keep("b", bytes(10), tag: "1")
        ahead.add("c", bytes(5), tag: "1")
        XCTAssertEqual(ahead.take("a")?.tag, "2")
        XCTAssertNil(ahead.take("a"))
        XCTAssertEqual(ahead.byteCount, 15)
        ahead.removeRead()
        XCTAssertFalse(ahead.has("b"))
        ahead.removeUnread()
        XCTAssertEqual(ahead.byteCount, 0)
        XCTAssertEqual(ahead.unreadByteCount, 0)
    }
}
