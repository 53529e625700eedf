import Foundation

/// What was measured, in the order in which it came first, with one value for each round.
struct Measurements {
    struct Key: Hashable {
        var section: String
        var name: String
        var unit: String
        /// `plain`, `ferry` or `session`.
        var variant: String
    }

    private var order: [Key] = []
    private var values: [Key: [Double]] = [:]

    mutating func add(_ section: String, _ name: String, _ unit: String, _ variant: String = "ferry", _ value: Double) {
        let key = Key(section: section, name: name, unit: unit, variant: variant)
        if values[key] == nil { order.append(key) }
        values[key, default: []].append(value)
    }

    /// One line of the report.
    struct Line: Codable {
        var section: String
        var name: String
        var unit: String
        var plain: Double?
        var ferry: Double?
        var session: Double?
        /// The cost of Ferry and of the session extension as multiples of plain SQLite's: medians of the rounds' own
        /// ratios, since what disturbs one round disturbs both sides of it.
        var ferryRatio: Double?
        var sessionRatio: Double?
        var rounds: Int
    }

    var lines: [Line] {
        var seen: Set<String> = []
        return order.compactMap { key in
            guard seen.insert("\(key.section)|\(key.name)").inserted else { return nil }
            func all(_ variant: String) -> [Double] {
                values[Key(section: key.section, name: key.name, unit: key.unit, variant: variant)] ?? []
            }
            let (plain, ferry, session) = (all("plain"), all("ferry"), all("session"))
            return Line(
                section: key.section, name: key.name, unit: key.unit, plain: median(plain), ferry: median(ferry),
                session: median(session), ferryRatio: ratio(ferry, plain, key.unit),
                sessionRatio: ratio(session, plain, key.unit), rounds: max(plain.count, ferry.count))
        }
    }

    /// For rates the cost is the inverse.
    private func ratio(_ values: [Double], _ plain: [Double], _ unit: String) -> Double? {
        median(zip(values, plain).map { unit.hasSuffix("/s") ? $1 / $0 : $0 / $1 })
    }

    func table() -> String {
        var text = ""
        var section = ""
        for line in lines {
            if line.section != section {
                section = line.section
                text += "\n\(section)\n"
                text += row(["", "plain SQLite", "Ferry", "× plain", "session ext.", "× plain", ""])
            }
            text += row([
                line.name, number(line.plain), number(line.ferry), ratioText(line.ferryRatio), number(line.session),
                ratioText(line.sessionRatio), line.unit,
            ])
        }
        return text
    }

    private func row(_ cells: [String]) -> String {
        let widths = [44, 13, 11, 8, 13, 8, 0]
        return "  "
            + zip(cells, widths).enumerated().map { index, cell in
                let padding = String(repeating: " ", count: max(cell.1 - cell.0.count, 0))
                return index == 0 ? cell.0 + padding : index == 6 ? "  " + cell.0 : padding + cell.0
            }.joined() + "\n"
    }

    private func ratioText(_ value: Double?) -> String { value.map { String(format: "%.2f", $0) } ?? "" }

    private func number(_ value: Double?) -> String {
        guard let value else { return "" }
        if value >= 1000 { return String(format: "%.0f", value) }
        return String(format: value >= 100 ? "%.0f" : value >= 10 ? "%.1f" : "%.2f", value)
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
