#if canImport(CUUID)
import CUUID
#elseif canImport(CryptoKit)
import CryptoKit
#endif

/// A name-based 16-byte hash: RFC 9562's version 5 (SHA-1), computed by libuuid's `uuid_generate_sha1`, or by CryptoKit
/// on Apple's systems, where libuuid lacks the function.
///
/// The hash serves two purposes: object IDs derived from keys, and the checksums of unsealed containers. As a checksum
/// the hash detects accidents, not malice; a sealed container authenticates instead (Docs/Format.md, "Checksums").
public enum ContentHash {
    /// Hashes `bytes` under a 16-byte namespace; equal inputs give equal IDs on every platform.
    package static func hash<Kind, Namespace>(
        _ bytes: UnsafeRawBufferPointer, in namespace: UniqueID<Namespace>
    ) -> UniqueID<Kind> {
        #if canImport(CUUID)
        var result: [UInt8] = Array(repeating: 0, count: 16)
        namespace.bytes.withUnsafeBufferPointer { space in
            result.withUnsafeMutableBufferPointer { out in
                // An empty buffer may have no address; libuuid reads nothing then.
                if let base = bytes.baseAddress {
                    uuid_generate_sha1(
                        out.baseAddress, space.baseAddress, base.assumingMemoryBound(to: CChar.self), bytes.count)
                } else {
                    uuid_generate_sha1(out.baseAddress, space.baseAddress, "", 0)
                }
            }
        }
        #else
        var digest = Insecure.SHA1()
        digest.update(data: namespace.bytes)
        digest.update(bufferPointer: bytes)
        var result = Array(digest.finalize().prefix(16))
        result[6] = result[6] & 0x0f | 0x50
        result[8] = result[8] & 0x3f | 0x80
        #endif
        var high: UInt64 = 0
        var low: UInt64 = 0
        for index in 0..<8 {
            high = high << 8 | UInt64(result[index])
            low = low << 8 | UInt64(result[index + 8])
        }
        return UniqueID(high: high, low: low)
    }

    /// Hashes `bytes` under a 16-byte namespace, for an app's own names that every device must give alike.
    public static func hash<Kind, Namespace>(_ bytes: [UInt8], in namespace: UniqueID<Namespace>) -> UniqueID<Kind> {
        bytes.withUnsafeBytes { hash($0, in: namespace) }
    }

    /// The checksum of a file's content (Docs/Format.md, "Checksums").
    package static func checksum(_ bytes: [UInt8]) -> Checksum {
        hash(bytes, in: checksumNamespace)
    }

    package static func checksum(_ bytes: UnsafeRawBufferPointer) -> Checksum {
        hash(bytes, in: checksumNamespace)
    }

    /// The checksum in a file's last 16 bytes, if it is the checksum of all bytes before. `nil` if the file is damaged
    /// or cut off.
    package static func verifiedTrailer(of file: [UInt8]) -> Checksum? {
        guard file.count >= 16, let told = Checksum(bytes: file.suffix(16)) else { return nil }
        let content = file.withUnsafeBytes { checksum(UnsafeRawBufferPointer(rebasing: $0.dropLast(16))) }
        return content == told ? told : nil
    }

    /// The namespace of object IDs that are derived from key values.
    package static let objectNamespace = UniqueID<NamespaceKind>(
        high: 0x6665_7272_792d_6f62, low: 0x6a65_6374_2d69_6431)
    private static let checksumNamespace = UniqueID<NamespaceKind>(
        high: 0x6665_7272_792d_6368, low: 0x6563_6b73_756d_2d31)
}

package enum NamespaceKind {}
package enum ChecksumKind {}

/// The checksum of a file in an unsealed container, and the name by which a segment refers to its predecessor.
package typealias Checksum = UniqueID<ChecksumKind>
