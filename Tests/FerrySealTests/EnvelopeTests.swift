import Crypto
import FerryCore
import XCTest

@testable import FerrySeal

final class EnvelopeTests: XCTestCase {
    private let content = Array("Ferry carries rows.".utf8)

    private func sealed(_ kind: FileKind = .segment) throws -> [UInt8] {
        try Envelope.seal(content, kind, under: Samples.epoch, by: Samples.keys())
    }

    private func code(_ file: [UInt8], _ kind: FileKind = .segment, reader: EnvelopeReader? = nil) throws -> FerryError
        .Code?
    {
        let keys = try Samples.keys()
        return errorCode { _ = try (reader ?? Samples.reader(keys)).open(file, kind, of: keys.device) }
    }

    /// The file with another header, signed anew by a member: what a malicious member can make.
    private func resigned(_ file: [UInt8], by keys: DeviceKeys? = nil) throws -> [UInt8] {
        let start = Array(file.dropLast(64))
        return start + (try (keys ?? Samples.keys()).sign("file", digest: SealSuite.digest(start)))
    }

    func testWhatWasSealedIsOpened() throws {
        let keys = try Samples.keys()
        for length in [0, 1, 239, 240, 248, 249, 65_528, 65_529, 131_064, 200_000, 1_000_000] {
            let content = Samples.bytes(3, length)
            for kind in [FileKind.segment, .manifest, .chunk] {
                let file = try Envelope.seal(content, kind, under: Samples.epoch, by: keys)
                let opened = try Samples.reader(keys).open(file, kind, of: keys.device)
                XCTAssertEqual(opened.content, content)
                XCTAssertEqual(opened.epoch, Samples.epoch.id)
                XCTAssertLessThanOrEqual(file.count, kind.maximumFileBytes)
            }
        }
    }

    func testTheSameContentGivesTheSameBytesButForTheSignature() throws {
        XCTAssertEqual(try sealed().dropLast(64), try sealed().dropLast(64))
        XCTAssertNotEqual(try sealed(.segment).dropLast(64), try sealed(.manifest).dropLast(64))
    }

    func testTheSmallestFileHas464Bytes() throws {
        XCTAssertEqual(try Envelope.seal([], .head, under: Samples.epoch, by: Samples.keys()).count, 464)
    }

    func testEveryByteThatIsChangedIsRefusedByItsName() throws {
        let file = try sealed()
        for place in file.indices {
            for flip in [UInt8(1), 0x80, 0xff] {
                var changed = file
                changed[place] ^= flip
                let expected: FerryError.Code =
                    switch place {
                    case 0..<4: .damagedFile
                    case 4: changed[4] > 1 ? .formatTooNew : .damagedFile
                    case 5, 8..<40: .foreignFile
                    // The length says that more is to come, or that there is too much of it.
                    case 120..<128:
                        lengthField(changed) > 1 << 29 || lengthField(changed) < lengthField(file)
                            ? .damagedFile : .fileNotThereYet
                    default: .damagedFile
                    }
                XCTAssertEqual(try code(changed), expected, "byte \(place), \(flip)")
            }
        }
    }

