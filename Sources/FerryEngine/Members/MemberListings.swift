import FerryContainer
import FerryCore

/// The names in directories that look unchanged: the devices' directories, and the records in them. A scan need not
/// list them again. Also the records' files that look unchanged: a scan need not read them again.
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

    /// Instead of a number of counted records: the file had a record that counts.
    static let known = -1

    private let devices = Locked<Entry<DeviceID>?>(nil)
    private let records = Locked<[DeviceID: Entry<RecordName>]>([:])
    /// Files with a whole record: how many records counted at the reading, or `known`.
    private let files = Locked<[DeviceID: [RecordName: VersionedReading<Int>]]>([:])

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

    /// True if a file with a version was read whole, with as many counted records. With more records, a record may count that did not
    /// before.
    func hasRead(_ name: RecordName, of device: DeviceID, _ version: FileVersion?, at count: Int) -> Bool {
        guard let version, let reading = files.withLock({ $0[device]?[name] }) else { return false }
        return reading.value == count && reading.holds(for: version)
    }

    /// A file with a whole record.
    struct ReadFile {
        let name: RecordName
        let device: DeviceID
        /// The version before the reading.
        let version: FileVersion?
        /// How many records counted at the reading, or `known`.
        let count: Int
    }

    /// Notes files whose records are known, or are kept by now.
    func note(_ read: [ReadFile], _ now: Int64) {
        files.withLock { files in
            for file in read {
                guard let version = file.version else { continue }
                let former = files[file.device]?[file.name]
                files[file.device, default: [:]][file.name] = VersionedReading(
                    file.count, version, after: former, milliseconds: now)
            }
        }
    }
}
