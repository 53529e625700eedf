import FerryCore

/// The name of a file that its checksum names: `<checksum><suffix>`.
package struct ChecksumName<Kind: ChecksumNamedKind>: Hashable, Sendable {
    /// The file's checksum; in a sealed container what stands in its place (`Container.chunkName`, `Container.partName`).
    package let hash: Checksum

    package init(checksum: Checksum) { hash = checksum }

    /// Reads exactly the form of `fileName`, and nothing else.
    package init?(_ fileName: String) {
        guard fileName.utf8.count == 32 + Kind.suffix.utf8.count, fileName.hasSuffix(Kind.suffix),
            let hash = Checksum(fileName.dropLast(Kind.suffix.count)), hash.hex + Kind.suffix == fileName
        else { return nil }
        self.hash = hash
    }

    /// Reads the name at the end of a path, as errors have it.
    package init?(path: String?) {
        guard let name = path?.split(separator: "/").last else { return nil }
        self.init(String(name))
    }

    /// The name as a file has it, in lower case.
    package var fileName: String { hash.hex + Kind.suffix }
}

extension ChecksumName: Comparable {
    package static func < (left: Self, right: Self) -> Bool { left.hash < right.hash }
}

/// What a file named by its checksum is.
package protocol ChecksumNamedKind {
    static var suffix: String { get }
}

/// A snapshot's chunk (Docs/Format.md, "Names of snapshots").
package enum ChunkFileKind: ChecksumNamedKind {
    package static let suffix = ".chunk"
}

/// A part of a large value (Docs/Format.md, "Large values").
package enum PartFileKind: ChecksumNamedKind {
    package static let suffix = ".part"
}

package typealias ChunkName = ChecksumName<ChunkFileKind>
package typealias PartName = ChecksumName<PartFileKind>
