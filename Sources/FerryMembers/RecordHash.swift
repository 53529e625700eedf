import FerryCore
import FerrySeal

/// Names a record: SHA-256 of all of its bytes but the signature. The order is that of the bytes.
package struct RecordHash: Hashable, Comparable, Sendable {
    private let words: SIMD4<UInt64>

    /// Stands where no record is.
    package static let none = RecordHash(words: .zero)

    private init(words: SIMD4<UInt64>) { self.words = words }

    /// Reads a hash from exactly 32 bytes; `nil` for any other count.
    package init?(bytes: some Collection<UInt8>) {
        guard bytes.count == SealSuite.hashLength else { return nil }
        var words = SIMD4<UInt64>.zero
        for (place, byte) in bytes.enumerated() { words[place / 8] = words[place / 8] << 8 | UInt64(byte) }
        self.words = words
    }

    /// The hash of a record, from its bytes without the signature.
    init(of content: ArraySlice<UInt8>) {
        self = Self(bytes: SealSuite.digest(content)) ?? .none  // 32 bytes always make one
    }

    /// The 32 bytes.
    package var bytes: [UInt8] {
        (0..<4).flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: words[word] >> UInt64(56 - 8 * $0)) } }
    }

    /// 64 lower-case hexadecimal digits: the form in `container.json`.
    package var hex: String { hexString(bytes) }

    /// The name of the record's file: the first 16 bytes as 32 digits.
    package var fileName: String { hexString(bytes.prefix(16)) + ".record" }

    package static func < (left: RecordHash, right: RecordHash) -> Bool {
        for word in 0..<4 where left.words[word] != right.words[word] { return left.words[word] < right.words[word] }
        return false
    }
}

extension RecordHash: CustomStringConvertible {
    package var description: String { hex }
}
