import Ferry
import FerryContainer
import FerrySeal
import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Reads codes from sources that keep nothing: a prompt without echo, standard input, or a file. Never from an
/// argument: further users of a computer see arguments.
enum SecretInput {
    /// A longer file or line holds no code, in bytes.
    private static let maximumBytes = 4096

    /// Keeps the memory of this process out of core files. Call before a code is made or read.
    static func protectMemory() {
        var limit = rlimit(rlim_cur: 0, rlim_max: 0)
        // After a failure here, the process goes on with the usual limits.
        #if canImport(Glibc)
        _ = setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
        #else
        _ = setrlimit(RLIMIT_CORE, &limit)
        #endif
    }

    /// Reads a code from standard input; from a terminal without echo.
    static func line(prompt: String) throws -> String {
        let silence = isatty(STDIN_FILENO) != 0 ? Silence() : nil
        defer { silence?.end() }
        // The code is read without a prompt too.
        if isatty(STDIN_FILENO) != 0 { try? FileHandle.standardError.write(contentsOf: Data(prompt.utf8)) }
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while line.count <= maximumBytes, read(STDIN_FILENO, &byte, 1) == 1, byte != UInt8(ascii: "\n") {
            line.append(byte)
        }
        guard !line.isEmpty, line.count <= maximumBytes, let text = String(validating: line, as: UTF8.self) else {
            throw FerryError(.codeRefused, "No code came on standard input.")
        }
        return text
    }

    /// A terminal without echo, until the end or until a signal ends the process.
    private final class Silence {
        private let former: termios
        private let signals: TerminationSignals

        /// - Returns: `nil` where the terminal cannot be asked.
        init?() {
            var settings = termios()
            guard tcgetattr(STDIN_FILENO, &settings) == 0 else { return nil }
            let former = settings
            self.former = former
            // Before the echo ends: no signal leaves the terminal without echo.
            signals = TerminationSignals { number in
                Self.restore(former)
                kill(getpid(), number)
            }
            settings.c_lflag &= ~tcflag_t(ECHO)
            tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
        }

        func end() {
            Self.restore(former)
            signals.cancel()
        }

        private static func restore(_ former: termios) {
            var former = former
            tcsetattr(STDIN_FILENO, TCSAFLUSH, &former)
            try? FileHandle.standardError.write(contentsOf: Data("\n".utf8))  // only for the eye
        }
    }

    /// Reads a code from a file, or from a pipe: `--code-file <(pass show ferry)`.
    static func file(_ path: String, _ console: Console) throws -> String {
        let bytes = try ArgumentFile(path).read(maximumBytes: maximumBytes + 1) {
            console.hint("Waiting for the code from \(path). Ctrl-C ends the wait.")
        }
        guard bytes.count <= maximumBytes, let text = String(validating: bytes, as: UTF8.self) else {
            throw FerryError(.codeRefused, "The file holds no code.", path: path)
        }
        return text
    }
}
