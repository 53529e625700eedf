/// The shortest way between two sequences of lines (Myers, "An O(ND) Difference Algorithm and Its Variations", 1986).
enum LineDifference {
    /// More inserted and deleted lines are not looked for: the memory grows with the square of their number, to 16 MB.
    static let maximumEdits = 2000

    /// Old lines and the new lines in their place. A range may be empty, but not both.
    struct Edit: Equatable {
        var old: Range<Int>
        var new: Range<Int>
    }

    /// The edits from the old sequence to the new sequence, ascending. At least one equal line stands between two
    /// edits.
    /// - Parameters: numbers of lines; equal lines have equal numbers.
    /// - Returns: `nil` beyond `maximumEdits`.
    static func edits(from old: [Int], to new: [Int]) -> [Edit]? {
        var start = 0
        while start < min(old.count, new.count), old[start] == new[start] { start += 1 }
        var (oldEnd, newEnd) = (old.count, new.count)
        while oldEnd > start, newEnd > start, old[oldEnd - 1] == new[newEnd - 1] {
            (oldEnd, newEnd) = (oldEnd - 1, newEnd - 1)
        }
        guard let steps = steps(old[start..<oldEnd], new[start..<newEnd]) else { return nil }
        return gathered(steps)
    }

    /// A removed or inserted line, at a place in either sequence.
    private struct Step {
        var old: Int
        var new: Int
        var isInsertion: Bool
    }

    private static func gathered(_ steps: [Step]) -> [Edit] {
        var edits: [Edit] = []
        for step in steps {
            let (old, new) = (step.old + (step.isInsertion ? 0 : 1), step.new + (step.isInsertion ? 1 : 0))
            if let last = edits.last, last.old.upperBound == step.old, last.new.upperBound == step.new {
                edits[edits.count - 1] = Edit(old: last.old.lowerBound..<old, new: last.new.lowerBound..<new)
            } else {
                edits.append(Edit(old: step.old..<old, new: step.new..<new))
            }
        }
        return edits
    }

    /// The steps in ascending order.
    private static func steps(_ old: ArraySlice<Int>, _ new: ArraySlice<Int>) -> [Step]? {
        let limit = min(old.count + new.count, maximumEdits)
        // For each number of steps: the furthest reached place in `old` on each diagonal.
        var reached: [[Int32]] = []
        for count in 0...limit {
            var row = [Int32](repeating: 0, count: 2 * count + 1)
            for diagonal in stride(from: -count, through: count, by: 2) {
                var place = count == 0 ? 0 : first(on: diagonal, count, reached[count - 1])
                while place < old.count, place - diagonal < new.count,
                    old[old.startIndex + place] == new[new.startIndex + place - diagonal]
                { place += 1 }
                row[diagonal + count] = Int32(place)
                if place == old.count, place - diagonal == new.count {
                    return back(from: diagonal, count, reached, old.startIndex, new.startIndex)
                }
            }
            reached.append(row)
        }
        return nil
    }

    /// Whether the furthest way to a diagonal ends with an insertion.
    private static func isInsertion(_ diagonal: Int, _ count: Int, _ before: [Int32]) -> Bool {
        // `before` has the diagonals from -(count - 1) on.
        if diagonal == -count { return true }
        if diagonal == count { return false }
        return before[diagonal + count - 2] < before[diagonal + count]
    }

    /// Where a diagonal is entered.
    private static func first(on diagonal: Int, _ count: Int, _ before: [Int32]) -> Int {
        isInsertion(diagonal, count, before)
            ? Int(before[diagonal + count]) : Int(before[diagonal + count - 2]) + 1
    }

    private static func back(
        from end: Int, _ total: Int, _ reached: [[Int32]], _ oldStart: Int, _ newStart: Int
    ) -> [Step] {
        var (steps, diagonal) = ([Step](), end)
        for count in stride(from: total, to: 0, by: -1) {
            let before = reached[count - 1]
            let inserts = isInsertion(diagonal, count, before)
            let former = inserts ? diagonal + 1 : diagonal - 1
            let place = Int(before[former + count - 1])
            steps.append(Step(old: oldStart + place, new: newStart + place - former, isInsertion: inserts))
            diagonal = former
        }
        return steps.reversed()
    }
}
