import Crypto
import FerryCore
import Foundation

/// The two public keys of a device, or of the recovery key. A device's ID follows from them, so nobody can claim another's.
package struct DevicePublicKeys: Hashable, Sendable {
    /// The bytes of each key.
    package static let keyLength = 32

    /// Ed25519: verifies the device's signatures.
    package let signing: [UInt8]
    /// X25519: the receiver's key of wrapped epochs.
    package let box: [UInt8]

    /// Takes keys from an unverified source.
    /// - Throws: `damagedFile` for a wrong length, and for keys of small order. Under such a signing key strangers'
    ///   signatures hold, and everybody can open wraps for such a box key.
    package init(signing: [UInt8], box: [UInt8]) throws(FerryError) {
        guard signing.count == Self.keyLength, box.count == Self.keyLength else {
            throw ByteReader.malformed("a public key is not \(Self.keyLength) bytes long")
        }
        guard !SmallOrder.isSigningKey(signing), !SmallOrder.isBoxKey(box) else {
            throw ByteReader.malformed("a public key is one that protects nothing")
        }
        self.signing = signing
        self.box = box
    }

    init(of signing: Curve25519.Signing.PublicKey, _ box: Curve25519.KeyAgreement.PublicKey) {
        self.signing = Array(signing.rawRepresentation)
        self.box = Array(box.rawRepresentation)
    }

    /// The ID of the device with these keys in a container: a UUID of version 8 (RFC 9562).
    package func device(in container: ContainerID) -> DeviceID {
        let hash = SealSuite.hash("device", container.bytes, signing, box)
        let id = DeviceID(bytes: hash.prefix(16)) ?? DeviceID(high: 0, low: 0)  // 16 bytes always make an ID
        return DeviceID(high: id.high & ~0xf000 | 0x8000, low: id.low & ~(3 << 62) | 2 << 62)
    }

    /// Whether the device signed content under a label.
    /// - Parameter digest: SHA-256 of the content.
    package func isSignature(_ signature: some DataProtocol, of label: String, digest: [UInt8]) -> Bool {
        // The length of the key was checked. A further error means that the key is no point, and no signature holds
        // then.
        guard let key = try? Curve25519.Signing.PublicKey(rawRepresentation: signing) else { return false }
        return key.isValidSignature(signature, for: SealSuite.signedMessage(label, digest: digest))
    }
}

/// Keys in the small subgroups of the curves.
enum SmallOrder {
    /// The encodings of the points of small order on edwards25519, without the sign bit: of order 4, 1, 8, 8 and 2, then 0 and 1
    /// as they stand above the field's modulus.
    private static let signingKeys: Set<[UInt8]> = [
        [UInt8](repeating: 0, count: 32),
        [1] + [UInt8](repeating: 0, count: 31),
        [
            0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0,
            0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05,
        ],
        [
            0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f,
            0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a,
        ],
        [0xec] + [UInt8](repeating: 0xff, count: 30) + [0x7f],
        [0xed] + [UInt8](repeating: 0xff, count: 30) + [0x7f],
        [0xee] + [UInt8](repeating: 0xff, count: 30) + [0x7f],
    ]

    static func isSigningKey(_ key: [UInt8]) -> Bool {
        signingKeys.contains(Array(key.dropLast()) + [(key.last ?? 0) & 0x7f])
    }

    /// A secret agreed with such a key is zero for every partner key (RFC 7748, section 6.1), so any key of ours shows
    /// this.
    static func isBoxKey(_ key: [UInt8]) -> Bool {
        do {
            let probe = try Curve25519.KeyAgreement.PrivateKey(rawRepresentation: [UInt8](repeating: 1, count: 32))
            let other = try Curve25519.KeyAgreement.PublicKey(rawRepresentation: key)
            let shared = try probe.sharedSecretFromKeyAgreement(with: other)
            return shared.withUnsafeBytes { $0.reduce(0, |) == 0 }
        } catch {
            // CryptoKit itself refuses to agree on zero.
            return true
        }
    }
}
