import FerryContainer
import FerryCore
import FerryLog

/// How far a device can replay logs from the container: by files, and by snapshots that bridge missing files.
struct LogReach {
    private let container: Container
    /// Where logs end that nobody reads further: their devices left.
    private let ends: [DeviceID: UInt64]
    /// Read once, when files do not suffice.
    private var catalog: [SnapshotCatalog.Entry]?

    init(_ container: Container, ends: LogReader.Ends) {
        self.container = container
        self.ends = ends.left
    }

    /// True if a device that has replayed the log up to `low` can replay the log up to `end`. Arriving files count: Ferry waits
    /// for them.
    mutating func leads(through device: DeviceID, after low: UInt64, to end: UInt64) throws -> Bool {
        let read = ends[device] ?? .max
        let ranges = try container.segmentRanges(of: device).filter { $0.lowerBound <= read }
            .map { $0.lowerBound...min($0.upperBound, read) }
        var last = low
        if low < end, try isUnusable(device, at: low + 1) {
            last = try snapshots().map { $0.manifest.vector[device].sequence }.max() ?? 0
            if last <= low { return false }
        }
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

    /// True if the files with a changeset lead no further: they are damaged until their author writes them again, or parts of their
    /// large values are not there.
    private func isUnusable(_ device: DeviceID, at sequence: UInt64) throws -> Bool {
        let parts = try container.parts(of: device)
        // A look into a file costs a request there, and hardly any log has large values.
        if container.answersFromListing, parts.isEmpty { return false }
        let files = try container.segmentFiles(of: device, after: sequence - 1)
            .filter { !$0.isCopy && $0.name.first <= sequence }
        for file in files {
            do {
                guard let (bytes, epoch) = try container.readSegmentFile(file, of: device) else { return false }
                guard try SegmentDecoder.header(bytes).mayHaveParts else { return false }
                let header = try SegmentDecoder.decode(bytes, container: container.id, device: device, parts: .leftOut)
                    .0
                let names = try header.largeValues.flatMap(\.parts).map {
                    try container.partName($0.checksum, of: device, under: epoch)
                }
                if parts.isSuperset(of: names) { return false }
            } catch let error as FerryError where error.isReplacedContent {
                continue
            }
        }
        return !files.isEmpty
    }

    private mutating func snapshots() throws -> [SnapshotCatalog.Entry] {
        if let catalog { return catalog }
        let entries = try SnapshotCatalog(container).entries()
        catalog = entries
        return entries
    }
}
