import FerryCore

/// The last readings of a container's heads. A look at the container reads only changed heads, and decodes only heads
/// with new bytes.
package final class HeadCache: Sendable {
    private struct Entry {
        var head: Head
        /// The file's bytes, while the file has to be read again (`VersionedReading`): the same bytes are the same
        /// head. To open a sealed head costs much more than a read of the head.
        var bytes: [UInt8]?
        /// `nil` for a head written here and not read since.
        var reading: VersionedReading<Head>?
    }

    private let clock: any WallClock
    private let entries = Locked<[DeviceID: Entry]>([:])

    package init(clock: any WallClock) { self.clock = clock }

    /// True if the head of a file with a version needs no reading.
    func knows(_ device: DeviceID, in container: ContainerID, _ version: FileVersion) -> Bool {
        guard let known = entries.withLock({ $0[device] }), known.head.container == container else { return false }
        return known.reading?.holds(for: version) ?? false
    }

    /// The head of a file with a version, and whether the head was known without reading.
    /// - Parameters:
    ///   - read: reads the file, and whether the bytes are of `version`; `nil` if the file has vanished.
    ///   - decode: decodes the file's bytes.
    func head(
        of device: DeviceID, in container: ContainerID, _ version: FileVersion,
        read: () throws -> (bytes: [UInt8], areOfVersion: Bool)?, decode: ([UInt8]) throws -> Head
    ) throws -> (head: Head?, isKnown: Bool) {
        let known = entries.withLock { $0[device] }.flatMap { $0.head.container == container ? $0 : nil }
        if let known, let reading = known.reading, reading.holds(for: version) { return (known.head, true) }
        let now = clock.milliseconds()
        // Bytes newer than `version` do no harm: the next look sees a new version, and reads again.
        guard let (bytes, areOfVersion) = try read() else { return (nil, false) }
        let isSame = known?.bytes.map { $0 == bytes } ?? false
        let head = if isSame, let known { known.head } else { try decode(bytes) }
        let reading = VersionedReading(
            head, version, isOfVersion: areOfVersion, after: known?.reading, milliseconds: now)
        let entry = Entry(head: head, bytes: reading.holds(for: version) ? nil : bytes, reading: reading)
        entries.withLock { $0[device] = entry }
        return (head, false)
    }

    /// Takes a head written by this device: a file with these bytes is this head.
    func note(_ head: Head, _ bytes: [UInt8]) {
        entries.withLock { $0[head.device] = Entry(head: head, bytes: bytes) }
    }
}
