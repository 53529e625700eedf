/// The paths of a package's files: relative, and never leading out of the package.
///
/// No name is empty, `.` or `..`, none has a NUL, and no file is a folder of another file's path. Letter case and the forms of
/// Unicode are no matter here: a disk that cannot take a name gets another one where the package is written.
package enum PackagePath {
    /// Whether a path may stand in a package.
    package static func isAllowed(_ path: String) -> Bool {
        let bytes = path.utf8
        guard (1...ContentLimits.pathBytes).contains(bytes.count) else { return false }
        return bytes.split(separator: slash, omittingEmptySubsequences: false).allSatisfy { name in
            (1...ContentLimits.nameBytes).contains(name.count) && !name.contains(0)
                && !name.elementsEqual(".".utf8) && !name.elementsEqual("..".utf8)
        }
    }

    /// The order of a package: by bytes, with the slash before every other byte. So a folder's files follow each other, and the
    /// path after a file's is the first that could lie below that file.
    package static func precedes(_ left: String, _ right: String) -> Bool {
        left.utf8.lexicographicallyPrecedes(right.utf8) { rank($0) < rank($1) }
    }

    /// Whether a path lies below another one.
    package static func isBelow(_ path: String, _ folder: String) -> Bool {
        path.utf8.starts(with: folder.utf8) && path.utf8.dropFirst(folder.utf8.count).first == slash
    }

    private static let slash = UInt8(ascii: "/")

    private static func rank(_ byte: UInt8) -> UInt8 { byte == slash ? 0 : byte }
}
