/// The time of a write, and its device. Stamps are totally ordered: by time, then by device.
@usableFromInline package struct Stamp: Hashable, Comparable, Sendable {
    @usableFromInline package let time: HybridTime
    @usableFromInline package let device: DeviceID

    @inlinable
    package init(time: HybridTime, device: DeviceID) {
        self.time = time
        self.device = device
    }

    @inlinable
    package static func < (left: Stamp, right: Stamp) -> Bool {
        left.time != right.time ? left.time < right.time : left.device < right.device
    }

    /// True if an insertion counts as older than another insertion: the oldest object represents a unified row.
    ///
    /// The earlier stamp is older. Only rows that joined a container and gave way there count as younger than all
    /// others. Of those rows the first to join count as older.
    @inlinable
    package func isOlder(than other: Stamp) -> Bool {
        let (givesWay, otherGivesWay) = (time.givesWay, other.time.givesWay)
        if givesWay != otherGivesWay { return otherGivesWay }
        if givesWay, time != other.time { return time > other.time }
        return self < other
    }
}
