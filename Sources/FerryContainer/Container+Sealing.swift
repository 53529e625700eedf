import FerryCore

/// Seals and opens the files of a sealed container. Nothing else in Ferry reads or writes heads, segments, manifests or
/// chunks.
///
/// Invariants of a sealed container:
/// - Without a seal nothing but records and claims is read or written.
/// - Only content opened by the seal is handed out, and only under the content's own name.
extension Container {
    /// The same container with a member's seal.
    /// - Throws: `internalInconsistency` for an open container, and for the seal of a different membership.
    package func sealed(by seal: any FileSealing) throws -> Container {
        guard details.sealing == .sealed(genesis: seal.genesis) else {
            throw FerryError(.internalInconsistency, "A seal of another membership was used for the container.")
        }
        return Container(details: details, backend: backend, heads: heads, seal: seal).remembering(opened)
    }

    /// True if the marker belongs to a sealed container.
    package var isSealed: Bool { details.sealing != .none }

    /// The pin for a database of this container.
    package var pin: ContainerPin {
        switch details.sealing {
        case .none: ContainerPin(id: id)
        case .sealed(let genesis): ContainerPin(id: id, genesis: genesis)
        }
    }

    /// Replaces the marker, such as for sealing an open container or for founding a membership anew. Durable on return.
    /// - Returns: the container with the new marker, without a seal.
    /// - Throws: `invalidArgument` for a different container's marker; otherwise as `ContainerBackend.replace`.
    package func replaceMarker(_ details: ContainerDescription) throws -> Container {
        guard details.id == id else {
            throw FerryError(.invalidArgument, "A container keeps its ID, whatever else its marker says.")
        }
        try backend.replace(ContainerDescription.fileName, details.encoded())
        return Container(details: details, backend: backend, heads: heads)
    }

    /// The epoch for new files; `nil` in an open container.
    /// - Throws: `keyMissing` without a seal, `fileNotThereYet` where nothing may be published now (`FileSealing.sealingEpoch`).
    package func sealingEpoch() throws -> EpochID? { try requiredSeal()?.sealingEpoch() }

    /// The number of an epoch; 0 in an open container, and for an unknown epoch.
    package func number(of epoch: EpochID?) -> UInt32 { epoch.map { seal?.number(of: $0) ?? 0 } ?? 0 }

    /// The seal of a sealed container; `nil` in an open container.
    /// - Throws: `keyMissing` for a sealed container without a seal.
    func requiredSeal() throws(FerryError) -> (any FileSealing)? {
        if let seal { return seal }
        if isSealed { throw ContainerPin.keyMissing(name, backend.describe("")) }
        return nil
    }

    /// True if a device's files count: in a sealed container the files of members and of devices that left.
    /// - Throws: `keyMissing` for a sealed container without a seal.
    func counts(_ device: DeviceID) throws(FerryError) -> Bool {
        guard let seal = try requiredSeal() else { return true }
        return !seal.readable([device]).isEmpty
    }

    // MARK: Names

    /// The part of a file's name in place of the plain file's checksum: the checksum itself in an open container.
    /// - Parameter epoch: the file's; `nil` in an open container.
    /// - Throws: `keyMissing`, `fileNotThereYet`; `invalidArgument` for an epoch in an open container, or for no epoch
    ///   in a sealed container.
    func nameHash(
        _ checksum: Checksum, _ kind: FileKind, of device: DeviceID, under epoch: EpochID?
    ) throws -> Checksum {
        switch (try requiredSeal(), epoch) {
        case (nil, nil): return checksum
        case (let seal?, let epoch?): return try seal.name(checksum, kind, of: device, under: epoch)
        default: throw FerryError(.invalidArgument, "A sealed file needs an epoch, and an open one has none.")
        }
    }

    /// The name of a segment's file.
    /// - Throws: as `nameHash`; `invalidArgument` for numbers out of range.
    package func segmentName(
        _ numbers: ClosedRange<UInt64>, _ checksum: Checksum, of device: DeviceID, under epoch: EpochID?
    ) throws -> SegmentName {
        let hash = try nameHash(checksum, .segment, of: device, under: epoch)
        return try SegmentName(first: numbers.lowerBound, last: numbers.upperBound, checksum: hash)
    }

    /// All names that a segment's file may have: a single name in an open container, a name for each known epoch in a
    /// sealed container. After a crash and a new epoch a segment may lie there under two names.
    package func segmentNames(
        _ numbers: ClosedRange<UInt64>, _ checksum: Checksum, of device: DeviceID
    ) throws -> [SegmentName] {
        guard let seal = try requiredSeal() else {
            return [try segmentName(numbers, checksum, of: device, under: nil)]
        }
        return try seal.knownEpochs.map { try segmentName(numbers, checksum, of: device, under: $0) }
    }

