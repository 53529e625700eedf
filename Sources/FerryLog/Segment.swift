import FerryCore

/// A segment as a file: consecutive changesets of a device, encoded (Docs/Format.md, "Segments").
public struct Segment: Sendable {
    /// The whole file.
    public let bytes: [UInt8]
    /// The author.
    public let device: DeviceID
    /// The sequence number of the first changeset.
    public let firstSequence: UInt64
    /// The sequence number of the last changeset.
    public let lastSequence: UInt64
    /// The checksum of the file: its last 16 bytes.
    public let checksum: Checksum
    /// The name of the segment before, or nil for the first segment.
    public let previous: Checksum?
    /// The `chainEnd` of the last segment that was rolled up into this segment; nil if nothing was rolled up.
    public let tail: Checksum?
    /// The name by which the next segment refers to this segment.
    public var chainEnd: Checksum { tail ?? checksum }

    /// Describes a file that was encoded elsewhere, an outbox's for instance, without a look at `bytes`.
    public init(
        bytes: [UInt8], device: DeviceID, firstSequence: UInt64, lastSequence: UInt64, checksum: Checksum,
        previous: Checksum?, tail: Checksum? = nil
    ) {
        self.bytes = bytes
        self.device = device
        self.firstSequence = firstSequence
        self.lastSequence = lastSequence
        self.checksum = checksum
        self.previous = previous
        self.tail = tail
    }
}
