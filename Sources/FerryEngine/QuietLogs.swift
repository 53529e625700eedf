import FerryContainer
import FerryCore

/// Devices whose files were looked through and held nothing new: while their directories look the same, a thorough look need
/// not list them again.
///
/// Some folders (FAT, a provider's) may not tell that a directory changed. So each one is listed every ten minutes all the
/// same.
final class QuietLogs: Sendable {
    private struct Entry {
        /// How far the log was replayed when its files were listed.
        var reading: VersionedReading<UInt64>
        /// When that was, in milliseconds of the wall clock.
        var listed: Int64
    }

    private static let listingMilliseconds: Int64 = 10 * 60_000

    private let clock: any WallClock
    private let entries = Locked<[DeviceID: Entry]>([:])

    init(clock: any WallClock) { self.clock = clock }

    /// Whether there is certainly nothing after a changeset in a directory that has a version now.
    func isQuiet(_ device: DeviceID, after sequence: UInt64, _ version: FileVersion) -> Bool {
        guard let entry = entries.withLock({ $0[device] }), entry.reading.value == sequence,
            entry.reading.holds(for: version)
        else { return false }
        return (0..<Self.listingMilliseconds).contains(clock.milliseconds() - entry.listed)
    }

    /// Notes that a directory was listed and held nothing after a changeset.
    /// - Parameter version: as it was before it was listed.
    func note(_ device: DeviceID, after sequence: UInt64, _ version: FileVersion) {
        let now = clock.milliseconds()
        entries.withLock { entries in
            let reading = VersionedReading(sequence, version, after: entries[device]?.reading, milliseconds: now)
            entries[device] = Entry(reading: reading, listed: now)
        }
    }
}
