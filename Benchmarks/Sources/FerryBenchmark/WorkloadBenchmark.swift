/// One workload on one medium: what capture costs beside plain SQLite, what packing and joining take beside plain
/// SQLite's own writes, and what replay takes beside the session extension's.
struct WorkloadBenchmark {
    let workload: any Workload
    /// `memory` or `disk`.
    let medium: String
    let folder: String
    let updates: Int
    let singles: Int

    private var section: String { Self.section(workload, medium) }

    static func section(_ workload: any Workload, _ medium: String) -> String { "\(workload.name), \(medium)" }

    static let inserting = "insert, 1,000 a transaction"
    static let updating = "update one column, 1,000 a transaction"
    static let updatingSingly = "update one row a transaction"
    static let deleting = "delete"
    static let packingInserts = "pack and encode insertions"
    static let joining = "join with an empty database"
    static let replayingUpdates = "replay updates"
    static let insertBytes = "bytes in the container, a row inserted"
    static let updateBytes = "bytes in the container, an update"
    static let databaseSize = "database after the insertions"

    func round(_ results: Measurements) throws {
        let plain = try plain(results)
        let updateSeconds = try tracked(workload, plain, results)
        try session(results)
        try replayInsertions(workload, results)
        try conflicts(workload, secondsWithout: updateSeconds, results)
    }

    /// Rates, in rows a second.
    private struct Rates {
        var insert = 0.0
        var update = 0.0
        var delete = 0.0
    }

    /// Runs the workload's statements on a database, and takes the time.
    /// - Parameter afterInserting: is called between the insertions and the updates.
    private func write(
        _ database: Database, _ variant: Measurements.Variant, _ results: Measurements,
        after: (Step, Int) throws -> Void
    ) throws -> Rates {
        var rates = Rates()
        func rate(_ name: String, _ step: Step, _ body: () throws -> Int) throws -> Double {
            var rows = 0
            let time = try seconds { rows = try body() }
            results.add(section, name, "rows/s", variant, Double(rows) / time)
            try after(step, rows)
            return Double(rows) / time
        }
        rates.insert = try rate(Self.inserting, .insert) { try workload.insert(database) }
        rates.update = try rate(Self.updating, .update) {
            try workload.update(database, first: 0, count: updates, transactionSize: 1000)
            return updates
        }
        _ = try rate(Self.updatingSingly, .updateSingly) {
            try workload.update(database, first: updates, count: singles, transactionSize: 1)
            return singles
        }
        rates.delete = try rate(Self.deleting, .delete) { try workload.delete(database) }
        return rates
    }

    private enum Step { case insert, update, updateSingly, delete }

    /// The same statements without Ferry.
    private func plain(_ results: Measurements) throws -> Rates {
        let place = try Place(below: folder)
        defer { place.remove() }
        let database = try Database(path: place.database("plain"))
        try database.execute(workload.schema)
        var size = 0
        let rates = try write(database, .plain, results) { step, _ in
            if step == .insert { size = try database.usedBytes() }
        }
        results.add(section, Self.databaseSize, "MB", .plain, Double(size) / 1e6)
        return rates
    }

    /// The same statements with SQLite's session extension attached, and its changesets applied to another database.
    private func session(_ results: Measurements) throws {
        let place = try Place(below: folder)
        defer { place.remove() }
        let (database, applied) = try Database.recording(workload, in: place)
        var replayed: [(name: String, rate: Double)] = []
        var bytes: [(name: String, bytes: Double)] = []
        _ = try write(database, .session, results) { step, rows in
            let changesets = database.takeChangesets()
            let size = Double(changesets.reduce(0) { $0 + Int($1.count) })
            let time = try seconds { try applied.apply(changesets) }
            let rate = Double(rows) / time
            switch step {
            case .insert:
                replayed += [(Self.joining, rate), ("replay insertions", rate)]
                bytes.append((Self.insertBytes, size / Double(rows)))
            case .update:
                replayed.append((Self.replayingUpdates, rate))
                bytes.append((Self.updateBytes, size / Double(rows)))
            case .updateSingly: break
            case .delete: replayed.append(("replay deletions", rate))
            }
        }
        for (name, rate) in replayed { results.add(section, name, "rows/s", .session, rate) }
        for (name, bytes) in bytes { results.add(section, name, "bytes", .session, bytes) }
        try database.compare(applied, workload)
    }

