import FerryCore

/// The heads of a container as they were read last: of many devices, a look at the container reads only those that changed.
///
/// A file is known by its version (`FileVersion`). Writes within one tick of a file system's clock may look alike, so a head
/// is read again until its file has looked the same for two seconds.
public final class HeadCache: Sendable {
    private struct Entry {
        var version: FileVersion
        var head: Head
        /// When this version was first seen, in milliseconds of the wall clock.
        var seen: Int64
        /// Whether it was read long enough after that.
        var isSettled = false
    }

    /// Longer than a tick of any file system: FAT's is two seconds for the content's time, but a head is never written in
    /// place there, so its inode or size differs too.
    private static let settlingMilliseconds: Int64 = 2000

    private let clock: any WallClock
    private let entries = Locked<[DeviceID: Entry]>([:])

    public init(clock: any WallClock) { self.clock = clock }

    /// The head whose file has a version now.
    /// - Parameter read: reads it; `nil` where it has vanished.
    func head(
        of device: DeviceID, in container: ContainerID, _ version: FileVersion, read: () throws -> Head?
    ) throws -> Head? {
        let known = entries.withLock { $0[device] }.flatMap {
            $0.version == version && $0.head.container == container ? $0 : nil
        }
        if let known, known.isSettled { return known.head }
        let now = clock.milliseconds()
        // What a read brings that comes later than the version has another one at the next look.
        guard let head = try read() else { return nil }
        let seen = known?.seen ?? now
        let entry = Entry(
            version: version, head: head, seen: seen, isSettled: now - seen >= Self.settlingMilliseconds)
        entries.withLock { $0[device] = entry }
        return head
    }
}
