import Foundation

/// A plot as SVG: lines with dots over logarithmic axes. Its greys are legible on a light page and on a dark one.
struct Plot {
    let chart: Chart
    let series: [Series]

    private static let width = 720.0
    private static let height = 400.0
    private static let left = 76.0
    private static let right = 48.0
    private static let top = 62.0
    private static let bottom = 56.0
    private static let colours = ["#3b82c4", "#d9822b", "#2f9e6e", "#b05cc6", "#c2463f"]

    /// Writes all plots of which there are points into a folder.
    static func write(_ results: Measurements, into folder: String) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for plot in all(results) {
            let file = URL(fileURLWithPath: folder + "/\(plot.chart.rawValue).svg")
            try Data(plot.svg().utf8).write(to: file)
        }
    }

    /// The plots as Markdown.
    /// - Parameters:
    ///   - folder: where they are.
    ///   - document: the file that shows them; paths are relative to its folder where the plots are below it.
    static func links(_ results: Measurements, in folder: String, from document: String?) -> String {
        let path = URL(fileURLWithPath: folder).standardizedFileURL.path
        let base = document.map { URL(fileURLWithPath: $0).deletingLastPathComponent().standardizedFileURL.path + "/" }
        let place = if let base, path.hasPrefix(base) { String(path.dropFirst(base.count)) } else { folder }
        let plots = all(results)
        if plots.isEmpty { return "" }
        return "\n### Plots\n"
            + plots.map { "\n![\($0.chart.title)](\(place)/\($0.chart.rawValue).svg)\n" }.joined()
    }

    private static func all(_ results: Measurements) -> [Plot] {
        Chart.allCases.compactMap { chart in
            results.points[chart].map { Plot(chart: chart, series: $0) }
        }
    }

    /// One axis from a power of ten to another.
    private struct Axis {
        let first: Int
        let last: Int
        let start: Double
        let end: Double

        /// - Parameter values: those to show; what is not above zero has no place.
        init(_ values: [Double], from start: Double, to end: Double) {
            let logarithms = values.filter { $0 > 0 }.map { log10($0) }
            let least = Int((logarithms.min() ?? 0).rounded(.down))
            first = least
            // A hair below a power of ten is that power.
            last = max(Int(((logarithms.max() ?? 0) - 1e-9).rounded(.up)), least + 1)
            (self.start, self.end) = (start, end)
        }

        func place(_ value: Double) -> Double {
            let part = (log10(max(value, pow(10, Double(first)))) - Double(first)) / Double(last - first)
            return start + part * (end - start)
        }

        var powers: [Double] { (first...last).map { pow(10, Double($0)) } }

        /// Those between the powers of ten: 2, 3, 4 … of each.
        var steps: [Double] { powers.dropLast().flatMap { power in (2...9).map { power * Double($0) } } }
    }

    func svg() -> String {
        let points = series.flatMap(\.points)
        let x = Axis(points.map(\.x), from: Self.left, to: Self.width - Self.right)
        let y = Axis(points.map(\.y), from: Self.height - Self.bottom, to: Self.top)
        var body = frame(x, y) + legend()
        for (index, one) in series.enumerated() {
            let colour = Self.colours[index % Self.colours.count]
            let places = one.points.map { (x: x.place($0.x), y: y.place($0.y), value: $0.y) }
            let path = places.map { "\(Self.text($0.x)),\(Self.text($0.y))" }.joined(separator: " ")
            body += "<polyline points=\"\(path)\" fill=\"none\" stroke=\"\(colour)\" stroke-width=\"2\"/>\n"
            for place in places {
                body +=
                    "<circle cx=\"\(Self.text(place.x))\" cy=\"\(Self.text(place.y))\" r=\"3.5\" fill=\"\(colour)\">"
                    + "<title>\(Self.escaped(one.name)): \(Report.number(place.value))</title></circle>\n"
            }
        }
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Int(Self.width)) \(Int(Self.height))" \
            width="\(Int(Self.width))" height="\(Int(Self.height))" role="img" aria-label="\(Self.escaped(chart.title))">
            <style>
            text { font: 13px system-ui, sans-serif; fill: #57606a }
            .title { font-size: 15px; font-weight: 600 }
            .power { stroke: #8c959f; stroke-opacity: .45 }
            .step { stroke: #8c959f; stroke-opacity: .14 }
            @media (prefers-color-scheme: dark) { text { fill: #9da7b1 } }
            </style>
            \(body)</svg>

            """
    }

    private func frame(_ x: Axis, _ y: Axis) -> String {
        var body = "<text class=\"title\" x=\"\(Self.text(Self.left))\" y=\"24\">\(Self.escaped(chart.title))</text>\n"
        func line(_ kind: String, _ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double) {
            body += "<line class=\"\(kind)\" x1=\"\(Self.text(x1))\" y1=\"\(Self.text(y1))\" "
            body += "x2=\"\(Self.text(x2))\" y2=\"\(Self.text(y2))\"/>\n"
        }
        for value in x.steps { line("step", x.place(value), y.start, x.place(value), y.end) }
        for value in y.steps { line("step", x.start, y.place(value), x.end, y.place(value)) }
        for value in x.powers {
            line("power", x.place(value), y.start, x.place(value), y.end)
            body += label(Self.number(value), x.place(value), y.start + 20, "middle")
        }
        for value in y.powers {
            line("power", x.start, y.place(value), x.end, y.place(value))
            body += label(Self.number(value), x.start - 8, y.place(value) + 4, "end")
        }
        body += label(chart.xLabel, (x.start + x.end) / 2, Self.height - 12, "middle")
        let middle = Self.text((y.start + y.end) / 2)
        body += "<text transform=\"rotate(-90 18 \(middle))\" x=\"18\" y=\"\(middle)\" text-anchor=\"middle\">"
        return body + "\(Self.escaped(chart.yLabel))</text>\n"
    }

    private func legend() -> String {
        if series.count < 2 { return "" }
        var body = ""
        var place = Self.left
        for (index, one) in series.enumerated() {
            let colour = Self.colours[index % Self.colours.count]
            body += "<circle cx=\"\(Self.text(place + 4))\" cy=\"44\" r=\"4\" fill=\"\(colour)\"/>\n"
            body += label(one.name, place + 13, 48, "start")
            place += 30 + Double(one.name.count) * 7.2
        }
        return body
    }

    private func label(_ text: String, _ x: Double, _ y: Double, _ anchor: String) -> String {
        "<text x=\"\(Self.text(x))\" y=\"\(Self.text(y))\" text-anchor=\"\(anchor)\">\(Self.escaped(text))</text>\n"
    }

    // MARK: Text

    private static func text(_ value: Double) -> String { String(format: "%.1f", value) }

    /// A power of ten as people write it.
    private static func number(_ value: Double) -> String {
        if value >= 1 { return grouped(Int(value.rounded())) }
        return String(format: "%.\(Int((-log10(value)).rounded()))f", value)
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing("\"", with: "&quot;")
    }
}
