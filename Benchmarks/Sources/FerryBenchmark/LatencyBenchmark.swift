import FerryEngine
import Foundation

/// From an app's commit on one device to the row being readable on another.
struct LatencyBenchmark {
    let folder: String
    let count: Int
    private let section = "latency, memory"

    func run(_ results: inout Measurements) throws {
        try bySyncs(&results)
        try byEngines(&results)
    }

    private func devices(_ place: Place, _ workload: Songs) throws -> (first: Device, second: Device) {
        let first = try Device.first(workload, in: place)
        _ = try workload.insert(first.app)
        try first.sync()
        let second = try Device.joining(place)
        try first.sync()
        return (first, second)
    }

    /// One sync on each side: what Ferry's own work takes, without waiting for events, timers or a file syncer.
    private func bySyncs(_ results: inout Measurements) throws {
        let place = try Place(below: folder)
        let workload = Songs(rows: 1000)
        let (first, second) = try devices(place, workload)
        var times: [Double] = []
        for index in 0..<count {
            try workload.update(first.app, first: index, count: 1, transactionSize: 1)
            times.append(
                try seconds {
                    _ = try first.replica.sync(isThorough: false)
                    _ = try second.replica.sync(isThorough: false)
                } * 1000)
        }
        try Device.compare(first, second, workload)
        add("a sync on each side", times, &results)
    }

    /// Two engines that watch one folder. The second device is asked again and again until it shows the row.
    private func byEngines(_ results: inout Measurements) throws {
        let place = try Place(below: folder)
        let workload = Songs(rows: 1000)
        let (first, second) = try devices(place, workload)
        let engines = [SyncEngine(first.replica), SyncEngine(second.replica)]
        for engine in engines { engine.start() }
        defer { for engine in engines { withExtendedLifetime(engine) {} } }
        Thread.sleep(forTimeInterval: 0.5)
        var times: [Double] = []
        for index in 0..<count {
            try workload.update(first.app, first: index, count: 1, transactionSize: 1)
            times.append(
                try seconds {
                    let deadline = ContinuousClock.now + .seconds(60)
                    while try second.app.integer("SELECT max(rank) FROM songs") != 1_000_000 + index {
                        if ContinuousClock.now > deadline {
                            throw BenchmarkError("a change did not arrive within a minute")
                        }
                        Thread.sleep(forTimeInterval: 0.0002)
                    }
                } * 1000)
            // The engines come to rest, as between a person's edits.
            Thread.sleep(forTimeInterval: 0.02)
        }
        add("two engines that watch", times, &results)
    }

    private func add(_ name: String, _ times: [Double], _ results: inout Measurements) {
        results.add(section, name + ", median", "ms", "ferry", median(times) ?? 0)
        results.add(section, name + ", p99", "ms", "ferry", percentile(times, 0.99) ?? 0)
    }
}
