import FerryContainer
import FerryEngine
import FerryRemote
import FerryStore
import Foundation

/// One command of Ferry's in a process of its own: this program, called in a second way.
struct MeasuredProcess {
    private static let argument = "measure"

    enum Command: String {
        /// Joins a database that does not exist yet.
        case join
        /// Makes a container for a database.
        case create
        /// Syncs a database that belongs to the container.
        case sync
        /// Lists all names of a container in an object storage; of no database.
        case list
    }

    struct Outcome: Codable {
        /// Seconds of the clock, and of processor time, in the system as well: what other programs on the machine do not change.
        var seconds: Double
        var processorSeconds: Double
        /// The most memory that the process had at once.
        var peakBytes: Int
    }

    static func run(_ command: Command, database: String, container: String) throws -> Outcome {
        let process = Process()
        process.executableURL = URL(
            fileURLWithPath: Bundle.main.executablePath ?? CommandLine.arguments[0])
        process.arguments = [argument, command.rawValue, database, container]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let bytes = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        if process.terminationStatus != 0 { throw BenchmarkError("\(command) failed in its process") }
        return try JSONDecoder().decode(Outcome.self, from: bytes)
    }

    /// What the process does, if the arguments ask for it; its outcome goes to the standard output.
    /// - Returns: whether they do.
    static func main(_ arguments: [String]) throws -> Bool {
        guard arguments.count == 4, arguments[0] == argument, let command = Command(rawValue: arguments[1]) else {
            return false
        }
        let (database, container) = (arguments[2], arguments[3])
        let before = ProcessUsage.processorSeconds()
        let time = try seconds {
            switch command {
            case .join:
                let joined = try Replica.join(databasePath: database, containerPath: container, name: "joining")
                guard let replica = joined.replica else { throw BenchmarkError("a join made no replica") }
                try replica.store.close()
            case .create:
                _ = try Replica.create(
                    Store(path: database), containerPath: container, sealing: .open, name: "creating")
            case .sync:
                _ = try Replica(path: database).sync()
            case .list:
                try RemoteBackend(GatewayBenchmark.storage(container)).refresh(.full)
            }
        }
        let outcome = Outcome(
            seconds: time, processorSeconds: ProcessUsage.processorSeconds() - before,
            peakBytes: try ProcessUsage.peakBytes())
        FileHandle.standardOutput.write(try JSONEncoder().encode(outcome))
        return true
    }
}
