/// What of a device's log has been seen: its changesets up to a sequence number, and the time of the last of them.
public struct LogPosition: Hashable, Sendable {
    /// The number of the last changeset seen; the first changeset of a device has number 1, so 0 means none.
    public var sequence: UInt64
    /// The latest time of any change up to there.
    public var time: HybridTime

    @inlinable
    public init(sequence: UInt64, time: HybridTime) {
        self.sequence = sequence
        self.time = time
    }

    public static let none = LogPosition(sequence: 0, time: .zero)
}

/// Where a log ends that is written no more: its last changeset, and what a segment that follows would name before it. Of a log
/// that has several branches, this tells which one is meant.
public struct LogEnd: Hashable, Sendable {
    /// The number of the last changeset.
    public var sequence: UInt64
    /// `SegmentHeader.chainEnd` of the segment that ends with it.
    public var checksum: Checksum

    public init(sequence: UInt64, checksum: Checksum) {
        self.sequence = sequence
        self.checksum = checksum
    }
}

/// What has been seen of every device's log. An author's vector at the time of a changeset is its *context*.
public struct VersionVector: Equatable, Sendable {
    public private(set) var positions: [DeviceID: LogPosition]

    public init(_ positions: [DeviceID: LogPosition] = [:]) { self.positions = positions }

    @inlinable
    public subscript(device: DeviceID) -> LogPosition {
        positions[device] ?? .none
    }

    /// Moves a device's position forward; an earlier one changes nothing.
    public mutating func advance(_ device: DeviceID, to position: LogPosition) {
        let known = self[device]
        positions[device] = LogPosition(
            sequence: max(known.sequence, position.sequence), time: max(known.time, position.time))
    }

    /// Whether a write with this stamp had been seen. Every device's times grow with its sequence, so its latest seen
    /// time decides.
    @inlinable
    public func includes(_ stamp: Stamp) -> Bool {
        stamp.time <= self[stamp.device].time
    }
}
