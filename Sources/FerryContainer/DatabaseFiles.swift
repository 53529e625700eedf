import FerryCore
import Foundation

/// The files that Ferry keeps beside a database. Their names are made here, and nowhere else.
///
/// A database has one set of such files, whatever symbolic links lead to the database: the names are of the database's own path, as the
/// names of SQLite's journal are. So two programs that use two links take the same locks.
package struct DatabaseFiles: Sendable {
    /// A file beside a database, by the end of its name.
    package enum Suffix: String, CaseIterable, Sendable {
        /// The lock of the process that works for the device.
        case lock = "-ferry-lock"
        /// The lock of the process that keeps the database in step.
        case leader = "-ferry-leader"
        /// The directory with the bytes of contents.
        case content = "-ferry-content"
        /// What `ferry leave` remembers of integer keys.
        case keys = "-ferry-keys"
        /// A database in the making.
        case unfinished = "-ferry-import"
    }

    /// The path as somebody gave it; empty for a database in memory.
    private let given: String
    /// The path without symbolic links; empty for a database in memory.
    package let database: String

    /// - Parameter path: a path of the database, which may be a symbolic link; empty for a database in memory.
    package init(of path: String) {
        given = path
        database = path.isEmpty ? "" : realPath(path)
    }

    /// The path of a file; empty for a database in memory, which has no such files.
    package func path(_ suffix: Suffix) -> String { database.isEmpty ? "" : database + suffix.rawValue }

    /// True for the name of a directory with the bytes of some database's contents.
    package static func isContentDirectory(_ name: String) -> Bool { name.hasSuffix(Suffix.content.rawValue) }

    /// Where earlier versions of Ferry kept the file, for a database under the name of a symbolic link; `nil` without such a link.
    package func pathBesideLink(_ suffix: Suffix) -> String? {
        isLink ? given + suffix.rawValue : nil
    }

    /// The path of a file, for people: as short as they gave the database's path, where that path is no link.
    package func shownPath(_ suffix: Suffix) -> String {
        isLink ? path(suffix) : given + suffix.rawValue
    }

    /// A link in a directory's place leads to the same files. Only the database's own name counts.
    private var isLink: Bool {
        var status = stat()
        return !given.isEmpty && lstat(given, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
    }
}
