import FerryCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Modes of files: a directory 0700, a file 0600. The process' mask can only take rights away.
extension PosixFileSystem: PrivateFileSystem {
    @discardableResult
    package func createPrivateDirectory(at path: String) throws -> Bool {
        try createDirectory(at: path, mode: 0o700)
    }

    package func write(_ bytes: [UInt8], toNewPrivateFileAt path: String) throws {
        try write(bytes, toNewFileAt: path, mode: 0o600)
    }

    package func isExposed(at path: String) throws -> Bool {
        var status = stat()
        do throws(SystemCallError) {
            _ = try systemCall("lstat") { lstat(path, &status) }
        } catch {
            if error.number == ENOENT || error.number == ENOTDIR { return false }
            throw error.ferryError(path: path)
        }
        // Another owner could give itself every right. The administrator has every right anyway.
        if status.st_uid != geteuid(), status.st_uid != 0 { return true }
        let isDirectory = status.st_mode & S_IFMT == S_IFDIR
        return status.st_mode & (isDirectory ? 0o022 : 0o077) != 0
    }

    package func destination(of path: String) -> String {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK, let whole = realpath(path, nil) else {
            return path
        }
        defer { free(whole) }
        return String(cString: whole)
    }
}
