import Foundation

/// What the system counts of this process and its threads.
enum ProcessUsage {
    /// The most memory that the process had at once.
    static func peakBytes() throws -> Int {
        #if os(Linux)
        // getrusage(2) would tell the parent's where that is larger: the number is inherited over exec.
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        guard let kilobytes = line?.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first,
            let count = Int(kilobytes)
        else { throw BenchmarkError("the system does not tell a process's memory") }
        return count * 1024
        #else
        var usage = rusage()
        getrusage(RUSAGE_SELF, &usage)
        return usage.ru_maxrss
        #endif
    }

    /// Seconds that the process has worked on all its threads, in the system as well.
    static func processorSeconds() -> Double { clock(CLOCK_PROCESS_CPUTIME_ID) }

    /// Seconds that the calling thread has worked.
    static func threadSeconds() -> Double { clock(CLOCK_THREAD_CPUTIME_ID) }

    private static func clock(_ id: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(id, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
