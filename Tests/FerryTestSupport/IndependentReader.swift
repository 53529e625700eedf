import Foundation

/// Runs the scripts in `Tests/Golden`, which read Ferry's files by Docs/Format.md and share no code with Ferry.
package enum IndependentReader {
    /// The script refused a file.
    package struct Refusal: Error {
        package var output: String
    }

    /// The script's description of a file; `nil` without Python.
    /// - Parameter parts: the parts of the file's large values, by their names.
    /// - Throws: `Refusal`.
    package static func lines(of bytes: [UInt8], parts: [String: [UInt8]] = [:]) throws -> [String]? {
        let folder = try ScratchFolder()
        for (name, part) in parts { try Data(part).write(to: URL(fileURLWithPath: folder.path(name + ".part"))) }
        let file = folder.path("file")
        try Data(bytes).write(to: URL(fileURLWithPath: file))
        return try lines(of: "read.py", [file])
    }

    /// What `Tests/Golden/unseal.py` says of a sealed container; `nil` where there is no Python to run it, or not the package that
    /// it needs.
    /// - Parameter folders: the container's folder, then key files.
    /// - Throws: `Refusal`.
    package static func lines(ofSealed folders: [String]) throws -> [String]? {
        do {
            return try lines(of: "unseal.py", folders)
        } catch let refusal as Refusal where refusal.output.contains("No module named 'cryptography'") {
            return nil
        }
    }

    /// What `Tests/Golden/packs.py` says of a pack or a list of a content; `nil` as above.
    /// - Parameter arguments: what the script takes before and behind the file's path.
    package static func lines(ofContent bytes: [UInt8], before: [String] = [], behind: [String] = []) throws
        -> [String]?
    {
        let folder = try ScratchFolder()
        let file = folder.path("file")
        try Data(bytes).write(to: URL(fileURLWithPath: file))
        do {
            return try lines(of: "packs.py", before + [file] + behind)
        } catch let refusal as Refusal where refusal.output.contains("No module named 'cryptography'") {
            return nil
        }
    }

    private static func lines(of script: String, _ arguments: [String]) throws -> [String]? {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", packageRoot.appending(path: "Tests/Golden/" + script).path] + arguments
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
