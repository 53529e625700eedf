import Foundation

/// Runs a program and reads the standard output.
enum ChildProcess {
    /// The longest time for a program, in seconds. A program beyond this time is ended.
    private static let longestSeconds = 60
    private static let maximumBytes = 64 * 1024

    /// The standard output of a program; `nil` for an unknown program, for a failure, and after too long a time.
    /// - Parameter words: the program, found by the search path, and the arguments.
    static func output(of words: [String]) -> String? {
        #if os(iOS)
        return nil
        #else
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = words
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return nil }  // no program: nothing to ask
        let identifier = process.processIdentifier
        let watchdog = DispatchWorkItem { kill(identifier, SIGTERM) }
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(longestSeconds), execute: watchdog)
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        watchdog.cancel()
        guard process.terminationStatus == 0, data.count <= maximumBytes else { return nil }
        return String(decoding: data, as: UTF8.self)
        #endif
    }
}
