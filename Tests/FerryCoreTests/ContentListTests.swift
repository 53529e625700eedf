import FerryCore
import XCTest

final class ContentListTests: XCTestCase {
    private func id(_ number: UInt64) -> ChunkID { ChunkID(high: number, low: ~number) }

    private func chunks(_ counts: [Int]) -> ContentList.Body {
        .chunks(counts.enumerated().map { .init(id: id(UInt64($0.offset)), count: $0.element) })
    }

    private func file(_ path: String, _ body: ContentList.Body = .bytes([1])) -> ContentList.File {
        .init(path: path, modifiedMicroseconds: -5, body: body)
    }

    private func refuses(
        _ bytes: [UInt8], _ byteCount: Int64, _ what: String, file: StaticString = #filePath, line: UInt = #line
    ) {
        XCTAssertThrowsError(try ContentList(decoding: bytes, byteCount: byteCount), what, file: file, line: line) {
            XCTAssertEqual(($0 as? FerryError)?.code, .damagedFile, what, file: file, line: line)
        }
    }

    private var samples: [ContentList] {
        [
            .file(.bytes([])), .file(.bytes(Array(0...255))), .file(chunks([1])),
            .file(chunks([2 << 20, 5, 600_000, 600_000])), .package([]),
            .package([
                .init(path: "Contents/a", isExecutable: true, modifiedMicroseconds: .max, body: chunks([7])),
                .init(path: "Contents/ä.txt", modifiedMicroseconds: .min, body: .bytes([1, 2])),
                file("Contents-old"), file("z", .bytes([])),
            ]),
        ]
    }

    func testListsAreReadBack() throws {
        for list in samples {
            let bytes = try list.encoded()
            XCTAssertEqual(try ContentList(decoding: bytes, byteCount: Int64(list.byteCount())), list)
        }
    }

    func testAnotherSizeThanTheListsIsRefused() throws {
        for list in samples {
            let (bytes, count) = (try list.encoded(), Int64(try list.byteCount()))
            for wrong in [count + 1, count - 1, -1, .max, .min] { refuses(bytes, wrong, "\(wrong)") }
        }
    }

    func testEveryCutIsAnErrorOrAnotherListAndNeverATrap() throws {
        for list in samples {
            let (bytes, count) = (try list.encoded(), Int64(try list.byteCount()))
            for end in bytes.indices { refuses(Array(bytes[..<end]), count, "cut to \(end)") }
        }
    }

    func testEveryChangedByteIsAnErrorOrAnotherList() throws {
        for list in samples {
            let (bytes, count) = (try list.encoded(), Int64(try list.byteCount()))
            for place in bytes.indices {
                for bit in 0..<8 {
                    var damaged = bytes
                    damaged[place] ^= 1 << UInt8(bit)
                    guard let read = try? ContentList(decoding: damaged, byteCount: count) else { continue }  // refused
                    XCTAssertNotEqual(read, list)
                }
            }
        }
    }

    // MARK: Hostile lists

    private func raw(_ chunks: [(UInt64, UInt64)]) -> [UInt8] {
        var writer = ByteWriter()
        writer.write(1)
        for (number, count) in chunks {
            writer.write(id(number))
            writer.writeVarint(count)
        }
        return writer.bytes
    }

    func testChunksOfImpossibleLengthsAreRefused() {
        refuses(raw([(1, 0)]), 0, "an empty chunk")
        refuses(raw([(1, 1 << 24)]), 1 << 24, "a chunk above the limit")
        refuses(raw([(1, .max)]), -1, "a chunk of 2^64 bytes")
        refuses(raw([(1, 1 << 63)]), .min, "a chunk of 2^63 bytes")
        refuses(raw([]), 0, "no chunk")
        refuses([1], 0, "no chunk")
    }

    /// 2 TB of zeros in a list of 20 MB.
    func testAMillionChunksOfZerosAreDamage() {
        var writer = ByteWriter(reservingCapacity: 20 << 20)
        writer.write(1)
        for _ in 0..<1_000_000 {
            writer.write(id(7))
            writer.writeVarint(2 << 20)
        }
        refuses(writer.bytes, 1_000_000 << 21, "a million chunks of zeros")
        refuses(writer.bytes, 1 << 40, "a million chunks of zeros, and a size that lies")
    }

    func testTooManyChunksAndTooLongListsAreDamage() {
        var writer = ByteWriter(reservingCapacity: 36 << 20)
        writer.write(1)
        for _ in 0...ContentLimits.chunks {
            writer.write(id(7))
            writer.write(1)
        }
        refuses(writer.bytes, Int64(ContentLimits.chunks + 1), "too many chunks")
        refuses([0] + [UInt8](repeating: 0, count: ContentLimits.inlineBytes + 1), 65_537, "too many bytes in a row")
        refuses([UInt8](repeating: 1, count: ContentLimits.listBytes + 1), 1, "a list that is too long")
    }

