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
}
