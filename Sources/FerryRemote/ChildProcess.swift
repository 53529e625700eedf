import Foundation

/// Runs programs that give credentials, for a bounded time.
///
/// A program ends with this process, after any kind of end, and so do all programs that it started. A shell beside the program waits for
/// the end of a pipe, and then ends the group of processes. The shell tells the end of the program on standard error: Foundation notices the
/// end of a process only with the end of all that it started.
///
/// `@unchecked Sendable` because all fields are only used under `condition`.
final class ChildProcess: @unchecked Sendable {
    /// What became of a program.
    enum Outcome: Equatable, Sendable {
        /// - words: the last line on standard error.
        case ended(status: Int32, output: String, words: String)
        /// The program was ended after so long a time.
        case tooLong(seconds: Int, words: String)
        /// `interrupt` ended the program.
        case interrupted

        /// The status of a shell for an unknown program.
        static let unknownProgram: Int32 = 127
    }

    /// The longest time for a program, in seconds.
    static let longestSeconds = 60
    /// How long the output of an ended program is waited for, in seconds. A program left in the background may keep the pipe open.
    private static let outputSeconds = 1.0
    private static let maximumBytes = 64 * 1024
    /// `$0` begins the line with the status. A shell's group is killed by the shell's number: a shell without a group of its own kills
    /// nothing.
    private static let script = """
        exec 3<&0 </dev/null
        { trap '' TERM; cat <&3; kill -s TERM -- -$$; sleep 1; kill -s KILL -- -$$; } >/dev/null 2>&1 &
        watcher=$!
        "$@" 3<&-
        status=$?
        kill -s KILL "$watcher" 2>/dev/null
        printf '\\n%s %s\\n' "$0" "$status" >&2
        """

    private let seconds: Int
    private let condition = NSCondition()
    private var interruptions = 0

    /// - Parameter seconds: the longest time for a program.
    init(seconds: Int = ChildProcess.longestSeconds) { self.seconds = seconds }

    /// Runs a program, and waits for its end.
    /// - Parameter words: the program, found by the search path, and the arguments.
    func run(_ words: [String]) -> Outcome {
        #if os(iOS)
        return .ended(status: Outcome.unknownProgram, output: "", words: "")
        #else
        let run = Run(condition, mark: UUID().uuidString)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", Self.script, run.mark] + words
        let (input, output, errors) = (Pipe(), Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = errors
        // The end of the pipe ends the program, where it has not ended.
        defer { try? input.fileHandleForWriting.close() }
        do {
            try process.run()
        } catch {
            return .ended(status: Outcome.unknownProgram, output: "", words: error.systemWords)
        }
        run.read(output.fileHandleForReading, errors.fileHandleForReading)
        return wait(for: run)
        #endif
    }

    /// Ends all running programs. From any thread.
    func interrupt() {
        condition.lock()
        interruptions += 1
        condition.broadcast()
        condition.unlock()
    }

    private func wait(for run: Run) -> Outcome {
        let end = Date(timeIntervalSinceNow: Double(seconds))
        condition.lock()
        defer { condition.unlock() }
        let start = interruptions
        while run.status == nil, interruptions == start, condition.wait(until: end) {}
        if interruptions != start { return .interrupted }
        guard let status = run.status else { return .tooLong(seconds: seconds, words: run.words) }
        let outputEnd = Date(timeIntervalSinceNow: Self.outputSeconds)
        while run.openPipes > 0, condition.wait(until: outputEnd) {}
        let output = run.output.count <= Self.maximumBytes ? String(decoding: run.output, as: UTF8.self) : ""
        return .ended(status: status, output: output, words: run.words)
    }

    /// A program under way. Threads read its pipes, so the program never waits for a full pipe.
    ///
    /// `@unchecked Sendable` because all fields are only used under `condition`.
    private final class Run: @unchecked Sendable {
        private let condition: NSCondition
        /// Begins the line of the shell's with the status.
        let mark: String
        /// The beginning, a byte longer than the longest output.
        private(set) var output = Data()
        /// The last lines.
        private var errors = Data()
        private(set) var openPipes = 2

        init(_ condition: NSCondition, mark: String) { (self.condition, self.mark) = (condition, mark) }

        private var lines: [Substring] {
            String(decoding: errors, as: UTF8.self).split(whereSeparator: \.isNewline)
        }

        /// The program's status; `nil` until the end. A shell that somebody has ended tells none.
        var status: Int32? {
            let told = lines.last { $0.hasPrefix(mark) }.flatMap { Int32($0.dropFirst(mark.count + 1)) }
            return told ?? (openPipes == 0 ? -1 : nil)
        }

        /// The program's last line on standard error.
        var words: String { lines.last { !$0.hasPrefix(mark) }.map(String.init) ?? "" }

        func read(_ output: FileHandle, _ errors: FileHandle) {
            read(output) { run, data in
                run.output.append(data.prefix(max(ChildProcess.maximumBytes + 1 - run.output.count, 0)))
            }
            read(errors) { run, data in run.errors = (run.errors + data).suffix(4096) }
        }

        private func read(_ handle: FileHandle, _ take: @escaping @Sendable (Run, Data) -> Void) {
            Thread { [self] in
                while case let data = handle.availableData, !data.isEmpty { change { take($0, data) } }
                change { $0.openPipes -= 1 }
            }.start()
        }

        private func change(_ body: (Run) -> Void) {
            condition.lock()
            body(self)
            condition.broadcast()
            condition.unlock()
        }
    }
}
