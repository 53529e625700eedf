/// What was measured, in the order in which it came first, with one value for each round.
final class Measurements {
    /// Whose value it is. Sections can give them other names (`name`).
    enum Variant: String, CaseIterable {
        case plain, ferry, session
    }

    private struct Key: Hashable {
        var section: String
        var name: String
        var unit: String
        var variant: Variant
    }

    private var order: [Key] = []
    private var values: [Key: [Double]] = [:]
    private var names: [String: [Variant: String]] = [:]
    private(set) var points: [Chart: [Series]] = [:]

    func add(
        _ section: String, _ name: String, _ unit: String, _ variant: Variant = .ferry, _ value: Double
    ) {
        let key = Key(section: section, name: name, unit: unit, variant: variant)
        if values[key] == nil { order.append(key) }
        values[key, default: []].append(value)
    }

    /// Names what a section compares, where that is not plain SQLite, Ferry and the session extension.
    func name(_ variant: Variant, _ name: String, in section: String) {
        names[section, default: [:]][variant] = name
    }

    /// What a section's variant is called.
    func name(of variant: Variant, in section: String) -> String {
        if let name = names[section]?[variant] { return name }
        switch variant {
        case .plain: return "plain SQLite"
        case .ferry: return "Ferry"
        case .session: return "session extension"
        }
    }

    /// Adds a point to a plot; of several with one `x` their figure is drawn.
    func plot(_ chart: Chart, _ name: String, x: Double, y: Double) {
        var all = points[chart] ?? []
        let index = all.firstIndex { $0.name == name } ?? all.count
        if index == all.count { all.append(Series(name: name, unit: chart.unit)) }
        all[index].values[x, default: []].append(y)
        points[chart] = all
    }

    // MARK: What comes of it

    /// What one side costs, as a multiple of what the other one does.
    struct Ratio: Codable {
        /// Of the figures of both sides (`figure`).
        var value: Double
        /// Between which the rounds' own ratios lie, which shows how much they were disturbed.
        var least: Double
        var most: Double
    }

    /// One line of the report.
    struct Line: Codable {
        var section: String
        var name: String
        var unit: String
        var plain: Double?
        var ferry: Double?
        var session: Double?
        /// What Ferry costs, as a multiple of plain SQLite's cost and of the session extension's.
        var toPlain: Ratio?
        var toSession: Ratio?
        var rounds: Int
    }

    var lines: [Line] {
        var seen: Set<String> = []
        return order.compactMap { key in
            guard seen.insert("\(key.section)|\(key.name)").inserted else { return nil }
            func all(_ variant: Variant) -> [Double] {
                values[Key(section: key.section, name: key.name, unit: key.unit, variant: variant)] ?? []
            }
            let (plain, ferry, session) = (all(.plain), all(.ferry), all(.session))
            return Line(
                section: key.section, name: key.name, unit: key.unit, plain: Self.figure(plain, key.unit),
                ferry: Self.figure(ferry, key.unit), session: Self.figure(session, key.unit),
                toPlain: Self.ratio(ferry, plain, key.unit), toSession: Self.ratio(ferry, session, key.unit),
                rounds: max(plain.count, ferry.count))
        }
    }

    func line(_ section: String, _ name: String) -> Line? {
        lines.first { $0.section == section && $0.name == name }
    }

    /// Of times and rates the best round's: all that another program on the same machine can do to a round is to slow it down,
    /// and it seldom does so to all of them. Of sizes the median.
    fileprivate static func figure(_ values: [Double], _ unit: String) -> Double? {
        switch unit {
        case "s", "ms", "µs": values.min()
        case _ where isRate(unit): values.max()
        default: median(values)
        }
    }

    private static func isRate(_ unit: String) -> Bool { unit.hasSuffix("/s") }

    /// For rates the cost is the inverse.
    private static func ratio(_ values: [Double], _ base: [Double], _ unit: String) -> Ratio? {
        func cost(_ value: Double, _ base: Double) -> Double { isRate(unit) ? base / value : value / base }
        let ratios = zip(values, base).map(cost).filter(\.isFinite)
        guard let value = figure(values, unit), let beside = figure(base, unit), let least = ratios.min(),
            let most = ratios.max()
        else { return nil }
        return Ratio(value: cost(value, beside), least: least, most: most)
    }
}

/// The points of one line in a plot.
struct Series {
    var name: String
    var unit: String
    var values: [Double: [Double]] = [:]

    /// From left to right.
    var points: [(x: Double, y: Double)] {
        values.sorted { $0.key < $1.key }.compactMap { x, all in Measurements.figure(all, unit).map { (x, $0) } }
    }
}

func median(_ values: [Double]) -> Double? { percentile(values, 0.5) }

/// The value below which a part of the values lie, by nearest rank; for an even count the median is the mean of two.
func percentile(_ values: [Double], _ part: Double) -> Double? {
    if values.isEmpty { return nil }
    let sorted = values.sorted()
    if part == 0.5, sorted.count % 2 == 0 { return (sorted[sorted.count / 2 - 1] + sorted[sorted.count / 2]) / 2 }
    return sorted[min(Int(Double(sorted.count) * part), sorted.count - 1)]
}

/// Seconds that `body` takes.
func seconds(_ body: () throws -> Void) rethrows -> Double {
    let start = ContinuousClock.now
    try body()
    let duration = ContinuousClock.now - start
    return Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
}
