import FerryContainer
import FerryCore
import XCTest

final class SegmentNameTests: XCTestCase {
    private let checksum = Checksum(high: 0x0123_4567_89ab_cdef, low: 5)
    private let stem = "00000000000a-0000000000ff-0123456789abcdef"

    func testANameIsTwoNumbersAndAHash() throws {
        let name = try SegmentName(first: 10, last: 255, checksum: checksum)
        XCTAssertEqual(name.fileName, stem + ".segment")
        XCTAssertEqual(SegmentName(name.fileName), name)
        XCTAssertTrue(name.matches(checksum))
        XCTAssertFalse(name.matches(Checksum(high: 1, low: 5)))
        XCTAssertLessThanOrEqual(name.fileName.utf8.count, 64)
        let largest = SegmentName.maximumSequence
        XCTAssertEqual(
            try SegmentName(first: largest, last: largest, checksum: checksum).fileName,
            "ffffffffffff-ffffffffffff-0123456789abcdef.segment")
    }

    func testImpossibleNumbersAreRefused() {
        for (first, last) in [(0, 1), (2, 1), (1, SegmentName.maximumSequence + 1)] as [(UInt64, UInt64)] {
            assertThrows(.invalidArgument) { try SegmentName(first: first, last: last, checksum: checksum) }
        }
    }

    func testNothingButTheExactFormIsAName() {
        for text in [
            "", ".segment", stem, stem + ".segment ", " " + stem + ".segment", stem + ".Segment", stem + ".segmenu",
            stem.uppercased() + ".segment", stem + " (1).segment", stem + ".segment.tmp",
            "00000000000A-0000000000ff-0123456789abcdef.segment", "00000000000g-0000000000ff-0123456789abcdef.segment",
            "000000000000-0000000000ff-0123456789abcdef.segment", "0000000000ff-00000000000a-0123456789abcdef.segment",
            "00000000000a_0000000000ff-0123456789abcdef.segment", "+0000000000a-0000000000ff-0123456789abcdef.segment",
            "00000000000a-0000000000ff-0123456789abcde.segment", "00000000000a-0000000000ff-0123456789abcdef0.segment",
            "00000000000a-0000000000ff-0123456789abcdé.segment",
        ] {
            XCTAssertNil(SegmentName(text), text)
        }
    }

    func testNamesAreOrderedByTheirNumbers() throws {
        let names = try [(1, 1), (1, 3), (2, 2), (16, 16)].map {
            try SegmentName(first: $0.0, last: $0.1, checksum: checksum)
        }
        XCTAssertEqual(names.reversed().sorted(), names)
        XCTAssertEqual(names.map(\.fileName).sorted(), names.map(\.fileName))
    }

    func testWhatSyncersMakeOfANameIsRecognisedAsACopy() throws {
        let name = try SegmentName(first: 10, last: 255, checksum: checksum)
        for text in [
            stem + ".sync-conflict-20260101-120000-ABCDEF7.segment", stem + " (1).segment",
            stem + " (conflicted copy 2026-01-01).segment", stem + " (Anna's conflicted copy 2026-01-01).segment",
            stem + "-HOSTNAME.segment", stem + "_conflict-20260101.segment", stem + " 2.segment",
            (stem + ".segment").uppercased(), stem + ".Segment",
        ] {
            let file = try XCTUnwrap(SegmentFile(fileName: text), text)
            XCTAssertEqual(file.name, name)
            XCTAssertTrue(file.isCopy)
            XCTAssertEqual(file.fileName, text)
        }
        let proper = try XCTUnwrap(SegmentFile(fileName: name.fileName))
        XCTAssertFalse(proper.isCopy)
        XCTAssertEqual(proper, SegmentFile(name))
    }

    func testTemporaryFilesAndPlaceholdersAreNoCopies() {
        for text in [
            ".syncthing.\(stem).segment.tmp", "~syncthing~\(stem).segment.tmp", ".\(stem).segment.icloud",
            stem + ".segment.part", stem + "0.segment", stem + ".snapshot", "desktop.ini", ".DS_Store", ".nfs0001",
            stem + "x.segment", "000000000000-0000000000ff-0123456789abcdef (1).segment",
            stem + " " + String(repeating: "x", count: 300) + ".segment",
        ] {
            XCTAssertNil(SegmentFile(fileName: text), text)
        }
    }

    func testAProperNameComesBeforeItsCopiesAndAfterEarlierSegments() throws {
        let texts = [
            "000000000001-000000000001-0123456789abcdef (1).segment", stem + ".segment", stem + " (1).segment",
            stem + " (2).segment",
        ]
        let files = texts.compactMap { SegmentFile(fileName: $0) }
        XCTAssertEqual(files.reversed().sorted().map(\.fileName), texts)
    }
}
