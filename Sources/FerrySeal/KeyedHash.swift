import Crypto
import FerryCore
import Foundation

/// A hash under a key: the first 16 bytes of HMAC-SHA-256. The hash names contents and their chunks.
///
/// The type lies here because swift-crypto is this target's alone (Docs/Architecture.md, "Layers").
package struct KeyedHash: Sendable {
    private let key: SymmetricKey

    init(_ key: SymmetricKey) { self.key = key }

    /// The key of an open container: anybody with the folder can compute the key. SHA-256 of a label and the
    /// container's ID.
    package init(openContainer container: ContainerID, label: String) {
        var digest = SHA256()
        digest.update(data: Array(label.utf8))
        digest.update(data: container.bytes)
        key = SymmetricKey(data: digest.finalize())
    }

    /// A key derived from an epoch's secret: members alone have the key.
    package init(_ epoch: EpochSecret, label: String) {
        key = SealSuite.derive(from: epoch.secret, epoch.container, label)
    }

    /// The key under a second label. A holder of a derived key learns nothing of this key.
    package func derived(_ label: String) -> KeyedHash {
        KeyedHash(SymmetricKey(data: HMAC<SHA256>.authenticationCode(for: Array(label.utf8), using: key)))
    }

    /// The whole code of a few bytes: 32 bytes.
    package func code(_ bytes: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: bytes, using: key))
    }

    /// Names bytes.
    package func id<Kind>(_ bytes: UnsafeRawBufferPointer) -> UniqueID<Kind> {
        var code = HMAC<SHA256>(key: key)
        code.update(data: bytes)
        return Self.id(code)
    }

    /// Begins a hash of bytes in parts.
    package func begin() -> Running { Running(code: HMAC<SHA256>(key: key)) }

    /// A hash of the parts so far.
    package struct Running {
        private var code: HMAC<SHA256>

        fileprivate init(code: HMAC<SHA256>) { self.code = code }

        package mutating func update(_ bytes: some Collection<UInt8>) { code.update(data: Array(bytes)) }

        package func id<Kind>() -> UniqueID<Kind> { KeyedHash.id(code) }
    }

    private static func id<Kind>(_ code: HMAC<SHA256>) -> UniqueID<Kind> {
        let first = code.finalize().withUnsafeBytes { UniqueID<Kind>(bytes: $0.prefix(16)) }
        return first ?? UniqueID(high: 0, low: 0)  // 16 bytes always make an ID
    }
}

/// Nothing of the key is ever shown.
extension KeyedHash: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "(a key)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
