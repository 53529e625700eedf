import FerryCore
import FerryTestSupport
import XCTest

@testable import FerrySeal

final class KeyFileTests: XCTestCase {
    private func sample(_ count: Int = 2) throws -> KeyFile {
        let random = SeededRandom(seed: 11)
        let invitations = (0..<count).map { number in
            KeyFile.Invitation(
                code: SecretCode(minted: .invitation, random: random), container: Samples.container,
                endMilliseconds: 1_700_000_000_000 + UInt64(number), claim: number == 1 ? Samples.bytes(9, 32) : nil)
        }
        return try KeyFile(
            keys: Samples.keys(), genesis: Samples.bytes(0x60, 32), highestEpoch: 7, invitations: invitations)
    }

    private func bytes(_ file: KeyFile) throws -> [UInt8] { try file.withEncoded { $0.map { $0 } } }

    private func decode(_ bytes: [UInt8]) throws -> KeyFile {
        var bytes = bytes.map { $0 }
        return try KeyFile(decoding: &bytes)
    }

    func testAKeyFileComesBack() throws {
        for count in [0, 1, 2, 100] {
            let file = try sample(count)
            let again = try decode(bytes(file))
            XCTAssertEqual(again, file)
            XCTAssertEqual(again.device, try Samples.keys().device)
            XCTAssertEqual(try bytes(again), try bytes(file))
        }
    }

    func testTheBytesThatWereReadAreOverwritten() throws {
        var bytes = try bytes(sample()).map { $0 }
        _ = try KeyFile(decoding: &bytes)
        XCTAssertTrue(bytes.allSatisfy { $0 == 0 })
        var damaged = try self.bytes(sample()).map { $0 }
        damaged[50] ^= 1
        XCTAssertThrowsError(try KeyFile(decoding: &damaged))
        XCTAssertTrue(damaged.allSatisfy { $0 == 0 })
    }

    func testEveryByteThatIsChangedIsRefused() throws {
        let file = try bytes(sample())
        for place in file.indices {
            for flip in [UInt8(1), 0xff] {
                var changed = file
                changed[place] ^= flip
                let code = errorCode { _ = try decode(changed) }
                XCTAssertEqual(code, place == 4 && changed[4] > 1 ? .formatTooNew : .damagedFile, "byte \(place)")
            }
        }
    }

    func testEveryLengthThatIsCutIsRefused() throws {
        let file = try bytes(sample())
        for length in file.indices {
            XCTAssertEqual(errorCode { _ = try decode(Array(file.prefix(length))) }, .damagedFile, "\(length)")
        }
        XCTAssertEqual(errorCode { _ = try decode(file + [0]) }, .damagedFile)
    }

    func testAChangedFileWithARightChecksumIsRefusedWhereItsIDIsNotThatOfItsKeys() throws {
        let file = try bytes(sample(0))
        // Container, device, and both seeds.
        for place in 8..<104 {
            var changed = Array(file.dropLast(16))
            changed[place] ^= 0x10
            changed += ContentHash.checksum(changed).bytes
            XCTAssertEqual(errorCode { _ = try decode(changed) }, .damagedFile, "byte \(place)")
        }
    }

    func testTooManyInvitationsAreRefused() throws {
        let file = try sample(KeyFile.maximumInvitations)
        XCTAssertEqual(try decode(bytes(file)), file)
        let more = try sample(KeyFile.maximumInvitations + 1)
        XCTAssertEqual(errorCode { _ = try more.withEncoded { $0.count } }, .limitExceeded)
    }

    func testAKeyStoreInMemoryKeepsWhatItIsGiven() throws {
        let (store, file) = (MemoryKeyStore(), try sample())
        XCTAssertNil(try store.load(file.device))
        try store.save(file)
        XCTAssertEqual(try store.load(file.device), file)
        XCTAssertEqual(try store.devices(), [file.device])
        try store.remove(file.device)
        XCTAssertNil(try store.load(file.device))
        XCTAssertEqual(try store.devices(), [])
    }
}
