import FerryContainer
import FerryCore

/// Devices whose files were examined without news: while a directory looks unchanged, a thorough look need not list the
/// directory again.
///
/// Some folders (FAT, a provider's) may not report a change of a directory. So each directory is listed every ten
/// minutes all the same.
///
/// Invariant: the directory of an entry, in the entry's version, held nothing after the entry's changeset.
final class UnchangedLogs: Sendable {
    private struct Entry {
        /// How far the log was replayed when the files were listed.
        var reading: VersionedReading<UInt64>
        /// When the directory's version was read, before the listing.
        var milliseconds: Int64
    }

    private static let listingMilliseconds: Int64 = 10 * 60_000

    private let clock: any WallClock
    private let entries = Locked<[DeviceID: Entry]>([:])

    init(clock: any WallClock) { self.clock = clock }

    /// The wall clock's time, to be read before a directory's version.
    func milliseconds() -> Int64 { clock.milliseconds() }

    /// When a directory with the present version was listed, if the directory certainly has nothing after a changeset;
    /// `nil` if a listing is needed.
    func listing(_ device: DeviceID, after sequence: UInt64, _ version: FileVersion, _ now: Int64) -> Int64? {
        guard let entry = entries.withLock({ $0[device] }), entry.reading.value == sequence,
            entry.reading.holds(for: version), Self.holds(entry.milliseconds...entry.milliseconds, at: now)
        else { return nil }
        return entry.milliseconds
    }

    /// True if directories listed at these times need no new listing.
    static func holds(_ listed: ClosedRange<Int64>, at now: Int64) -> Bool {
        listed.upperBound <= now && now - listed.lowerBound < listingMilliseconds
    }

    /// Records that a listed directory held nothing after a changeset.
    /// - Parameters:
    ///   - version: the version before the listing.
    ///   - milliseconds: when the version was read.
    func note(_ device: DeviceID, after sequence: UInt64, _ version: FileVersion, _ milliseconds: Int64) {
        entries.withLock { entries in
            let reading = VersionedReading(
                sequence, version, after: entries[device]?.reading, milliseconds: milliseconds)
            entries[device] = Entry(reading: reading, milliseconds: milliseconds)
        }
    }
}
