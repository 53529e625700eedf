/// Merges two texts with a common base, line by line: the merge `lines`.
///
/// Edits of both sides are taken if at least one line of the base stands between them. Edits that overlap or touch are
/// refused, unless both sides made the same edit. So no written line is lost, and none stands twice.
package enum LineMerge {
    /// Longer texts are not merged, in bytes and in lines.
    package static let maximumBytes = 16 << 20
    package static let maximumLines = 1 << 18

    /// The merged text, the same for either order of the sides.
    /// - Returns: `nil` where edits overlap or touch, where a text has a NUL and so is none, and beyond the limits.
    package static func merge(base: [UInt8], ours: [UInt8], theirs: [UInt8]) -> [UInt8]? {
        if ours == theirs || theirs == base { return ours }
        if ours == base { return theirs }
        let texts = [base, ours, theirs]
        guard texts.allSatisfy({ $0.count <= maximumBytes && !$0.contains(0) }) else { return nil }
        let lines = texts.map(lines)
        guard lines.allSatisfy({ $0.count <= maximumLines }) else { return nil }
        var numbers: [ArraySlice<UInt8>: Int] = [:]
        for line in lines.joined() where numbers[line] == nil { numbers[line] = numbers.count }
        let coded = lines.map { $0.compactMap { numbers[$0] } }
        guard let left = LineDifference.edits(from: coded[0], to: coded[1]),
            let right = LineDifference.edits(from: coded[0], to: coded[2])
        else { return nil }
        return joined(Side(lines: lines[1], edits: left), Side(lines: lines[2], edits: right), lines[0])
    }

    private struct Side {
        var lines: [ArraySlice<UInt8>]
        var edits: [LineDifference.Edit]

        /// The new lines of an edit, in place of the base's lines.
        func replacement(_ edit: LineDifference.Edit) -> ArraySlice<ArraySlice<UInt8>> { lines[edit.new] }
    }

    /// The text's lines, each with the final line feed.
    private static func lines(_ text: [UInt8]) -> [ArraySlice<UInt8>] {
        var (lines, start) = ([ArraySlice<UInt8>](), 0)
        for (place, byte) in text.enumerated() where byte == UInt8(ascii: "\n") {
            lines.append(text[start...place])
            start = place + 1
        }
        if start < text.count { lines.append(text[start...]) }
        return lines
    }

    /// The base with the edits of both sides; `nil` where they overlap or touch.
    private static func joined(_ left: Side, _ right: Side, _ base: [ArraySlice<UInt8>]) -> [UInt8]? {
        var (merged, place) = ([UInt8](), 0)
        var (one, other) = (left.edits[...], right.edits[...])
        func take(_ edit: LineDifference.Edit, _ side: Side) {
            for line in base[place..<edit.old.lowerBound] { merged += line }
            for line in side.replacement(edit) { merged += line }
            place = edit.old.upperBound
        }
        while let next = one.first ?? other.first {
            let (first, second) = (one.first ?? next, other.first ?? next)
            if other.isEmpty || !one.isEmpty && first.old.upperBound < second.old.lowerBound {
                take(first, left)
                one = one.dropFirst()
            } else if one.isEmpty || second.old.upperBound < first.old.lowerBound {
                take(second, right)
                other = other.dropFirst()
            } else if first.old == second.old, left.replacement(first) == right.replacement(second) {
                take(first, left)
                (one, other) = (one.dropFirst(), other.dropFirst())
            } else {
                return nil
            }
        }
        for line in base[place...] { merged += line }
        return merged
    }
}
