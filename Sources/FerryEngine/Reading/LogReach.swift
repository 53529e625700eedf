import FerryContainer
import FerryCore
import FerryLog

/// How far a device can replay logs from the container: by files, and by snapshots that bridge missing files.
struct LogReach {
    private let container: Container
    /// Read once, when files do not suffice.
    private var catalog: [SnapshotCatalog.Entry]?

    init(_ container: Container) { self.container = container }

    /// True if a device that has replayed the log up to `low` can replay the log up to `end`. Arriving files count: Ferry waits
    /// for them.
    mutating func leads(through device: DeviceID, after low: UInt64, to end: UInt64) throws -> Bool {
        let ranges = try container.segmentRanges(of: device)
        var last = low
        while last < end {
            let former = last
            for range in ranges where range.lowerBound <= last + 1 { last = max(last, range.upperBound) }
            if last < end, last == former {
                last = try snapshots().map { $0.manifest.vector[device].sequence }.max() ?? 0
                if last <= former { return false }
            }
        }
        return true
    }

    private mutating func snapshots() throws -> [SnapshotCatalog.Entry] {
        if let catalog { return catalog }
        let entries = try SnapshotCatalog(container).entries()
        catalog = entries
        return entries
    }
}
