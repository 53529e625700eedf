import Crypto
import FerryCore
import XCTest

@testable import FerrySeal

/// The vectors of Docs/Format.md, "Sealed containers". Signatures are those of RFC 8032, which Linux's library makes; on Apple's
/// systems they are randomized, and the hashes of whole files hold on Linux alone.
final class SealVectorTests: XCTestCase {
    func testADevicesIDFollowsFromItsKeys() throws {
        XCTAssertEqual(try Samples.keys().device.hex, "e307eeb157088f85829aea508dcb122b")
    }

    func testAnEpochsIDFollowsFromItsSecret() {
        XCTAssertEqual(Samples.epoch.id.hex, "f1b662afc89a19e70a16569eaa2e134c")
    }

    func testASmallFileIsSealedAsTheFormatSays() throws {
        let file = try Envelope.seal(Array("Ferry".utf8), .head, under: Samples.epoch, by: Samples.keys())
        XCTAssertEqual(file.count, 464)
        XCTAssertEqual(hexString(file[56..<88]), "2587b8c74eb81fd9a72eef9cd65d9826fdd0dbe74d855db7193256bb5fec6187")
        XCTAssertEqual(hexString(file[88..<120]), "1ee75e766c4e2fdfb84eef0803018d2eb2270aae2f8da12627bb313c21869d82")
        #if os(Linux)
        XCTAssertEqual(
            hexString(SealSuite.digest(file)), "6e412f439973d77df8715f0e95f2c4ef2236edff25b500d9470dc53f38fe8b98")
        #endif
    }

    func testAFileOfSeveralPiecesIsSealedAsTheFormatSays() throws {
        let content = [UInt8](repeating: 7, count: 200_000)
        let file = try Envelope.seal(content, .segment, under: Samples.epoch, by: Samples.keys())
        XCTAssertEqual(file.count, 200_960)
        #if os(Linux)
        XCTAssertEqual(
            hexString(SealSuite.digest(file)), "99977f8802b0e29f78135f3d8f05b7cbd9f8320eca0f4081e839550f7acb4c08")
        #endif
    }

    func testAFilesNameTellsNothingButToMembers() throws {
        let checksum = Checksum(bytes: Samples.bytes(0x10, 16))!
        let name = Samples.epoch.name(checksum, .segment, of: try Samples.keys().device)
        XCTAssertEqual(hexString(name.bytes.prefix(8)), "26bc11f197bb31ca")
    }

    func testAnEpochIsWrappedAsTheFormatSays() throws {
        let keys = try Samples.keys()
        let wrap = try KeyWrap(
            Samples.epoch, for: keys.device, keys.publicKeys,
            ephemeralSeed: SymmetricKey(data: Samples.bytes(0xc0, 32)))
        XCTAssertEqual(
            hexString(wrap.encapsulated), "dc2cca31e8e43bbd91dff7e475cca3347eb478107d5bd765aba4ae4a30c35d44")
        XCTAssertEqual(
            hexString(wrap.ciphertext),
            "80bf64eb8c307d97d61d227845e9e04fd399f5f2b84346f9a6c66eab16fa5171f25db6fa45137f47b3c52264c2258478")
        XCTAssertEqual(try wrap.open(Samples.epoch.id, with: keys), Samples.epoch)
    }

    func testACodeIsNineWordsAndAText() {
        let code = Samples.code(.invitation)
        XCTAssertEqual(code.words, "zagud zarug ziguj zirul zogun zorur zugut zuruz gokiz")
        XCTAssertEqual(code.text, "FERRY1I6DY7F47U6X3PP6HZ7L57Z7P6744Z6")
        XCTAssertEqual(Samples.code(.recovery).words.suffix(5), "hanuz")
    }
}
