import FerryContainer
import FerryCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Lets a single process at a time work for a device: an operating system lock on a file beside the database.
/// The lock ends with the holding process. The file is never in the container, because locks mean nothing there.
package struct DeviceLock: Sendable {
    /// The lock file's path.
    package let path: String
    /// The database's real path.
    private let database: String
    /// Throws where the holder could never work on the database.
    private let check: @Sendable () throws -> Void

    /// - Parameters:
    ///   - databasePath: empty for an in-memory database, because no lock is needed there.
    ///   - check: called before each attempt to get the lock. A thread that already has the database's connection would wait for a holder
    ///     that waits for the connection.
    package init(databasePath: String, check: @escaping @Sendable () throws -> Void = {}) {
        let files = DatabaseFiles(of: databasePath)
        (path, database) = (files.path(.lock), files.database)
        self.check = check
    }

    /// Runs `body` while holding the lock.
    /// - Parameter waitMilliseconds: how long to try.
    /// - Throws: `busy` if a second process holds the lock all this time; errors of `check`.
    package func withLock<Result>(waitMilliseconds: Int = 30_000, _ body: () throws -> Result) throws -> Result {
        try check()
        if path.isEmpty { return try body() }
        let descriptor = try LockFile.open(path, besideDatabase: database)
        defer { close(descriptor) }
        try acquire(descriptor, waitMilliseconds)
        defer { flock(descriptor, LOCK_UN) }
        return try body()
    }

    /// Acquires the lock by polling, because flock(2) has no time-out. The intervals grow to 50 ms.
    private func acquire(_ descriptor: Int32, _ waitMilliseconds: Int) throws {
        var waited = 0
        var interval: Int32 = 1
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            if errno != EWOULDBLOCK && errno != EINTR {
                throw FerryError(
                    .inputOutput, "The lock file cannot be locked: \(String(cString: strerror(errno))).", path: path,
                    detail: String(cString: strerror(errno)))
            }
            if waited >= waitMilliseconds {
                throw FerryError(
                    .busy, "Another Ferry is working on this database. Try again when it is done.", path: path)
            }
            _ = poll(nil, 0, interval)
            waited += Int(interval)
            interval = min(interval * 2, 50)
        }
    }

    /// Whether there is a lock file, held or not.
    var isThere: Bool { !path.isEmpty && access(path, F_OK) == 0 }

    /// Removes the lock file.
    package func remove() { if !path.isEmpty { unlink(path) } }
}
