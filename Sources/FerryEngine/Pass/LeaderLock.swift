import FerryContainer
import FerryCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Decides which of several processes keeps a database in step: the holder of an operating system lock on a file beside
/// the database. The lock ends with the process, after any kind of end. The file is never in the container.
///
/// A `WatchLoop` holds the lock while it leads; `DeviceLock` is held for a single piece of work. Two loops in the same
/// process exclude each other like two processes, because flock(2) belongs to the open file.
///
/// Invariant: `descriptor` is set exactly while this object holds the lock of a file.
final class LeaderLock: Sendable {
    /// The lock file's path; empty for an in-memory database, because no second process can have such a database.
    let path: String
    /// The database's real path.
    private let database: String
    private let descriptor = Locked<Int32?>(nil)

    /// - Parameter databasePath: empty for an in-memory database.
    init(databasePath: String) {
        let files = DatabaseFiles(of: databasePath)
        (path, database) = (files.path(.leader), files.database)
    }

    deinit { release() }

    /// Acquires the lock if the lock is free. Has no effect if this object holds the lock.
    /// - Returns: true if this object holds the lock now.
    /// - Throws: `inputOutput` if the file cannot be made or locked.
    func acquire() throws -> Bool {
        if path.isEmpty { return true }
        return try descriptor.withLock { held in
            if held != nil { return true }
            held = try openLocked()
            return held != nil
        }
    }

    func release() {
        descriptor.withLock { held in
            // Closing the only descriptor of the open file releases the lock.
            if let number = held { close(number) }
            held = nil
        }
    }

    /// False if this object holds the lock of a removed or replaced file: then a different process may lead, too. True
    /// if this object holds no lock at all.
    var isInPlace: Bool { descriptor.withLock { $0.map(isInPlace) ?? true } }

    /// Whether there is a lock file, held or not.
    var isThere: Bool { !path.isEmpty && access(path, F_OK) == 0 }

    /// Removes the lock file if this object holds its lock.
    func removeHeld() {
        descriptor.withLock { held in
            if let number = held, isInPlace(number) { unlink(path) }
        }
    }

    /// Removes the lock file, for good.
    func remove() { if !path.isEmpty { unlink(path) } }

    private func openLocked() throws -> Int32? {
        while true {
            let number = try LockFile.open(path, besideDatabase: database)
            if flock(number, LOCK_EX | LOCK_NB) != 0 {
                let reason = errno
                close(number)
                if reason == EWOULDBLOCK { return nil }
                if reason == EINTR { continue }
                throw failure(reason)
            }
            if isInPlace(number) { return number }
            // The file was removed between opening and locking: the next process would lock a new file.
            close(number)
        }
    }

    private func isInPlace(_ number: Int32) -> Bool {
        var (held, present) = (stat(), stat())
        return fstat(number, &held) == 0 && lstat(path, &present) == 0 && held.st_ino == present.st_ino
            && held.st_dev == present.st_dev
    }

    private func failure(_ reason: Int32) -> FerryError {
        let error = SystemCallError(call: "flock", number: reason)
        return FerryError(
            .inputOutput,
            "The lock file beside the database cannot be locked: \(String(cString: strerror(reason))). "
                + error.advice, path: path, detail: String(cString: strerror(reason)))
    }
}
