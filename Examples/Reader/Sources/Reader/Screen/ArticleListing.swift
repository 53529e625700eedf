import ReaderStore

/// The list of articles as the screen knows it: how many there are, what divides them, and those rows that are on the
/// screen. Lines are rows and the headings of sections.
struct ArticleListing: Equatable, Sendable {
    struct Section: Equatable, Sendable {
        var name: String
        var rows: Range<Int>
    }

    enum Line: Equatable {
        case heading(String)
        case row(Int)
    }

    var count = 0
    var sections: [Section] = []
    /// By row; what is missing is on its way.
    var rows: [Int: ArticleLine] = [:]

    /// Whether sections have headings: a single one without a name has none.
    private var hasHeadings: Bool { !(sections.count <= 1 && sections.first?.name ?? "" == "") }

    var lineCount: Int { count + (hasHeadings ? sections.count : 0) }

    /// The line on which a row stands.
    func line(ofRow row: Int) -> Int {
        guard hasHeadings else { return row }
        return row + 1 + (section(ofRow: row) ?? 0)
    }

    private func section(ofRow row: Int) -> Int? {
        var (low, high) = (0, sections.count)
        while low < high {
            let middle = (low + high) / 2
            if sections[middle].rows.upperBound <= row { low = middle + 1 } else { high = middle }
        }
        return low < sections.count ? low : nil
    }

    func line(_ line: Int) -> Line? {
        guard line >= 0, line < lineCount else { return nil }
        guard hasHeadings else { return .row(line) }
        // The last section whose heading is on this line or above it.
        var (low, high) = (0, sections.count)
        while low < high {
            let middle = (low + high) / 2
            if sections[middle].rows.lowerBound + middle <= line { low = middle + 1 } else { high = middle }
        }
        let section = low - 1
        let first = sections[section].rows.lowerBound + section
        return line == first ? .heading(sections[section].name) : .row(line - section - 1)
    }

    /// The rows on these lines.
    func rows(onLines lines: Range<Int>) -> Range<Int> {
        var found: Range<Int>?
        for number in lines {
            if case .row(let row)? = line(number) { found = (found?.lowerBound ?? row)..<(row + 1) }
        }
        return found ?? 0..<0
    }
}
