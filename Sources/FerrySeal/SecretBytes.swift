import Crypto
import FerryCore
import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Secret bytes between a key and a file: the bytes live within a single function and are overwritten there.
///
/// A named leaf with unsafe code: the length of the pointer's buffer bounds the call.
enum SecretBytes {
    /// Overwrites an array's bytes by a call which no optimizer takes away. The array must be the only array with these
    /// bytes: a second array with the same storage would keep them.
    static func overwrite(_ bytes: inout [UInt8]) {
        bytes.withUnsafeMutableBytes(overwrite)
    }

    /// Overwrites data from the library; as for an array.
    static func overwrite(_ data: inout Data) {
        data.withUnsafeMutableBytes(overwrite)
    }

    private static func overwrite(_ buffer: UnsafeMutableRawBufferPointer) {
        guard let base = buffer.baseAddress else { return }
        #if canImport(Glibc)
        explicit_bzero(base, buffer.count)
        #else
        _ = memset_s(base, buffer.count, 0, buffer.count)
        #endif
    }

    /// Draws a key from a source of random numbers; 8 bytes of each number, least significant first.
    static func draw(_ count: Int, from random: any RandomSource) -> SymmetricKey {
        var bytes: [UInt8] = []
        bytes.reserveCapacity((count + 7) / 8 * 8)
        defer { overwrite(&bytes) }
        while bytes.count < count { withUnsafeBytes(of: random.next().littleEndian) { bytes.append(contentsOf: $0) } }
        return bytes.withUnsafeBytes { SymmetricKey(data: UnsafeRawBufferPointer(rebasing: $0.prefix(count))) }
    }
}

extension SymmetricKey {
    /// Whether all bytes are zero, as after an agreement with a key of small order. The test takes the same time for
    /// all bytes.
    var isZero: Bool { withUnsafeBytes { $0.reduce(0, |) == 0 } }
}
