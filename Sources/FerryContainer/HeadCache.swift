import FerryCore

/// The last readings of a container's heads: a look at the container reads only heads that changed.
package final class HeadCache: Sendable {
    private let clock: any WallClock
    private let entries = Locked<[DeviceID: VersionedReading<Head>]>([:])

    package init(clock: any WallClock) { self.clock = clock }

    /// True if the head of a file with a version needs no reading.
    func knows(_ device: DeviceID, in container: ContainerID, _ version: FileVersion) -> Bool {
        entries.withLock { $0[device] }.map { $0.value.container == container && $0.holds(for: version) } ?? false
    }

    /// The head of a file with a version, and whether the head was known without reading.
    /// - Parameter read: reads the head; `nil` if the file has vanished.
    func head(
        of device: DeviceID, in container: ContainerID, _ version: FileVersion, read: () throws -> Head?
    ) throws -> (head: Head?, isKnown: Bool) {
        let known = entries.withLock { $0[device] }.flatMap { $0.value.container == container ? $0 : nil }
        if let known, known.holds(for: version) { return (known.value, true) }
        let now = clock.milliseconds()
        // A reading later than the version has another version at the next look.
        guard let head = try read() else { return (nil, false) }
        let entry = VersionedReading(head, version, after: known, milliseconds: now)
        entries.withLock { $0[device] = entry }
        return (head, false)
    }
}
