import Crypto
import FerryCore
import Foundation

/// The two secret keys of a device, or of the recovery key: a key for signing, and a key for opening wraps. Both are 32
/// random bytes. No derived key is kept, so no false public key can stand beside a true secret key.
package struct DeviceKeys: Sendable {
    /// The container of the keys.
    package let container: ContainerID
    /// The ID derived from the keys; without meaning for the recovery key.
    package let device: DeviceID
    package let publicKeys: DevicePublicKeys
    let signing: Curve25519.Signing.PrivateKey
    let box: Curve25519.KeyAgreement.PrivateKey

    init(signingSeed: SymmetricKey, boxSeed: SymmetricKey, container: ContainerID) throws {
        self.container = container
        signing = try signingSeed.withUnsafeBytes { try Curve25519.Signing.PrivateKey(rawRepresentation: $0) }
        box = try boxSeed.withUnsafeBytes { try Curve25519.KeyAgreement.PrivateKey(rawRepresentation: $0) }
        publicKeys = DevicePublicKeys(of: signing.publicKey, box.publicKey)
        device = publicKeys.device(in: container)
    }

    /// Mints the keys of a new device. Write them into the key store before anything names the device.
    package init(mintedFor container: ContainerID, random: any RandomSource) throws {
        let (signing, box) = (SecretBytes.draw(32, from: random), SecretBytes.draw(32, from: random))
        try self.init(signingSeed: signing, boxSeed: box, container: container)
    }

    /// Derives the recovery key's pair from the recovery code.
    /// - Throws: `invalidArgument` for a code of a different purpose.
    package init(recovery code: SecretCode, container: ContainerID) throws {
        guard code.purpose == .recovery else {
            throw FerryError(.invalidArgument, "This is the code of an invitation, not a recovery code.")
        }
        try self.init(
            signingSeed: SealSuite.derive(from: code.secret, container, "recovery sign"),
            boxSeed: SealSuite.derive(from: code.secret, container, "recovery box"), container: container)
    }

    /// Signs content under a label.
    /// - Parameter digest: SHA-256 of the content.
    /// - Returns: 64 bytes. On Linux the same each time (RFC 8032); on Apple's systems they differ.
    package func sign(_ label: String, digest: [UInt8]) throws -> [UInt8] {
        Array(try signing.signature(for: SealSuite.signedMessage(label, digest: digest)))
    }
}

extension DeviceKeys: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "keys of \(device)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: ["device": device]) }
}
