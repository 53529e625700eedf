import FerryEngine
import FerryStore

/// What grows worst: each hard case with n, two, four and eight times as much, and more, in a process of its own.
/// Times are the process's own (`MeasuredProcess.Outcome.processorSeconds`).
struct HardCasesBenchmark {
    let folder: String
    /// By how much smaller the cases are, for a short run.
    let divisor: Int
    /// Only cases whose name contains one of these; all where there is none.
    var only: [String] = []
    /// Whether 16 and 32 times as many rows are measured as well: does memory go on growing?
    var isLarge = false

    static let section = "Hard cases, memory"
    private func factors(of hard: HardCase) -> [Int] {
        isLarge && hard.counts == "rows" ? [1, 2, 4, 8, 16, 32] : [1, 2, 4, 8]
    }

    func run(progress: (HardCase) -> Void, _ results: Measurements) throws {
        for hard in HardCase.all where only.isEmpty || only.contains(where: hard.name.contains) {
            progress(hard)
            var times: [Double] = []
            var plainTimes: [Double] = []
            var peaks: [(count: Int, megabytes: Double)] = []
            for factor in factors(of: hard) {
                let count = max(hard.size * factor / divisor, 4)
                let (outcome, plain) = try run(hard, count)
                let name = "\(hard.name), \(grouped(count)) \(hard.counts)"
                results.add(Self.section, name, "s", .ferry, outcome.processorSeconds)
                if let plain {
                    results.add(Self.section, name, "s", .plain, plain)
                    plainTimes.append(plain)
                }
                let peak = Double(outcome.peakBytes) / 1e6
                results.add(Self.section, name + ", peak memory", "MB", .ferry, peak)
                peaks.append((count, peak))
                times.append(outcome.processorSeconds)
            }
            results.add(Self.section, Self.growth(hard), "×", .ferry, times[3] / times[0])
            if let first = plainTimes.first, plainTimes.count > 3 {
                results.add(Self.section, Self.growth(hard), "×", .plain, plainTimes[3] / first)
            }
            let (last, half) = (peaks[peaks.count - 1], peaks[peaks.count - 2])
            results.add(Self.section, Self.peak(hard), "MB", .ferry, last.megabytes)
            results.add(
                Self.section, "\(hard.name), memory for each that is more", "bytes", .ferry,
                (last.megabytes - half.megabytes) * 1e6 / Double(last.count - half.count))
        }
    }

    /// The line that says how many times as long eight times as much takes.
    static func growth(_ hard: HardCase) -> String { "\(hard.name), eight times as many" }

    /// The line that says how much memory the most of it takes.
    static func peak(_ hard: HardCase) -> String { "\(hard.name), the most memory" }

    /// - Returns: what came of it, and the seconds of plain SQLite for the same statements, where they are known.
    private func run(
        _ hard: HardCase, _ count: Int
    ) throws -> (outcome: MeasuredProcess.Outcome, plain: Double?) {
        let place = try Place(below: folder)
        defer { place.remove() }
        let path = place.database("first")
        let app = try Database(path: path)
        try app.execute(hard.schema(count))
        if hard.measured == .create {
            let outcome = try MeasuredProcess.run(.create, database: path, container: place.container)
            return (outcome, try plainSeconds(for: app, hard.schema(count), in: place))
        }
        let first = Device(
            app: app,
            replica: try Replica.create(
                Store(path: path), containerPath: place.container, sealing: .open, name: "first"
            ).replica)
        if hard.measured == .join {
            return (
                try MeasuredProcess.run(.join, database: place.database("second"), container: place.container), nil
            )
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
        return (
            try MeasuredProcess.run(.sync, database: place.database("second"), container: place.container), nil
        )
    }

    /// What plain SQLite takes to make the tables, indexes and triggers that Ferry made in a database: for each of them it reads
    /// through its schema.
    private func plainSeconds(for tracked: Database, _ schema: String, in place: Place) throws -> Double {
        let statement = try tracked.prepare(
            """
            SELECT group_concat(sql, ';') FROM (SELECT sql FROM sqlite_schema
            WHERE sql IS NOT NULL AND name LIKE 'ferry%' ORDER BY type = 'trigger', type = 'index', rowid)
            """)
        defer { statement.rewind() }
        guard try statement.step(), case .text(let script) = statement.value(0) else {
            throw BenchmarkError("a tracked database has nothing of Ferry's")
        }
        let plain = try Database(path: place.database("plain"))
        try plain.execute("\(Database.pageCache); \(schema)")
        let before = ProcessUsage.threadSeconds()
        try plain.execute("BEGIN; \(script); COMMIT")
        return ProcessUsage.threadSeconds() - before
    }
}
