/// Many changesets of one row each: packed one by one, published and replayed together, beside the session extension's.
struct SmallChangesetsBenchmark {
    let workload: any Workload
    let folder: String
    let count: Int

    static func section(_ workload: any Workload) -> String { "changesets of one row, \(workload.name), memory" }
    static let replaying = "replay"

    func round(_ results: Measurements) throws {
        try tracked(workload, results)
        try session(results)
    }

    private func tracked(_ workload: some Workload, _ results: Measurements) throws {
        let place = try Place(below: folder)
        defer { place.remove() }
        let first = try Device.first(workload, in: place)
        _ = try workload.insert(first.app)
        try first.sync()
        let second = try Device.joining(place)
        var packing = 0.0
        var bytes = 0
        for index in 0..<count {
            try workload.update(first.app, first: index, count: 1, transactionSize: 1)
            packing += try seconds { bytes += try first.pack() }
        }
        add("pack", .ferry, packing, results)
        add("publish", .ferry, try seconds { try first.sync() }, results)
        add(Self.replaying, .ferry, try seconds { try second.sync() }, results)
        results.add(Self.section(workload), "bytes, one changeset", "bytes", .ferry, Double(bytes) / Double(count))
        try Device.compare(first, second, workload)
    }

    private func session(_ results: Measurements) throws {
        let place = try Place(below: folder)
        defer { place.remove() }
        let (database, applied) = try Database.recording(workload, in: place)
        _ = try workload.insert(database)
        try applied.apply(database.takeChangesets())
        try workload.update(database, first: 0, count: count, transactionSize: 1)
        let changesets = database.takeChangesets()
        add(Self.replaying, .session, try seconds { try applied.apply(changesets) }, results)
        let bytes = changesets.reduce(0) { $0 + Int($1.count) }
        results.add(Self.section(workload), "bytes, one changeset", "bytes", .session, Double(bytes) / Double(count))
        try database.compare(applied, workload)
    }

    private func add(
        _ name: String, _ variant: Measurements.Variant, _ time: Double, _ results: Measurements
    ) {
        results.add(Self.section(workload), name, "changesets/s", variant, Double(count) / time)
    }
}
