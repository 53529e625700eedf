import FerryCore

/// The name of a record's file: `<hash>.record`, with the first 16 bytes of the record's hash (Docs/Format.md, "Sealed
/// containers").
package struct RecordName: Hashable, Comparable, Sendable {
    static let suffix = ".record"

    private let hash: UniqueID<RecordNameKind>

    /// Names the file of a record.
    package init(_ hash: RecordHash) {
        // 16 bytes always make one
        self.hash = UniqueID(bytes: hash.bytes.prefix(16)) ?? UniqueID(high: 0, low: 0)
    }

    /// Reads exactly the form of `fileName`, and nothing else.
    package init?(_ fileName: String) {
        guard fileName.utf8.count == 32 + Self.suffix.utf8.count, fileName.hasSuffix(Self.suffix),
            let hash = UniqueID<RecordNameKind>(fileName.dropLast(Self.suffix.count)),
            hash.hex + Self.suffix == fileName
        else { return nil }
        self.hash = hash
    }

    /// The name as a file has it, in lower case.
    package var fileName: String { hash.hex + Self.suffix }

    /// True if a record with this hash has the name.
    package func matches(_ hash: RecordHash) -> Bool { self == RecordName(hash) }

    package static func < (left: RecordName, right: RecordName) -> Bool { left.hash < right.hash }
}

package enum RecordNameKind {}

extension RecordName: CustomStringConvertible {
    /// The name as a file has it.
    package var description: String { fileName }
}
