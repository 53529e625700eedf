import FerryCore

/// The name of a part of a large value: `<checksum>.part` (Docs/Format.md, "Large values").
package struct PartName: Hashable, Sendable {
    static let suffix = ".part"

    /// The file's checksum; in a sealed container what stands in its place (`Container.partName`).
    package let hash: Checksum

    package init(checksum: Checksum) { hash = checksum }

    /// Reads exactly the form of `fileName`, and nothing else.
    package init?(_ fileName: String) {
        guard fileName.utf8.count == 32 + Self.suffix.utf8.count, fileName.hasSuffix(Self.suffix),
            let hash = Checksum(fileName.dropLast(Self.suffix.count)), hash.hex + Self.suffix == fileName
        else { return nil }
        self.hash = hash
    }

    /// Reads the name at the end of a path, as errors have it.
    package init?(path: String?) {
        guard let name = path?.split(separator: "/").last else { return nil }
        self.init(String(name))
    }

    /// The name as a file has it, in lower case.
    package var fileName: String { hash.hex + Self.suffix }
}

extension PartName: Comparable {
    package static func < (left: PartName, right: PartName) -> Bool { left.hash < right.hash }
}
