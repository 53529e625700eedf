/// Names a record of a sealed container: SHA-256 of all of the record's bytes but the signature. The order is that of the bytes.
package struct RecordHash: Hashable, Comparable, Sendable {
    /// The bytes of each hash.
    package static let length = 32

    private let words: SIMD4<UInt64>

    /// Stands where no record is.
    package static let none = RecordHash(words: .zero)

    private init(words: SIMD4<UInt64>) { self.words = words }

    /// Reads a hash from exactly 32 bytes; `nil` for any other count.
    package init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.length else { return nil }
        var words = SIMD4<UInt64>.zero
        for (place, byte) in bytes.enumerated() { words[place / 8] = words[place / 8] << 8 | UInt64(byte) }
        self.init(words: words)
    }

    /// Reads exactly the form of `hex`: 64 digits, the letters in lower case; `nil` for any other text.
    package init?(hex: String) {
        guard hex.utf8.count == 2 * Self.length else { return nil }
        var words = SIMD4<UInt64>.zero
        for (place, character) in hex.utf8.enumerated() {
            guard let digit = hexDigitValue(character), !(0x41...0x46).contains(character) else { return nil }
            words[place / 16] = words[place / 16] << 4 | UInt64(digit)
        }
        self.init(words: words)
    }

    /// The 32 bytes.
    package var bytes: [UInt8] {
        (0..<4).flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: words[word] >> UInt64(56 - 8 * $0)) } }
    }

    /// 64 lower-case hexadecimal digits: the form in `container.json`.
    package var hex: String { hexString(bytes) }

    package static func < (left: RecordHash, right: RecordHash) -> Bool {
        for word in 0..<4 where left.words[word] != right.words[word] { return left.words[word] < right.words[word] }
        return false
    }
}

extension RecordHash: CustomStringConvertible {
    package var description: String { hex }
}
