import FerryContainer
import FerryCore
import Foundation

/// The temporary files of exports. The writer of a file holds an operating system lock on the file, so a file without a lock has no writer
/// any more.
package enum UnfinishedExport {
    /// Between the name of the export and 16 hexadecimal digits.
    static let infix = ".ferry-tmp-"
    /// A directory with more names is not searched for leftovers.
    private static let maximumEntries = 100_000
    /// The files of this process in the middle of writing.
    private static let paths = Locked<Set<String>>([])

    /// Makes a file. A signal finds the file from its first moment on.
    static func make(_ path: String, _ make: () throws -> Void) rethrows {
        try paths.withLock { paths in
            paths.insert(path)
            try make()
        }
    }

    static func lock(_ descriptor: Int32) {
        // Where the file system has no locks, a leftover stays.
        _ = flock(descriptor, LOCK_EX | LOCK_NB)
    }

    static func end(_ path: String) { _ = paths.withLock { $0.remove(path) } }

    /// Removes the files that this process is writing, and ends the process.
    /// - Parameter end: ends the process. No file is made meanwhile.
    package static func removeAll(_ end: () -> Void) {
        paths.withLock { paths in
            for path in paths { unlink(path) }
            end()
        }
    }

    /// Removes what interrupted exports of this name left. A leftover that cannot be removed harms nothing but the room on the disk.
    static func removeLeftovers(of path: String, _ fileSystem: PosixFileSystem) {
        let (folder, name) = ((path as NSString).deletingLastPathComponent, (path as NSString).lastPathComponent)
        let prefix = name + infix
        let names = (try? fileSystem.entryNames(ofDirectoryAt: folder, maximumCount: maximumEntries)) ?? []
        for entry in names where entry.hasPrefix(prefix) && isRandom(entry.dropFirst(prefix.count)) {
            let leftover = (folder as NSString).appendingPathComponent(entry)
            let number = open(leftover, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
            if number < 0 { continue }
            if flock(number, LOCK_EX | LOCK_NB) == 0 { unlink(leftover) }
            close(number)
        }
    }

    private static func isRandom(_ text: Substring) -> Bool {
        text.utf8.count == 16 && text.allSatisfy { $0.isHexDigit && !$0.isUppercase }
    }
}
