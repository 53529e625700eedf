import FerryContent
import FerryCore
import FerrySeal
import FerryTestSupport
import XCTest

final class SealedPackTests: XCTestCase {
    private let chunks = [Samples.noise(5000, seed: 1), Samples.text(70_000, seed: 2), [7]]

    func testASealedPackGivesBackItsChunksToAMember() throws {
        let member = try Samples.Member()
        let pack = try Samples.pack(chunks, member.key, member.writer())
        let reader = try Samples.reader(pack.bytes, of: member.keys.device, in: member.surroundings)
        XCTAssertEqual(try reader.directory.entries.map(reader.chunk), chunks)
        XCTAssertEqual(reader.id, pack.id)
        XCTAssertEqual(reader.directory.entries.map(\.place.form), [.plain, .zlib, .plain])
    }

    func testTheSamePackSealedTwiceHasTheSameBytesButForTheSignature() throws {
        let member = try Samples.Member()
        let (one, other) = (
            try Samples.pack(chunks, member.key, member.writer()), try Samples.pack(chunks, member.key, member.writer())
        )
        XCTAssertEqual(one.id, other.id)
        XCTAssertEqual(one.bytes.dropLast(SealSuite.signatureLength), other.bytes.dropLast(SealSuite.signatureLength))
    }

    func testNothingOfAChunkOrItsIDIsInTheFile() throws {
        let member = try Samples.Member()
        let pack = try Samples.pack([Samples.noise(400, seed: 1)], member.key, member.writer())
        let id = member.key.chunkID(of: Samples.noise(400, seed: 1)).bytes
        let plain = Array(Samples.noise(400, seed: 1).prefix(16))
        for start in 0..<pack.bytes.count - 16 {
            XCTAssertFalse(pack.bytes[start..<start + 16].elementsEqual(id))
            XCTAssertFalse(pack.bytes[start..<start + 16].elementsEqual(plain))
        }
    }

    func testLengthsArePadded() throws {
        let member = try Samples.Member()
        let lengths = try (300...310).map {
            try Samples.pack([Samples.noise($0, seed: 1)], member.key, member.writer()).bytes.count
        }
        XCTAssertLessThan(Set(lengths).count, 3)
    }

    func testASealedPackEndsAt16MiB() throws {
        let member = try Samples.Member()
        var (writer, seed) = (try member.writer(), UInt64(0))
        while true {
            let chunk = try PreparedChunk(Samples.noise(2 << 20, seed: seed), member.key)
            guard writer.hasRoom(for: chunk) else { break }
            _ = try writer.append(chunk)
            seed += 1
        }
        XCTAssertEqual(seed, 7)
        XCTAssertLessThanOrEqual(writer.directory.end + (try writer.end()).bytes.count, ContentLimits.packEndBytes)
    }

    func testEveryCutAndEveryChangedByteIsAnError() throws {
        let member = try Samples.Member()
        let pack = try Samples.pack(
            [Samples.noise(100, seed: 1), Samples.text(900, seed: 2)], member.key, member.writer()
        )
        .bytes
        func read(_ bytes: [UInt8]) -> FerryError? {
            failure {
                let reader = try Samples.reader(bytes, of: member.keys.device, in: member.surroundings)
                for entry in reader.directory.entries { _ = try reader.chunk(entry) }
            }
        }
        XCTAssertNil(read(pack))
        for count in stride(from: 0, to: pack.count, by: 3) { XCTAssertNotNil(read(Array(pack[..<count])), "\(count)") }
        for place in pack.indices {
            var damaged = pack
            damaged[place] ^= 4
            XCTAssertNotNil(read(damaged), "\(place)")
        }
    }

    func testOpenAndSealedAreNeverMixed() throws {
        let member = try Samples.Member()
        let open = try Samples.pack(
            chunks, member.key, PackWriter(container: Samples.container, device: member.keys.device))
        XCTAssertEqual(
            failure { _ = try Samples.reader(open.bytes, of: member.keys.device, in: member.surroundings) }?.code,
            .notSealed)
        let sealed = try Samples.pack(chunks, member.key, member.writer())
        XCTAssertEqual(failure { _ = try Samples.reader(sealed.bytes, of: member.keys.device) }?.code, .damagedFile)
    }

    func testAStrangersPackAndAnUnknownEpochsAreRefused() throws {
        let (member, stranger) = (try Samples.Member(seed: 1), try Samples.Member(seed: 2))
        let pack = try Samples.pack(chunks, stranger.key, stranger.writer())
        XCTAssertEqual(
            failure { _ = try Samples.reader(pack.bytes, of: stranger.keys.device, in: member.surroundings) }?.code,
            .foreignFile)
        // The device is a member, and its epoch's secret has not arrived.
        let late = PackReader.Surroundings(
            container: Samples.container, key: member.key, seal: Samples.Member.reader(stranger.keys, member.epoch))
        XCTAssertEqual(
            failure { _ = try Samples.reader(pack.bytes, of: stranger.keys.device, in: late) }?.code, .fileNotThereYet)
    }

    func testAChunkInAnothersPlaceIsNotTaken() throws {
        let member = try Samples.Member()
        let pack = try Samples.pack(
            [Samples.noise(300, seed: 1), Samples.noise(300, seed: 2)], member.key, member.writer())
        let entries = try Samples.reader(pack.bytes, of: member.keys.device, in: member.surroundings).directory.entries
        XCTAssertEqual(
            failure {
                _ = try PackReader.chunk(
                    entries[0].id, at: entries[1].place, of: member.keys.device, in: member.surroundings,
                    Samples.source(pack.bytes))
            }?.code, .damagedFile)
    }
}
