import FerryCore

/// A file that may hold a segment: a file with a segment's name, or with a syncer's variant of such a name.
///
/// Syncers rename files that they find in conflict (`….sync-conflict-20260101-120000-ABCDEF7.segment`, `… (1).segment`,
/// `… (conflicted copy 2026-01-01).segment`, `…-HOSTNAME.segment`), and some file systems change the letter case. A
/// *copy* is worth reading when the file with the proper name is missing or damaged; only its content can prove the
/// segment.
package struct SegmentFile: Hashable, Sendable {
    /// The name as in the directory.
    package let fileName: String
    /// The segment's name, or the name before the syncer's change.
    package let name: SegmentName
    /// True if the name was changed by somebody.
    package var isCopy: Bool { fileName.utf8.count != name.fileName.utf8.count || fileName != name.fileName }

    /// True if a reader tries this file before another file with the wanted changeset. A proper name comes before a
    /// copy, and a rolled-up segment before its parts.
    package func isTried(before other: SegmentFile) -> Bool {
        isCopy != other.isCopy ? other.isCopy : name.last > other.name.last
    }

    /// The characters after the proper name in a copy's name, before the suffix.
    private static let separators = Set(" .-_(".utf8)

    /// Stands for the file with a segment's proper name.
    package init(_ name: SegmentName) {
        fileName = name.fileName
        self.name = name
    }

    /// Recognizes a name from a directory; `nil` for all other names, temporary files and placeholders among them.
    package init?(fileName: String) {
        let bytes = fileName.utf8.map { (0x41...0x5a).contains($0) ? $0 + 0x20 : $0 }
        guard bytes.count <= 255, bytes.count >= SegmentName.stemLength + SegmentName.suffix.utf8.count,
            bytes.suffix(SegmentName.suffix.utf8.count).elementsEqual(SegmentName.suffix.utf8),
            Self.separators.contains(bytes[SegmentName.stemLength]),
            let name = SegmentName(stem: Array(bytes.prefix(SegmentName.stemLength)))
        else { return nil }
        self.fileName = fileName
        self.name = name
    }
}

extension SegmentFile: Comparable {
    /// By segment, a proper name before its copies.
    package static func < (left: SegmentFile, right: SegmentFile) -> Bool {
        if left.name != right.name { return left.name < right.name }
        if left.isCopy != right.isCopy { return right.isCopy }
        return left.fileName < right.fileName
    }
}
