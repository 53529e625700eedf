#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// What lies at a path, behind symbolic links. Foundation would ask for the names of the file's owner and group as well.
package enum FileKind: Equatable, Sendable {
    case regular
    case directory
    /// A pipe, a socket or a device.
    case other

    /// - Returns: `nil` where nothing can be found there.
    package init?(at path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        switch status.st_mode & S_IFMT {
        case S_IFREG: self = .regular
        case S_IFDIR: self = .directory
        default: self = .other
        }
    }
}
