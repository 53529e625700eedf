/// Decides which columns of a table made anew hold the values of which former columns, by checksums: a pure function.
///
/// The state has no values, but a sum of hashes for each row. A guess about all columns is right where the sum comes out, so
/// a few rows prove a guess. The migration may also have converted or dropped columns, so a share of the sum may have several guesses.
struct ColumnMatch {
    /// A row, and what each column would add to its sum.
    struct Sample {
        /// The sum of all former columns.
        var sum: UInt64
        /// By the former column, and by the present column whose value is taken: the possible shares, the likeliest first.
        var shares: [[[UInt64]]]
        /// By the former column: the possible shares of a column that is gone.
        var dropped: [[UInt64]]
        /// True for each present column with a value that says nothing: NULL, a default, 0.
        var isUsual: [Bool]
    }

    /// The most guesses that are tried.
    private static let maximumTried = 4_000
    /// The most columns whose name another column got.
    private static let maximumReused = 2
    /// The most columns that moved.
    private static let maximumMoved = 4
    /// The most combinations of shares that are tried for a row.
    private static let maximumCombinations = 512

    /// The present column of each former column by name; `nil` for a column whose name is gone.
    private let named: [Int?]
    private let presentCount: Int
    /// Columns that may have become other ones.
    private let movable: Set<Int>
    private let samples: [Sample]

    /// - Parameters:
    ///   - named: the present column of each former column by name; `nil` for a column whose name is gone.
    ///   - presentCount: the number of present columns.
    ///   - movable: the former columns that may have become other ones.
    init(named: [Int?], presentCount: Int, movable: Set<Int>, _ samples: [Sample]) {
        self.named = named
        self.presentCount = presentCount
        self.movable = movable
        self.samples = samples
    }

    /// The present column of each former column, where the values prove that names have changed; `nil` otherwise. A dropped column has
    /// none.
    func proven() -> [Int?]? {
        let gone = named.indices.filter { named[$0] == nil }
        if samples.isEmpty { return nil }
        if gone.isEmpty, samples.allSatisfy({ isExplained($0, named) }) { return nil }
        let new = (0..<presentCount).filter { !named.contains($0) }
        var tried = 0
        // A guess that drops no column says most.
        for kept in (0...min(gone.count, new.count + Self.maximumReused, Self.maximumMoved)).reversed() {
            for reused in 0...Self.maximumReused {
                for (renamed, others) in choices(kept, of: gone, reused) {
                    let moved = renamed + others
                    // A column whose name went to another one is somewhere else.
                    let places = new + others.compactMap { named[$0] }
                    for guess in Self.arrangements(of: moved.count, from: places) {
                        tried += 1
                        if tried > Self.maximumTried { return nil }
                        var columns = named
                        for (column, place) in zip(moved, guess) { columns[column] = place }
                        let isOther = others.allSatisfy { columns[$0] != named[$0] }
                        if isOther, isProven(columns, moved) { return columns }
                    }
                }
            }
        }
        return nil
    }

    /// The choices of columns that moved: some whose name is gone, and some whose name another column got.
    private func choices(_ kept: Int, of gone: [Int], _ reused: Int) -> [(renamed: [Int], others: [Int])] {
        let named = self.named.indices.filter { self.named[$0] != nil && movable.contains($0) }
        let others = Self.choices(of: reused, from: named)
        return Self.choices(of: kept, from: gone.filter(movable.contains)).prefix(
            Self.maximumTried / max(others.count, 1) + 1
        )
        .flatMap { renamed in others.map { (renamed, $0) } }
    }

    /// True if a guess explains nearly all rows, and each moved column has a value that says something.
    private func isProven(_ columns: [Int?], _ moved: [Int]) -> Bool {
        if moved.isEmpty { return false }
        var explained: [Sample] = []
        var left = samples.count / 10
        for sample in samples {
            if isExplained(sample, columns) {
                explained.append(sample)
            } else if left == 0 {
                return false
            } else {
                left -= 1
            }
        }
        return moved.allSatisfy { column in
            columns[column].map { place in explained.contains { !$0.isUsual[place] } } ?? false
        }
    }

    private func isExplained(_ sample: Sample, _ columns: [Int?]) -> Bool {
        var rest = sample.sum
        var open: [[UInt64]] = []
        for (column, place) in columns.enumerated() {
            let shares = place.map { sample.shares[column][$0] } ?? sample.dropped[column]
            if shares.count == 1 { rest &-= shares[0] } else { open.append(shares) }
        }
        var left = Self.maximumCombinations
        return Self.isSum(rest, of: open[...], &left)
    }

    /// - Parameter left: the number of combinations still to try.
    private static func isSum(_ sum: UInt64, of shares: ArraySlice<[UInt64]>, _ left: inout Int) -> Bool {
        guard let first = shares.first else {
            left -= 1
            return sum == 0
        }
        for share in first where left > 0 {
            if isSum(sum &- share, of: shares.dropFirst(), &left) { return true }
        }
        return false
    }

    /// All choices of some elements; no more than are tried.
    private static func choices(of count: Int, from elements: [Int], _ limit: Int = maximumTried) -> [[Int]] {
        if count == 0 { return [[]] }
        var found: [[Int]] = []
        for first in elements.indices where found.count < limit {
            found += choices(of: count - 1, from: Array(elements[(first + 1)...]), limit - found.count).map {
                [elements[first]] + $0
            }
        }
        return found
    }

    /// All ordered choices of some elements; no more than are tried.
    private static func arrangements(of count: Int, from elements: [Int]) -> [[Int]] {
        if count == 0 { return [[]] }
        if count > elements.count || count > maximumMoved { return [] }
        return elements.indices.flatMap { first in
            var rest = elements
            let element = rest.remove(at: first)
            return arrangements(of: count - 1, from: rest).map { [element] + $0 }
        }
    }
}
