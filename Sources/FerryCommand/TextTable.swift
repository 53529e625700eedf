/// A table with aligned columns and a dim heading.
struct TextTable {
    enum Alignment { case left, right }

    struct Column {
        var title: String
        var alignment = Alignment.left
    }

    let columns: [Column]
    private(set) var rows: [[String]] = []

    init(_ columns: [Column]) { self.columns = columns }

    /// Columns with these titles; titles with a final `#` mean numbers, aligned to the right.
    init(_ titles: String...) {
        columns = titles.map { title in
            title.hasSuffix("#")
                ? Column(title: String(title.dropLast()), alignment: .right) : Column(title: title)
        }
    }

    var isEmpty: Bool { rows.isEmpty }

    /// Adds a row. A line break in a cell would forge a line, so each cell is on one line.
    mutating func add(_ cells: String...) {
        rows.append(cells.map { $0.contains(where: \.isNewline) ? Wording.oneLine($0, limit: .max) : $0 })
    }

    /// Each line begins with two spaces; none ends with a space. On a narrow terminal the cells of too long a row stand
    /// below each other.
    func lines(_ style: Style) -> [String] {
        let titles = columns.map(\.title)
        let widths = columns.indices.map { index in ([titles] + rows).map { $0[index].cellWidth }.max() ?? 0 }
        if let width = style.width, widths.reduce(2, +) + 3 * (widths.count - 1) > width { return stacked(style) }
        let heading = style.dim(line(titles, widths))
        return ["  " + heading] + rows.map { "  " + line($0, widths) }
    }

    private func stacked(_ style: Style) -> [String] {
        let names = columns.dropFirst().map(\.title)
        let width = names.map(\.cellWidth).max() ?? 0
        return ["  " + style.dim(columns[0].title)]
            + rows.flatMap { cells in
                ["  " + cells[0]]
                    + zip(names, cells.dropFirst()).filter { !$1.isEmpty }.map { name, cell in
                        let space = String(repeating: " ", count: width - name.cellWidth)
                        return "    " + style.dim(name) + (width > 0 ? space + "  " : "") + cell
                    }
            }
    }

    private func line(_ cells: [String], _ widths: [Int]) -> String {
        var text = ""
        for (index, cell) in cells.enumerated() {
            let space = String(repeating: " ", count: max(widths[index] - cell.cellWidth, 0))
            switch columns[index].alignment {
            case .right: text += space + cell
            case .left: text += index == cells.count - 1 ? cell : cell + space
            }
            if index < cells.count - 1 { text += "   " }
        }
        while text.last == " " { text.removeLast() }
        return text
    }
}
