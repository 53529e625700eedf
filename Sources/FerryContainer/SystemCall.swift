import CFerryFiles
import FerryCore
import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Names a failed system call, and its error; the cause of a `FerryError` with code `inputOutput`.
package struct SystemCallError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The call's name, such as `fsync`.
    package let call: String
    /// The value of `errno`.
    package let number: Int32

    /// Records the value of `errno` after a call.
    package init(call: String, number: Int32) {
        self.call = call
        self.number = number
    }

    /// The system's error below an error of Foundation's; `nil` without one.
    package init?(below error: any Error, call: String) {
        switch error {
        case let error as POSIXError: self.init(call: call, number: error.code.rawValue)
        case let error as CocoaError:
            guard let below = error.underlying else { return nil }
            let number = (below as? POSIXError)?.code.rawValue ?? Int32(clamping: (below as NSError).code)
            self.init(call: call, number: number)
        default: return nil
        }
    }

    /// True if there is no room: on the disk, within a quota, or below a limit of a file's size.
    package var isOfRoom: Bool { [ENOSPC, EDQUOT, EFBIG].contains(number) }

    /// True if the account lacks the right.
    package var isRefusal: Bool { number == EACCES || number == EPERM }

    /// The call, and the system's words for the error.
    package var description: String { "\(call): \(String(cString: strerror(number)))" }

    /// The error to throw: the attempt, the path, the reason, and a remedy for a person.
    package func ferryError(path: String) -> FerryError {
        FerryError(
            .inputOutput, "Ferry's access to \(path) failed (\(self)). \(advice)", path: path, cause: self,
            detail: description)
    }

    /// The remedy where a process has as many open files as its limit allows.
    package static let tooManyOpenFiles = "Too many open files: raise the limit (ulimit -n, LimitNOFILE=)."

    /// The remedy for a person.
    package var advice: String {
        switch number {
        case ENOSPC, EDQUOT: "Free some space there; Ferry tries again and loses nothing meanwhile."
        case EACCES, EPERM: "Check the permissions of the file and of its folder."
        case EROFS: "Mount it so that it can be written."
        case ENOENT, ENOTDIR: "Check that its folder is there and mounted."
        case EFBIG:
            "The file would be larger than a limit allows: raise the limit of this process (ulimit -f, LimitFSIZE=), or put the "
                + "folder on a file system for larger files."
        case EMFILE: Self.tooManyOpenFiles
        case ENFILE: "Too many files are open on this computer; close some programs."
        default: "Check that the disk is connected and healthy; Ferry tries again."
        }
    }
}

extension FerryError {
    /// True if the operating system refused the access: the account lacks the right.
    package var isRefusal: Bool { (cause as? SystemCallError)?.isRefusal ?? false }

    /// True if a file could not be written for want of room.
    package var isOfRoom: Bool { (cause as? SystemCallError)?.isOfRoom ?? false }
}

/// Makes a system call again as long as a signal interrupts the call.
/// - Returns: the call's result, 0 or more.
func systemCall<Result: FixedWidthInteger & SignedInteger>(
    _ name: String, _ body: () -> Result
) throws(SystemCallError) -> Result {
    while true {
        let result = body()
        if result >= 0 { return result }
        if errno != EINTR { throw SystemCallError(call: name, number: errno) }
    }
}

/// An open file descriptor that is closed when it goes out of scope.
struct Descriptor: ~Copyable {
    let number: Int32

    /// Opens a path; never hands the descriptor down to child processes.
    init(opening path: String, _ flags: Int32, mode: mode_t = 0) throws(SystemCallError) {
        number = try systemCall("open") { open(path, flags | O_CLOEXEC, mode) }
    }

    // fsync(2) reported close(2)'s errors before, or they do not matter to a reader.
    deinit { close(number) }

    /// Makes everything durable that is written on the disk of the descriptor.
    /// - Returns: false where the system has no such call, and where the call failed.
    borrowing func synchronizeDisk() -> Bool { ferry_synchronize_disk(number) == 0 }

    /// Closes the descriptor and reports errors of close(2). A close that a signal interrupted has closed the
    /// descriptor.
    consuming func closeReportingErrors() throws(SystemCallError) {
        let number = number
        discard self
        if close(number) != 0, errno != EINTR { throw SystemCallError(call: "close", number: errno) }
    }

    /// Makes content, or the names in a directory, durable: on Apple's systems as far as the medium.
    func synchronize() throws(SystemCallError) {
        #if canImport(Darwin)
        // Network file systems lack F_FULLFSYNC and offer fsync(2) alone.
        if fcntl(number, F_FULLFSYNC) != -1 { return }
        #endif
        let number = number
        _ = try systemCall("fsync") { fsync(number) }
    }
}
