import Crypto
import FerryCore
import FerryTestSupport
import XCTest

@testable import FerrySeal

final class KeyTests: XCTestCase {
    func testKeysThatAreMintedFollowFromTheRandomSource() throws {
        let one = try DeviceKeys(mintedFor: Samples.container, random: SeededRandom(seed: 1))
        let same = try DeviceKeys(mintedFor: Samples.container, random: SeededRandom(seed: 1))
        let other = try DeviceKeys(mintedFor: Samples.container, random: SeededRandom(seed: 2))
        XCTAssertEqual(one.device, same.device)
        XCTAssertNotEqual(one.device, other.device)
        XCTAssertEqual(one.publicKeys.device(in: Samples.container), one.device)
        XCTAssertNotEqual(one.publicKeys.device(in: ContainerID(high: 0, low: 1)), one.device)
    }

    func testAnIDIsAUUIDOfVersionEight() throws {
        for seed in UInt64(1)...200 {
            let text = try DeviceKeys(mintedFor: Samples.container, random: SeededRandom(seed: seed)).device.description
            let digits = Array(text)
            XCTAssertEqual(digits[14], "8")
            XCTAssertTrue("89ab".contains(digits[19]), text)
        }
    }

    func testASignatureHoldsForItsLabelAndContentAlone() throws {
        let keys = try Samples.keys()
        let digest = SealSuite.digest([1, 2, 3])
        let signature = try keys.sign("file", digest: digest)
        XCTAssertTrue(keys.publicKeys.isSignature(signature, of: "file", digest: digest))
        XCTAssertFalse(keys.publicKeys.isSignature(signature, of: "record", digest: digest))
        XCTAssertFalse(keys.publicKeys.isSignature(signature, of: "file", digest: SealSuite.digest([1, 2])))
        XCTAssertFalse(try Samples.otherKeys().publicKeys.isSignature(signature, of: "file", digest: digest))
        XCTAssertFalse(keys.publicKeys.isSignature(signature.dropLast(), of: "file", digest: digest))
    }

    func testKeysOfSmallOrderAreRefused() throws {
        let good = try Samples.keys().publicKeys
        // The encodings of the points of small order on Curve25519, canonical and not, and with the ignored top bit.
        let order8 = "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"
        let other8 = "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"
        let last = String(repeating: "f", count: 60)
        for text in [
            String(repeating: "0", count: 64), "01" + String(repeating: "0", count: 62), order8, other8,
            "ec" + last + "7f", "ed" + last + "7f", "ee" + last + "7f", "ed" + last + "ff",
        ] {
            XCTAssertEqual(
                errorCode { _ = try DevicePublicKeys(signing: good.signing, box: unhex(text)) }, .damagedFile, text)
        }
        // Those of edwards25519, with either sign.
        for text in [
            String(repeating: "0", count: 64), "01" + String(repeating: "0", count: 62),
            "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
            "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
            "ec" + last + "7f", "ed" + last + "7f", "ee" + last + "7f",
        ] {
            for sign in [UInt8(0), 0x80] {
                var key = unhex(text)
                key[31] |= sign
                XCTAssertEqual(
                    errorCode { _ = try DevicePublicKeys(signing: key, box: good.box) }, .damagedFile, text)
            }
        }
        XCTAssertEqual(errorCode { _ = try DevicePublicKeys(signing: good.signing, box: [1, 2]) }, .damagedFile)
        XCTAssertEqual(try DevicePublicKeys(signing: good.signing, box: good.box), good)
    }

    func testNothingIsWrappedForAKeyOfSmallOrder() throws {
        let ephemeral = Curve25519.KeyAgreement.PrivateKey()
        XCTAssertEqual(
            errorCode {
                _ = try HPKESender(
                    receiver: [UInt8](repeating: 0, count: 32), information: [], ephemeral: ephemeral)
            }, .damagedFile)
    }

