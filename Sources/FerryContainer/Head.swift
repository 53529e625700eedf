import FerryCore

/// What a device says about itself: how far its log goes, and how far it has replayed the others'.
///
/// The one file of a device that changes. It is written after the segments that it speaks of, and whoever reads it
/// treats it as a hint: it can be older or newer than the segments that a syncer has brought so far.
public struct Head: Hashable, Sendable {
    /// The latest version of the encoding that this Ferry reads. It writes version 3 where there is nothing to tell that needs
    /// version 4: where a predecessor's log ends, or which objects are missing.
    public static let currentVersion: UInt8 = 4
    /// The earliest version that it reads. Version 1 has no digests, and neither 1 nor 2 what comes after them.
    public static let earliestVersion: UInt8 = 1
    /// A longer file is damaged, in bytes: what the other limits allow fits.
    public static let maximumBytes = 256 * 1024
    /// The longest device name, in bytes of UTF-8.
    public static let maximumNameBytes = 256
    /// The longest version of Ferry, in bytes of UTF-8.
    public static let maximumSoftwareVersionBytes = 64
    /// The most acknowledgements.
    public static let maximumAcknowledgements = 4096
    /// The most digests.
    public static let maximumDigests = 4096
    /// The most retired devices.
    public static let maximumRetired = 1024
    /// The most missing objects.
    public static let maximumMissing = 1024

    /// The container that it is written into.
    public var container: ContainerID
    /// The device that it speaks of, and that writes it.
    public var device: DeviceID
    /// What people call the device.
    public var deviceName: String
    /// The last changeset that the device has published: its sequence number and time.
    public var position: LogPosition
    /// The sequence number of the first changeset of the last segment; 0 where nothing is published, or untold.
    public var lastSegmentFirst: UInt64
    /// The checksum of the last segment's file; all zero where nothing is published.
    public var lastSegmentChecksum: Checksum
    /// How far the device has replayed other devices' logs.
    public var acknowledgements: [DeviceID: LogPosition]
    /// When it was written, by the device's wall clock, in milliseconds since the Unix epoch. For people only.
    public var writtenMilliseconds: Int64
    /// The version of the software that wrote it. For people only.
    public var softwareVersion: String
    /// The digests of the device's state after all that `position` and `acknowledgements` tell of, by what they cover: a
    /// number that stands for a table's name and columns. Empty where the device does not say.
    public var digests: [UInt32: UInt64]
    /// The number of the first changeset that the device's log in the container still has; what is before it is in
    /// snapshots. 0 where the device does not say.
    public var logStart: UInt64 = 0
    /// Devices that were retired by this one, and when the head was written that each had then: a later one says that the
    /// device is back.
    public var retired: [DeviceID: Int64] = [:]
    /// The ID that this device's database had before, and how far it knew that one's log when it took another.
    public var predecessor: Predecessor?
    /// Objects whose insertion this device does not know, in ascending order: hidden rows refer to them by RESTRICT or NO ACTION, or
    /// updates of them are known. Who shows one of them though it was deleted, and sees that this device has replayed the deletion, publishes it
    /// again: this device has forgotten it.
    public var missing: [ObjectID] = []

    /// The device ID that a database had before it was restored or copied.
    public struct Predecessor: Hashable, Sendable {
        public var device: DeviceID
        /// The last of its changesets that the database remembers as its own.
        public var sequence: UInt64
        /// Where the branch ends that the database published under that ID, once all that it said there behind `sequence` has
        /// come again: up to `position` of this head. `nil` where the log has no branches, where it is not certain that they part
        /// behind `sequence`, and while some of that still waits.
        public var end: LogEnd?

        public init(device: DeviceID, sequence: UInt64, end: LogEnd? = nil) {
            self.device = device
            self.sequence = sequence
            self.end = end
        }
    }

    /// Describes a device that has published nothing, unless told otherwise. Limits are checked when it is encoded.
    public init(
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

    /// The last segment's name. A reader that has replayed all before `first` reads it without listing anything.
    public var lastSegment: SegmentName? {
        let (first, last) = (lastSegmentFirst, position.sequence)
        return try? SegmentName(first: first, last: last, checksum: lastSegmentChecksum)  // none then
    }
}
