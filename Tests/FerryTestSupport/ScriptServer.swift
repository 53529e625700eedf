import Foundation

/// A server of `Tests/Remote`, in Python, as a process on loopback. It prints a line when it listens, and ends with its standard input,
/// however this process ends.
public final class ScriptServer {
    /// The line; empty if the server did not start. Then the script says why on standard error.
    public let line: [UInt8]
    private let process = Process()
    private let input = Pipe()

    /// - Parameter script: the name of the file.
    public init(_ script: String, _ arguments: [String] = []) throws {
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", "-B", tests.appendingPathComponent("Remote/\(script)").path] + arguments
        let output = Pipe()
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        var line: [UInt8] = []
        while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first, byte != UInt8(ascii: "\n") {
            line.append(byte)
        }
        self.line = line
    }

    /// Ends the server. A second call does nothing.
    public func stop() {
        try? input.fileHandleForWriting.close()  // the process is gone already then
        process.waitUntilExit()
    }
}
