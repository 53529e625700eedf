/// What a merge of a few updates costs in the least design, in a small store and in a large one: the same number of rows and
/// states is written in both, but they lie on more pages of the large one, which the page cache does not hold.
struct MergeBounds {
    let folder: String
    /// The rows of the stores.
    let small: Int
    let large: Int
    private let rounds = 5

    static let touched = [10, 100, 1000]
    static func name(_ touched: Int) -> String { "a merge of \(grouped(touched)) updates" }
    static let section = "\(BoundsBenchmark.title), merge, memory"

    func run(_ results: Measurements) throws {
        results.name(.ferry, "in \(grouped(large)) rows", in: Self.section)
        results.name(.plain, "in \(grouped(small)) rows", in: Self.section)
        for (variant, rows) in [(Measurements.Variant.plain, small), (.ferry, large)] {
            try merge(in: rows) { touched, time in
                results.add(Self.section, Self.name(touched), "ms", variant, time * 1000)
            }
        }
    }

    private func merge(in rows: Int, _ add: (_ touched: Int, _ seconds: Double) -> Void) throws {
        let place = try Place(below: folder)
        defer { place.remove() }
        let songs = Songs(rows: rows)
        let first = try LeastDesign(songs, path: place.database("first"))
        _ = try songs.insert(first.app)
        let second = try LeastDesign(songs, path: place.database("second"))
        try second.join(try first.tables.map { try first.rows($0) })
        try LeastDesign.track(first.app)
        var done = 0
        for touched in Self.touched {
            for _ in 1...rounds {
                try songs.update(first.app, first: done, count: touched, transactionSize: 1000)
                done += touched
                let changes = try first.changes(updated: songs.updated.column)
                try first.empty()
                add(touched, try seconds { try second.replayUpdates(changes, of: songs.updated.column) })
            }
        }
        try first.app.compare(second.app, songs)
    }
}
