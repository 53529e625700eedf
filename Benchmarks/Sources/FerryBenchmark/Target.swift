/// What Ferry is to reach: a figure and the most that it may be.
struct Target {
    var name: String
    var limit: Double
    var unit: String
    var figure: (Measurements) -> Double?
    /// What the least that any design would do takes (`LeastDesign`), where that is measured.
    var least: (Measurements) -> Double? = { _ in nil }

    /// In the order of the report. Of what was not measured the figure is `nil`.
    static var all: [Target] {
        capture + shell + movement + smallChangesets + space + latency + rest + growth + rules + hardCases + sealed
            + gateway
    }

    private static let songs = Songs(rows: 1)
    private static let shop = RecordShop(rows: 1)
    private static let workloads: [any Workload] = [songs, shop]

    /// A ratio of a workload's line, in each workload and on the media.
    /// - Parameter least: the line of the bounds that it is to be read against.
    private static func ratios(
        _ line: String, _ limit: Double, to base: KeyPath<Measurements.Line, Measurements.Ratio?> = \.toPlain,
        on media: [String] = ["memory", "disk"], called name: String? = nil, least: String
    ) -> [Target] {
        media.flatMap { medium in
            workloads.map { workload in
                let section = WorkloadBenchmark.section(workload, medium)
                let bounds = BoundsBenchmark.section(workload, medium)
                return Target(name: "\(name ?? line), \(section)", limit: limit, unit: "×") {
                    $0.line(section, line)?[keyPath: base]?.value
                } least: {
                    $0.line(bounds, least)?[keyPath: base]?.value
                }
            }
        }
    }

    private static var capture: [Target] {
        ["memory", "disk"].flatMap { medium in
            captureLimits(medium).flatMap { line, limit in
                ratios(line, limit, on: [medium], least: BoundsBenchmark.withChanges(line))
            }
        }
    }

    /// The most that an app's own writes may cost, by the lines.
    private static func captureLimits(_ medium: String) -> [(line: String, limit: Double)] {
        let isMemory = medium == "memory"
        return [
            (WorkloadBenchmark.inserting, isMemory ? 1.35 : 1.15),
            (WorkloadBenchmark.updating, isMemory ? 1.20 : 1.15),
            (WorkloadBenchmark.updatingSingly, 1.30), (WorkloadBenchmark.deleting, 1.10),
        ]
    }

    private static var shell: [Target] {
        captureLimits("memory").map { line, limit in
            let section = ShellBenchmark.section(songs)
            return Target(name: "\(line), \(section)", limit: limit, unit: "×") {
                $0.line(section, line)?.toPlain?.value
            } least: {
                $0.line(BoundsBenchmark.sectionOfShell(songs), BoundsBenchmark.withChanges(line))?.toPlain?.value
            }
        }
    }

    private static var movement: [Target] {
        ratios(
            WorkloadBenchmark.packingInserts, 1.3, called: "pack and encode, beside plain inserts",
            least: BoundsBenchmark.packingInsertions)
            + ratios(
                WorkloadBenchmark.joining, 1.0, called: "the first join, beside plain inserts",
                least: BoundsBenchmark.joiningFile)
            + ratios(
                WorkloadBenchmark.replayingUpdates, 1.0, to: \.toSession,
                called: "replay updates, beside sqlite3changeset_apply", least: WorkloadBenchmark.replayingUpdates)
            + ["memory", "disk"].flatMap { medium in
                workloads.map { workload in
                    let section = WorkloadBenchmark.conflictSection(workload, medium)
                    return Target(name: section, limit: 1.5, unit: "×") {
                        $0.line(section, WorkloadBenchmark.replayingUpdates)?.toPlain?.value
                    }
                }
            }
    }

    private static var smallChangesets: [Target] {
        workloads.map { workload in
            let section = SmallChangesetsBenchmark.section(workload)
            return Target(name: "replay \(section), beside sqlite3changeset_apply", limit: 1.0, unit: "×") {
                $0.line(section, SmallChangesetsBenchmark.replaying)?.toSession?.value
            }
        }
    }

    private static var space: [Target] {
        [(WorkloadBenchmark.insertBytes, 60.0), (WorkloadBenchmark.updateBytes, 20.0)].flatMap { line, limit in
            workloads.map { workload in
                let section = WorkloadBenchmark.section(workload, "memory")
                return Target(name: "\(line), \(section)", limit: limit, unit: "bytes") {
                    $0.line(section, line)?.ferry
                }
            }
        } + ratios(WorkloadBenchmark.databaseSize, 1.4, on: ["memory"], least: WorkloadBenchmark.databaseSize)
    }

    private static let crowds = [10, 100, 1000]

    private static var latency: [Target] {
        crowds.flatMap { devices in
            [("median", 50.0), ("p99", 250.0)].map { what, limit in
                let line = LatencyBenchmark.name(devices, what)
                return Target(name: "from a commit to the other device, \(line)", limit: limit, unit: "ms") {
                    $0.line(LatencyBenchmark.section, line)?.ferry
                }
            }
        }
    }

