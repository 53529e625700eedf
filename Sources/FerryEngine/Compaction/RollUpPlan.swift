import FerryLog
import FerryStore

/// Decides which segments of a device become one: a pure function of the list.
///
/// Size-tiered, as in a log-structured merge tree. A segment's *level* is the logarithm of its number of changesets, to
/// the base of the fan-out (16).
/// - From the oldest to the newest segment, levels never rise: a small segment before a larger segment is joined with
///   it.
/// - As many segments of a level as the fan-out become one.
/// - So a log of n changesets has at most 15 log₁₆(n) segments that are not full. Each change is written again once or
///   twice a level.
/// - The newest segment stays unchanged, because heads name it.
struct RollUpPlan {
    /// Segments of consecutive changesets as one.
    struct Run: Equatable {
        var first: UInt64
        var last: UInt64
        var bytes: Int
        /// A changeset without changes, such as a schema alone, counts as a change: a full segment is not written again
        /// because of such a changeset.
        var changes: Int
        /// Number of joined segments.
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

    /// Maximum bytes of a segment. Operations and changesets are bounded by the memory of a reader.
    let maximumBytes: Int
    /// The number of segments of a level that become one: a power of two.
    var fanout = RetentionSettings().rollUpFanout

    /// Returns the runs of several segments, each to become a single segment.
    /// - Parameter segments: the segments not replaced, by number.
    func runs(_ segments: [OwnSegment]) -> [Run] {
        // The newest segment stays. Nothing is joined across a gap.
        // Nor is a segment with large values: its parts are its own.
        // Nor is a segment joined with an earlier segment of a later time, as an old Ferry wrote. A segment holds
        // changesets in the order of times.
        var parts: [[Run]] = []
        var former: OwnSegment?
        for segment in segments.dropLast() {
            if let former, former.last + 1 == segment.first, former.time <= segment.time, !former.hasParts,
                !segment.hasParts
            {
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

    /// The next range that joins into fewer runs.
    private func next(_ runs: [Run]) -> Range<Int>? {
        // Runs before a larger run, the oldest first.
        for index in runs.indices.dropFirst() where weight(runs[index - 1]) < weight(runs[index]) {
            var start = index - 1
            while start > 0, weight(runs[start - 1]) < weight(runs[index]) { start -= 1 }
            let range = start..<index + 1
            if joined(runs[range]).count < range.count { return range }
        }
        // As many runs of a level as the fan-out.
        var start = 0
        for index in runs.indices {
            if weight(runs[index]) != weight(runs[start]) { start = index }
            let range = start..<index + 1
            if range.count >= fanout, joined(runs[range]).count < range.count { return range }
        }
        return nil
    }

    /// The level; a nearly full run is heavier than all levels.
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

    /// Joins consecutive runs from the oldest on, each as large as possible.
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
