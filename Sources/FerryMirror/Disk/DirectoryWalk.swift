import FerryContainer
import FerryCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// An open directory. Paths below are walked name by name, and no link is followed, so nothing outside is touched.
///
/// Among the named leaves with unsafe code: the pointer below is to a directory entry, valid until the next call.
final class DirectoryWalk {
    /// Where the directory is.
    let root: String
    /// The directory itself.
    let top: OwnedDescriptor

    /// - Throws: `SystemCallError` where the directory cannot be opened.
    init(root: String) throws(SystemCallError) {
        self.root = root
        let number = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard number >= 0 else { throw SystemCallError(call: "open", number: errno) }
        top = OwnedDescriptor(number)
    }

    /// A closed descriptor is never used again, because every user keeps the object alive.
    final class OwnedDescriptor {
        let number: Int32
        init(_ number: Int32) { self.number = number }
        deinit { close(number) }
    }

    /// Runs a call with the open folder around a path, and the path's name in the folder.
    /// - Returns: `nil` where there is no such folder, or a link is on the way.
    func inFolder<R>(of path: DiskPath, _ body: (Int32, String) throws -> R) throws -> R? {
        let folder = try openFolder(path.folder)
        guard let folder else { return nil }
        return try body(folder.number, path.name)
    }

    func openFolder(_ path: DiskPath) throws -> OwnedDescriptor? {
        if path.isTop { return top }
        var around = top
        for name in path.text.utf8.split(separator: UInt8(ascii: "/")) {
            let text = String(Substring(name))
            // A forged path leads nowhere else.
            guard text != "..", text != "." else { return nil }
            let number = openat(around.number, text, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            if number < 0 {
                let error = SystemCallError(call: "openat", number: errno)
                if [ENOENT, ENOTDIR, ELOOP].contains(error.number) { return nil }
                throw Self.failure(error, root + "/" + path.text)
            }
            around = OwnedDescriptor(number)
        }
        return around
    }

    private static func failure(_ error: SystemCallError, _ path: String) -> FerryError {
        FerryError(
            .inputOutput, "The mirror's access to \(path) failed (\(error)). It tries again with the next pass.",
            path: path, cause: error, detail: "\(error)")
    }

    func failure(_ call: String, _ path: DiskPath) -> FerryError {
        Self.failure(SystemCallError(call: call, number: errno), root + "/" + path.text)
    }

    /// The names in an open folder; names outside UTF-8 as bytes, with a NUL at the end.
    func names(_ descriptor: Int32, _ path: DiskPath) throws -> (names: [String], unreadable: [[CChar]]) {
        let copy = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0 else { throw failure("openat", path) }
        guard let stream = fdopendir(copy) else {
            let error = failure("fdopendir", path)
            close(copy)
            throw error
        }
        defer { closedir(stream) }
        var (names, unreadable) = ([String](), [[CChar]]())
        while true {
            errno = 0
            guard let entry = readdir(stream) else { break }
            // d_name ends in a NUL within the entry of readdir; the entry is valid until the next call.
            let start = UnsafeRawPointer(entry) + MemoryLayout<dirent>.offset(of: \.d_name)!
            let bytes = start.assumingMemoryBound(to: CChar.self)
            guard let name = String(validatingCString: bytes) else {
                unreadable.append(Array(UnsafeBufferPointer(start: bytes, count: strlen(bytes) + 1)))
                continue
            }
            if name != ".", name != ".." { names.append(name) }
        }
        if errno != 0 { throw failure("readdir", path) }
        return (names, unreadable)
    }
}
