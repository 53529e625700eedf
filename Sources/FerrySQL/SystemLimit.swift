import CFerrySQLite

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The limits of a process behind SQLite's errors of input and output, which name neither.
enum SystemLimit {
    /// A file would be larger than a process may write.
    static let fileSize = EFBIG
    /// As many files are open as a process may open.
    static let openFiles = EMFILE

    /// The limit that an error is about, as far as the process tells now; 0 for any other reason.
    /// - Parameter code: SQLite's result code.
    static func number(behind code: Int32) -> Int32 {
        switch code & 0xff {
        case SQLITE_IOERR where hasFileSizeLimit: fileSize
        case SQLITE_IOERR, SQLITE_CANTOPEN: isWithoutDescriptors ? openFiles : 0
        default: 0
        }
    }

    private static var hasFileSizeLimit: Bool {
        var limit = rlimit()
        #if canImport(Glibc)
        guard getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0 else { return false }
        // Swift does not import the macro of the greatest value.
        return limit.rlim_cur != rlim_t.max
        #else
        guard getrlimit(RLIMIT_FSIZE, &limit) == 0 else { return false }
        return limit.rlim_cur < rlim_t(Int64.max)
        #endif
    }

    private static var isWithoutDescriptors: Bool {
        let number = open("/dev/null", O_RDONLY | O_CLOEXEC)
        if number < 0 { return errno == EMFILE }
        close(number)
        return false
    }
}