    /// The name of a snapshot's manifest.
    package func snapshotName(
        _ time: HybridTime, _ checksum: Checksum, of device: DeviceID, under epoch: EpochID?
    ) throws -> SnapshotName {
        SnapshotName(time: time, checksum: try nameHash(checksum, .manifest, of: device, under: epoch))
    }

    /// The name of a snapshot's chunk.
    package func chunkName(_ checksum: Checksum, of device: DeviceID, under epoch: EpochID?) throws -> ChunkName {
        ChunkName(checksum: try nameHash(checksum, .chunk, of: device, under: epoch))
    }

    // MARK: Files

    /// Reads a file of a device.
    /// - Parameter isNamed: whether the file's name matches the sealed name of the content.
    /// - Returns: the plain content, and in a sealed container the epoch; `nil` if there is no such file. In an open container the
    ///   content and the name are unverified.
    func readFile(
        _ path: String, _ kind: FileKind, of device: DeviceID, isNamed: (Checksum) -> Bool
    ) throws -> (content: [UInt8], epoch: EpochID?)? {
        let seal = try requiredSeal()
        return try locating(device, path, limitMeansDamage: seal != nil) {
            guard let bytes = try readBytes(path, kind) else { return nil }
            let opened = try openFile(bytes, kind, of: device)
            guard let seal, let epoch = opened.epoch, kind != .head else { return opened }
            // The plain file ends with its checksum. The decoder verifies the checksum; here the checksum names the
            // file.
            guard opened.content.count >= 16, let told = Checksum(bytes: opened.content.suffix(16)),
                isNamed(try seal.name(told, kind, of: device, under: epoch))
            else { throw ByteReader.malformed("it is another file than its name says") }
            return opened
        }
    }

    /// Reads the bytes of a file as they lie in the folder; `nil` if there is no such file.
    func readBytes(_ path: String, _ kind: FileKind) throws -> [UInt8]? {
        try backend.read(path, maximumBytes: isSealed ? kind.maximumFileBytes : Self.plainLimit(kind))
    }

    /// The plain content of a file's bytes, and in a sealed container the epoch.
    /// - Throws: `keyMissing`; as `FileSealing.open`. The caller adds the path.
    func openFile(
        _ bytes: [UInt8], _ kind: FileKind, of device: DeviceID
    ) throws -> (content: [UInt8], epoch: EpochID?) {
        guard let seal = try requiredSeal() else { return (bytes, nil) }
        let opened = try seal.open(bytes, kind, of: device)
        return (opened.content, opened.epoch)
    }

    /// Writes a file of this device for good. Durable on return; writing again has no effect, and mends a file damaged since.
    func writeFile(
        _ path: String, _ content: [UInt8], _ kind: FileKind, of device: DeviceID, under epoch: EpochID?
    ) throws {
        let bytes = try fileBytes(content, kind, of: device, under: epoch)
        do {
            try backend.writeOnce(path, bytes)
        } catch let error as FerryError where error.code == .damagedFile {
            if try isSame(path, bytes, kind, of: device) { return }
            // The name holds the checksum of these bytes, so different bytes under the name can only be damage.
            try backend.replace(path, bytes)
        }
    }

    /// The bytes of a file as they lie in the folder.
    func fileBytes(
        _ content: [UInt8], _ kind: FileKind, of device: DeviceID, under epoch: EpochID?
    ) throws -> [UInt8] {
        switch (try requiredSeal(), epoch) {
        case (nil, nil): return content
        case (let seal?, let epoch?): return try seal.seal(content, kind, of: device, under: epoch)
        default: throw FerryError(.invalidArgument, "A sealed file needs an epoch, and an open one has none.")
        }
    }

    /// True if the folder has a file with these bytes except for a different valid signature: the file is the same.
    /// With random signatures, a repeated publication after a crash finds such a file.
    private func isSame(_ path: String, _ bytes: [UInt8], _ kind: FileKind, of device: DeviceID) throws -> Bool {
        guard let seal, bytes.count > Self.signatureBytes else { return false }
        // An unreadable file is no such file.
        guard let present = (try? backend.read(path, maximumBytes: bytes.count)) ?? nil, present.count == bytes.count,
            present.dropLast(Self.signatureBytes).elementsEqual(bytes.dropLast(Self.signatureBytes)),
            (try? seal.open(present, kind, of: device)) != nil  // a wrong signature: damage
        else { return false }
        // The process may have ended after the rename and before the name was durable.
        try backend.writeOnce(path, present)
        return true
    }

    /// The bytes of the signature at the end of a sealed file.
    private static let signatureBytes = 64

    /// A longer file of an open container is not read, in bytes.
    private static func plainLimit(_ kind: FileKind) -> Int {
        kind == .head ? Head.maximumBytes : maximumSegmentBytes
    }
}