    /// The same statements with Ferry's triggers, and what a sync does with them.
    /// - Returns: the seconds that replaying the updates took.
    private func tracked(
        _ workload: some Workload, _ plain: Rates, _ results: Measurements
    ) throws -> Double {
        let place = try Place(below: folder)
        defer { place.remove() }
        let first = try Device.first(workload, in: place)
        var second = first
        func add(_ name: String, _ rows: Int, _ time: Double, beside plain: Double? = nil) {
            if let plain { results.add(section, name, "rows/s", .plain, plain) }
            results.add(section, name, "rows/s", .ferry, Double(rows) / time)
        }
        var time = 0.0
        var replayingUpdates = 0.0
        _ = try write(first.app, .ferry, results) { step, rows in
            switch step {
            case .insert:
                results.add(section, "database before packing", "MB", .ferry, Double(try first.app.usedBytes()) / 1e6)
                var bytes = 0
                time = try seconds { bytes = try first.pack() }
                add(Self.packingInserts, rows, time, beside: plain.insert)
                time = try seconds { try first.sync() }
                add("publish them", rows, time)
                results.add(section, Self.databaseSize, "MB", .ferry, Double(try first.app.usedBytes()) / 1e6)
                results.add(section, Self.insertBytes, "bytes", .ferry, Double(bytes) / Double(rows))
                time = try seconds { second = try Device.joining(place) }
                add(Self.joining, rows, time, beside: plain.insert)
            case .update:
                var bytes = 0
                time = try seconds { bytes = try first.pack() }
                add("pack and encode updates", rows, time, beside: plain.update)
                results.add(section, Self.updateBytes, "bytes", .ferry, Double(bytes) / Double(rows))
                try first.sync()
                replayingUpdates = try seconds { try second.sync() }
                add(Self.replayingUpdates, rows, replayingUpdates, beside: plain.update)
            case .updateSingly:
                try first.sync()
                try second.sync()
            case .delete:
                time = try seconds { try first.pack() }
                add("pack and encode deletions", rows, time, beside: plain.delete)
                try first.sync()
                time = try seconds { try second.sync() }
                add("replay deletions", rows, time, beside: plain.delete)
            }
        }
        try Device.compare(first, second, workload)
        return replayingUpdates
    }

    /// Insertions that come to a device that has joined before them.
    private func replayInsertions(_ workload: some Workload, _ results: Measurements) throws {
        let place = try Place(below: folder)
        defer { place.remove() }
        let first = try Device.first(workload, in: place)
        let second = try Device.joining(place)
        let rows = try workload.insert(first.app)
        try first.sync()
        let time = try seconds { try second.sync() }
        results.add(section, "replay insertions", "rows/s", .ferry, Double(rows) / time)
        try Device.compare(first, second, workload)
    }

    // MARK: Conflicts

    static func conflictSection(_ workload: any Workload, _ medium: String) -> String {
        "a conflict in every row, \(workload.name), \(medium)"
    }

    /// Updates of a column that the other device updated too, in every row.
    /// - Parameter secondsWithout: what replaying as many updates without a conflict took.
    private func conflicts(
        _ workload: some Workload, secondsWithout: Double, _ results: Measurements
    ) throws {
        let place = try Place(below: folder)
        defer { place.remove() }
        let first = try Device.first(workload, in: place)
        _ = try workload.insert(first.app)
        try first.sync()
        let second = try Device.joining(place)
        try first.sync()
        // The second device's changes are in the container before the measured replay, so that it publishes nothing.
        try workload.update(
            second.app, first: workload.updatableRows, count: updates, transactionSize: 1000)
        try second.sync()
        try workload.update(first.app, first: 0, count: updates, transactionSize: 1000)
        try first.pack()
        try first.sync()
        var found = 0
        let time = try seconds { found = try second.sync().conflicts }
        if found != updates { throw BenchmarkError("\(found) conflicts instead of \(updates)") }
        let section = Self.conflictSection(workload, medium)
        results.name(.plain, "without conflict", in: section)
        results.add(section, Self.replayingUpdates, "rows/s", .plain, Double(updates) / secondsWithout)
        results.add(section, Self.replayingUpdates, "rows/s", .ferry, Double(updates) / time)
        try Device.compare(first, second, workload)
    }
}
