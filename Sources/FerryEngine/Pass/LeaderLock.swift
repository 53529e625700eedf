import FerryContainer
import FerryCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Decides which of several processes keeps a database in step: the one that holds a lock of the operating system's on a
/// file beside the database. It ends with the process, however that ends, and is never in the container.
///
/// Held for as long as a `WatchLoop` leads, where `DeviceLock` is held for one piece of work. Two loops in one process
/// exclude each other like two processes, because flock(2) belongs to the open file.
final class LeaderLock: Sendable {
    /// The lock file's path; empty for a database in memory, which no other process can have.
    let path: String
    private let descriptor = Locked<Int32?>(nil)

    /// - Parameter databasePath: empty for a database in memory.
    init(databasePath: String) {
        path = databasePath.isEmpty ? "" : databasePath + "-ferry-leader"
    }

    deinit { release() }

    /// Takes the lock, if nobody else has it. Has no effect where this one has it already.
    /// - Returns: whether this one has it now.
    /// - Throws: `inputOutput` where the file cannot be made or locked.
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
            // Closing the only descriptor of the open file gives the lock back.
            if let number = held { close(number) }
            held = nil
        }
    }

    /// Whether nobody else can have the lock: nothing was put in its file's place, or it is not held by this one at all.
    var isInPlace: Bool { descriptor.withLock { $0.map(isInPlace) ?? true } }

    /// Removes the lock file, for good.
    func remove() { if !path.isEmpty { unlink(path) } }

    private func openLocked() throws -> Int32? {
        while true {
            let number = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o644)
            guard number >= 0 else { throw failure("made") }
            if flock(number, LOCK_EX | LOCK_NB) != 0 {
                let reason = errno
                close(number)
                if reason == EWOULDBLOCK { return nil }
                if reason == EINTR { continue }
                errno = reason
                throw failure("locked")
            }
            if isInPlace(number) { return number }
            // It was removed between being opened and being locked: whoever comes next would lock another file.
            close(number)
        }
    }

    private func isInPlace(_ number: Int32) -> Bool {
        var (held, present) = (stat(), stat())
        return fstat(number, &held) == 0 && lstat(path, &present) == 0 && held.st_ino == present.st_ino
            && held.st_dev == present.st_dev
    }

    private func failure(_ what: String) -> FerryError {
        FerryError(
            .inputOutput,
            "The lock file beside the database cannot be \(what): \(String(cString: strerror(errno))). "
                + "Check the permissions of its folder.", path: path)
    }
}
