/// One workload on one medium: what capture costs beside plain SQLite, and what packing, joining and replay take.
struct WorkloadBenchmark {
    let workload: any Workload
    /// `memory` or `disk`.
    let medium: String
    let folder: String
    let updates: Int
    let singles: Int

    private var section: String { "\(workload.name), \(medium)" }

    func round(_ results: inout Measurements) throws {
        try baseline("plain", &results)
        try tracked(workload, &results)
        try baseline("session", &results)
    }

    /// The same statements without Ferry; for `session`, with SQLite's session extension attached.
    private func baseline(_ variant: String, _ results: inout Measurements) throws {
        let place = try Place(below: folder)
        let database = try Database(path: place.database(variant))
        try database.execute(workload.schema)
        database.recordsSessions = variant == "session"
        var rows = 0
        var time = try seconds { rows = try workload.insert(database) }
        results.add(section, "insert, 1,000 a transaction", "rows/s", variant, Double(rows) / time)
        let size = try Double(database.usedBytes())
        let bytes = Double(database.sessionBytes)
        time = try seconds { try workload.update(database, first: 0, count: updates, transactionSize: 1000) }
        results.add(section, "update one column, 1,000 a transaction", "rows/s", variant, Double(updates) / time)
        let updateBytes = Double(database.sessionBytes) - bytes
        time = try seconds { try workload.update(database, first: updates, count: singles, transactionSize: 1) }
        results.add(section, "update one row a transaction", "rows/s", variant, Double(singles) / time)
        var deleted = 0
        time = try seconds { deleted = try workload.delete(database) }
        results.add(section, "delete", "rows/s", variant, Double(deleted) / time)
        if variant == "plain" {
            results.add(section, "database after the insertions", "MB", variant, size / 1e6)
        } else {
            results.add(section, "bytes in the container, a row inserted", "bytes", variant, bytes / Double(rows))
            results.add(section, "bytes in the container, an update", "bytes", variant, updateBytes / Double(updates))
        }
    }

    private func tracked(_ workload: some Workload, _ results: inout Measurements) throws {
        let place = try Place(below: folder)
        let first = try Device.first(workload, in: place)
        var rows = 0
        var time = try seconds { rows = try workload.insert(first.app) }
        results.add(section, "insert, 1,000 a transaction", "rows/s", "ferry", Double(rows) / time)
        results.add(section, "database before packing", "MB", "ferry", Double(try first.app.usedBytes()) / 1e6)
        time = try seconds { try first.pack() }
        results.add(section, "pack and encode insertions", "rows/s", "ferry", Double(rows) / time)
        time = try seconds { try first.sync() }
        results.add(section, "publish them", "rows/s", "ferry", Double(rows) / time)
        results.add(section, "database after the insertions", "MB", "ferry", Double(try first.app.usedBytes()) / 1e6)
        let insertedBytes = place.segmentBytes()
        results.add(
            section, "bytes in the container, a row inserted", "bytes", "ferry", Double(insertedBytes) / Double(rows))
        var second = first
        time = try seconds { second = try Device.joining(place) }
        results.add(section, "join with an empty database", "rows/s", "ferry", Double(rows) / time)

        time = try seconds { try workload.update(first.app, first: 0, count: updates, transactionSize: 1000) }
        results.add(section, "update one column, 1,000 a transaction", "rows/s", "ferry", Double(updates) / time)
        time = try seconds { try first.pack() }
        results.add(section, "pack and encode updates", "rows/s", "ferry", Double(updates) / time)
        try first.sync()
        results.add(
            section, "bytes in the container, an update", "bytes", "ferry",
            Double(place.segmentBytes() - insertedBytes) / Double(updates))
        time = try seconds { try second.sync() }
        results.add(section, "replay updates", "rows/s", "ferry", Double(updates) / time)

        time = try seconds { try workload.update(first.app, first: updates, count: singles, transactionSize: 1) }
        results.add(section, "update one row a transaction", "rows/s", "ferry", Double(singles) / time)
        try first.sync()
        try second.sync()

        var deleted = 0
        time = try seconds { deleted = try workload.delete(first.app) }
        results.add(section, "delete", "rows/s", "ferry", Double(deleted) / time)
        time = try seconds { try first.pack() }
        results.add(section, "pack and encode deletions", "rows/s", "ferry", Double(deleted) / time)
        try first.sync()
        time = try seconds { try second.sync() }
        results.add(section, "replay deletions", "rows/s", "ferry", Double(deleted) / time)
        try Device.compare(first, second, workload)
    }
}
