import FerryEngine
import Foundation

/// A join in a process of its own: this program, called in a second way.
struct JoiningProcess {
    static let argument = "join-and-tell"

    struct Outcome: Codable {
        var seconds: Double
        /// The most memory that the process had at once.
        var peakBytes: Int
    }

    /// Joins a database that does not exist yet to a container.
    static func run(database: String, container: String) throws -> Outcome {
        let process = Process()
        process.executableURL = URL(
            fileURLWithPath: Bundle.main.executablePath ?? CommandLine.arguments[0])
        process.arguments = [argument, database, container]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let bytes = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        if process.terminationStatus != 0 { throw BenchmarkError("joining failed in its process") }
        return try JSONDecoder().decode(Outcome.self, from: bytes)
    }

    /// What the process does; its outcome goes to the standard output.
    static func main(database: String, container: String) throws {
        let time = try seconds {
            let joined = try Replica.join(databasePath: database, containerPath: container, name: "joining")
            guard let replica = joined.replica else { throw BenchmarkError("a join made no replica") }
            try replica.store.close()
        }
        let outcome = Outcome(seconds: time, peakBytes: try ProcessUsage.peakBytes())
        FileHandle.standardOutput.write(try JSONEncoder().encode(outcome))
    }
}
