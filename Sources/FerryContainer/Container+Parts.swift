import FerryCore

/// Parts of large values of a device (Docs/Format.md, "Large values"): files that segments and snapshots of the same device refer to.
/// Parts are written before the file that refers to them, and removed after the last such file.
extension Container {
    /// Lists the parts in a device's directory, whole or not.
    /// - Throws: as `snapshots(of:)`.
    package func parts(of device: DeviceID) throws -> Set<PartName> {
        guard try counts(device) else { return [] }
        let directory = Self.partsDirectory(of: device)
        return Set(
            try locating(device, directory) { try backend.list(directory, after: nil) }.compactMap { PartName($0) })
    }

    /// Reads the bytes of a part, unverified; `nil` if the part is not there (any more).
    /// - Parameter epoch: that of the segment or manifest that refers to the part; `nil` in an open container.
    /// - Throws: as `readChunk(_:of:under:)`.
    package func readPart(_ checksum: Checksum, of device: DeviceID, under epoch: EpochID? = nil) throws -> [UInt8]? {
        let name = try partName(checksum, of: device, under: epoch)
        let path = Self.partsDirectory(of: device) + "/" + name.fileName
        return try readFile(path, .part, of: device) { name.hash == $0 }?.content
    }

    /// Writes a part into a device's own directory. Durable on return; writing again has no effect, and mends a file damaged since.
    /// - Parameter epoch: that of the segment or manifest that will refer to the part; `nil` in an open container.
    /// - Throws: as `publishChunk(_:checksum:of:under:)`.
    package func publishPart(
        _ part: [UInt8], checksum: Checksum, of device: DeviceID, under epoch: EpochID? = nil
    ) throws {
        guard ContentHash.verifiedTrailer(of: part) == checksum else {
            throw FerryError(.invalidArgument, "The part \(checksum.hex) has another checksum than its name.")
        }
        let name = try partName(checksum, of: device, under: epoch)
        try writeFile(Self.partsDirectory(of: device) + "/" + name.fileName, part, .part, of: device, under: epoch)
    }

    /// Removes a part to which nothing of the device's refers any more, if present: for the author alone.
    package func removePart(_ name: PartName, of device: DeviceID) throws {
        try backend.remove(Self.partsDirectory(of: device) + "/" + name.fileName)
    }

    /// Asks a provider for a part that is there as a placeholder only; as `ContainerBackend.requestDownload`.
    package func requestPart(_ checksum: Checksum, of device: DeviceID, under epoch: EpochID?) throws {
        let name = try partName(checksum, of: device, under: epoch)
        backend.requestDownload(Self.partsDirectory(of: device) + "/" + name.fileName)
    }

    /// The place of a part, for messages.
    package func partPath(_ checksum: Checksum, of device: DeviceID, under epoch: EpochID?) throws -> String {
        let name = try partName(checksum, of: device, under: epoch)
        return backend.describe(Self.partsDirectory(of: device) + "/" + name.fileName)
    }

    /// The name of a part.
    package func partName(_ checksum: Checksum, of device: DeviceID, under epoch: EpochID?) throws -> PartName {
        PartName(checksum: try nameHash(checksum, .part, of: device, under: epoch))
    }

    /// All names that a part's file may have: one in an open container, one for each known epoch in a sealed one.
    package func partNames(_ checksum: Checksum, of device: DeviceID) throws -> [PartName] {
        guard let seal = try requiredSeal() else { return [try partName(checksum, of: device, under: nil)] }
        return try seal.knownEpochs.map { try partName(checksum, of: device, under: $0) }
    }

    static func partsDirectory(of device: DeviceID) -> String { directory(of: device) + "/values" }
}