    private static var rest: [Target] {
        crowds.map { devices in
            let line = IdleBenchmark.name(devices)
            return Target(name: "a pair that rests, \(line)", limit: 0.1, unit: "% of a core") {
                $0.line(IdleBenchmark.section, line)?.ferry
            }
        }
    }

    /// What must not grow may be half as much again at the far end: that is noise, and deeper trees of SQLite's.
    private static let sameness = 1.5

    /// How a line at a larger size stands to that at a smaller one.
    private static func growth(
        _ name: String, _ section: String, _ large: String, _ small: String, limit: Double = sameness
    ) -> Target {
        Target(name: name, limit: limit, unit: "×") {
            guard let most = $0.line(section, large)?.ferry, let least = $0.line(section, small)?.ferry else {
                return nil
            }
            return most / least
        }
    }

    private static var growth: [Target] {
        let (small, large) = (1000, 1_000_000)
        var targets = [
            growth(
                "nothing new after a million changes, beside a thousand", HistoryBenchmark.section,
                HistoryBenchmark.name(large), HistoryBenchmark.name(small)),
            growth(
                "nothing new with a million rows, beside a thousand", SizeBenchmark.idleSection,
                SizeBenchmark.name(large), SizeBenchmark.name(small)),
        ]
        targets += [10, 1000].map { touched in
            var target = growth(
                "merge of \(grouped(touched)) rows in a million, beside 100,000", SizeBenchmark.mergeSection,
                SizeBenchmark.merge(touched, of: large), SizeBenchmark.merge(touched, of: 100_000))
            target.least = { $0.line(MergeBounds.section, MergeBounds.name(touched))?.toPlain?.value }
            return target
        }
        targets += KeyValueBenchmark.What.allCases.map { what in
            var target = growth(
                "\(what.rawValue) in a set of a million, beside a thousand", KeyValueBenchmark.section,
                KeyValueBenchmark.name(what, large), KeyValueBenchmark.name(what, small))
            if what == .sync { target.least = { $0.line(SetBounds.section, SetBounds.withStates)?.toPlain?.value } }
            return target
        }
        return targets
            + [100_000, 1_000_000, 10_000_000].map { rows in
                // Of which SQLite's page cache has 61.
                Target(name: "the first join of \(grouped(rows)) rows, peak memory", limit: 128, unit: "MB") {
                    $0.line(SizeBenchmark.joinSection, SizeBenchmark.peak(rows))?.ferry
                }
            }
    }

    /// Eight times as much may take n log n, and a quarter as much again: deeper trees, and noise. No size may take more memory than
    /// 128 MB, of which SQLite's page cache has 61.
    private static var hardCases: [Target] {
        HardCase.all.flatMap { hard in
            [(HardCasesBenchmark.growth(hard), 12.0, "×"), (HardCasesBenchmark.peak(hard), 128, "MB")].map {
                line, limit, unit in
                Target(name: line, limit: limit, unit: unit) {
                    $0.line(HardCasesBenchmark.section, line)?.ferry
                } least: {
                    $0.line(HardCasesBenchmark.section, line)?.plain
                }
            }
        }
    }

    /// What sealing may cost.
    private static var sealed: [Target] {
        let section = SealedBenchmark.section
        let lines = [
            SealedBenchmark.packing, SealedBenchmark.joining, SealedBenchmark.replayingInsertions,
            SealedBenchmark.replayingUpdates, SealedBenchmark.resting, SealedBenchmark.restingGlance,
            SealedBenchmark.restingThorough,
        ]
        return lines.map { line in
            Target(name: "\(line), sealed beside open", limit: 1.05, unit: "×") {
                $0.line(section, line)?.toPlain?.value
            }
        } + [
            Target(name: "\(SealedBenchmark.single), sealed: so much more than open", limit: 1, unit: "ms") {
                guard let line = $0.line(section, SealedBenchmark.single), let sealed = line.ferry,
                    let open = line.plain
                else { return nil }
                return sealed - open
            }
        ]
    }

    private static var rules: [Target] {
        RulesBenchmark.names.map { name in
            Target(name: "\(name), with UNIQUE and foreign keys", limit: 1.5, unit: "×") {
                $0.line(RulesBenchmark.section, name)?.toPlain?.value
            }
        }
    }

    /// Over an object storage: what a look, a publication and a reader may ask for, and how long both sides at work may take.
    private static var gateway: [Target] {
        let requests = [
            (GatewayBenchmark.quietPass, 1.0), (GatewayBenchmark.publication, 5), (GatewayBenchmark.reading, 2),
        ].map { name, limit in
            Target(name: "\(name), through a gateway", limit: limit, unit: "requests") {
                $0.line(GatewayBenchmark.requestSection, name + ", at most")?.ferry
            }
        }
        let latency = [
            (GatewayLatency.atWork, 1.2, 3.0), (GatewayLatency.tenMinutes, 3.2, 6.5),
        ].flatMap { phase, median, most in
            [("median", median), ("p99", most)].map { what, limit in
                let line = GatewayLatency.name(phase, what)
                return Target(name: "\(GatewayLatency.section), \(line)", limit: limit, unit: "s") {
                    $0.line(GatewayLatency.section, line)?.ferry
                }
            }
        }
        return requests + latency
    }
}
