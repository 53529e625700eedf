import Crypto
import FerryCore
import Foundation

/// An epoch's secret, sealed for a single receiver: HPKE (RFC 9180) in base mode with X25519, HKDF-SHA-256 and
/// ChaCha20-Poly1305 (Docs/Format.md, "Wraps"). The signature of the record around the wrap proves the author.
package struct KeyWrap: Hashable, Sendable {
    /// The bytes of the encapsulated key, and of the sealed secret.
    package static let encapsulatedLength = 32
    package static let ciphertextLength = 48

    /// The device with the key for opening; zero: the recovery key.
    package let receiver: DeviceID
    package let encapsulated: [UInt8]
    package let ciphertext: [UInt8]

    /// Takes a wrap from a record.
    /// - Throws: `damagedFile` for wrong lengths.
    package init(receiver: DeviceID, encapsulated: [UInt8], ciphertext: [UInt8]) throws(FerryError) {
        guard encapsulated.count == Self.encapsulatedLength, ciphertext.count == Self.ciphertextLength else {
            throw ByteReader.malformed("a wrapped key has a wrong length")
        }
        self.receiver = receiver
        self.encapsulated = encapsulated
        self.ciphertext = ciphertext
    }

    /// Wraps an epoch's secret for a receiver.
    /// - Throws: `damagedFile` for a key of small order: everybody could open a wrap for such a key.
    package init(
        _ epoch: EpochSecret, for receiver: DeviceID, _ keys: DevicePublicKeys, random: any RandomSource
    ) throws {
        try self.init(epoch, for: receiver, keys, ephemeralSeed: SecretBytes.draw(32, from: random))
    }

    init(_ epoch: EpochSecret, for receiver: DeviceID, _ keys: DevicePublicKeys, ephemeralSeed: SymmetricKey) throws {
        let ephemeral = try ephemeralSeed.withUnsafeBytes {
            try Curve25519.KeyAgreement.PrivateKey(rawRepresentation: $0)
        }
        let information = Self.information(epoch.container, epoch.id)
        let sender = try HPKESender(receiver: keys.box, information: information, ephemeral: ephemeral)
        var secret = epoch.secret.withUnsafeBytes { Array($0) }
        defer { SecretBytes.overwrite(&secret) }
        try self.init(
            receiver: receiver, encapsulated: sender.encapsulated,
            ciphertext: try sender.seal(secret, authenticating: receiver.bytes))
    }

    /// Opens the wrap with the receiver's keys.
    /// - Parameter id: the epoch of the wrap.
    /// - Throws: `damagedFile` if the wrap is for a different receiver, or if the secret is not the epoch's.
    package func open(_ id: EpochID, with keys: DeviceKeys) throws(FerryError) -> EpochSecret {
        let epoch: EpochSecret
        do {
            var recipient = try HPKE.Recipient(
                privateKey: keys.box, ciphersuite: .Curve25519_SHA256_ChachaPoly,
                info: Data(Self.information(keys.container, id)), encapsulatedKey: Data(encapsulated))
            var secret = try recipient.open(ciphertext, authenticating: receiver.bytes)
            defer { SecretBytes.overwrite(&secret) }
            epoch = EpochSecret(SymmetricKey(data: secret), container: keys.container)
        } catch {
            throw ByteReader.malformed("a key that was wrapped for this device cannot be opened")
        }
        guard epoch.id == id else { throw ByteReader.malformed("a wrapped key is not that of its epoch") }
        return epoch
    }

    private static func information(_ container: ContainerID, _ epoch: EpochID) -> [UInt8] {
        SealSuite.context("wrap") + container.bytes + epoch.bytes
    }
}
