/// Decides which columns of a table made anew hold the values of which former columns, by checksums: a pure function.
///
/// The state has no values, but a sum of hashes for each row. A guess about all columns is right where the sum comes out, so
/// a few rows prove a guess.
struct ColumnMatch {
    /// A row, and what each column would add to its sum.
    struct Sample {
        /// The sum of all former columns.
        var sum: UInt64
        /// By the former column, and by the present column whose value is taken.
        var shares: [[UInt64]]
        /// True for each present column with a value that says nothing: NULL, a default, 0.
        var isUsual: [Bool]
    }

    /// The most guesses that are tried.
    private static let maximumTried = 4_000
    /// The most columns whose name another column got.
    private static let maximumReused = 2

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

    /// The present column of each former column, where the values prove that names have changed; `nil` otherwise.
    func proven() -> [Int]? {
        let gone = named.indices.filter { named[$0] == nil }
        guard !samples.isEmpty, gone.allSatisfy(movable.contains) else { return nil }
        if gone.isEmpty, samples.allSatisfy({ isExplained($0, named.compactMap { $0 }) }) { return nil }
        let new = (0..<presentCount).filter { !named.contains($0) }
        var tried = 0
        for reused in 0...Self.maximumReused {
            for others in Self.choices(
                of: reused, from: named.indices.filter { named[$0] != nil && movable.contains($0) })
            {
                let moved = gone + others
                // A column whose name went to another one is somewhere else.
                let places = new + others.compactMap { named[$0] }
                for guess in Self.arrangements(of: moved.count, from: places) {
                    tried += 1
                    if tried > Self.maximumTried { return nil }
                    var columns = named
                    for (column, place) in zip(moved, guess) { columns[column] = place }
                    let isOther = others.allSatisfy { columns[$0] != named[$0] }
                    if isOther, isProven(columns.compactMap { $0 }, moved) { return columns.compactMap { $0 } }
                }
            }
        }
        return nil
    }

    /// True if a guess explains nearly all rows, and each moved column has a value that says something.
    private func isProven(_ columns: [Int], _ moved: [Int]) -> Bool {
        if moved.isEmpty { return false }
        let explained = samples.filter { isExplained($0, columns) }
        guard explained.count * 10 >= samples.count * 9 else { return false }
        return moved.allSatisfy { column in explained.contains { !$0.isUsual[columns[column]] } }
    }

    private func isExplained(_ sample: Sample, _ columns: [Int]) -> Bool {
        var sum: UInt64 = 0
        for (column, place) in columns.enumerated() { sum &+= sample.shares[column][place] }
        return sum == sample.sum
    }

    /// All choices of some elements.
    private static func choices(of count: Int, from elements: [Int]) -> [[Int]] {
        if count == 0 { return [[]] }
        return elements.indices.flatMap { first in
            choices(of: count - 1, from: Array(elements[(first + 1)...])).map { [elements[first]] + $0 }
        }
    }

    /// All ordered choices of some elements; no more than are tried.
    private static func arrangements(of count: Int, from elements: [Int]) -> [[Int]] {
        if count == 0 { return [[]] }
        if count > elements.count || count > 4 { return [] }
        return elements.indices.flatMap { first in
            var rest = elements
            let element = rest.remove(at: first)
            return arrangements(of: count - 1, from: rest).map { [element] + $0 }
        }
    }
}
