/// The least that any design of this kind would have to do (`LeastDesign`), beside plain SQLite: what Ferry's targets are
/// to be read against. Nothing here is Ferry's, but for the files of `joiningFile` and their decoder.
struct BoundsBenchmark {
    let workload: any Workload
    let medium: String
    let folder: String
    let updates: Int
    let singles: Int

    static let title = "bounds: the least that any design would do"
    static func section(_ workload: any Workload, _ medium: String) -> String {
        "\(title), \(workload.name), \(medium)"
    }
    static func sectionOfShell(_ workload: any Workload) -> String {
        "\(title), \(ShellBenchmark.section(workload))"
    }
    private var section: String { Self.section(workload, medium) }
    /// The line of a kind of writing whose notes have all that merging needs.
    static func withChanges(_ name: String) -> String { name + ", with time, mask and old row" }

    private static let inserting = WorkloadBenchmark.inserting
    private static let updating = WorkloadBenchmark.updating
    private static let updatingSingly = WorkloadBenchmark.updatingSingly
    private static let deleting = WorkloadBenchmark.deleting
    static let packingInsertions = "pack insertions"
    private static let packingDeletions = "pack deletions"
    private static let joining = WorkloadBenchmark.joining
    /// As `joining`, but for the rows, which come out of the segments that a device published.
    static let joiningFile = joining + ", from its file"
    private static let replayingUpdates = WorkloadBenchmark.replayingUpdates
    private static let replayingDeletions = "replay deletions"
    private static let databaseSize = WorkloadBenchmark.databaseSize

    func round(_ results: Measurements) throws {
        results.name(.ferry, "the least", in: section)
        results.name(.session, "changeset_apply", in: section)
        let plain = try plain()
        let idle = try tracked(.nothing)
        let changes = try tracked(.change)
        let least = try least()
        let applied = try applied()
        for name in [Self.inserting, Self.updating, Self.updatingSingly, Self.deleting] {
            add(name + ", a trigger that never fires", idle[name], beside: plain[name], results)
            add(name, least[name], beside: plain[name], results)
            add(Self.withChanges(name), changes[name], beside: plain[name], results)
        }
        add(Self.packingInsertions, least[Self.packingInsertions], beside: plain[Self.inserting], results)
        add(Self.joining, least[Self.joining], beside: plain[Self.inserting], results)
        add(Self.joiningFile, least[Self.joiningFile], beside: plain[Self.inserting], results)
        add(Self.replayingUpdates, least[Self.replayingUpdates], beside: plain[Self.updating], results)
        add(Self.packingDeletions, least[Self.packingDeletions], beside: plain[Self.deleting], results)
        add(Self.replayingDeletions, least[Self.replayingDeletions], beside: plain[Self.deleting], results)
        for name in [Self.replayingUpdates, Self.replayingDeletions] {
            guard let rate = applied[name] else { continue }
            results.add(section, name, "rows/s", .session, rate)
        }
        for (variant, figures) in [(Measurements.Variant.plain, plain), (.ferry, least)] {
            guard let size = figures[Self.databaseSize] else { continue }
            results.add(section, Self.databaseSize, "MB", variant, size)
        }
    }

    private func add(_ name: String, _ rate: Double?, beside plain: Double?, _ results: Measurements) {
        guard let rate, let plain else { return }
        results.add(section, name, "rows/s", .plain, plain)
        results.add(section, name, "rows/s", .ferry, rate)
    }

    // MARK: What is measured

    /// Rates in rows a second, and sizes in megabytes.
    private struct Figures {
        private var values: [String: Double] = [:]

        subscript(name: String) -> Double? {
            get { values[name] }
            set { values[name] = newValue }
        }

        /// - Parameter body: returns the number of rows.
        mutating func measure(_ name: String, _ body: () throws -> Int) rethrows {
            var rows = 0
            let time = try seconds { rows = try body() }
            values[name] = Double(rows) / time
        }
    }

