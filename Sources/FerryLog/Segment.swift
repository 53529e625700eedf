import FerryCore

/// A segment as a file: consecutive changesets of one device, encoded (Docs/Format.md, "Segments").
public struct Segment: Sendable {
    /// The whole file.
    public let bytes: [UInt8]
    /// The author.
    public let device: DeviceID
    /// The sequence number of the first changeset.
    public let firstSequence: UInt64
    /// The sequence number of the last changeset.
    public let lastSequence: UInt64
    /// The checksum of the file, which is its last 16 bytes.
    public let checksum: Checksum
    /// What the segment before is named by, or nil where there is none.
    public let previous: Checksum?
    /// The `chainEnd` of the last of the segments that were rolled up into this one; nil where it is one of its own.
    public let tail: Checksum?
    /// What the next segment refers to.
    public var chainEnd: Checksum { tail ?? checksum }

    /// Describes a file that was encoded elsewhere, an outbox's for instance; `bytes` are not looked at.
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
