import Foundation
import ReaderStore

/// Where a command speaks: its result on standard output, everything else on standard error.
struct Output: Sendable {
    let isJSON: Bool

    /// Tells people; silent with `--json`. Whatever a feed may have written into a title, no control character of it
    /// reaches the terminal.
    func say(_ text: String) throws {
        if !isJSON { try write(text.split(separator: "\n", omittingEmptySubsequences: false).map(PlainLine.safe)) }
    }

    /// Writes a JSON object on one line: keys sorted, slashes as they are.
    func emit(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        try write([String(decoding: encoder.encode(value), as: UTF8.self)])
    }

    private func write(_ lines: [String]) throws {
        do {
            try FileHandle.standardOutput.write(contentsOf: Data((lines.joined(separator: "\n") + "\n").utf8))
        } catch {
            throw ReaderError(.inputOutput, "the output cannot be written: \(error.localizedDescription)")
        }
    }

    /// Asks a person, whose answer follows on the same line.
    func ask(_ question: String) {
        // Without the question the answer is read all the same.
        try? FileHandle.standardError.write(contentsOf: Data(question.utf8))
    }

    func warn(_ text: String) { writeError("Warning: " + text) }

    func fail(_ failure: Failure) {
        struct Report: Encodable {
            struct Detail: Encodable {
                var code: String
                var message: String
            }
            var error: Detail
        }
        if isJSON {
            // Where the output is closed the exit status still tells.
            try? emit(Report(error: .init(code: failure.code, message: failure.message)))
        } else {
            writeError("reader: " + failure.message)
        }
    }

    private func writeError(_ text: String) {
        // There is nowhere left to tell that standard error cannot be written.
        try? FileHandle.standardError.write(contentsOf: Data((PlainLine.safe(text) + "\n").utf8))
    }
}
