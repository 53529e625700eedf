import Crypto
import FerryCore
import Foundation

/// The sender of HPKE's base mode (RFC 9180) with X25519, HKDF-SHA-256 and ChaCha20-Poly1305, for one message.
///
/// The library's own sender draws an ephemeral key from the system. This sender takes the key as an argument, so a
/// simulation can be repeated byte for byte. The steps are the RFC's, and the primitives are the library's. The
/// library's receiver opens the result.
struct HPKESender {
    private static let keyExchange: [UInt8] = Array("KEM".utf8) + [0x00, 0x20]
    private static let suite: [UInt8] = Array("HPKE".utf8) + [0x00, 0x20, 0x00, 0x01, 0x00, 0x03]
    private static let version = Array("HPKE-v1".utf8)
    private static let baseMode: UInt8 = 0

    /// The ephemeral public key.
    let encapsulated: [UInt8]
    private let key: SymmetricKey
    private let nonce: [UInt8]

    /// - Throws: `damagedFile` where the receiver's key is none, or of small order (RFC 9180, 7.1.4).
    init(receiver: [UInt8], information: [UInt8], ephemeral: Curve25519.KeyAgreement.PrivateKey) throws {
        encapsulated = Array(ephemeral.publicKey.rawRepresentation)
        guard let publicKey = try? Curve25519.KeyAgreement.PublicKey(rawRepresentation: receiver),
            let agreed = try? ephemeral.sharedSecretFromKeyAgreement(with: publicKey)
        else { throw ByteReader.malformed("nothing can be wrapped for a public key") }  // the cause would say no more
        let agreement = agreed.withUnsafeBytes { SymmetricKey(data: $0) }
        guard !agreement.isZero else { throw ByteReader.malformed("a public key is one that protects nothing") }

        let exchange = Self.extract(Self.keyExchange, "eae_prk", agreement)
        let shared = Self.expand(Self.keyExchange, exchange, "shared_secret", encapsulated + receiver, count: 32)
        let empty = SymmetricKey(data: [UInt8]())
        let context =
            [Self.baseMode] + Self.bytes(Self.extract(Self.suite, "psk_id_hash", empty))
            + Self.bytes(Self.extract(Self.suite, "info_hash", SymmetricKey(data: information)))
        let secret = Self.extract(Self.suite, "secret", empty, salt: shared)
        key = Self.expand(Self.suite, secret, "key", context, count: 32)
        nonce = Self.bytes(Self.expand(Self.suite, secret, "base_nonce", context, count: 12))
    }

    /// Seals the message.
    func seal(_ plain: [UInt8], authenticating data: [UInt8]) throws -> [UInt8] {
        let box = try ChaChaPoly.seal(plain, using: key, nonce: ChaChaPoly.Nonce(data: nonce), authenticating: data)
        return Array(box.ciphertext) + Array(box.tag)
    }

    /// `LabeledExtract` of the RFC.
    private static func extract(
        _ suite: [UInt8], _ label: String, _ input: SymmetricKey, salt: SymmetricKey? = nil
    ) -> SymmetricKey {
        var labeled = version + suite + Array(label.utf8)
        labeled.reserveCapacity(labeled.count + input.bitCount / 8)
        input.withUnsafeBytes { labeled.append(contentsOf: $0) }
        defer { SecretBytes.overwrite(&labeled) }
        let saltBytes = salt.map(bytes) ?? []
        return SymmetricKey(
            data: HKDF<SHA256>.extract(inputKeyMaterial: SymmetricKey(data: labeled), salt: saltBytes))
    }

    /// `LabeledExpand` of the RFC.
    private static func expand(
        _ suite: [UInt8], _ key: SymmetricKey, _ label: String, _ information: [UInt8], count: Int
    ) -> SymmetricKey {
        let labeled = [UInt8(count >> 8), UInt8(count & 0xff)] + version + suite + Array(label.utf8) + information
        return key.withUnsafeBytes {
            HKDF<SHA256>.expand(pseudoRandomKey: $0, info: labeled, outputByteCount: count)
        }
    }

    private static func bytes(_ key: SymmetricKey) -> [UInt8] { key.withUnsafeBytes { Array($0) } }
}
