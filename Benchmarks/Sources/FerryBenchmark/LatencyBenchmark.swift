import Foundation

/// From an app's commit on one device to the row being readable on another.
struct LatencyBenchmark {
    let folder: String
    /// How many changes are sent, one by one; fewer where that takes longer than a minute.
    let count: Int
    private let leastCount = 50
    static let section = "from a commit to the other device, memory"
    static func name(_ devices: Int, _ what: String) -> String {
        "two that watch, \(grouped(devices)) devices, \(what)"
    }

    /// One sync on each side: what Ferry's own work takes, without waiting for events, timers or a file syncer.
    func bySyncs(_ results: Measurements) throws {
        let crowd = try Crowd(2, below: folder)
        defer { crowd.place.remove() }
        var times: [Double] = []
        for index in 0..<count {
            try crowd.workload.update(crowd.first.app, first: index, count: 1, transactionSize: 1)
            times.append(
                try seconds {
                    try crowd.first.sync(isThorough: false)
                    try crowd.second.sync(isThorough: false)
                } * 1000)
        }
        try Device.compare(crowd.first, crowd.second, crowd.workload)
        results.add(Self.section, "a sync on each side, median", "ms", .ferry, median(times) ?? 0)
        results.add(Self.section, "a sync on each side, p99", "ms", .ferry, percentile(times, 0.99) ?? 0)
    }

    /// Two that watch one folder, in which other devices have their directories. The second device is asked again and
    /// again until it shows the row.
    func byWatching(devices: Int, _ results: Measurements) throws {
        let crowd = try Crowd(devices, below: folder)
        defer { crowd.place.remove() }
        let watchers = [Watcher(crowd.first), Watcher(crowd.second)]
        var times: [Double] = []
        let end = ContinuousClock.now + .seconds(60)
        for index in 0..<count where index < leastCount || ContinuousClock.now < end {
            try crowd.workload.update(crowd.first.app, first: index, count: 1, transactionSize: 1)
            times.append(try seconds { try wait(for: 1_000_000 + index, crowd.second) } * 1000)
            // The watchers come to rest, as between a person's edits: this is a part of what is measured, not a wait for it.
            Thread.sleep(forTimeInterval: 0.02)
        }
        for watcher in watchers { _ = try watcher.stop() }
        results.add(Self.section, Self.name(devices, "median"), "ms", .ferry, median(times) ?? 0)
        results.add(Self.section, Self.name(devices, "p99"), "ms", .ferry, percentile(times, 0.99) ?? 0)
        results.plot(.latency, "median", x: Double(devices), y: median(times) ?? 0)
        results.plot(.latency, "p99", x: Double(devices), y: percentile(times, 0.99) ?? 0)
    }

    private func wait(for rank: Int, _ device: Device) throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while try device.app.integer("SELECT max(rank) FROM songs") != rank {
            if ContinuousClock.now > deadline { throw BenchmarkError("a change did not arrive within a minute") }
            Thread.sleep(forTimeInterval: 0.0002)
        }
    }
}
