import FerryCore

/// The bytes of a sealed pack around the content: header, parts and end (Docs/Format.md, "Sealed packs").
///
/// The header is the beginning of an envelope. Chunks are parts, so each chunk is read by itself. The directory is a
/// part, too, and the end is signed. The checksum covers the sealed bytes: a pack's name tells nothing, and a check of
/// the name needs no key.
package enum SealedPack {
    /// The kind in the header, after the kinds of `FileKind`, whose files lie whole in envelopes.
    package static let kind: UInt8 = 5
    package static let headerLength = Envelope.seedOffset
    /// The bytes behind the directory: the directory's place, the checksum, the signature.
    package static let endLength = 8 + 16 + SealSuite.signatureLength
    private static let label = "pack"

    /// How long a chunk is in a sealed pack.
    /// - Parameter count: the bytes as an open pack would have them.
    package static func length(ofStored count: Int) -> Int { SealedPart.length(ofContent: count) }

    /// Seals packs with an epoch's secret and a device's keys.
    package struct Sealer: Sendable {
        private let epoch: EpochSecret
        private let keys: DeviceKeys
        package let header: [UInt8]

        /// - Throws: `invalidArgument` for keys and epoch of two containers.
        package init(_ epoch: EpochSecret, by keys: DeviceKeys) throws {
            guard epoch.container == keys.container else {
                throw FerryError(
                    .invalidArgument, "An epoch of another container cannot seal a pack.", device: keys.device)
            }
            self.epoch = epoch
            self.keys = keys
            header =
                Envelope.magic + [Envelope.currentVersion, SealedPack.kind, 0, 0] + epoch.container.bytes
                + keys.device.bytes + epoch.id.bytes
        }

        package var device: DeviceID { keys.device }

        /// Seals a chunk's bytes as an open pack would have them.
        package func seal(_ stored: [UInt8], _ id: ChunkID, form: UInt8) throws -> [UInt8] {
            try SealedPart.seal(stored, SealedPack.meaning(id, form, of: keys.device), under: epoch)
        }

        /// The directory and all bytes behind the directory.
        /// - Parameter place: where the chunks end.
        package func end(_ directory: [UInt8], at place: Int) throws -> (bytes: [UInt8], id: PackID) {
            var writer = ByteWriter()
            writer.write(
                contentsOf: try SealedPart.seal(directory, SealedPack.directoryMeaning(keys.device), under: epoch))
            writer.write64(UInt64(place))
            let id = ContentHash.checksum(header + writer.bytes)
            writer.write(id)
            writer.write(contentsOf: try keys.sign(label, digest: SealSuite.digest(header + writer.bytes)))
            return (writer.bytes, id)
        }
    }

    /// Opens a chunk's bytes as an open pack would have them. The caller holds them against the chunk's ID.
    /// - Throws: as `SealedPart.open`.
    package static func open(
        _ part: ArraySlice<UInt8>, _ id: ChunkID, form: UInt8, of device: DeviceID, _ reader: EnvelopeReader
    ) throws(FerryError) -> [UInt8] {
        try SealedPart.open(part, meaning(id, form, of: device), epoch: reader.epoch)
    }

    /// Opens the directory. Nothing is decrypted before the signature of a member holds.
    /// - Parameters:
    ///   - header: the first `headerLength` bytes. The caller has checked them against the place.
    ///   - end: the directory and all bytes behind the directory.
    /// - Throws: `foreignFile` for a device without membership, `fileNotThereYet` for an unknown epoch, `damagedFile`.
    package static func openEnd(
        _ header: [UInt8], _ end: ArraySlice<UInt8>, of device: DeviceID, _ reader: EnvelopeReader
    ) throws(FerryError) -> [UInt8] {
        guard let keys = reader.keys(device) else {
            throw FerryError(
                .foreignFile, "The pack is from the device \(device), which is no member. Move it away.", device: device
            )
        }
        let signed = end.dropLast(SealSuite.signatureLength)
        let digest = SealSuite.digest(header + signed)
        guard keys.isSignature(end.suffix(SealSuite.signatureLength), of: label, digest: digest) else {
            throw ByteReader.malformed("its signature is wrong")
        }
        let part = end.dropLast(endLength)
        guard SealedPart.epoch(of: part)?.bytes == Array(header.suffix(16)) else {
            throw ByteReader.malformed("its directory is of another epoch")
        }
        return try SealedPart.open(part, directoryMeaning(device), epoch: reader.epoch)
    }

    private static func meaning(_ id: ChunkID, _ form: UInt8, of device: DeviceID) -> [UInt8] {
        Array("chunk".utf8) + device.bytes + id.bytes + [form]
    }

    private static func directoryMeaning(_ device: DeviceID) -> [UInt8] { Array("directory".utf8) + device.bytes }
}
