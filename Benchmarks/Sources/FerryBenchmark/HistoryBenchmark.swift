/// Nothing new after a history of many changes to few rows, which came in syncs of a thousand.
struct HistoryBenchmark {
    let folder: String
    /// Numbers of changes, in ascending order.
    let sizes: [Int]

    static let section = "nothing new, against history"
    static func name(_ changes: Int) -> String { "after \(grouped(changes)) changes" }

    func run(progress: (Int) -> Void, _ results: Measurements) throws {
        let batch = 1000
        let place = try Place(below: folder)
        defer { place.remove() }
        let workload = Songs(rows: batch)
        let first = try Device.first(workload, in: place)
        _ = try workload.insert(first.app)
        try first.sync()
        let second = try Device.joining(place)
        try first.sync()
        var changes = batch
        for size in sizes {
            progress(size)
            while changes < size {
                try workload.update(first.app, first: changes, count: batch, transactionSize: batch)
                try first.sync()
                // As a device that is switched on now and then: often enough to be no stranger.
                if changes % (16 * batch) == 0 { try second.sync() }
                changes += batch
            }
            try second.sync()
            try first.sync()
            let measured = try NothingNew(second)
            results.add(Self.section, Self.name(size), "ms", .ferry, measured.glance)
            results.add(Self.section, Self.name(size) + ", thorough", "ms", .ferry, measured.thorough)
            results.plot(.nothingNew, "after so many changes", x: Double(size), y: measured.glance)
        }
        try Device.compare(first, second, workload)
    }
}
