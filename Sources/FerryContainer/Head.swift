import FerryCore

/// A device's statement about itself: how far its log goes, and how far the device has replayed other logs.
///
/// The only file of a device that changes. The head is written after its segments, and readers treat the head as a
/// hint. The head can be older or newer than the segments that a syncer has brought so far.
///
/// Invariants, of a head that was encoded or decoded:
/// - Collections and texts are within the maximums below.
/// - `missing` is in ascending order.
package struct Head: Hashable, Sendable {
    /// The latest version of the encoding that this Ferry reads. In an open container Ferry writes version 3 unless the head
    /// needs version 4, for the end of a predecessor's log or for missing objects. Heads of sealed containers have version 5.
    package static let currentVersion: UInt8 = 5
    /// The earliest version that this Ferry reads. Version 1 has no digests, and neither 1 nor 2 the fields after them.
    package static let earliestVersion: UInt8 = 1
    /// A longer file is damaged, in bytes: everything within the other limits fits.
    package static let maximumBytes = 256 * 1024
    /// The longest device name, in bytes of UTF-8.
    package static let maximumNameBytes = 256
    /// The longest version of Ferry, in bytes of UTF-8.
    package static let maximumSoftwareVersionBytes = 64
    /// The most acknowledgements.
    package static let maximumAcknowledgements = 4096
    /// The most digests.
    package static let maximumDigests = 4096
    /// The most retired devices.
    package static let maximumRetired = 1024
    /// The most missing objects.
    package static let maximumMissing = 1024

    /// The head's container.
    package var container: ContainerID
    /// The device that the head describes, and that writes the head.
    package var device: DeviceID
    /// The device's name for people.
    package var deviceName: String
    /// The last changeset that the device has published: its sequence number and time.
    package var position: LogPosition
    /// The sequence number of the first changeset of the last segment; 0 where nothing is published, or untold.
    package var lastSegmentFirst: UInt64
    /// The checksum of the last segment's file; all zero where nothing is published.
    package var lastSegmentChecksum: Checksum
    /// How far the device has replayed other devices' logs.
    package var acknowledgements: [DeviceID: LogPosition]
    /// The time of writing, by the device's wall clock, in milliseconds since the Unix epoch. For people only.
    package var writtenMilliseconds: Int64
    /// The version of the writing software. For people only.
    package var softwareVersion: String
    /// The digests of the device's state after everything in `position` and `acknowledgements`, by their coverage: a
    /// number for a table's name and columns. Empty if the device does not say.
    package var digests: [UInt32: UInt64]
    /// The number of the first changeset that the device's log in the container still has; earlier changesets are in
    /// snapshots. 0 if the device does not say.
    package var logStart: UInt64 = 0
    /// Devices that this device retired, and the time of each device's head then: a later head means that the device is
    /// back.
    package var retired: [DeviceID: Int64] = [:]
    /// The former ID of this device's database, and how far the database knew its log when it took another ID.
    package var predecessor: Predecessor?
    /// Objects whose insertion this device does not know, in ascending order. Hidden rows refer to them by RESTRICT or
    /// NO ACTION, or updates of them are known. A device may show such an object in spite of its deletion, and see that
    /// this device has replayed the deletion. Then that device publishes the object again: this device has forgotten
    /// the object.
    package var missing: [ObjectID] = []
    /// What heads of sealed containers say beside; `nil` in open containers.
    package var sealed: SealedPart?

    /// What a head of a sealed container says of names, epochs and the membership.
    package struct SealedPart: Hashable, Sendable {
        /// What stands in the last segment's name in place of the checksum; 0 without a segment, or if unknown.
        package var lastSegmentHash: UInt64
        /// For acknowledged devices the beginning of the chain's checksum after the changeset that was replayed last; devices
        /// without a known checksum are left out.
        package var chainEnds: [DeviceID: UInt64]
        /// The number of the oldest epoch under which a file of this device's is there.
        package var oldestEpoch: UInt32
        /// What the device knows of the membership.
        package var knowledge: MembershipKnowledge

        package init(
            lastSegmentHash: UInt64, chainEnds: [DeviceID: UInt64], oldestEpoch: UInt32,
            knowledge: MembershipKnowledge
        ) {
            self.lastSegmentHash = lastSegmentHash
            self.chainEnds = chainEnds
            self.oldestEpoch = oldestEpoch
            self.knowledge = knowledge
        }
    }

    /// The device ID of a database before its restoration or copy.
    package struct Predecessor: Hashable, Sendable {
        package var device: DeviceID
        /// The last changeset under the ID that the database remembers as its own.
        package var sequence: UInt64
        /// The end of the branch that the database published under that ID, once the part behind `sequence` has come
        /// again. That part goes up to `position` of this head. `nil` for a log without branches, and for branches that
        /// do not certainly part behind `sequence`. `nil`, too, while some of that part still waits.
        package var end: LogEnd?

        package init(device: DeviceID, sequence: UInt64, end: LogEnd? = nil) {
            self.device = device
            self.sequence = sequence
            self.end = end
        }
    }

    /// Describes a device that has published nothing, unless told otherwise. The encoding checks limits.
    package init(
        container: ContainerID, device: DeviceID, deviceName: String, position: LogPosition = .none,
        lastSegmentFirst: UInt64 = 0, lastSegmentChecksum: Checksum = Checksum(high: 0, low: 0),
        acknowledgements: [DeviceID: LogPosition] = [:], writtenMilliseconds: Int64, softwareVersion: String,
        digests: [UInt32: UInt64] = [:]
    ) {
        self.container = container
        self.device = device
        self.deviceName = deviceName
        self.position = position
        self.lastSegmentFirst = lastSegmentFirst
        self.lastSegmentChecksum = lastSegmentChecksum
        self.acknowledgements = acknowledgements
        self.writtenMilliseconds = writtenMilliseconds
        self.softwareVersion = softwareVersion
        self.digests = digests
    }

    /// The last segment's name. A reader that has replayed everything before `first` reads the segment without listing
    /// anything.
    package var lastSegment: SegmentName? {
        let (first, last) = (lastSegmentFirst, position.sequence)
        var hash = lastSegmentChecksum
        if let sealed {
            if sealed.lastSegmentHash == 0 { return nil }
            hash = Checksum(high: sealed.lastSegmentHash, low: 0)
        }
        return try? SegmentName(first: first, last: last, checksum: hash)  // none then
    }
}
