import Foundation
import ReaderStore
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The terminal in raw mode on its alternate screen; `restore` makes it what it was.
final class RawTerminal: Sendable {
    private struct State {
        var isRaw = true
        var shown: [ScreenLine] = []
        var size = ScreenSize(columns: 0, rows: 0)
    }

    private let original: Locked<termios>
    private let state = Mutex(State())

    /// - Throws: `usage` where input or output is no terminal.
    init() throws {
        var settings = termios()
        guard isatty(STDIN_FILENO) != 0, isatty(STDOUT_FILENO) != 0, tcgetattr(STDIN_FILENO, &settings) == 0 else {
            throw ReaderError(
                .usage, "the full-screen mode needs a terminal, and this is none; `reader list` lists articles anywhere"
            )
        }
        original = Locked(settings)
        cfmakeraw(&settings)
        guard tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings) == 0 else {
            throw ReaderError(.inputOutput, "the terminal refuses to be used whole; `reader list` lists articles")
        }
        Self.write("\u{1B}[?1049h\u{1B}[?25l\u{1B}[2J")
    }

    deinit { restore() }

    /// Makes the terminal what it was. Has no effect the second time.
    func restore() {
        let wasRaw = state.withLock { state in
            defer { state.isRaw = false }
            return state.isRaw
        }
        guard wasRaw else { return }
        Self.write("\u{1B}[0m\u{1B}[?25h\u{1B}[?1049l")
        var settings = original.value
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
    }

    static func size() -> ScreenSize {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return ScreenSize(columns: 80, rows: 24)
        }
        return ScreenSize(columns: Int(size.ws_col), rows: Int(size.ws_row))
    }

    // MARK: Output

    /// Shows lines; writes only those that are different from what is there.
    func show(_ lines: [ScreenLine], size: ScreenSize) {
        let text = state.withLock { state in
            guard state.isRaw else { return "" }
            var text = ""
            if state.size != size {
                text = "\u{1B}[2J"
                state.shown = []
                state.size = size
            }
            for (row, line) in lines.enumerated() where row >= state.shown.count || state.shown[row] != line {
                text += "\u{1B}[\(row + 1);1H" + Self.ansi(line) + "\u{1B}[0m\u{1B}[K"
            }
            state.shown = lines
            return text
        }
        Self.write(text)
    }

    private static func ansi(_ line: ScreenLine) -> String {
        line.pieces.map { piece in
            switch piece.look {
            case .plain: "\u{1B}[0m" + piece.text
            case .bold: "\u{1B}[0;1m" + piece.text
            case .dim: "\u{1B}[0;2m" + piece.text
            case .reverse: "\u{1B}[0;7m" + piece.text
            }
        }.joined()
    }

    private static func write(_ text: String) {
        // A terminal that is gone is told by its input.
        // A terminal that is gone shows nothing more.
        if !text.isEmpty { try? FileHandle.standardOutput.write(contentsOf: Data(text.utf8)) }
    }

    // MARK: Input

    /// Reads keys on a thread of its own until the terminal is gone or the process ends.
    func readKeys(_ receive: @escaping @Sendable (Key) -> Void) {
        let thread = Thread {
            var parser = KeyParser()
            var buffer = [UInt8](repeating: 0, count: 256)
            while true {
                if parser.isWaiting, !Self.hasInput(withinMilliseconds: 50) { parser.end().forEach(receive) }
                let count = read(STDIN_FILENO, &buffer, buffer.count)
                if count < 0 && errno == EINTR { continue }
                if count <= 0 { return receive(.interrupt) }
                parser.keys(buffer[..<count]).forEach(receive)
            }
        }
        thread.start()
    }

    private static func hasInput(withinMilliseconds timeout: Int32) -> Bool {
        var descriptor = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        return poll(&descriptor, 1, timeout) > 0
    }
}

/// A value that never changes and whose type does not say that it may cross threads.
private struct Locked<Value>: @unchecked Sendable {  // because it is a copy of plain bytes that nobody writes to
    let value: Value

    init(_ value: Value) { self.value = value }
}
