#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Why a wait for changes ended.
package enum WakeReason: Hashable, Sendable {
    /// Something happened in a watched directory, or may have happened: events merge, and can be lost altogether.
    case changed
    /// Somebody called `wake`.
    case woken
    case timedOut
}

/// Lets a thread sleep until a directory changes. News is a reason to look, never a fact to rely on; correctness rests
/// on polling.
package protocol ChangeWatching: Sendable {
    /// True if changes of other processes on this computer are reported. Changes on another computer never are: network
    /// folders do not report them.
    var deliversEvents: Bool { get }

    /// Watches exactly these directories, without the directories below them. A missing directory is watched once it
    /// appears, from the next wait on. Changes before the call are not reported: call, then look, then wait.
    /// - Parameter files: paths whose changes are reported too, without other names beside them.
    func setDirectories(_ paths: [String], files: [String])

    /// Blocks until something changes, somebody wakes the thread or the time is over; changes since the last wait
    /// count. For one thread at a time.
    /// - Parameter timeoutMilliseconds: 0 looks and returns; a negative number waits forever.
    func wait(timeoutMilliseconds: Int) -> WakeReason

    /// Ends the present wait, or else the next wait. From any thread, any number of times.
    func wake()

    /// The clock of waits.
    var now: ContinuousClock.Instant { get }
}

extension ChangeWatching {
    package var now: ContinuousClock.Instant { .now }

    /// Watches exactly these directories and no single files.
    package func setDirectories(_ paths: [String]) { setDirectories(paths, files: []) }
}

/// The changes of a directory that are reported.
enum WatchInterest: Equatable, Sendable {
    case everything
    case names(Set<String>)

    /// The interests of a call of `setDirectories`, by directory.
    static func all(directories: [String], files: [String]) -> [String: WatchInterest] {
        var interests: [String: WatchInterest] = [:]
        for file in files {
            guard let slash = file.lastIndex(of: "/") else { continue }
            let directory = slash == file.startIndex ? "/" : String(file[..<slash])
            interests[directory] = .names([String(file[file.index(after: slash)...])])
                .union(interests[directory])
        }
        for directory in directories { interests[directory] = .everything }
        return interests
    }

    func union(_ other: WatchInterest?) -> WatchInterest {
        switch (self, other) {
        case (.names(let names), .names(let others)): .names(names.union(others))
        case (_, nil): self
        default: .everything
        }
    }
}

/// Reports changes to a `ChangeWatcher`: inotify on Linux, kqueue and FSEvents on Apple's systems.
protocol ChangeEventSource: Sendable {
    /// A descriptor that poll(2) finds readable when there is something to drain.
    var descriptor: Int32 { get }
    /// Watches exactly these directories, for changes of interest.
    /// - Returns: true if a missing directory has appeared, so that its content is news.
    func update(_ interests: [String: WatchInterest]) -> Bool
    /// True if the last try to watch a directory failed, or a watch was lost: `update` tries again.
    var isIncomplete: Bool { get }
    /// How many directories could not be watched at the last try because the system's limit of watches is reached.
    var unwatchedCount: Int { get }
    /// Takes all pending events; never blocks.
    /// - Returns: true if any event is of interest.
    func drain() -> Bool
}

