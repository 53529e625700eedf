/// What depends on a store's size, and what must not: joining it, its time and its memory; a sync with nothing new; a
/// merge that touches few of its rows.
struct SizeBenchmark {
    let rows: Int
    let folder: String
    let rounds: Int

    static let joinSection = "the first join, against size"
    static let idleSection = "nothing new, against size"
    static let mergeSection = "merge, against the rows it touches"
    static func time(_ rows: Int) -> String { "\(grouped(rows)) rows" }
    static func peak(_ rows: Int) -> String { "\(grouped(rows)) rows, peak memory" }
    static func name(_ rows: Int) -> String { "with \(grouped(rows)) rows" }
    static func merge(_ touched: Int, of rows: Int) -> String { "\(grouped(touched)) of \(grouped(rows)) rows" }

    /// Rows that are made at once, so that making them does not take all memory.
    private static let portion = 1_000_000
    private var portions: [(seed: UInt64, rows: Int)] {
        stride(from: 0, to: rows, by: Self.portion).map {
            (UInt64($0 / Self.portion + 1), min(Self.portion, rows - $0))
        }
    }

    func run(_ results: Measurements) throws {
        let place = try Place(below: folder)
        defer { place.remove() }
        let first = try Device.first(Songs(rows: 1), in: place)
        var inserting = 0.0
        for (seed, rows) in portions {
            let songs = Songs(rows: rows, seed: seed)
            inserting += try insertPlainly(songs, place.database("plain"))
            _ = try songs.insert(first.app)
            try first.sync()
        }
        try joins(first, place, inserting, results)
        let second = try Device.existing(place.database("second"))
        try first.sync()
        let measured = try NothingNew(second)
        results.add(Self.idleSection, Self.name(rows), "ms", .ferry, measured.glance)
        results.add(Self.idleSection, Self.name(rows) + ", thorough", "ms", .ferry, measured.thorough)
        results.plot(.nothingNew, "with so many rows", x: Double(rows), y: measured.glance)
        if rows >= 100_000 { try merge(first, second, results) }
    }

    /// - Returns: the seconds that plain SQLite took.
    private func insertPlainly(_ songs: Songs, _ path: String) throws -> Double {
        let plain = try Database(path: path)
        if try plain.integer("SELECT count(*) FROM sqlite_schema") == 0 { try plain.execute(songs.schema) }
        return try seconds { _ = try songs.insert(plain) }
    }

    /// Joins as many times as there are rounds, more than 100,000 rows once.
    /// - Parameter inserting: the seconds that plain SQLite took beside the first one.
    private func joins(_ first: Device, _ place: Place, _ inserting: Double, _ results: Measurements) throws {
        try join(first, place, as: "second", inserting, results)
        if rounds == 1 || rows > 100_000 { return }
        let songs = Songs(rows: rows)
        for round in 2...rounds {
            let inserting = try insertPlainly(songs, place.database("plain-\(round)"))
            try join(first, place, as: "again-\(round)", inserting, results)
        }
    }

    /// Joins in a process of its own, whose memory is that of the join alone.
    private func join(
        _ first: Device, _ place: Place, as name: String, _ inserting: Double, _ results: Measurements
    ) throws {
        let path = place.database(name)
        let outcome = try MeasuredProcess.run(.join, database: path, container: place.container)
        let joined = try Database(path: path)
        try first.app.compare(joined, Songs(rows: 1))
        results.add(Self.joinSection, Self.time(rows), "s", .plain, inserting)
        results.add(Self.joinSection, Self.time(rows), "s", .ferry, outcome.seconds)
        results.add(Self.joinSection, Self.peak(rows), "MB", .ferry, Double(outcome.peakBytes) / 1e6)
        results.plot(.joinTime, "join", x: Double(rows), y: outcome.seconds)
        results.plot(.joinMemory, "join", x: Double(rows), y: Double(outcome.peakBytes) / 1e6)
        results.plot(.joinTime, "plain SQLite's inserts", x: Double(rows), y: inserting)
    }

    /// Replays updates of more and more rows.
    private func merge(_ first: Device, _ second: Device, _ results: Measurements) throws {
        guard let (seed, rows) = portions.last else { return }
        let songs = Songs(rows: rows, seed: seed)
        var done = 0
        for touched in [10, 100, 1000, 10_000, 100_000] {
            for _ in 0..<(touched <= 1000 ? 5 : 1) {
                try songs.update(first.app, first: done, count: touched, transactionSize: 1000)
                done += touched
                try first.sync()
                let time = try seconds { try second.sync(isThorough: false) } * 1000
                results.add(Self.mergeSection, Self.merge(touched, of: self.rows), "ms", .ferry, time)
                results.plot(.merge, "in \(grouped(self.rows)) rows", x: Double(touched), y: time)
            }
        }
        try Device.compare(first, second, songs)
    }
}
