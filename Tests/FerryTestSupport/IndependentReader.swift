import Foundation

/// Runs `Tests/Golden/read.py`, which reads Ferry's files by Docs/Format.md and shares no code with Ferry.
public enum IndependentReader {
    /// The script refused a file.
    public struct Refusal: Error {
        public var output: String
    }

    /// The script's description of a file; `nil` without Python.
    /// - Throws: `Refusal`.
    public static func lines(of bytes: [UInt8]) throws -> [String]? {
        let folder = try ScratchFolder()
        let file = folder.path("file")
        try Data(bytes).write(to: URL(fileURLWithPath: file))
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        process.arguments = ["python3", tests.appendingPathComponent("Golden/read.py").path, file]
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        if process.terminationStatus == 127 { return nil }
        guard process.terminationStatus == 0 else { throw Refusal(output: text) }
        return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    }
}
