import FerryEngine
import FerryStore

/// What grows worst: each hard case with n, two, four and eight times as much, in a process of its own.
struct HardCasesBenchmark {
    let folder: String
    /// By how much smaller the cases are, for a short run.
    let divisor: Int
    /// Only cases whose name contains one of these; all where there is none.
    var only: [String] = []

    static let section = "Hard cases, memory"
    private static let factors = [1, 2, 4, 8]

    func run(progress: (HardCase) -> Void, _ results: Measurements) throws {
        for hard in HardCase.all where only.isEmpty || only.contains(where: hard.name.contains) {
            progress(hard)
            var times: [Double] = []
            var peak = 0.0
            for factor in Self.factors {
                let count = max(hard.size * factor / divisor, 4)
                let outcome = try run(hard, count)
                let name = "\(hard.name), \(grouped(count)) \(hard.counts)"
                results.add(Self.section, name, "s", .ferry, outcome.seconds)
                peak = Double(outcome.peakBytes) / 1e6
                results.add(Self.section, name + ", peak memory", "MB", .ferry, peak)
                times.append(outcome.seconds)
            }
            results.add(Self.section, Self.growth(hard), "×", .ferry, times[times.count - 1] / times[0])
            results.add(Self.section, Self.peak(hard), "MB", .ferry, peak)
        }
    }

    /// The line that says how many times as long eight times as much takes.
    static func growth(_ hard: HardCase) -> String { "\(hard.name), eight times as many" }

    /// The line that says how much memory eight times as much takes.
    static func peak(_ hard: HardCase) -> String { "\(hard.name), the most memory" }

    private func run(_ hard: HardCase, _ count: Int) throws -> MeasuredProcess.Outcome {
        let place = try Place(below: folder)
        defer { place.remove() }
        let path = place.database("first")
        let app = try Database(path: path)
        try app.execute(hard.schema(count))
        if hard.measured == .create {
            return try MeasuredProcess.run(.create, database: path, container: place.container)
        }
        let first = Device(
            app: app,
            replica: try Replica.create(Store(path: path), containerPath: place.container, name: "first").replica)
        if hard.measured == .join {
            return try MeasuredProcess.run(.join, database: place.database("second"), container: place.container)
        }
        let second = try Device.joining(place)
        try first.app.execute(hard.first(count))
        try second.app.execute(hard.second(count))
        try first.sync()
        if let later = hard.later {
            try second.sync()
            try first.sync()
            try first.app.execute(later(count))
            try first.sync()
        }
        try second.replica.store.close()
        return try MeasuredProcess.run(.sync, database: place.database("second"), container: place.container)
    }
}
