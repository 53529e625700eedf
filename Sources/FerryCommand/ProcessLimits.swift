import Ferry
import FerryContainer

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The limits of this process, set once at the command's start. The library leaves an app's limits and signals alone.
enum ProcessLimits {
    /// What every command needs at a time: the parts of Dispatch, which end the process where none is left, a database, and a few files.
    static let neededOpenFiles = 32
    /// What a database of a watch takes at a time: what its replica has open, and its watchers, lock and files of a pass.
    private static let openFilesPerWatch = 20
    private static let openFilesPerReplica = 3

    /// Lets a write beyond the limit of a file's size fail with EFBIG, and raises the limit of open files as far as this process may.
    /// - Throws: `inputOutput` where too few files can be open.
    static func prepare() throws {
        signal(SIGXFSZ, SIG_IGN)
        raiseOpenFiles()
        guard canOpen(neededOpenFiles) else { throw tooManyOpenFiles("Ferry needs \(neededOpenFiles) at a time.") }
    }

    /// - Parameter words: whatever cannot go on, and why.
    static func tooManyOpenFiles(_ words: String, path: String? = nil) -> FerryError {
        FerryError(.inputOutput, "\(SystemCallError.tooManyOpenFiles) \(words)", path: path)
    }

    /// True if a further watch finds room beside others, whose replicas alone are open so far.
    static func hasRoom(forWatchBeside others: Int) -> Bool {
        canOpen(openFilesPerWatch * (others + 1) - openFilesPerReplica * others + neededOpenFiles / 2)
    }

    /// True if so many more files can be open at a time.
    static func canOpen(_ count: Int) -> Bool {
        var opened: [Int32] = []
        defer { for number in opened { close(number) } }
        while opened.count < count {
            let number = open("/dev/null", O_RDONLY | O_CLOEXEC)
            if number < 0 { return false }
            opened.append(number)
        }
        return true
    }

    /// Some 4,000 databases. Child processes inherit the limit, and some programs close every number below the limit one by one.
    private static let mostOpenFiles: rlim_t = 65_536

    /// Raises the soft limit towards the hard one. After a failure here, the process goes on with the usual limit.
    private static func raiseOpenFiles() {
        var limit = rlimit()
        #if canImport(Glibc)
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard getrlimit(resource, &limit) == 0 else { return }
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, mostOpenFiles))
        #else
        let resource = RLIMIT_NOFILE
        guard getrlimit(resource, &limit) == 0 else { return }
        // macOS refuses more than OPEN_MAX.
        limit.rlim_cur = min(limit.rlim_max, rlim_t(OPEN_MAX), mostOpenFiles)
        #endif
        _ = setrlimit(resource, &limit)
    }
}
