import FerryContainer
import FerryCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The file beside a database that `DeviceLock` and `LeaderLock` lock by flock(2).
enum LockFile {
    /// Opens the file, and makes a missing file.
    ///
    /// A file of another account that can only be read is locked all the same: flock(2) asks for no right to write. So a command that ran
    /// once as root stops nobody. A file that root makes gets the owner of the database, as SQLite's own files do.
    /// - Returns: the descriptor.
    /// - Throws: `inputOutput`; the message names the file, and its owner where the file belongs to another account.
    static func open(_ path: String, besideDatabase database: String) throws -> Int32 {
        let flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW
        let isNew = access(path, F_OK) != 0
        var number = systemOpen(path, flags, 0o644)
        let reason = errno
        if number < 0, [EACCES, EPERM, EROFS].contains(reason) {
            number = systemOpen(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0)
        }
        guard number >= 0 else { throw failure(path, reason) }
        if isNew, geteuid() == 0 {
            var owner = stat()
            // A file that stays root's can be read by the database's owner.
            if stat(database, &owner) == 0 { _ = fchown(number, owner.st_uid, owner.st_gid) }
        }
        return number
    }

    /// The error of a file that cannot be opened.
    private static func failure(_ path: String, _ reason: Int32) -> FerryError {
        let error = SystemCallError(call: "open", number: reason)
        let words = String(cString: strerror(reason))
        var status = stat()
        if [EACCES, EPERM].contains(reason), lstat(path, &status) == 0, status.st_uid != geteuid() {
            let owner = getpwuid(status.st_uid).map { String(cString: $0.pointee.pw_name) } ?? "\(status.st_uid)"
            return FerryError(
                .inputOutput,
                "The lock file \(path) belongs to the account \(owner), and cannot be opened: a command ran as that account. Remove the "
                    + "file while no other Ferry works on the database, and use one account.", path: path, detail: words
            )
        }
        return FerryError(
            .inputOutput, "The lock file beside the database cannot be opened: \(words). " + error.advice, path: path,
            detail: words)
    }
}

private func systemOpen(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 {
    open(path, flags, mode)
}
