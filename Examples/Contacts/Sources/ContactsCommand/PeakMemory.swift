import Foundation

enum PeakMemory {
    struct Unknown: Error, CustomStringConvertible {
        var description: String { "The system does not tell the memory of a process in /proc/self/status." }
    }

    /// The most memory that this process ever held (VmHWM), in kilobytes.
    static func kilobytes() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        for line in status.split(separator: "\n") where line.hasPrefix("VmHWM:") {
            if let number = line.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) { return number }
        }
        throw Unknown()
    }
}
