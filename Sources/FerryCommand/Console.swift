import Ferry
import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The output of a command: the result on standard output, everything else on standard error.
struct Console: Sendable {
    let isJSON: Bool
    let isQuiet: Bool
    let isVerbose: Bool
    /// For standard output.
    let style: Style
    /// For standard error.
    let errorStyle: Style

    init(isJSON: Bool = false, isQuiet: Bool = false, isVerbose: Bool = false) {
        self.isJSON = isJSON
        self.isQuiet = isQuiet
        self.isVerbose = isVerbose
        style = Style(isOn: Terminal.takesColour(STDOUT_FILENO), width: Terminal.narrowWidth(STDOUT_FILENO))
        errorStyle = Style(isOn: Terminal.takesColour(STDERR_FILENO), width: Terminal.narrowWidth(STDERR_FILENO))
    }

    // MARK: Standard output

    /// Prints news for people. Silent with `--quiet` and `--json`.
    func say(_ text: String = "") throws {
        if !isQuiet && !isJSON { try write(style.fitted(style.printable(text))) }
    }

    /// Prints the requested answer, also with `--quiet`: a list, a page. Silent with `--json`.
    func answer(_ text: String) throws {
        if !isJSON { try write(style.fitted(style.printable(text))) }
    }

    /// Prints a stored value as the requested answer. Programs get every character, and terminals get no control
    /// characters.
    func value(_ text: String) throws {
        if !isJSON { try write(Terminal.isPresent(STDOUT_FILENO) ? style.printable(text) : text) }
    }

    /// Writes a JSON object on a single line: keys sorted, slashes unescaped.
    func emit(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        try write(String(decoding: encoder.encode(value), as: UTF8.self))
    }

    private func write(_ text: String) throws { try StandardStreams.write(Array((text + "\n").utf8)) }

    // MARK: Standard error

    /// - Parameter time: tells when, in milliseconds since the Unix epoch.
    /// - Parameter isReason: true if the warning is the reason of the exit status: then also with `--quiet`.
    func warn(_ text: String, at time: Int64? = nil, isReason: Bool = false) {
        if isQuiet && !isReason { return }
        let when = time.map { errorStyle.dim(Wording.time($0)) + " " } ?? ""
        writeError(when + errorStyle.yellow("Warning: ") + text)
    }

    /// Prints a hint for people only.
    func hint(_ text: String) {
        if !isQuiet && !isJSON { writeError(errorStyle.dim(text)) }
    }

    func detail(_ text: String) {
        if isVerbose { writeError(errorStyle.dim(text)) }
    }

    /// Reports a failure: in a sentence to people, as an object to scripts. Where the output is what failed, a sentence is all there is.
    func fail(_ error: FerryError) {
        let failed = error.cause as? OutputFailure
        // As quiet as the signal by which such a command usually ends.
        if failed?.isOfReader == true { return }
        if isJSON, failed == nil {
            // Where the output is closed the exit status still tells.
            try? emit(FailureReport(error))
        } else {
            writeError(errorStyle.red("ferry: ") + error.description)
        }
        if isVerbose {
            writeError(errorStyle.dim("code \(error.code.rawValue)" + (error.cause.map { ", caused by: \($0)" } ?? "")))
        }
    }

    private func writeError(_ text: String) {
        // Nowhere is left to report a failure to write to standard error.
        try? FileHandle.standardError.write(
            contentsOf: Data((errorStyle.fitted(errorStyle.printable(text)) + "\n").utf8))
    }
}

/// The abilities of the process's terminal.
enum Terminal {
    /// True if a person reads the descriptor.
    static func isPresent(_ descriptor: Int32) -> Bool {
        isatty(descriptor) != 0 && variable("TERM") != "dumb"
    }

    /// Colors are for terminals, except for people with NO_COLOR in the environment (https://no-color.org).
    static func takesColour(_ descriptor: Int32) -> Bool {
        isPresent(descriptor) && (variable("NO_COLOR") ?? "").isEmpty
    }

