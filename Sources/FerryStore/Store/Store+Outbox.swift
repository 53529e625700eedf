import FerryCore
import FerrySchema

extension Store {
    /// The oldest segment waiting to be published, after a sequence number.
    package func outboxEntry(after sequence: UInt64 = 0) throws -> OutboxEntry? {
        try read { try Outbox($0).entry(after: sequence) }
    }

    /// The segments waiting to be published, in order, without their bytes.
    package func outboxSizes() throws -> [OutboxSize] {
        try read { try Outbox($0).sizes() }
    }

    /// The parts of large values in this device's segments, or in one of them, published or not.
    package func segmentParts(of segment: ClosedRange<UInt64>? = nil) throws -> [SegmentPart] {
        try read { try PartTable($0).parts(of: segment) }
    }

    /// The file of a part that waits to be published with its segment.
    /// - Throws: `internalInconsistency` without such a file.
    package func partFile(_ checksum: Checksum, of segment: ClosedRange<UInt64>) throws -> [UInt8] {
        try read { try PartTable($0).file(checksum, of: segment) }
    }

    /// Replaces the waiting segments with the same changesets by a single segment, durably: the head will name the
    /// segment.
    package func gatherInOutbox(_ entry: OutboxEntry) throws {
        try note(durably: true) { try Outbox($0).gather(entry) }
    }

    /// This device's segments in the container, including replaced segments not yet removed.
    package func ownSegments() throws -> [OwnSegment] {
        try read { try OwnSegmentList($0).all() }
    }

    /// The segment this device published last.
    package func newestOwnSegment() throws -> OwnSegment? {
        try read { try OwnSegmentList($0).newest() }
    }

    /// Removes a published outbox entry, and adds its segment to the list, in a single transaction.
    package func recordPublication(_ segment: OwnSegment) throws {
        try note { connection in
            try OwnSegmentList(connection).enter(segment)
            try Outbox(connection).remove(first: segment.first)
            try PartTable(connection).notePublished(segment.first...max(segment.first, segment.last))
        }
    }

    /// Adds a rolled-up segment, and marks the segments inside as replaced. Repeating the call changes nothing.
    package func recordRollUp(_ segment: OwnSegment) throws {
        try note { try OwnSegmentList($0).enterRolledUp(segment) }
    }

    /// Removes segments without files from the list. Segments not covered by a larger segment are remembered. Their
    /// numbers are used up for good, whoever else publishes under them (`OwnLog`).
    package func forgetSegments(_ segments: [(first: UInt64, last: UInt64)]) throws {
        if segments.isEmpty { return }
        try note { try OwnSegmentList($0).forget(segments) }
    }

    /// The last of this device's segments with removed files and without a larger segment, by number.
    package func removedSegments() throws -> [OwnSegment] {
        try read { try RemovedSegments(MetaTable(connection: $0)).all() }
    }
}
