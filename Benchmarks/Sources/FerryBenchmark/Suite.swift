import Foundation

/// All parts, in the order of the report.
struct Suite {
    let options: Options
    let results = Measurements()
    private let start = ContinuousClock.now

    init(_ options: Options) { self.options = options }

    func run() throws {
        // Whatever else the machine does for some minutes touches one round of each part, and not all rounds of one.
        for round in 1...options.rounds {
            try workloads(round)
            try bounds(round)
            try shell(round)
            try rules(round)
            try smallChangesets(round)
            try sealed(round)
        }
        try boundsOfSizes()
        try history()
        try hardCases()
        try sizes()
        try keyValue()
        try latency()
        try idle()
        try sealedRest()
        try requests()
        try gateway()
    }

    private func progress(_ text: String) {
        let seconds = start.duration(to: .now).components.seconds
        let time = String(format: "%3d:%02d ", Int(seconds / 60), Int(seconds % 60))
        FileHandle.standardError.write(Data((time + text + "\n").utf8))
    }

    /// Runs `body` for both workloads, in memory and on the disk.
    private func forEachWorkload(
        _ body: (_ workload: any Workload, _ medium: String, _ folder: String, _ updates: Int) throws -> Void
    ) rethrows {
        for (medium, folder) in [("memory", options.memory), ("disk", options.disk)] {
            for workload in [Songs(rows: options.rows), RecordShop(rows: options.rows)] as [any Workload] {
                try body(workload, medium, folder, min(options.rows, workload.updatableRows))
            }
        }
    }

    private func workloads(_ round: Int) throws {
        try forEachWorkload { workload, medium, folder, updates in
            guard options.isWanted(workload.name) else { return }
            progress("\(workload.name), \(medium), round \(round)")
            try WorkloadBenchmark(
                workload: workload, medium: medium, folder: folder, updates: updates, singles: updates / 5
            ).round(results)
        }
    }

    private func bounds(_ round: Int) throws {
        guard options.isWanted("bounds") else { return }
        try forEachWorkload { workload, medium, folder, updates in
            progress("bounds, \(workload.name), \(medium), round \(round)")
            try BoundsBenchmark(
                workload: workload, medium: medium, folder: folder, updates: updates, singles: updates / 5
            ).round(results)
        }
        try boundsOfShell(round)
    }

    private func boundsOfSizes() throws {
        guard options.isWanted("bounds") else { return }
        guard let small = options.sizes.first, let large = options.sizes.last(where: { $0 <= 1_000_000 }) else {
            return
        }
        progress("bounds, key-value")
        try SetBounds(folder: options.memory, small: small, large: large).run(results)
        progress("bounds, merge")
        try MergeBounds(folder: options.memory, small: large / 10, large: large).run(results)
    }

    private func boundsOfShell(_ round: Int) throws {
        guard isShellThere(round) else { return }
        progress("bounds, shell, round \(round)")
        let songs = Songs(rows: options.rows)
        var benchmark = ShellBenchmark(workload: songs, folder: options.memory, updates: options.rows)
        func least(_ note: LeastDesign.Note, _ name: @escaping (String) -> String) -> ShellBenchmark.Tracked {
            .init(name: name) { workload, place in
                let database = try Database(path: place.database("least"))
                try database.execute(workload.schema)
                try LeastDesign.track(database, note)
                return place.database("least")
            }
        }
        benchmark.tracked = [least(.key) { $0 }, least(.change, BoundsBenchmark.withChanges)]
        let section = BoundsBenchmark.sectionOfShell(songs)
        results.name(.ferry, "the least", in: section)
        try benchmark.round(into: section, results)
    }

    private func shell(_ round: Int) throws {
        guard options.isWanted("shell"), isShellThere(round) else { return }
        progress("shell, round \(round)")
        let songs = Songs(rows: options.rows)
        try ShellBenchmark(workload: songs, folder: options.memory, updates: options.rows)
            .round(into: ShellBenchmark.section(songs), results)
    }

