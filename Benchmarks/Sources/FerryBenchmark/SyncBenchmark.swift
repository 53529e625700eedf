/// What a sync costs by itself: many small changesets, and nothing new.
struct SyncBenchmark {
    let folder: String
    let changesets: Int
    let history: Int
    private let section = "sync, memory"

    func run(_ results: inout Measurements) throws {
        try idle(after: max(history / 100, 1), &results)
        try idle(after: history, &results)
        try idle(after: history * 10, &results)
        try smallChangesets(&results)
    }

    /// A sync with nothing new, after a history of a number of changes.
    private func idle(after changes: Int, _ results: inout Measurements) throws {
        let place = try Place(below: folder)
        let workload = Songs(rows: changes)
        let first = try Device.first(workload, in: place)
        _ = try workload.insert(first.app)
        try first.sync()
        let second = try Device.joining(place)
        try first.sync()
        try measureIdle(second, "nothing new after \(grouped(changes)) changes", &results)
    }

    private func measureIdle(_ device: Device, _ name: String, _ results: inout Measurements) throws {
        try device.sync()
        let times = try (0..<30).map { _ in try seconds { _ = try device.replica.sync(isThorough: false) } * 1000 }
        let thorough = try (0..<30).map { _ in try seconds { try device.sync() } * 1000 }
        results.add(section, name, "ms", "ferry", median(times) ?? 0)
        results.add(section, name + ", thorough", "ms", "ferry", median(thorough) ?? 0)
    }

    /// Changesets of one row each: packed one by one, published, replayed together.
    private func smallChangesets(_ results: inout Measurements) throws {
        let place = try Place(below: folder)
        let workload = Songs(rows: 10_000)
        let first = try Device.first(workload, in: place)
        _ = try workload.insert(first.app)
        try first.sync()
        let second = try Device.joining(place)
        let what = "\(grouped(changesets)) changesets of one row"
        var time = try seconds {
            for index in 0..<changesets {
                try workload.update(first.app, first: index, count: 1, transactionSize: 1)
                try first.pack()
            }
        }
        results.add(section, "pack \(what)", "changesets/s", "ferry", Double(changesets) / time)
        time = try seconds { try first.sync() }
        results.add(section, "publish \(what)", "changesets/s", "ferry", Double(changesets) / time)
        time = try seconds { try second.sync() }
        results.add(section, "replay \(what)", "changesets/s", "ferry", Double(changesets) / time)
        try Device.compare(first, second, workload)
        try first.sync()
        try measureIdle(second, "nothing new after \(grouped(changesets)) segments", &results)
    }
}

/// A number with commas.
func grouped(_ number: Int) -> String {
    var digits = String(number)
    var place = digits.count - 3
    while place > 0 {
        digits.insert(",", at: digits.index(digits.startIndex, offsetBy: place))
        place -= 3
    }
    return digits
}
