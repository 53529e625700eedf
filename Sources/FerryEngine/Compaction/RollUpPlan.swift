import FerryLog
import FerryStore

/// Which of an author's segments become one: a pure function of the list.
///
/// Size-tiered, as in a log-structured merge tree: a segment's *level* is the logarithm of its number of changesets, to the
/// base of the fan-out (16). From the oldest to the newest, levels only ever fall: what is small and stands before something
/// larger is put together with it, and as many of one level as the fan-out says become one. So a log of n changesets has at
/// most 15 log₁₆(n) segments that are not full, and each change is written again once or twice a level. The newest segment
/// stays as it is, because heads name it.
struct RollUpPlan {
    /// Segments of consecutive changesets as one.
    struct Run: Equatable {
        var first: UInt64
        var last: UInt64
        var bytes: Int
        /// A changeset without any, such as a schema alone, counts as one: a full segment is not written again for it.
        var changes: Int
        /// How many segments it is made of.
        var count = 1

        init(_ segment: OwnSegment) {
            first = segment.first
            last = segment.last
            bytes = segment.bytes
            changes = max(segment.changes, Int(segment.last - segment.first) + 1)
        }

        var changesets: Int { Int(last - first) + 1 }

        mutating func append(_ next: Run) {
            last = next.last
            bytes += next.bytes
            changes += next.changes
            count += next.count
        }
    }

    /// Bytes of a segment at most; operations and changesets are bounded by what a reader holds in memory.
    let maximumBytes: Int
    /// So many segments of one level become one: a power of two.
    var fanout = RetentionSettings().rollUpFanout

    /// The runs of more than one segment that are to become one each.
    /// - Parameter segments: those that are not replaced, by their numbers.
    func runs(_ segments: [OwnSegment]) -> [Run] {
        // The newest stays. Where the list has a gap nothing is put together across it, nor where an earlier Ferry gave a
        // changeset a time before that of the one that it follows: a segment holds its changesets in the order of times.
        var parts: [[Run]] = []
        var former: OwnSegment?
        for segment in segments.dropLast() {
            if let former, former.last + 1 == segment.first, former.time <= segment.time {
                parts[parts.count - 1].append(Run(segment))
            } else {
                parts.append([Run(segment)])
            }
            former = segment
        }
        return parts.flatMap { rolledUp($0) }.filter { $0.count > 1 }
    }

    private func rolledUp(_ runs: [Run]) -> [Run] {
        var runs = runs
        while let range = next(runs) {
            runs.replaceSubrange(range, with: joined(runs[range]))
        }
        return runs
    }

    /// The next range whose runs become fewer.
    private func next(_ runs: [Run]) -> Range<Int>? {
        // What stands before something larger, the oldest first.
        for index in runs.indices.dropFirst() where weight(runs[index - 1]) < weight(runs[index]) {
            var start = index - 1
            while start > 0, weight(runs[start - 1]) < weight(runs[index]) { start -= 1 }
            let range = start..<index + 1
            if joined(runs[range]).count < range.count { return range }
        }
        // As many of one level as become one.
        var start = 0
        for index in runs.indices {
            if weight(runs[index]) != weight(runs[start]) { start = index }
            let range = start..<index + 1
            if range.count >= fanout, joined(runs[range]).count < range.count { return range }
        }
        return nil
    }

    /// The level; what cannot take in much more is heavier than all levels.
    private func weight(_ run: Run) -> Int {
        let isFull =
            run.bytes > maximumBytes / 2 || run.changes > Gathering.maximumChanges / 2
            || run.changesets > SegmentLimits.changesets / 2
        return isFull ? .max : level(run)
    }

    /// With a fan-out of 16: 0 for up to 15 changesets, 1 for up to 255, …
    private func level(_ run: Run) -> Int {
        (Int.bitWidth - 1 - run.changesets.leadingZeroBitCount) / max(fanout.trailingZeroBitCount, 1)
    }

    /// Consecutive runs put together from the oldest on, each as large as may be.
    private func joined(_ runs: ArraySlice<Run>) -> [Run] {
        var result: [Run] = []
        for run in runs {
            if var last = result.last, fits(last, run) {
                last.append(run)
                result[result.count - 1] = last
            } else {
                result.append(run)
            }
        }
        return result
    }

    private func fits(_ left: Run, _ right: Run) -> Bool {
        left.bytes + right.bytes <= maximumBytes && left.changes + right.changes <= Gathering.maximumChanges
            && left.changesets + right.changesets <= SegmentLimits.changesets
    }
}
