import FerryContainer
import FerryEngine
import Foundation

/// Two that watch a folder in which nothing happens: how much of a processor's core both take together.
///
/// They are measured after they came to rest, when they look every 30 seconds, every time thoroughly; it takes them half
/// a minute to come to that after the last change. All pairs are left alone at the same time, and each thread's time counts
/// for its own pair.
struct IdleBenchmark {
    let folder: String
    let crowds: [Int]
    /// How often they look while they are measured; not by default where there is little time.
    let intervalSeconds: Int
    /// How many times they look.
    let looks = 2

    /// How often they look by default, in seconds.
    static let restingInterval = 30
    static let section = "a pair that rests, memory"
    private var section: String {
        intervalSeconds == Self.restingInterval ? Self.section : "a pair that looks every \(intervalSeconds) s, memory"
    }
    static func name(_ devices: Int) -> String { "\(grouped(devices)) devices in the container" }

    func run(_ results: Measurements) throws {
        let crowds = try self.crowds.map { try Crowd($0, below: folder) }
        defer { for crowd in crowds { crowd.place.remove() } }
        var configuration = WatchConfiguration()
        let milliseconds = intervalSeconds * 1000
        configuration.poll = PollSchedule(minimumMilliseconds: milliseconds, maximumMilliseconds: milliseconds)
        // A look that comes a moment early must be thorough too.
        configuration.thoroughMilliseconds = milliseconds / 2
        // Whoever has watched for a while has seen every head more than once.
        for _ in 0..<2 {
            for crowd in crowds { for device in [crowd.first, crowd.second] { try device.sync() } }
            Thread.sleep(forTimeInterval: 2.1)
        }
        let pairs = crowds.map { [Watcher($0.first, configuration), Watcher($0.second, configuration)] }
        let before = ProcessUsage.processorSeconds()
        // What is measured is this time itself.
        let wall = Double(intervalSeconds * looks) + 0.5
        Thread.sleep(forTimeInterval: wall)
        let all = (ProcessUsage.processorSeconds() - before) / wall * 100
        for (devices, pair) in zip(self.crowds, pairs) {
            let share = try pair.reduce(0) { try $0 + $1.stop() } / wall * 100
            results.add(section, Self.name(devices), "% of a core", .ferry, share)
            results.plot(.idle, "pair", x: Double(devices), y: share)
        }
        results.add(section, "all pairs, as the process counts", "% of a core", .ferry, all)
    }
}
