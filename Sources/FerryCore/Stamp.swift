/// When something was written, and by which device. Stamps are totally ordered: by time, then by device.
public struct Stamp: Hashable, Comparable, Sendable {
    public let time: HybridTime
    public let device: DeviceID

    @inlinable
    public init(time: HybridTime, device: DeviceID) {
        self.time = time
        self.device = device
    }

    @inlinable
    public static func < (left: Stamp, right: Stamp) -> Bool {
        left.time != right.time ? left.time < right.time : left.device < right.device
    }

    /// Whether an insertion counts as older than another one: who is older represents rows that are shown as one.
    ///
    /// The earlier stamp is. Only rows that joined a container and gave way there count as younger than all others, and of
    /// those the ones that joined first count as the older ones.
    @inlinable
    public func isOlder(than other: Stamp) -> Bool {
        let (givesWay, otherGivesWay) = (time.givesWay, other.time.givesWay)
        if givesWay != otherGivesWay { return otherGivesWay }
        if givesWay, time != other.time { return time > other.time }
        return self < other
    }
}
