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
        /// When its version was asked for, before that.
        var milliseconds: Int64
    }

    private static let listingMilliseconds: Int64 = 10 * 60_000

    private let clock: any WallClock
    private let entries = Locked<[DeviceID: Entry]>([:])

    init(clock: any WallClock) { self.clock = clock }

    /// The wall clock's time, to be asked for before a directory's version.
    func milliseconds() -> Int64 { clock.milliseconds() }

    /// When a directory was listed that has a version now and certainly has nothing after a changeset; `nil` where it has to
    /// be listed.
    func listing(_ device: DeviceID, after sequence: UInt64, _ version: FileVersion, _ now: Int64) -> Int64? {
        guard let entry = entries.withLock({ $0[device] }), entry.reading.value == sequence,
            entry.reading.holds(for: version), Self.holds(entry.milliseconds...entry.milliseconds, at: now)
        else { return nil }
        return entry.milliseconds
    }

    /// Whether directories need not be listed again that were listed at these times.
    static func holds(_ listed: ClosedRange<Int64>, at now: Int64) -> Bool {
        listed.upperBound <= now && now - listed.lowerBound < listingMilliseconds
    }

    /// Notes that a directory was listed and held nothing after a changeset.
    /// - Parameters:
    ///   - version: as it was before it was listed.
    ///   - milliseconds: when that was asked for.
    func note(_ device: DeviceID, after sequence: UInt64, _ version: FileVersion, _ milliseconds: Int64) {
        entries.withLock { entries in
            let reading = VersionedReading(
                sequence, version, after: entries[device]?.reading, milliseconds: milliseconds)
            entries[device] = Entry(reading: reading, milliseconds: milliseconds)
        }
    }
}
