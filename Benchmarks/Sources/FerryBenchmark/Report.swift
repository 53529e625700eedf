import Foundation

/// The figures as tables: one for each section, and one of the targets.
struct Report {
    let results: Measurements
    /// What was run, and on what.
    let title: String

    struct Table {
        var title: String
        var cells: [[String]]
        /// The columns that hold words.
        var textColumns: Set<Int>
    }

    var tables: [Table] {
        var sections: [String] = []
        let lines = results.lines
        for line in lines where !sections.contains(line.section) { sections.append(line.section) }
        return sections.map { section in table(section, lines.filter { $0.section == section }) } + [targets]
    }

    private func table(_ section: String, _ lines: [Measurements.Line]) -> Table {
        let hasPlain = lines.contains { $0.plain != nil }
        let hasSession = lines.contains { $0.session != nil }
        func name(_ variant: Measurements.Variant) -> String { results.name(of: variant, in: section) }
        var header = ["", name(.ferry)]
        if hasPlain { header += [name(.plain), "×", "rounds"] }
        if hasSession { header += [name(.session), "×", "rounds"] }
        let rows = lines.map { line in
            var row = [line.name, Self.number(line.ferry)]
            if hasPlain { row += [Self.number(line.plain)] + Self.cells(line.toPlain) }
            if hasSession { row += [Self.number(line.session)] + Self.cells(line.toSession) }
            return row + [line.unit]
        }
        return Table(title: section, cells: [header + [""]] + rows, textColumns: [0, header.count])
    }

    private var targets: Table {
        let rows = Target.all.compactMap { target -> [String]? in
            guard let figure = target.figure(results) else { return nil }
            let least = target.least(results)
            let verdict =
                figure <= target.limit
                ? "reached" : least ?? 0 > target.limit ? "not reached, nor by the least" : "not reached"
            return [
                target.name, Self.number(figure), Self.number(target.limit), Self.number(least), target.unit, verdict,
            ]
        }
        return Table(
            title: "targets", cells: [["", "measured", "at most", "the least", "", ""]] + rows,
            textColumns: [0, 4, 5])
    }

    // MARK: Forms

    func text() -> String {
        title + "\n" + tables.filter { $0.cells.count > 1 }.map { "\n\($0.title)\n" + Self.text($0) }.joined()
    }

    func markdown() -> String {
        "\(title)\n"
            + tables.filter { $0.cells.count > 1 }.map { table in
                let title = table.title.prefix(1).uppercased() + table.title.dropFirst()
                var lines = table.cells.map { "| " + $0.joined(separator: " | ") + " |" }
                let rule = table.cells[0].indices.map { table.textColumns.contains($0) ? "---" : "---:" }
                lines.insert("| " + rule.joined(separator: " | ") + " |", at: 1)
                return "\n### \(title)\n\n" + lines.joined(separator: "\n") + "\n"
            }.joined()
    }

    private static func text(_ table: Table) -> String {
        let widths = table.cells[0].indices.map { column in table.cells.map { $0[column].count }.max() ?? 0 }
        return table.cells.map { row in
            let cells = row.indices.map { column in
                let padding = String(repeating: " ", count: widths[column] - row[column].count)
                return table.textColumns.contains(column) ? row[column] + padding : padding + row[column]
            }
            return "  " + cells.joined(separator: "  ").replacing(#/ +$/#, with: "") + "\n"
        }.joined()
    }

    // MARK: Figures

    private static func cells(_ ratio: Measurements.Ratio?) -> [String] {
        guard let ratio else { return ["", ""] }
        func text(_ value: Double) -> String { String(format: "%.2f", value) }
        return [text(ratio.value), "\(text(ratio.least))–\(text(ratio.most))"]
    }

    /// Three digits, or all before the point.
    static func number(_ value: Double?) -> String {
        guard let value else { return "" }
        if value >= 1000 { return grouped(Int(value.rounded())) }
        let digits = value >= 100 ? 0 : value >= 10 ? 1 : value >= 0.1 || value == 0 ? 2 : 4
        return String(format: "%.\(digits)f", value)
    }
}

/// A number with commas.
func grouped(_ number: Int) -> String {
    var digits = String(number)
    var place = digits.count - 3
    while place > (number < 0 ? 1 : 0) {
        digits.insert(",", at: digits.index(digits.startIndex, offsetBy: place))
        place -= 3
    }
    return digits
}

/// A document with a part for figures.
struct FigureDocument {
    static let begin = "<!-- figures -->"
    static let end = "<!-- end of figures -->"

    /// Puts `figures` between the two marks of the file at `path`.
    static func replace(in path: String, by figures: String) throws {
        let text = try String(contentsOfFile: path, encoding: .utf8)
        guard let first = text.range(of: begin), let last = text.range(of: end), first.upperBound <= last.lowerBound
        else {
            throw BenchmarkError("\(path) lacks the lines \(begin) and \(end)")
        }
        let changed = text[..<first.upperBound] + "\n\n" + figures + "\n" + text[last.lowerBound...]
        // To be looked at and committed: what is lost by an ill-timed cut of power is made anew.
        try Data(changed.utf8).write(to: URL(fileURLWithPath: path))
    }
}
