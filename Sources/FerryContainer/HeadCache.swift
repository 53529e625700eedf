import FerryCore

/// The heads of a container as they were read last: of many devices, a look at the container reads only those that changed.
public final class HeadCache: Sendable {
    private let clock: any WallClock
    private let entries = Locked<[DeviceID: VersionedReading<Head>]>([:])

    public init(clock: any WallClock) { self.clock = clock }

    /// The head whose file has a version now, and whether it was known without reading it.
    /// - Parameter read: reads it; `nil` where it has vanished.
    func head(
        of device: DeviceID, in container: ContainerID, _ version: FileVersion, read: () throws -> Head?
    ) throws -> (head: Head?, isKnown: Bool) {
        let known = entries.withLock { $0[device] }.flatMap { $0.value.container == container ? $0 : nil }
        if let known, known.holds(for: version) { return (known.value, true) }
        let now = clock.milliseconds()
        // What a read brings that comes later than the version has another one at the next look.
        guard let head = try read() else { return (nil, false) }
        let entry = VersionedReading(head, version, after: known, milliseconds: now)
        entries.withLock { $0[device] = entry }
        return (head, false)
    }
}