    func testUnknownFormsAndEmptyListsAreDamage() {
        refuses([], 0, "no list")
        for form in 3...255 as ClosedRange<UInt8> { refuses([form], 0, "form \(form)") }
    }

    func testAPackageRefusesPathsThatLeadElsewhere() {
        for path in [
            "", "/a", "a/", "a//b", ".", "..", "../a", "a/..", "a/../b", "a/./b", "a\0b",
            String(repeating: "x", count: 256),
            String(repeating: "x/", count: 2048) + "y",
        ] {
            XCTAssertFalse(PackagePath.isAllowed(path), path)
            XCTAssertThrowsError(try ContentList.package([file(path)]).encoded()) {
                XCTAssertEqual(($0 as? FerryError)?.code, .invalidArgument)
            }
            refuses(package([path]), 1, "the path \(path)")
        }
        for path in ["a", "...", "a/.b", "a b", "ä/ß", ".hidden", "a\\b", "C:"] {
            XCTAssertTrue(PackagePath.isAllowed(path), path)
        }
    }

    func testAPackageRefusesPathsTwiceOutOfOrderOrBelowAFile() {
        for paths in [["a", "a"], ["b", "a"], ["a", "a/b"], ["a-b", "a/b"], ["a/b/c", "a/b/c/d"]] {
            refuses(package(paths), Int64(paths.count), "\(paths)")
        }
        XCTAssertNoThrow(try ContentList(decoding: package(["a/b", "a-b", "ab"]), byteCount: 3))
    }

    /// A package with files of one byte each.
    private func package(_ paths: [String], count: UInt64? = nil) -> [UInt8] {
        var writer = ByteWriter()
        writer.write(2)
        writer.writeVarint(count ?? UInt64(paths.count))
        for path in paths {
            writer.writeCounted(path)
            writer.write(0)
            writer.writeZigzag(1)
            writer.writeCounted([0, 9])
        }
        return writer.bytes
    }

    func testCountsThatLieAllocateNothing() {
        refuses(package([], count: .max), 0, "2^64 files")
        refuses(package([], count: 1 << 40), 0, "2^40 files")
        refuses(package(["a"], count: 2), 1, "fewer files than told")
        refuses(package(["a"]) + [0], 1, "more behind the end")
    }

    func testAPackageLiesInNoPackage() {
        var writer = ByteWriter()
        writer.write(2)
        writer.writeVarint(1)
        writer.writeCounted("a")
        writer.write(0)
        writer.writeZigzag(1)
        writer.writeCounted([2, 0])
        refuses(writer.bytes, 0, "a package in a package")
    }

    func testPathsThatAreNotUTF8AreRefused() {
        refuses([2, 1, 1, 0xff, 0, 2, 2, 0, 9], 1, "a path that is not UTF-8")
        refuses([2, 1, 1, 0x61, 2, 2, 2, 0, 9], 1, "an unknown mode")
        XCTAssertNoThrow(try ContentList(decoding: [2, 1, 1, 0x61, 1, 2, 2, 0, 9], byteCount: 1))
    }

    func testWritersKeepTheLimitsToo() {
        for list in [
            ContentList.file(.bytes([UInt8](repeating: 0, count: ContentLimits.inlineBytes + 1))),
            .file(chunks([ContentLimits.chunkBytes + 1])), .file(chunks([0])), .file(chunks([-1])),
            .file(.chunks([ContentList.Chunk](repeating: .init(id: id(1), count: 1 << 23), count: 1 << 18))),
        ] {
            XCTAssertThrowsError(try list.encoded()) { XCTAssertEqual(($0 as? FerryError)?.code, .limitExceeded) }
            XCTAssertThrowsError(try list.byteCount())
        }
    }

    /// A folder's files follow each other, and nothing of another name comes between a file and what would lie below it.
    func testTheOrderHasTheSlashFirst() {
        let ordered = ["a", "a/b", "a/b/c", "a/c", "a\u{1}", "a-b", "ab"]
        XCTAssertEqual(ordered.shuffled().sorted(by: PackagePath.precedes), ordered)
        XCTAssertTrue(PackagePath.isBelow("a/b", "a"))
        XCTAssertFalse(PackagePath.isBelow("ab", "a"))
        XCTAssertFalse(PackagePath.isBelow("a", "a"))
    }
}
