import FerryCore

/// A place in a mirror's directory: names with slashes between, in the disk's spelling.
///
/// Paths are compared by their bytes: a disk may have both spellings of a name beside each other.
package struct DiskPath: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// Empty for the directory itself.
    package let text: String

    package init(_ text: String) { self.text = text }

    /// The mirror's directory itself.
    package static let top = DiskPath("")

    /// The mirror's own folder: the marker, and files on their way.
    package static let own = DiskPath(".ferry-mirror")
    /// Where files on their way lie.
    package static let work = DiskPath(".ferry-mirror/work")

    package var description: String { text }

    package var isTop: Bool { text.utf8.isEmpty }

    /// The folder around.
    package var folder: DiskPath {
        guard let slash = text.utf8.lastIndex(of: UInt8(ascii: "/")) else { return .top }
        return DiskPath(String(text[..<slash]))
    }

    package var name: String {
        guard let slash = text.utf8.lastIndex(of: UInt8(ascii: "/")) else { return text }
        return String(text[text.utf8.index(after: slash)...])
    }

    package func appending(_ name: String) -> DiskPath { DiskPath(isTop ? name : text + "/" + name) }

    /// How many names the path has.
    package var depth: Int { isTop ? 0 : 1 + text.utf8.count { $0 == UInt8(ascii: "/") } }

    /// True for a path somewhere in a folder.
    package func isBelow(_ folder: DiskPath) -> Bool {
        if folder.isTop { return !isTop }
        let (own, other) = (text.utf8, folder.text.utf8)
        return own.count > other.count && own.starts(with: other)
            && own[own.index(own.startIndex, offsetBy: other.count)] == UInt8(ascii: "/")
    }

    /// The path after a rename of a folder above; the same path for any other folder.
    package func moved(from folder: DiskPath, to new: DiskPath) -> DiskPath {
        if self == folder { return new }
        guard isBelow(folder) else { return self }
        let rest = text.utf8.dropFirst(folder.text.utf8.count + (folder.isTop ? 0 : 1))
        return new.appending(String(Substring(rest)))
    }

    package static func == (left: DiskPath, right: DiskPath) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }

    package static func < (left: DiskPath, right: DiskPath) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }
}