    private func isShellThere(_ round: Int) -> Bool {
        if !ShellBenchmark.isThere, round == 1 {
            progress("shell: left out, because \(ShellBenchmark.shell) is missing")
        }
        return ShellBenchmark.isThere
    }

    private func rules(_ round: Int) throws {
        guard options.isWanted("rules") else { return }
        progress("rules, round \(round)")
        try RulesBenchmark(rows: options.rows / 2, folder: options.memory).round(results)
    }

    private func smallChangesets(_ round: Int) throws {
        guard options.isWanted("small changesets") else { return }
        let (rows, count) = (options.rows / 10, options.rows / 5)
        for workload in [Songs(rows: rows), RecordShop(rows: rows)] as [any Workload] {
            progress("small changesets, \(workload.name), round \(round)")
            try SmallChangesetsBenchmark(workload: workload, folder: options.memory, count: count).round(results)
        }
    }

    private var sealedBenchmark: SealedBenchmark {
        SealedBenchmark(rows: options.rows, folder: options.memory, singles: options.isQuick ? 50 : 400)
    }

    private func sealed(_ round: Int) throws {
        guard options.isWanted("sealed") else { return }
        progress("sealed, round \(round)")
        try sealedBenchmark.round(round, results)
    }

    private func sealedRest() throws {
        guard options.isWanted("sealed") else { return }
        progress("sealed, a pair that rests")
        try sealedBenchmark.rest(intervalSeconds: options.isQuick ? 1 : 10, results)
    }

    private func history() throws {
        guard options.isWanted("history") else { return }
        try HistoryBenchmark(folder: options.memory, sizes: options.sizes)
            .run(progress: { progress("history, \(grouped($0)) changes") }, results)
    }

    private func hardCases() throws {
        // One of them, too, by a part of its name.
        let isWhole = options.isWanted("hard cases")
        guard isWhole || HardCase.all.contains(where: { options.isWanted($0.name) }) else { return }
        try HardCasesBenchmark(
            folder: options.memory, divisor: options.isQuick ? 10 : 1, only: isWhole ? [] : options.only,
            isLarge: options.isLarge
        ).run(progress: { progress("hard cases, \($0.name)") }, results)
    }

    private func sizes() throws {
        guard options.isWanted("size") else { return }
        for rows in options.sizes {
            progress("size, \(grouped(rows)) rows")
            try SizeBenchmark(rows: rows, folder: options.folder(rows: rows), rounds: options.rounds).run(results)
        }
    }

    private func keyValue() throws {
        guard options.isWanted("key-value") else { return }
        // Ten million members are more than `KeyValueLimits` lets an app have.
        try KeyValueBenchmark(folder: options.memory, sizes: options.sizes.filter { $0 <= 1_000_000 })
            .run(progress: { progress("key-value, \(grouped($0)) members") }, results)
    }

    private func latency() throws {
        guard options.isWanted("latency") else { return }
        let benchmark = LatencyBenchmark(folder: options.memory, count: options.isQuick ? 50 : 400)
        progress("latency, by syncs")
        try benchmark.bySyncs(results)
        for devices in [2] + options.crowds {
            progress("latency, \(grouped(devices)) devices")
            try benchmark.byWatching(devices: devices, results)
        }
    }

    private func idle() throws {
        guard options.isWanted("idle") else { return }
        progress("idle, \(options.crowds.map(grouped).joined(separator: ", ")) devices")
        try IdleBenchmark(
            folder: options.memory, crowds: options.crowds,
            intervalSeconds: options.isQuick ? 2 : IdleBenchmark.restingInterval
        ).run(results)
    }

    private func requests() throws {
        guard options.isWanted("requests") else { return }
        try RequestsBenchmark(folder: options.memory, isQuick: options.isQuick)
            .run(progress: { progress("requests, \($0)") }, results)
    }

    private func gateway() throws {
        guard options.isWanted("gateway") else { return }
        try GatewayBenchmark(folder: options.memory, isQuick: options.isQuick)
            .run(progress: { progress("gateway, \($0)") }, results)
    }
}
