import FerryCore

/// A segment as a file: consecutive changesets of a device, encoded (Docs/Format.md, "Segments").
package struct Segment: Sendable {
    /// The whole file.
    package let bytes: [UInt8]
    /// The author.
    package let device: DeviceID
    /// The sequence number of the first changeset.
    package let firstSequence: UInt64
    /// The sequence number of the last changeset.
    package let lastSequence: UInt64
    /// The checksum of the file: its last 16 bytes.
    package let checksum: Checksum
    /// The name of the segment before, or nil for the first segment.
    package let previous: Checksum?
    /// The `chainEnd` of the last segment that was rolled up into this segment; nil if nothing was rolled up.
    package let tail: Checksum?
    /// The name by which the next segment refers to this segment.
    package var chainEnd: Checksum { tail ?? checksum }

    /// Describes a file that was encoded elsewhere, an outbox's for instance, without a look at `bytes`.
    package init(
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