    private enum Step { case insert, update, updateSingly, delete }

    /// Runs the workload's statements on a database.
    /// - Parameter after: is called after each step, with the number of rows.
    private func write(
        _ database: Database, after: (Step, Int, inout Figures) throws -> Void = { _, _, _ in }
    ) throws -> Figures {
        var figures = Figures()
        func step(_ step: Step, _ name: String, _ body: () throws -> Int) throws {
            var rows = 0
            try figures.measure(name) {
                rows = try body()
                return rows
            }
            try after(step, rows, &figures)
        }
        try step(.insert, Self.inserting) { try workload.insert(database) }
        try step(.update, Self.updating) {
            try workload.update(database, first: 0, count: updates, transactionSize: 1000)
            return updates
        }
        try step(.updateSingly, Self.updatingSingly) {
            try workload.update(database, first: updates, count: singles, transactionSize: 1)
            return singles
        }
        try step(.delete, Self.deleting) { try workload.delete(database) }
        return figures
    }

    private func plain() throws -> Figures {
        let place = try Place(below: folder)
        defer { place.remove() }
        let database = try Database(path: place.database("plain"))
        try database.execute(workload.schema)
        return try write(database) { step, _, figures in
            if step == .insert { figures[Self.databaseSize] = Double(try database.usedBytes()) / 1e6 }
        }
    }

    /// With triggers, and nobody who reads their notes.
    private func tracked(_ note: LeastDesign.Note) throws -> Figures {
        let place = try Place(below: folder)
        defer { place.remove() }
        let database = try Database(path: place.database("tracked"))
        try database.execute(workload.schema)
        try LeastDesign.track(database, note)
        return try write(database) { _, _, _ in try database.execute("DELETE FROM least_log") }
    }

    private func least() throws -> Figures {
        let place = try Place(below: folder)
        defer { place.remove() }
        let first = try LeastDesign(workload, path: place.database("first"))
        try LeastDesign.track(first.app)
        let second = try LeastDesign(workload, path: place.database("second"))
        let third = try LeastDesign(workload, path: place.database("third"))
        let segments = try SegmentFiles(workload, in: place)
        let column = workload.updated.column
        let figures = try write(first.app) { step, rows, figures in
            switch step {
            case .insert:
                try figures.measure(Self.packingInsertions) { try first.packInsertions() }
                figures[Self.databaseSize] = Double(try first.app.usedBytes()) / 1e6
                let inserted = try first.tables.map { try first.rows($0) }
                try figures.measure(Self.joining) {
                    try second.join(inserted)
                    return rows
                }
                try figures.measure(Self.joiningFile) {
                    try third.join(try segments.decoded())
                    return rows
                }
                try first.app.compare(third.app, workload)
            case .update:
                let changes = try first.changes(updated: column)
                try first.empty()
                try figures.measure(Self.replayingUpdates) { try second.replayUpdates(changes, of: column) }
            case .updateSingly:
                try second.replayUpdates(try first.changes(updated: column), of: column)
                try first.empty()
            case .delete:
                let changes = try first.changes()
                try figures.measure(Self.packingDeletions) { try first.packDeletions() }
                try figures.measure(Self.replayingDeletions) { try second.replayDeletions(changes) }
            }
        }
        try first.app.compare(second.app, workload)
        return figures
    }

    /// What the session extension recorded of the updates and deletions, applied to a copy of the rows.
    private func applied() throws -> Figures {
        let place = try Place(below: folder)
        defer { place.remove() }
        let (recorded, applied) = try Database.recording(workload, in: place)
        return try write(recorded) { step, rows, figures in
            let changesets = recorded.takeChangesets()
            let time = try seconds { try applied.apply(changesets) }
            switch step {
            case .update: figures[Self.replayingUpdates] = Double(rows) / time
            case .delete: figures[Self.replayingDeletions] = Double(rows) / time
            case .insert, .updateSingly: break
            }
        }
    }
}