/// Waits for changes by the operating system's events and by `wake`, in poll(2): no busy loop, no polling of its own.
///
/// Without events of the system only `wake` and the time-out end a wait.
package final class ChangeWatcher: ChangeWatching {
    private let events: (any ChangeEventSource)?
    /// A pipe whose reading end is readable after `wake`; -1 if the system has no descriptors left.
    private let wakeReader: Int32
    private let wakeWriter: Int32
    /// True after a `wake` without a pipe.
    private let isWoken = Locked(false)
    private let interests = Locked<[String: WatchInterest]>([:])

    /// Begins without directories.
    /// - Parameter reportsAllNames: true: also names that begin with a dot or a tilde, which nothing of a container does.
    package convenience init(reportsAllNames: Bool = false) {
        self.init(reportsAllNames: reportsAllNames, hasPipe: true)
    }

    /// - Parameter hasPipe: false: as where the system has no descriptors left.
    init(reportsAllNames: Bool, hasPipe: Bool) {
        #if canImport(Glibc)
        events = InotifySource(reportsAllNames: reportsAllNames)
        #elseif canImport(Darwin)
        events = KernelEventSource(reportsAllNames: reportsAllNames)
        #else
        events = nil
        #endif
        var ends: [Int32] = [-1, -1]
        // Without a pipe, a wait looks for `wake` again and again.
        if hasPipe, pipe(&ends) == 0 {
            for end in ends {
                _ = fcntl(end, F_SETFD, FD_CLOEXEC)
                _ = fcntl(end, F_SETFL, O_NONBLOCK)
            }
        }
        (wakeReader, wakeWriter) = (ends[0], ends[1])
    }

    deinit {
        if wakeReader >= 0 { close(wakeReader) }
        if wakeWriter >= 0 { close(wakeWriter) }
    }

    package var deliversEvents: Bool { events != nil }

    /// True if a directory could not be watched at the last try: it is missing, or the system's limit of watches is reached.
    package var isIncomplete: Bool { events?.isIncomplete ?? true }

    /// How many directories could not be watched at the last try because the system's limit of watches is reached.
    package var unwatchedCount: Int { events?.unwatchedCount ?? 0 }

    package func setDirectories(_ paths: [String], files: [String]) {
        let interests = WatchInterest.all(directories: paths, files: files)
        self.interests.withLock { $0 = interests }
        // The following look finds the present content.
        _ = events?.update(interests)
    }

    package func wait(timeoutMilliseconds: Int) -> WakeReason {
        let start = Self.monotonicMilliseconds()
        // Directories that were missing, or were deleted and made again, may be there now.
        if let events, events.isIncomplete, events.update(interests.withLock { $0 }) { return .changed }
        while true {
            if takeWake() { return .woken }
            var remaining: Int32 = -1
            if timeoutMilliseconds >= 0 {
                let passed = Self.monotonicMilliseconds() - start
                remaining = Int32(clamping: max(Int64(timeoutMilliseconds) - passed, 0))
            }
            let slice = wakeReader >= 0 || 0...Self.sliceMilliseconds ~= remaining ? remaining : Self.sliceMilliseconds
            // poll(2) ignores descriptors below zero.
            var descriptors = [
                pollfd(fd: wakeReader, events: Int16(POLLIN), revents: 0),
                pollfd(fd: events?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
            ]
            let ready = poll(&descriptors, 2, slice)
            if ready < 0 {
                if errno == EINTR { continue }
                // Out of memory: no reason to stop, and the caller's next look finds everything.
                return .timedOut
            }
            if ready == 0 {
                if slice == remaining { return takeWake() ? .woken : .timedOut }
                continue
            }
            if descriptors[0].revents != 0, emptyWakePipe() { return .woken }
            if descriptors[1].revents != 0, let events, events.drain() { return .changed }
            // Other files of the folder may change without end.
            if remaining == 0 { return .timedOut }
        }
    }

    package func wake() {
        if wakeWriter < 0 { return isWoken.withLock { $0 = true } }
        // A full pipe wakes as well as a single byte does.
        var byte: UInt8 = 1
        _ = write(wakeWriter, &byte, 1)
    }

    /// How long a wait without a pipe sleeps at a time.
    private static let sliceMilliseconds: Int32 = 250

    /// True, once, after a `wake` without a pipe.
    private func takeWake() -> Bool {
        wakeWriter < 0
            && isWoken.withLock { isWoken in
                defer { isWoken = false }
                return isWoken
            }
    }

    /// Takes every byte, so that any number of wakes ends a single wait.
    private func emptyWakePipe() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 512)
        var found = false
        while read(wakeReader, &buffer, buffer.count) > 0 { found = true }
        return found
    }

    private static func monotonicMilliseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
