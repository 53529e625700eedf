import Crypto
import FerryCore
import Foundation

/// The only suite of sealed containers: hashes, derived keys and signatures, each under a separate label
/// (Docs/Format.md, "Keys and hashes"). There is no second suite to choose, so nobody can talk a device into a weaker
/// suite.
package enum SealSuite {
    static let prefix = Array("ferry-seal-1 ".utf8)
    /// The bytes of a hash and of a MAC.
    package static let hashLength = 32
    /// The bytes of a signature.
    package static let signatureLength = 64

    /// The prefix, a label and a zero byte. Labels have no zero byte, so two labels never begin alike.
    static func context(_ label: String) -> [UInt8] { prefix + Array(label.utf8) + [0] }

    /// Hashes parts under a label: SHA-256 of the prefix, the label, a zero byte and the parts.
    package static func hash(_ label: String, _ parts: [UInt8]...) -> [UInt8] {
        var digest = SHA256()
        digest.update(data: context(label))
        for part in parts { digest.update(data: part) }
        return Array(digest.finalize())
    }

    /// SHA-256 of bytes, without a label: the name of a record, and the content of a signature.
    package static func digest(_ bytes: some DataProtocol) -> [UInt8] { Array(SHA256.hash(data: bytes)) }

    /// HMAC-SHA-256 under a key.
    package static func authenticator(_ key: SecretKey, _ bytes: some DataProtocol) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: bytes, using: key.key))
    }

    /// Whether a MAC is the MAC of the bytes. The comparison takes the same time wherever the two differ.
    package static func isAuthenticator(
        _ told: some ContiguousBytes, of bytes: some DataProtocol, under key: SecretKey
    ) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(told, authenticating: bytes, using: key.key)
    }

    /// Derives a key: HKDF-SHA-256 with the container's ID as salt.
    static func derive(
        from secret: SymmetricKey, _ container: ContainerID, _ label: String, _ extra: [UInt8] = [], count: Int = 32
    ) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: secret, salt: container.bytes, info: context(label) + extra, outputByteCount: count)
    }

    /// The message to sign for content under a label.
    static func signedMessage(_ label: String, digest: [UInt8]) -> [UInt8] { context(label) + digest }
}

/// A secret key. The key overwrites its memory at the end of its life, and no text ever shows the key.
package struct SecretKey: Sendable {
    let key: SymmetricKey

    init(_ key: SymmetricKey) { self.key = key }

    /// Whether two keys are the same. The comparison takes the same time wherever they differ.
    package static func == (left: SecretKey, right: SecretKey) -> Bool { left.key == right.key }
}

extension SecretKey: Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "(a key)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
