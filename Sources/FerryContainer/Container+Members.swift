import FerryCore

/// Records and claims of a sealed container (Docs/Format.md, "Records", "Claims"). They are signed and not sealed, so they can be
/// read before anybody is known to be a member. Bytes come as they are: the caller decodes them, verifies them, and decides.
extension Container {
    /// The longest file of a record, in bytes.
    package static let maximumRecordBytes = 1 << 20
    /// The length of a claim's file, in bytes.
    package static let maximumClaimBytes = 240

    /// The names of a device's records, in ascending order. Other names are ignored.
    /// - Parameter maximumCount: fewer for directories of strangers than for members'.
    /// - Throws: `limitExceeded` for more, `damagedFile`, `inputOutput`: skip the device this time.
    package func records(of device: DeviceID, maximumCount: Int) throws -> [RecordName] {
        let directory = Self.membersDirectory(of: device)
        return try locating(device, directory) {
            let names = try backend.list(directory, after: nil).compactMap { RecordName($0) }
            guard names.count <= maximumCount else {
                throw FerryError(
                    .limitExceeded,
                    "The folder has more than \(maximumCount) records of a device. Move away what is not its.")
            }
            return names.sorted()
        }
    }

    /// The version of the directory of a device's records: the same as before if no file came or went. `nil` if unknown, or if
    /// there is no such directory.
    package func recordsVersion(of device: DeviceID) throws -> FileVersion? {
        let directory = Self.membersDirectory(of: device)
        return try locating(device, directory) { try backend.version(of: directory) }
    }

    /// The version of a record's file: the same as before if the content is the same. `nil` if unknown.
    package func recordVersion(_ name: RecordName, of device: DeviceID) throws -> FileVersion? {
        let path = Self.membersDirectory(of: device) + "/" + name.fileName
        return try locating(device, path) { try backend.version(of: path) }
    }

    /// The path of a record's file, for messages.
    package func path(of name: RecordName, _ device: DeviceID) -> String {
        backend.describe(Self.membersDirectory(of: device) + "/" + name.fileName)
    }

    /// Reads the bytes of a record; `nil` if the record is not there (any more).
    /// - Throws: `damagedFile` for a file above `maximumRecordBytes`, `inputOutput`.
    package func readRecord(_ name: RecordName, of device: DeviceID) throws -> [UInt8]? {
        let path = Self.membersDirectory(of: device) + "/" + name.fileName
        return try locating(device, path, limitMeansDamage: true) {
            try backend.read(path, maximumBytes: Self.maximumRecordBytes)
        }
    }

    /// Writes a record into a device's own directory. Durable on return; writing again has no effect, and mends a file damaged
    /// since.
    /// - Throws: `limitExceeded` above `maximumRecordBytes`; otherwise as `ContainerBackend.writeOnce`.
    package func publishRecord(_ record: [UInt8], name: RecordName, of device: DeviceID) throws {
        guard record.count <= Self.maximumRecordBytes else {
            throw FerryError(
                .limitExceeded, "A record is longer than \(Self.maximumRecordBytes) bytes.", device: device)
        }
        let path = Self.membersDirectory(of: device) + "/" + name.fileName
        do {
            try backend.writeOnce(path, record)
        } catch let error as FerryError where error.code == .damagedFile {
            // The name is the hash of this record, so other bytes are damage, or the same with another signature.
            try backend.replace(path, record)
        }
        try backend.announce(device)
    }

    /// Writes a record in the place of a damaged file, in any device's directory: the name is the hash of the record, so every writer writes
    /// the same. Durable on return.
    /// - Throws: as `ContainerBackend.replace`.
    package func mendRecord(_ record: [UInt8], name: RecordName, of device: DeviceID) throws {
        try backend.replace(Self.membersDirectory(of: device) + "/" + name.fileName, record)
        try backend.announce(device)
    }

    /// Removes a record from a device's own directory, if present. The removal is for good on return.
    package func removeRecord(_ name: RecordName, of device: DeviceID) throws {
        let directory = Self.membersDirectory(of: device)
        try backend.remove(directory + "/" + name.fileName)
        try backend.settle(directory)
    }

    /// Removes the records of a device from its own directory, and the directory if it has nothing else. The removal is for good on
    /// return.
    package func removeRecords(of device: DeviceID) throws {
        for name in try records(of: device, maximumCount: .max) { try removeRecord(name, of: device) }
        try backend.removeLeftovers(in: Self.membersDirectory(of: device))
        let remains = try remains(of: device)
        if remains.isEmpty { try remove(remains) }
    }

    /// Reads the bytes of a newcomer's claim; `nil` without a claim.
    /// - Throws: `damagedFile` for a longer file, `inputOutput`.
    package func readClaim(of device: DeviceID) throws -> [UInt8]? {
        let path = Self.claimName(of: device)
        return try locating(device, path, limitMeansDamage: true) {
            try backend.read(path, maximumBytes: Self.maximumClaimBytes)
        }
    }

    /// Writes a newcomer's claim into its own directory, in place of the claim before. Durable on return.
    /// - Throws: as `ContainerBackend.replace`.
    package func publishClaim(_ claim: [UInt8], of device: DeviceID) throws {
        try backend.replace(Self.claimName(of: device), claim)
        try backend.announce(device)
    }

    /// Removes a claim from a device's own directory, if present. The removal is for good on return.
    package func removeClaim(of device: DeviceID) throws {
        try backend.remove(Self.claimName(of: device))
        try backend.settle(Self.directory(of: device))
    }

    /// Removes a claim, and the device's own directory where nothing else is in the directory.
    package func withdrawClaim(of device: DeviceID) throws {
        try removeClaim(of: device)
        _ = try backend.removeDirectory(Self.directory(of: device))
    }

    static func membersDirectory(of device: DeviceID) -> String { directory(of: device) + "/members" }
    static func claimName(of device: DeviceID) -> String { directory(of: device) + "/claim" }
}
