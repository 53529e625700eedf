/// From an app's commit on one device to the row being readable on another, in one process: what Ferry's own work
/// takes, without any waiting for events, timers or a syncer.
struct LatencyBenchmark {
    let folder: String
    let count: Int

    func run(_ results: inout Measurements) throws {
        let place = try Place(below: folder)
        let workload = Songs(rows: 1000)
        let first = try Device.first(workload, in: place)
        _ = try workload.insert(first.app)
        try first.sync()
        let second = try Device.joining(place)
        try first.sync()
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
        results.add("latency, memory", "a row, by a sync on each side, median", "ms", "ferry", median(times) ?? 0)
        results.add(
            "latency, memory", "a row, by a sync on each side, p99", "ms", "ferry", percentile(times, 0.99) ?? 0)
    }
}
