import FerryCore
import FerryTestSupport
import XCTest

@testable import FerrySeal

final class SealedPartTests: XCTestCase {
    private let meaning = Array("chunk".utf8)

    private func open(_ part: [UInt8], _ meaning: [UInt8]) throws -> [UInt8] {
        try SealedPart.open(part[...], meaning) { $0 == Samples.epoch.id ? Samples.epoch : nil }
    }

    func testAPartGivesBackItsContent() throws {
        for count in [0, 1, 247, 248, 249, 100_000] {
            let content = Samples.bytes(3, count)
            let part = try SealedPart.seal(content, meaning, under: Samples.epoch)
            XCTAssertEqual(part.count, SealedPart.length(ofContent: count))
            XCTAssertEqual(SealedPart.epoch(of: part), Samples.epoch.id)
            XCTAssertEqual(try open(part, meaning), content)
        }
    }

    func testTheSamePartHasTheSameBytesAndAnotherMeaningOthers() throws {
        let one = try SealedPart.seal([1, 2], meaning, under: Samples.epoch)
        XCTAssertEqual(one, try SealedPart.seal([1, 2], meaning, under: Samples.epoch))
        let other = try SealedPart.seal([1, 2], meaning + [0], under: Samples.epoch)
        XCTAssertNotEqual(one.dropFirst(16).prefix(32), other.dropFirst(16).prefix(32))
        XCTAssertEqual(failure { _ = try open(one, meaning + [0]) }?.code, .damagedFile)
    }

    func testEveryCutAndEveryChangedByteIsAnError() throws {
        let part = try SealedPart.seal(Samples.bytes(0, 40), meaning, under: Samples.epoch)
        for count in part.indices { XCTAssertNotNil(failure { _ = try open(Array(part[..<count]), meaning) }) }
        for place in part.indices {
            var damaged = part
            damaged[place] ^= 1
            let code = failure { _ = try open(damaged, meaning) }?.code
            XCTAssertEqual(code, place < 16 ? .fileNotThereYet : .damagedFile, "\(place)")
        }
    }

    func testAKeyedHashHasTheBytesOfHMAC() throws {
        // RFC 4231, test case 2.
        let hash = KeyedHash(.init(data: Array("Jefe".utf8)))
        let bytes = Array("what do ya want for nothing?".utf8)
        let id: ChunkID = bytes.withUnsafeBytes { hash.id($0) }
        XCTAssertEqual(id.hex, "5bdcc146bf60754e6a042426089575c7")
        var running = hash.begin()
        running.update(bytes.prefix(7))
        running.update(bytes.dropFirst(7))
        XCTAssertEqual(running.id() as ChunkID, id)
        XCTAssertEqual("\(hash)", "(a key)")
    }
}