    private func lengthField(_ file: [UInt8]) -> UInt64 {
        file[120..<128].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    func testEveryLengthThatIsCutIsNotThereYet() throws {
        let file = try sealed()
        for length in 0..<file.count {
            XCTAssertEqual(try code(Array(file.prefix(length))), .fileNotThereYet, "\(length)")
        }
        XCTAssertEqual(try code(file + [0]), .damagedFile)
        XCTAssertEqual(try code(file + file), .damagedFile)
    }

    func testAPlainFileIsNotSealed() throws {
        for magic in ["FRYS", "FRYH", "FRYM", "FRYC", "FRYV"] {
            XCTAssertEqual(try code(Array(magic.utf8) + [UInt8](repeating: 1, count: 400)), .notSealed)
        }
        XCTAssertEqual(try code(Array("hello, this is none".utf8)), .damagedFile)
    }

    func testAFileInAnothersPlaceIsForeign() throws {
        let keys = try Samples.keys()
        let file = try sealed()
        for kind in FileKind.allCases where kind != .segment { XCTAssertEqual(try code(file, kind), .foreignFile) }
        let other = try Samples.otherKeys()
        XCTAssertEqual(
            errorCode { _ = try Samples.reader(other).open(file, .segment, of: other.device) }, .foreignFile)
        let elsewhere = ContainerID(high: 1, low: 2)
        XCTAssertEqual(try code(file, reader: Samples.reader(keys, container: elsewhere)), .foreignFile)
    }

    func testAFileOfWhoIsNoMemberIsForeign() throws {
        let other = try Samples.otherKeys()
        XCTAssertEqual(try code(sealed(), reader: Samples.reader(other)), .foreignFile)
    }

    func testAFileUnderAKeyThatHasNotArrivedIsWaitedFor() throws {
        let keys = try Samples.keys()
        XCTAssertEqual(try code(sealed(), reader: Samples.reader(keys, nil)), .fileNotThereYet)
        var changed = try sealed()
        changed[changed.count - 1] ^= 1
        // The signature is looked at first: without the key as well nobody can say that one is missing.
        XCTAssertEqual(try code(changed, reader: Samples.reader(keys, nil)), .damagedFile)
    }

    func testAMemberCannotSignAnothersFile() throws {
        XCTAssertEqual(try code(resigned(sealed(), by: Samples.otherKeys())), .damagedFile)
    }

    func testPiecesThatAreExchangedOrLeftOutAreRefusedThoughTheyAreSigned() throws {
        let keys = try Samples.keys()
        let whole = 65_536 + 16
        let file = try Envelope.seal(Samples.bytes(0, 200_000), .chunk, under: Samples.epoch, by: keys)
        XCTAssertNil(try code(resigned(file), .chunk))
        var exchanged = file
        exchanged.replaceSubrange(128..<128 + whole, with: file[128 + whole..<128 + 2 * whole])
        exchanged.replaceSubrange(128 + whole..<128 + 2 * whole, with: file[128..<128 + whole])
        XCTAssertEqual(try code(resigned(exchanged), .chunk), .damagedFile)
        // The last piece, or the first one, is gone, and the length says so.
        for (start, end) in [(128 + 3 * whole, file.count - 64), (128, 128 + whole)] {
            var shorter = file
            shorter.removeSubrange(start..<end)
            shorter.replaceSubrange(120..<128, with: littleEndian(UInt64(shorter.count - 192)))
            XCTAssertEqual(try code(resigned(shorter), .chunk), .damagedFile)
        }
    }

    func testASignedHeaderThatLiesIsRefused() throws {
        let file = try sealed()
        for place in Array(6..<8) + Array(56..<120) {
            var changed = file
            changed[place] ^= 1
            XCTAssertEqual(try code(resigned(changed)), .damagedFile, "byte \(place)")
        }
        var empty = Array(file[..<128])
        empty.replaceSubrange(120..<128, with: littleEndian(0))
        XCTAssertEqual(try code(resigned(empty + file.suffix(64))), .damagedFile)
    }

    func testPaddingThatIsNotZeroOrTooLongIsRefused() throws {
        // Files that a member makes by other rules than these, with right keys and a right signature.
        func forged(_ stream: [UInt8]) throws -> [UInt8] {
            let (keys, epoch) = (try Samples.keys(), Samples.epoch)
            var header = Array(try sealed().prefix(56))
            header += Envelope.seed(header, stream, epoch)
            let (key, commitment) = Envelope.fileKey(header, epoch)
            header += commitment + littleEndian(UInt64(stream.count + 16))
            let box = try AES.GCM.seal(stream, using: key, nonce: Envelope.nonce(0, isLast: true))
            let file = header + Array(box.ciphertext) + Array(box.tag)
            return file + (try keys.sign("file", digest: SealSuite.digest(file)))
        }
        let stream = littleEndian(5) + Array("Ferry".utf8) + [UInt8](repeating: 0, count: 243)
        XCTAssertNil(try code(forged(stream)))
        var marked = stream
        marked[200] = 1
        XCTAssertEqual(try code(forged(marked)), .damagedFile)
        XCTAssertEqual(try code(forged(stream + [UInt8](repeating: 0, count: 16))), .damagedFile)
        XCTAssertEqual(try code(forged(Array(stream.prefix(13)))), .damagedFile)
        XCTAssertEqual(try code(forged(littleEndian(1 << 40) + stream.dropFirst(8))), .damagedFile)
        XCTAssertEqual(try code(forged(littleEndian(.max) + stream.dropFirst(8))), .damagedFile)
        XCTAssertEqual(try code(forged(Array(stream.prefix(4)))), .damagedFile)
    }

    func testContentAboveTheLimitIsNotSealed() throws {
        let keys = try Samples.keys()
        let limit = FileKind.head.maximumContentBytes
        let largest = try Envelope.seal([UInt8](repeating: 1, count: limit), .head, under: Samples.epoch, by: keys)
        XCTAssertLessThanOrEqual(largest.count, FileKind.head.maximumFileBytes)
        XCTAssertNil(try code(largest, .head))
        XCTAssertEqual(
            errorCode {
                _ = try Envelope.seal([UInt8](repeating: 1, count: limit + 1), .head, under: Samples.epoch, by: keys)
            }, .limitExceeded)
    }

    func testAnEpochOfAnotherContainerSealsNothing() throws {
        let other = EpochSecret(SymmetricKey(data: Samples.bytes(0x40, 32)), container: ContainerID(high: 1, low: 2))
        XCTAssertEqual(
            errorCode { _ = try Envelope.seal(content, .head, under: other, by: Samples.keys()) }, .invalidArgument)
        XCTAssertNotEqual(other.id, Samples.epoch.id)
    }

    private func littleEndian(_ number: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) }
    }
}
