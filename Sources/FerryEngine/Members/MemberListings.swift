import FerryContainer
import FerryCore

/// The names in directories that look unchanged: the devices' directories, and the records in them. A scan need not
/// list them again.
///
/// Some folders may not report a change of a directory. So each directory is listed every ten minutes all the same, as
/// in `UnchangedLogs`.
final class MemberListings: Sendable {
    /// A listing.
    private struct Entry<Name: Sendable>: Sendable {
        var reading: VersionedReading<[Name]>
        /// When the directory's version was read, before the listing.
        var milliseconds: Int64

        /// The directory's names in the present version; `nil` if a listing is needed.
        func names(_ version: FileVersion, _ now: Int64) -> [Name]? {
            reading.holds(for: version) && UnchangedLogs.holds(milliseconds...milliseconds, at: now)
                ? reading.value : nil
        }
    }

    private let devices = Locked<Entry<DeviceID>?>(nil)
    private let records = Locked<[DeviceID: Entry<RecordName>]>([:])

    /// The devices with a directory; as `Container.directories`.
    func directories(in container: Container, _ now: Int64) throws -> [DeviceID] {
        guard let version = try container.directoriesVersion() else { return try container.directories() }
        let former = devices.withLock { $0 }
        if let known = former?.names(version, now) { return known }
        let names = try container.directories()
        let reading = VersionedReading(names, version, after: former?.reading, milliseconds: now)
        devices.withLock { $0 = Entry(reading: reading, milliseconds: now) }
        return names
    }

    /// The names of a device's records; as `Container.records`.
    func records(
        of device: DeviceID, maximumCount: Int, in container: Container, _ now: Int64
    ) throws -> [RecordName] {
        guard let version = try container.recordsVersion(of: device) else {
            return try container.records(of: device, maximumCount: maximumCount)
        }
        let former = records.withLock { $0[device] }
        if let known = former?.names(version, now), known.count <= maximumCount { return known }
        let names = try container.records(of: device, maximumCount: maximumCount)
        let reading = VersionedReading(names, version, after: former?.reading, milliseconds: now)
        records.withLock { $0[device] = Entry(reading: reading, milliseconds: now) }
        return names
    }
}
