import FerrySimulator

/// What devices ask of an object storage in a month, and what a storage asks for this, in simulated time.
///
/// Some days are played and counted; a month is thirty of them. Of many devices some are whole, and all are alike.
struct RequestsBenchmark {
    let folder: String
    let isQuick: Bool

    /// The patterns of use.
    var uses: [ContainerUse] {
        if isQuick {
            return [
                ContainerUse(devices: 10, changes: 0, hours: 4, days: 1, whole: 2),
                ContainerUse(devices: 10, changes: 200, hours: 4, days: 1, whole: 2),
            ]
        }
        return [
            ContainerUse(devices: 10, changes: 0, hours: 4, days: 1, whole: 10),
            ContainerUse(devices: 10, changes: 200, hours: 4, days: 1, whole: 10),
            ContainerUse(devices: 100, changes: 2000, hours: 8, days: 1, whole: 4),
            ContainerUse(devices: 1000, changes: 10_000, hours: 8, days: 1, whole: 2),
        ]
    }

    static func name(_ use: ContainerUse) -> String {
        "\(grouped(use.devices)) devices, \(grouped(use.changes)) changes a day in \(use.hours) hours"
    }

    func run(progress: (String) -> Void, _ results: Measurements) throws {
        for use in uses {
            progress(Self.name(use))
            report(try RequestSimulation.run(use, below: folder), results)
        }
    }

    private func report(_ outcome: RequestSimulation.Outcome, _ results: Measurements) {
        let (use, counts) = (outcome.use, outcome.counts)
        let section = "requests of a device in a month, \(Self.name(use))"
        results.name(.ferry, "a month", in: section)
        func add(_ name: String, _ unit: String, _ value: Double) { results.add(section, name, unit, .ferry, value) }
        for (name, count) in RequestCounts.kinds { add(name, "requests", outcome.month(count(counts))) }
        add("all requests", "requests", outcome.month(counts.all))
        add("bytes read", "MB", outcome.month(counts.bytesRead) / 1e6)
        add("Amazon's price of the requests", "$", outcome.dollars())
        let all = outcome.dollarsOfAll()
        add("… of all devices", "$", all.requests)
        add("Amazon's price of the bytes, all devices", "$", all.leaving)
        add("objects in the container", "objects", Double(outcome.objects))
    }
}