    /// A variable of the environment. Foundation would read all of them.
    private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    /// The number of columns; 80 if unknown.
    static func width(_ descriptor: Int32) -> Int {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    /// The number of columns of a narrow terminal; `nil` for the usual width, and without a terminal.
    static func narrowWidth(_ descriptor: Int32) -> Int? {
        let columns = isPresent(descriptor) ? width(descriptor) : Self.usualWidth
        return columns < Self.usualWidth ? columns : nil
    }

    private static let usualWidth = 80
    /// The fewest columns for which help is laid out: the parser stops at a layout without room for a word.
    static let leastWidth = 40

    /// Has the parser lay out its help for `leastWidth` columns at least, whatever the terminal or the variable `COLUMNS` says.
    static func widenHelp() {
        let told = variable("COLUMNS").flatMap { Int($0) }
        if told ?? width(STDOUT_FILENO) < leastWidth { setenv("COLUMNS", "\(leastWidth)", 1) }
    }
}

/// Colours and weights by ANSI's escape sequences, or plain text.
struct Style: Sendable {
    let isOn: Bool
    /// The columns of a narrow terminal; `nil` where lines may have any length.
    var width: Int?

    func bold(_ text: String) -> String { wrap(text, "1") }
    func dim(_ text: String) -> String { wrap(text, "2") }
    func red(_ text: String) -> String { wrap(text, "31") }
    func green(_ text: String) -> String { wrap(text, "32") }
    func yellow(_ text: String) -> String { wrap(text, "33") }

    /// The text with a sign in place of each control character, so no name or value moves a terminal's cursor. Line
    /// breaks, tabs and this style's own sequences stay.
    func printable(_ text: String) -> String {
        func isObeyed(_ scalar: Unicode.Scalar) -> Bool { scalar.isControl && scalar != "\n" && scalar != "\t" }
        guard text.unicodeScalars.contains(where: isObeyed) else { return text }
        var clean = String.UnicodeScalarView()
        var rest = text.unicodeScalars[...]
        while let scalar = rest.first {
            if isOn, let sequence = Self.sequences.first(where: { rest.starts(with: $0.unicodeScalars) }) {
                clean.append(contentsOf: sequence.unicodeScalars)
                rest = rest.dropFirst(sequence.unicodeScalars.count)
            } else {
                clean.append(isObeyed(scalar) ? .instead : scalar)
                rest = rest.dropFirst()
            }
        }
        return String(clean)
    }

    /// Breaks lines between words where a narrow terminal would break them anywhere. A further line begins as far to
    /// the right as the first. Too long a word, such as a path, stays whole.
    func fitted(_ text: String) -> String {
        guard let width else { return text }
        return text.split(separator: "\n", omittingEmptySubsequences: false).map { fitted($0, width) }
            .joined(separator: "\n")
    }

    private func fitted(_ line: Substring, _ width: Int) -> String {
        if visibleWidth(line) <= width { return String(line) }
        let indent = line.prefix { $0 == " " }
        let words = line.dropFirst(indent.count).split(separator: " ", omittingEmptySubsequences: false)
        var lines: [String] = []
        var (present, count) = (String(indent), indent.count)
        var isEmpty = true
        for word in words {
            let length = visibleWidth(word)
            if !isEmpty, count + 1 + length > width {
                lines.append(present)
                (present, count, isEmpty) = (String(indent), indent.count, true)
            }
            // Spaces for alignment mean nothing at the beginning of a line.
            if isEmpty, length == 0, !lines.isEmpty { continue }
            present += (isEmpty ? "" : " ") + word
            count += (isEmpty ? 0 : 1) + length
            isEmpty = false
        }
        return (lines + [present]).joined(separator: "\n")
    }

    /// The cells that a terminal needs for a text.
    private func visibleWidth(_ text: some StringProtocol) -> Int {
        guard isOn else { return text.cellWidth }
        return Self.sequences.reduce(String(text)) { $0.replacing($1, with: "") }.cellWidth
    }

    private static let sequences = ["0", "1", "2", "31", "32", "33"].map { "\u{1B}[\($0)m" }

    private func wrap(_ text: String, _ code: String) -> String {
        isOn && !text.isEmpty ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}

extension Unicode.Scalar {
    /// True for a character with an effect on a terminal instead of a picture.
    var isControl: Bool { properties.generalCategory == .control }

    /// The sign in place of a control character.
    static let instead: Unicode.Scalar = "�"
}
