import FerryEngine
import Foundation

/// From an app's commit on one device to the row being readable on another, both watching a container in a storage.
///
/// Several pairs watch at the same time, each in a container of its own: a commit that comes a minute after the last one takes a minute to
/// measure.
struct GatewayLatency {
    /// How long a pair is left alone after an arrival, in seconds, and how many commits of each pair are measured.
    struct Phase {
        var name: String
        var pause: Double
        var longest: Double
        var commits: Int
    }

    /// The watches look every second.
    static let atWork = Phase(name: "both at work", pause: 3, longest: 5, commits: 15)
    /// The watches look every five seconds.
    static let tenMinutes = Phase(name: "a minute after the last news", pause: 65, longest: 75, commits: 3)

    let folder: String
    let pairs: Int

    static let section = "from a commit to the other device, through a gateway"
    static func name(_ phase: Phase, _ what: String) -> String { "\(phase.name), \(what)" }

    private struct Pair {
        var place: Place
        var devices: [Device]
        var watchers: [Watcher]
        var next: ContinuousClock.Instant
        var sent: ContinuousClock.Instant?
        var count = 0
    }

    func run(_ phase: Phase, _ gateway: GatewayProcess, _ results: Measurements) throws {
        var random = Random(seed: 7)
        func pause(_ phase: Phase = phase) -> Duration {
            .milliseconds(Int(phase.pause * 1000) + random.below(Int((phase.longest - phase.pause) * 1000)))
        }
        // The first commit of a pair is the news that the phase begins with.
        let commits = phase.commits + 1
        var all = try (0..<pairs).map { index in
            let place = try Place(below: folder)
            let devices = try GatewayPair.make(
                in: place, gateway.place("latency-\(Int(phase.pause))-\(index)"),
                "CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT NOT NULL)")
            for device in [0, 1, 0, 1] { try devices[device].sync() }
            return Pair(
                place: place, devices: devices, watchers: devices.map { Watcher($0) }, next: .now + pause(Self.atWork))
        }
        defer { for pair in all { pair.place.remove() } }
        var times: [Double] = []
        while all.contains(where: { $0.count < commits || $0.sent != nil }) {
            for index in all.indices {
                let now = ContinuousClock.now
                if let sent = all[index].sent {
                    guard try all[index].devices[1].app.integer("SELECT count(*) FROM note") == all[index].count else {
                        if sent.duration(to: now) > .seconds(120) {
                            throw BenchmarkError("a change did not arrive within two minutes")
                        }
                        continue
                    }
                    let duration = sent.duration(to: now)
                    if all[index].count > 1 { times.append(duration / .seconds(1)) }
                    all[index].sent = nil
                    all[index].next = now + pause()
                } else if all[index].count < commits, now >= all[index].next {
                    try all[index].devices[0].app.execute("INSERT INTO note(text) VALUES ('a note')")
                    all[index].sent = now
                    all[index].count += 1
                }
            }
            // The measured time is in steps of this.
            Thread.sleep(forTimeInterval: 0.005)
        }
        for pair in all { for watcher in pair.watchers { _ = try watcher.stop() } }
        results.add(Self.section, Self.name(phase, "median"), "s", .ferry, median(times) ?? 0)
        results.add(Self.section, Self.name(phase, "p99"), "s", .ferry, percentile(times, 0.99) ?? 0)
        results.add(Self.section, Self.name(phase, "commits"), "commits", .ferry, Double(times.count))
    }
}
