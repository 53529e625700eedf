/// The known part of a device's log: its changesets up to a sequence number, and the time of the last changeset.
@usableFromInline package struct LogPosition: Hashable, Sendable {
    /// The number of the last changeset seen; the first changeset of a device has number 1, so 0 means none.
    @usableFromInline package var sequence: UInt64
    /// The latest time of any change up to there.
    @usableFromInline package var time: HybridTime

    @inlinable
    package init(sequence: UInt64, time: HybridTime) {
        self.sequence = sequence
        self.time = time
    }

    @usableFromInline package static let none = LogPosition(sequence: 0, time: .zero)
}

/// The end of a log that nobody continues: its last changeset, and the checksum that a following segment would name. In
/// a log with several branches, this tells the branch.
package struct LogEnd: Hashable, Sendable {
    /// The number of the last changeset.
    package var sequence: UInt64
    /// `SegmentHeader.chainEnd` of the last segment.
    package var checksum: Checksum

    package init(sequence: UInt64, checksum: Checksum) {
        self.sequence = sequence
        self.checksum = checksum
    }
}

/// The known part of every device's log. An author's vector at the time of a changeset is its *context*.
@usableFromInline package struct VersionVector: Equatable, Sendable {
    @usableFromInline package private(set) var positions: [DeviceID: LogPosition]

    package init(_ positions: [DeviceID: LogPosition] = [:]) { self.positions = positions }

    @inlinable
    package subscript(device: DeviceID) -> LogPosition {
        positions[device] ?? .none
    }

    /// Moves a device's position forward; an earlier position changes nothing.
    package mutating func advance(_ device: DeviceID, to position: LogPosition) {
        let known = self[device]
        positions[device] = LogPosition(
            sequence: max(known.sequence, position.sequence), time: max(known.time, position.time))
    }

    /// True if a write with this stamp had been seen. Every device's times grow with its sequence, so the latest seen
    /// time decides.
    @inlinable
    package func includes(_ stamp: Stamp) -> Bool {
        stamp.time <= self[stamp.device].time
    }
}
