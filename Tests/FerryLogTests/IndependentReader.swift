import FerryCore
import Foundation
import XCTest

/// `Tests/Golden/read.py`, which reads Ferry's files as Docs/Format.md describes them and shares no code with it.
enum IndependentReader {
    /// What it says of a file's content.
    /// - Throws: `XCTSkip` where there is no Python to run it.
    static func lines(of bytes: [UInt8]) throws -> [String] {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("ferry-read-\(UUID().uuidString)")
        try Data(bytes).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }  // a temporary file
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        process.arguments = ["python3", tests.appendingPathComponent("Golden/read.py").path, file.path]
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        if process.terminationStatus == 127 { throw XCTSkip("there is no python3 to read the files with") }
        XCTAssertEqual(process.terminationStatus, 0, text)
        return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    }
}
