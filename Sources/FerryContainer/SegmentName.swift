import FerryCore

/// The name of a segment file: `<first>-<last>-<hash>.segment` (Docs/Format.md, "Names of segments").
///
/// The name gives the segment's place in a device's log. Only the content proves the content; the name only helps to
/// find the segment.
package struct SegmentName: Hashable, Sendable {
    /// The last number that fits twelve hexadecimal digits.
    package static let maximumSequence: UInt64 = (1 << 48) - 1
    static let suffix = ".segment"
    /// The characters before the suffix: two numbers of 12 digits, a hash of 16, two hyphens.
    static let stemLength = 42

    /// The number of the first changeset inside, from 1.
    package let first: UInt64
    /// The number of the last changeset inside, at least `first`.
    package let last: UInt64
    /// The first eight bytes of the file's checksum, most significant first; in a sealed container those of what stands in its
    /// place (`Container.segmentName`).
    package let hash: UInt64

    /// Names a segment by its changesets and the checksum of its bytes.
    /// - Throws: `invalidArgument` for numbers out of range.
    package init(first: UInt64, last: UInt64, checksum: Checksum) throws(FerryError) {
        guard first >= 1, first <= last, last <= Self.maximumSequence else {
            throw FerryError(.invalidArgument, "No segment holds the changesets from \(first) to \(last).")
        }
        self.first = first
        self.last = last
        hash = checksum.high
    }

    /// Reads exactly the form of `fileName`, and nothing else.
    package init?(_ fileName: String) {
        guard fileName.utf8.count == Self.stemLength + Self.suffix.utf8.count, fileName.hasSuffix(Self.suffix) else {
            return nil
        }
        self.init(stem: Array(fileName.utf8.prefix(Self.stemLength)))
    }

    /// Reads the name of iCloud Drive's placeholder for a segment that is not downloaded: `.<name>.icloud`.
    package init?(placeholder: String) {
        guard placeholder.hasPrefix("."), placeholder.hasSuffix(".icloud") else { return nil }
        self.init(String(placeholder.dropFirst().dropLast(".icloud".count)))
    }

    /// Reads `<first>-<last>-<hash>` in lower case.
    init?(stem: [UInt8]) {
        let hyphen = UInt8(ascii: "-")
        guard stem.count == Self.stemLength, stem[12] == hyphen, stem[25] == hyphen,
            let first = Self.number(stem[0..<12]), let last = Self.number(stem[13..<25]),
            let hash = Self.number(stem[26..<42]), first >= 1, first <= last
        else { return nil }
        self.first = first
        self.last = last
        self.hash = hash
    }

    /// The name as a file has it, in lower case.
    package var fileName: String {
        "\(Self.digits(first, count: 12))-\(Self.digits(last, count: 12))-\(Self.digits(hash, count: 16))\(Self.suffix)"
    }

    /// True if bytes with this checksum match the name.
    package func matches(_ checksum: Checksum) -> Bool { hash == checksum.high }

    private static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
        var number: UInt64 = 0
        for character in digits {
            // Ferry never writes upper case.
            guard let digit = hexDigitValue(character), !(0x41...0x46).contains(character) else { return nil }
            number = number << 4 | UInt64(digit)
        }
        return number
    }

    private static func digits(_ number: UInt64, count: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: count - digits.count) + digits
    }
}

extension SegmentName: Comparable {
    /// By the numbers; the hash decides between different segments with the same numbers, and means nothing.
    package static func < (left: SegmentName, right: SegmentName) -> Bool {
        (left.first, left.last, left.hash) < (right.first, right.last, right.hash)
    }
}

extension SegmentName: CustomStringConvertible {
    /// The name as a file has it.
    package var description: String { fileName }
}
