import FerryCore
import FerryLog
import FerryStore

extension OutboxEntry {
    /// Encodes changesets as a single segment, for the outbox.
    /// - Parameters:
    ///   - previous: the checksum of the preceding segment; `nil` for the first segment.
    ///   - largeValues: decides which values lie in parts.
    ///   - keep: takes the parts. An error of `keep` comes back unchanged.
    init(
        encoding changesets: [Changeset], container: ContainerID, previous: Checksum?,
        largeValues: LargeValueSettings, _ keep: @escaping PartSink
    ) throws {
        let take: PartOutput.Sink = { try keep($0.checksum, $1) }
        let segment = try PartOutput.keeping(largeValues, in: take) { parts in
            try SegmentEncoder.encode(changesets, container: container, previous: previous, parts: parts)
        }
        self.init(
            first: segment.firstSequence, last: segment.lastSequence,
            changes: changesets.reduce(0) { $0 + $1.operationCount }, checksum: segment.checksum, bytes: segment.bytes)
    }
}
