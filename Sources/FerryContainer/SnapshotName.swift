import FerryCore

/// The name of a snapshot's manifest: `<time>-<hash>.snapshot` (Docs/Format.md, "Names of snapshots").
package struct SnapshotName: Hashable, Sendable {
    static let suffix = ".snapshot"
    /// The characters before the suffix: two numbers of 16 digits and a hyphen.
    static let stemLength = 33

    /// The latest time that the snapshot covers.
    package let time: HybridTime
    /// The first eight bytes of the file's checksum, most significant first; in a sealed container those of what stands in its
    /// place (`Container.snapshotName`).
    package let hash: UInt64

    package init(time: HybridTime, checksum: Checksum) {
        self.time = time
        hash = checksum.high
    }

    /// Reads exactly the form of `fileName`, and nothing else.
    package init?(_ fileName: String) {
        let bytes = Array(fileName.utf8)
        guard bytes.count == Self.stemLength + Self.suffix.utf8.count, fileName.hasSuffix(Self.suffix),
            bytes[16] == UInt8(ascii: "-"), let time = LowerHex.number(bytes[0..<16]),
            let hash = LowerHex.number(bytes[17..<33]), time <= HybridTime.latest.rawValue
        else { return nil }
        self.time = HybridTime(rawValue: time)
        self.hash = hash
    }

    /// The name as a file has it, in lower case.
    package var fileName: String {
        LowerHex.digits(time.rawValue) + "-" + LowerHex.digits(hash) + Self.suffix
    }

    /// True if bytes with this checksum match the name.
    package func matches(_ checksum: Checksum) -> Bool { hash == checksum.high }
}

extension SnapshotName: Comparable {
    /// By the time; the hash decides between different snapshots of a time, and means nothing.
    package static func < (left: SnapshotName, right: SnapshotName) -> Bool {
        (left.time, left.hash) < (right.time, right.hash)
    }
}

extension SnapshotName: CustomStringConvertible {
    /// The name as a file has it.
    package var description: String { fileName }
}

/// Numbers of 16 hexadecimal digits in lower case.
private enum LowerHex {
    static func digits(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
        var number: UInt64 = 0
        for character in digits {
            // Ferry never writes upper case.
            guard let digit = hexDigitValue(character), !(0x41...0x46).contains(character) else { return nil }
            number = number << 4 | UInt64(digit)
        }
        return number
    }
}
