import Ferry
import FerryContainer

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The three streams of a process.
///
/// Among the named leaves with unsafe code: the pointer below is to an array whose length bounds the call.
enum StandardStreams {
    /// Puts something in place of streams that the parent process closed. Otherwise the next opened file, such as one of the container,
    /// would get the number of standard output, and the command's words.
    ///
    /// A write to a closed standard output fails as before.
    static func occupy() {
        for (stream, flags) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_WRONLY)]
        where fcntl(stream, F_GETFD) == -1 && errno == EBADF {
            // The lowest free number is the stream's own. Where even this device is missing, the streams stay closed.
            _ = open("/dev/null", flags)
        }
    }

    /// Writes all bytes to standard output.
    /// - Throws: `inputOutput`.
    static func write(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { writeSome($0) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                // Another process made the stream one that does not wait.
                var place = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
                _ = poll(&place, 1, -1)
            } else if errno != EINTR {
                throw failure(errno)
            }
        }
    }

    private static func writeSome(_ bytes: UnsafeRawBufferPointer) -> Int {
        #if canImport(Darwin)
        Darwin.write(STDOUT_FILENO, bytes.baseAddress, bytes.count)
        #else
        Glibc.write(STDOUT_FILENO, bytes.baseAddress, bytes.count)
        #endif
    }

    private static func failure(_ number: Int32) -> FerryError {
        let advice =
            switch number {
            case ENOSPC, EDQUOT: " Free some space there."
            case EBADF: " Standard output is closed; let it lead somewhere, such as to /dev/null."
            default: ""
            }
        let cause = SystemCallError(call: "write", number: number)
        return FerryError(
            .inputOutput, "The output cannot be written: \(cause.systemWords)." + advice,
            cause: OutputFailure(number: number))
    }
}

/// Why standard output took no more.
struct OutputFailure: Error {
    /// The value of `errno`.
    let number: Int32

    /// True where the reader of a pipe has gone: nobody is left to be told anything. Only a process whose parent ignores SIGPIPE gets so
    /// far; all others are ended by the signal.
    var isOfReader: Bool { number == EPIPE }
}
