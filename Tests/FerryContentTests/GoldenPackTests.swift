import FerryContent
import FerryCore
import FerrySeal
import FerryTestSupport
import Foundation
import XCTest

/// Packs and lists that earlier versions wrote; every later version must read them. `Tests/Golden/packs.py` knows nothing of Ferry but
/// Docs/Format.md, and reads the same.
final class GoldenPackTests: XCTestCase {
    private let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Golden")

    private func bytes(_ name: String) throws -> [UInt8] {
        let text = try String(contentsOf: folder.appendingPathComponent(name + ".base64"), encoding: .utf8)
        return Array(try XCTUnwrap(Data(base64Encoded: text, options: .ignoreUnknownCharacters)))
    }

    private let stored = [Samples.noise(300, seed: 1), [7], Samples.noise(20, seed: 2)]
    private let compressed = [Samples.text(2000, seed: 1), Samples.noise(100, seed: 3)]

    private let lists: [String: ContentList] = [
        "list-v1-bytes": .file(.bytes(Array("hello\n".utf8))),
        "list-v1-chunks": .file(
            .chunks([
                .init(id: ChunkID(high: 1, low: 2), count: 700_000),
                .init(id: ChunkID(high: 1, low: 2), count: 700_000),
                .init(id: ChunkID(high: 3, low: 4), count: 5),
            ])),
        "list-v1-package": .package([
            .init(
                path: "Contents/run", isExecutable: true, modifiedMicroseconds: 1_700_000_000_000_001, body: .bytes([1])
            ),
            .init(
                path: "Contents/ä.txt", modifiedMicroseconds: -1,
                body: .chunks([.init(id: ChunkID(high: 5, low: 6), count: 9)])),
            .init(path: "Contents-old", modifiedMicroseconds: 0, body: .bytes([])),
        ]),
    ]

    // MARK: Packs

    func testPacksOfEveryVersionAreRead() throws {
        for (name, chunks) in [("pack-v1-stored", stored), ("pack-v1-zlib", compressed)] {
            let reader = try Samples.reader(try bytes(name))
            XCTAssertEqual(try reader.directory.entries.map(reader.chunk), chunks, name)
        }
        XCTAssertEqual(try Samples.reader(bytes("pack-v1-zlib")).directory.entries.map(\.place.form), [.zlib, .plain])
    }

    func testASealedPackIsRead() throws {
        let member = try Samples.Member()
        let reader = try Samples.reader(bytes("pack-v1-sealed"), of: member.keys.device, in: member.surroundings)
        XCTAssertEqual(try reader.directory.entries.map(reader.chunk), stored)
    }

    /// Compressed bytes depend on zlib, and signatures differ on Apple's systems.
    func testThePresentVersionIsWrittenByteByByte() throws {
        XCTAssertEqual(try Samples.pack(stored).bytes, try bytes("pack-v1-stored"))
        let member = try Samples.Member()
        let sealed = try Samples.pack(stored, member.key, member.writer()).bytes
        let unsigned = { (bytes: [UInt8]) in bytes.dropLast(SealSuite.signatureLength) }
        XCTAssertEqual(unsigned(sealed), unsigned(try bytes("pack-v1-sealed")))
    }

    private func lines(_ reader: PackReader) -> [String] {
        ["pack \(reader.id.hex) of \(Samples.container.hex) \(reader.device.hex)"]
            + reader.directory.entries.map { entry in
                let (place, form) = (entry.place, entry.place.form == .zlib ? "zlib" : "plain")
                return "chunk \(entry.id.hex) \(form) at \(place.offset) stored \(place.stored) bytes \(place.count)"
            }
    }

    func testAnIndependentReaderReadsOpenPacks() throws {
        for bytes in [
            try bytes("pack-v1-stored"), try bytes("pack-v1-zlib"),
            try Samples.pack([Samples.text(99_999, seed: 8)]).bytes,
        ] {
            guard let read = try IndependentReader.lines(ofContent: bytes) else { throw XCTSkip("there is no python3") }
            XCTAssertEqual(read, lines(try Samples.reader(bytes)))
        }
    }

    func testAnIndependentReaderReadsASealedPack() throws {
        let member = try Samples.Member()
        // The member's two keys are drawn before the epoch's secret, 4 numbers each (`Samples.Member`).
        let random = SeededRandom(seed: 1)
        let secret = (0..<12).map { _ in random.next() }.suffix(4)
            .flatMap { number in withUnsafeBytes(of: number.littleEndian) { Array($0) } }
        let keys = member.keys.publicKeys
        let bytes = try bytes("pack-v1-sealed")
        guard
            let read = try IndependentReader.lines(
                ofContent: bytes, before: ["--sealed"],
                behind: [hexString(secret), hexString(keys.signing), hexString(keys.box)])
        else { throw XCTSkip("there is no python3 with the package cryptography") }
        XCTAssertEqual(read, lines(try Samples.reader(bytes, of: member.keys.device, in: member.surroundings)))
    }

    /// No reader depends on cuts; devices that cut alike store equal bytes once.
    func testAnIndependentReaderCutsAlike() throws {
        for bytes in [
            Samples.noise(2_500_000, seed: 4), [UInt8](repeating: 0, count: 2_200_000), Samples.noise(131_072, seed: 5),
        ] {
            let read = try IndependentReader.lines(
                ofContent: bytes, before: ["--cut"], behind: [Samples.container.hex])
            guard let read else { throw XCTSkip("there is no python3") }
            XCTAssertEqual(read, try cut(bytes).map { "chunk \(Samples.key.chunkID(of: $0).hex) \($0.count)" })
        }
    }

    // MARK: Lists

    func testListsOfEveryVersionAreReadAndWritten() throws {
        for (name, list) in lists {
            let bytes = try bytes(name)
            XCTAssertEqual(try ContentList(decoding: bytes, byteCount: Int64(list.byteCount())), list, name)
            XCTAssertEqual(try list.encoded(), bytes, name)
        }
    }

    private func lines(_ body: ContentList.Body) -> [String] {
        switch body {
        case .bytes(let bytes): ["bytes \(hexString(bytes))"]
        case .chunks(let chunks): chunks.map { "chunk \($0.id.hex) \($0.count)" }
        }
    }

    func testAnIndependentReaderReadsListsAndComputesTheirIDs() throws {
        for (name, list) in lists {
            let read = try IndependentReader.lines(
                ofContent: bytes(name), before: ["--list"], behind: [Samples.container.hex])
            guard let read else { throw XCTSkip("there is no python3") }
            var expected: [String] = []
            switch list {
            case .file(let body): expected = lines(body)
            case .package(let files):
                for file in files {
                    expected.append(
                        "file \(file.path) \(file.isExecutable ? "executable" : "plain") \(file.modifiedMicroseconds)")
                    expected += lines(file.body)
                }
            }
            expected.append("size \(try list.byteCount())")
            expected.append("content \(try Samples.key.contentID(of: list).hex)")
            XCTAssertEqual(read, expected, name)
        }
    }
}
