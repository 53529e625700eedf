import Crypto
import FerryCore
import XCTest

@testable import FerrySeal

/// The vectors of the standards that sealing is made of.
final class PublishedVectorTests: XCTestCase {
    // RFC 9180, A.2.1: base mode with X25519, HKDF-SHA-256 and ChaCha20-Poly1305.
    private let information = unhex("4f6465206f6e2061204772656369616e2055726e")
    private let plain = unhex("4265617574792069732074727574682c20747275746820626561757479")
    private let data = unhex("436f756e742d30")
    private let ciphertext = unhex(
        "1c5250d8034ec2b784ba2cfd69dbdb8af406cfe3ff938e131f0def8c8b60b4db21993c62ce81883d2dd1b51a28")

    private func receiver() throws -> Curve25519.KeyAgreement.PrivateKey {
        try Curve25519.KeyAgreement.PrivateKey(
            rawRepresentation: unhex("8057991eef8f1f1af18f4a9491d16a1ce333f695d4db8e38da75975c4478e0fb"))
    }

    private func sender() throws -> HPKESender {
        let ephemeral = try Curve25519.KeyAgreement.PrivateKey(
            rawRepresentation: unhex("f4ec9b33b792c372c1d2c2063507b684ef925b8c75a42dbcbf57d63ccd381600"))
        return try HPKESender(
            receiver: Array(receiver().publicKey.rawRepresentation), information: information, ephemeral: ephemeral)
    }

    func testTheSenderMakesWhatTheStandardSays() throws {
        let sender = try sender()
        XCTAssertEqual(
            hexString(try receiver().publicKey.rawRepresentation),
            "4310ee97d88cc1f088a5576c77ab0cf5c3ac797f3d95139c6c84b5429c59662a")
        XCTAssertEqual(
            hexString(sender.encapsulated), "1afa08d3dec047a643885163f1180476fa7ddb54c6a8029ea33f95796bf2ac4a")
        XCTAssertEqual(hexString(try sender.seal(plain, authenticating: data)), hexString(ciphertext))
    }

    func testTheLibrarysReceiverOpensWhatTheSenderSeals() throws {
        let sender = try sender()
        var recipient = try HPKE.Recipient(
            privateKey: receiver(), ciphersuite: .Curve25519_SHA256_ChachaPoly, info: Data(information),
            encapsulatedKey: Data(sender.encapsulated))
        let opened = try recipient.open(try sender.seal(plain, authenticating: data), authenticating: data)
        XCTAssertEqual(Array(opened), plain)
    }

    func testAWrapOpensWhatTheLibrarysSenderSeals() throws {
        let (keys, epoch) = (try Samples.keys(), Samples.epoch)
        let information = SealSuite.context("wrap") + Samples.container.bytes + epoch.id.bytes
        var sender = try HPKE.Sender(
            recipientKey: Curve25519.KeyAgreement.PublicKey(rawRepresentation: keys.publicKeys.box),
            ciphersuite: .Curve25519_SHA256_ChachaPoly, info: Data(information))
        let sealed = try sender.seal(Samples.bytes(0x40, 32), authenticating: keys.device.bytes)
        let wrap = try KeyWrap(
            receiver: keys.device, encapsulated: Array(sender.encapsulatedKey), ciphertext: Array(sealed))
        XCTAssertEqual(try wrap.open(epoch.id, with: keys), epoch)
    }

    func testSignaturesAreThoseOfTheStandard() throws {
        // RFC 8032, 7.1, tests 1 to 3.
        let vectors = [
            (
                "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
                "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
                "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
            ),
            (
                "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
                "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
                "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
            ),
            (
                "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
                "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
                "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
            ),
        ]
        for (secret, publicKey, message, signature) in vectors {
            let key = try Curve25519.Signing.PrivateKey(rawRepresentation: unhex(secret))
            XCTAssertEqual(hexString(key.publicKey.rawRepresentation), publicKey)
            XCTAssertTrue(key.publicKey.isValidSignature(unhex(signature), for: unhex(message)))
            #if os(Linux)
            XCTAssertEqual(hexString(try key.signature(for: unhex(message))), signature)
            #endif
        }
    }

    func testKeysAreDerivedAsTheStandardSays() {
        // RFC 5869, A.1 and A.3.
        let first = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: [UInt8](repeating: 0x0b, count: 22)), salt: Samples.bytes(0, 13),
            info: Samples.bytes(0xf0, 10), outputByteCount: 42)
        XCTAssertEqual(
            first.withUnsafeBytes { hexString($0) },
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865")
        let third = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: [UInt8](repeating: 0x0b, count: 22)), salt: [UInt8](),
            info: [UInt8](), outputByteCount: 42)
        XCTAssertEqual(
            third.withUnsafeBytes { hexString($0) },
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8")
    }

    func testLengthsAreRoundedUpAsPURBsSays() {
        // At least 256; then E = floor(log2 L), S = floor(log2 E) + 1, and the last E - S bits are zero.
        let expected = [
            0: 256, 1: 256, 255: 256, 256: 256, 257: 272, 272: 272, 273: 288, 511: 512, 512: 512, 513: 544, 1023: 1024,
            9: 256, 65_536: 65_536, 65_537: 67_584, 200_008: 200_704, 1 << 28 + 8: 1 << 28 + 1 << 23,
        ]
        for (length, padded) in expected { XCTAssertEqual(Padme.padded(length), padded, "\(length)") }
    }

    func testLengthsNeverShrinkAndGrowByAtMostAnEighth() {
        for length in Array(0..<70_000) + [1 << 20, 1 << 20 + 1, 1 << 28, 1 << 40 + 12_345] {
            let padded = Padme.padded(length)
            XCTAssertGreaterThanOrEqual(padded, length)
            XCTAssertEqual(Padme.padded(padded), padded, "\(length)")
            if length > 256 { XCTAssertLessThan(Double(padded), Double(length) * 1.12, "\(length)") }
        }
    }
}