    func testAWrapIsForOneReceiverAndOneEpoch() throws {
        let (keys, other, epoch) = (try Samples.keys(), try Samples.otherKeys(), Samples.epoch)
        let wrap = try KeyWrap(epoch, for: keys.device, keys.publicKeys, random: SeededRandom(seed: 7))
        XCTAssertEqual(try wrap.open(epoch.id, with: keys), epoch)
        XCTAssertEqual(errorCode { _ = try wrap.open(epoch.id, with: other) }, .damagedFile)
        XCTAssertEqual(errorCode { _ = try wrap.open(EpochID(high: 1, low: 2), with: keys) }, .damagedFile)
        let moved = try KeyWrap(
            receiver: other.device, encapsulated: wrap.encapsulated, ciphertext: wrap.ciphertext)
        XCTAssertEqual(errorCode { _ = try moved.open(epoch.id, with: keys) }, .damagedFile)
        for place in 0..<80 {
            var bytes = wrap.encapsulated + wrap.ciphertext
            bytes[place] ^= 1
            let changed = try KeyWrap(
                receiver: wrap.receiver, encapsulated: Array(bytes.prefix(32)), ciphertext: Array(bytes.suffix(48)))
            XCTAssertEqual(errorCode { _ = try changed.open(epoch.id, with: keys) }, .damagedFile, "byte \(place)")
        }
        XCTAssertEqual(
            errorCode { _ = try KeyWrap(receiver: keys.device, encapsulated: [], ciphertext: wrap.ciphertext) },
            .damagedFile)
    }

    func testAWrapOfAnotherSecretIsRefused() throws {
        // Who wraps a secret of its own under an epoch's name: the name commits to the secret.
        let keys = try Samples.keys()
        let secret = Samples.bytes(0x11, 32)
        let information = SealSuite.context("wrap") + Samples.container.bytes + Samples.epoch.id.bytes
        let sender = try HPKESender(
            receiver: keys.publicKeys.box, information: information, ephemeral: Curve25519.KeyAgreement.PrivateKey())
        let wrap = try KeyWrap(
            receiver: keys.device, encapsulated: sender.encapsulated,
            ciphertext: try sender.seal(secret, authenticating: keys.device.bytes))
        XCTAssertEqual(errorCode { _ = try wrap.open(Samples.epoch.id, with: keys) }, .damagedFile)
    }

    func testARingHoldsEarlierEpochs() throws {
        let random = SeededRandom(seed: 3)
        let current = EpochSecret(mintedFor: Samples.container, random: random)
        let earlier = (0..<5).map { _ in EpochSecret(mintedFor: Samples.container, random: random) }
        let ring = try current.sealRing(earlier, random: random)
        XCTAssertEqual(try current.openRing(ring), earlier.sorted { $0.id < $1.id })
        XCTAssertEqual(try current.openRing(try current.sealRing([], random: random)), [])
        for place in ring.indices {
            var changed = ring
            changed[place] ^= 1
            XCTAssertEqual(errorCode { _ = try current.openRing(changed) }, .damagedFile)
        }
        for length in ring.indices {
            XCTAssertEqual(errorCode { _ = try current.openRing(Array(ring.prefix(length))) }, .damagedFile)
        }
        XCTAssertEqual(errorCode { _ = try earlier[0].openRing(ring) }, .damagedFile)
    }

    func testNoSecretIsPrinted() throws {
        let random = SeededRandom(seed: 5)
        let keys = try DeviceKeys(mintedFor: Samples.container, random: random)
        let code = SecretCode(minted: .recovery, random: random)
        let epoch = EpochSecret(mintedFor: Samples.container, random: random)
        let invitation = KeyFile.Invitation(code: code, container: Samples.container, endMilliseconds: 5)
        let file = try KeyFile(keys: keys, genesis: Samples.bytes(0, 32), invitations: [invitation])
        var secrets = [code.words, code.text] + code.words.split(separator: " ").map(String.init)
        for key in [code.secret, epoch.secret, epoch.nameKey, epoch.seedKey, invitation.claimKey.key] {
            secrets.append(key.withUnsafeBytes { hexString($0) })
            secrets.append(key.withUnsafeBytes { Array($0).map(String.init).joined(separator: ", ") })
        }
        for seed in [keys.signing.rawRepresentation, keys.box.rawRepresentation] {
            secrets.append(hexString(seed))
            secrets.append(seed.map { String($0) }.joined(separator: ", "))
        }
        for value in [keys, code, epoch, file, invitation, invitation.claimKey] as [Any] {
            var dumped = ""
            dump(value, to: &dumped)
            for text in ["\(value)", String(reflecting: value), String(describing: Optional(value) as Any), dumped] {
                for secret in secrets { XCTAssertFalse(text.contains(secret), "\(type(of: value)): \(text)") }
            }
        }
        XCTAssertEqual("\(code)", "(a code)")
        XCTAssertEqual("\(code.claimKey(in: Samples.container))", "(a key)")
    }
}
