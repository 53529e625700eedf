import FerryContainer
import FerryCore
import FerryLog

/// How far the container leads through devices' logs: by files, and by snapshots where files are not there.
struct LogReach {
    private let container: Container
    /// Read once, where files do not do.
    private var shelf: [SnapshotShelf.Entry]?

    init(_ container: Container) { self.container = container }

    /// Whether who has replayed a device's log up to a number can replay it up to another one. Files that are still arriving
    /// count: they are waited for.
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

    private mutating func snapshots() throws -> [SnapshotShelf.Entry] {
        if let shelf { return shelf }
        let entries = try SnapshotShelf(container).entries()
        shelf = entries
        return entries
    }
}
