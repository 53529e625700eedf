import FerryCore

/// The name of a pack: `<checksum>.pack` (Docs/Format.md, "Packs"). The checksum is the pack's own, sealed or not.
package struct PackName: Hashable, Sendable {
    static let suffix = ".pack"

    package let id: PackID

    package init(_ id: PackID) { self.id = id }

    /// Reads exactly the form of `fileName`, and nothing else.
    package init?(_ fileName: String) {
        guard fileName.utf8.count == 32 + Self.suffix.utf8.count, fileName.hasSuffix(Self.suffix),
            let id = PackID(fileName.dropLast(Self.suffix.count)), id.hex + Self.suffix == fileName
        else { return nil }
        self.id = id
    }

    /// Reads the name at the end of a path.
    init?(path: String) {
        guard let name = path.split(separator: "/").last else { return nil }
        self.init(String(name))
    }

    /// The name as a file has it, in lower case.
    package var fileName: String { id.hex + Self.suffix }
}

extension PackName: Comparable {
    package static func < (left: PackName, right: PackName) -> Bool { left.id < right.id }
}
