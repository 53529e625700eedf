import FerryCore

/// Decodes segments that nobody vouches for (Docs/Format.md, "Segments"). Whatever the bytes, the decoder returns or
/// throws, in time and memory bounded by `SegmentLimits`.
package enum SegmentDecoder {
    /// Reads the header of a whole file and verifies the file's checksum, without a look at the body.
    ///
    /// - Throws: `damagedFile` if the file is cut off or changed: it may be incomplete yet, so look again later.
    ///   `formatTooNew` if a newer Ferry wrote the file: this device's Ferry needs an update.
    package static func header(_ bytes: [UInt8]) throws(FerryError) -> SegmentHeader {
        try SegmentHeader(file: bytes)
    }

    /// True if an incomplete file may become whole: the file is shorter than its header says, or ends in zeros. A file
    /// ends so whose place was made before its content came.
    package static func isIncomplete(_ bytes: [UInt8]) -> Bool {
        let isRolledUp = bytes.count > 6 && bytes[4] >= SegmentHeader.rolledUpVersion && bytes[6] != 0
        let least = SegmentHeader.byteCount + SegmentHeader.checksumBytes * (isRolledUp ? 2 : 1)
        guard bytes.count >= least else {
            return bytes.allSatisfy { $0 == 0 } || bytes.starts(with: SegmentHeader.magic.prefix(bytes.count))
        }
        if bytes.suffix(SegmentHeader.checksumBytes).allSatisfy({ $0 == 0 }) { return true }
        guard bytes.starts(with: SegmentHeader.magic) else { return false }
        let place = SegmentHeader.byteCount - 16  // of the stored bytes
        let storedBytes = bytes[place..<place + 8].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return storedBytes > UInt64(bytes.count - least)
    }

    /// Decodes a whole file. Texts and blobs are slices that share the decompressed body: copy a value that is kept for
    /// long. Values of a segment with more than `SegmentLimits.valuesAtOnce` are read on request
    /// (`TableChanges.source`), after all were verified.
    ///
    /// - Parameters:
    ///   - bytes: not needed any more after decompression: a caller that keeps none frees their memory.
    ///   - header: the result of `header(_:)` for these bytes, which are not verified again then.
    ///   - container: the container in which the file was found.
    ///   - device: the device whose segment the file should be.
    ///   - parts: where the bytes of large values come from.
    ///   - asksForFew: true for a caller that asks for the values of few operations: values are made when they are asked for.
    /// - Throws: what `parts` throws; as `header`, and `foreignFile` if the segment belongs to another container or device: it was moved or
    ///   forged, so do not replay it. Errors about the content name the changeset.
    package static func decode(
        _ bytes: consuming [UInt8], header: SegmentHeader? = nil, container: ContainerID, device: DeviceID,
        parts: PartSource = .none, asksForFew: Bool = false
    ) throws(FerryError) -> (SegmentHeader, [Changeset]) {
        try decode(
            bytes, header: header, container: container, device: device, valuesAtOnce: SegmentLimits.valuesAtOnce,
            fewValues: asksForFew ? 0 : BlockValues.few, parts: parts)
    }

    /// Decodes a file as `decode` does, for its schemas alone. The last changeset, mostly the only one, comes without
    /// its tables, whose content is not verified.
    package static func decodeSchemas(
        _ bytes: consuming [UInt8], header: SegmentHeader? = nil, container: ContainerID, device: DeviceID
    ) throws(FerryError) -> (SegmentHeader, [Changeset]) {
        try decode(
            bytes, header: header, container: container, device: device, valuesAtOnce: SegmentLimits.valuesAtOnce,
            schemasOnly: true, parts: .leftOut)
    }

    /// - Parameters:
    ///   - valuesAtOnce: the most values in memory.
    ///   - fewValues: the most values of a table in memory as they are.
    ///   - schemasOnly: as for `decodeSchemas`.
    static func decode(
        _ bytes: consuming [UInt8], header known: SegmentHeader? = nil, container: ContainerID, device: DeviceID,
        valuesAtOnce: Int, fewValues: Int = BlockValues.few, schemasOnly: Bool = false, parts: PartSource = .none
    ) throws(FerryError) -> (SegmentHeader, [Changeset]) {
        var header = if let known { known } else { try SegmentHeader(file: copy bytes) }
        guard header.container == container else {
            throw FerryError(
                .foreignFile, "The segment belongs to another container. Remove it from this one.",
                device: header.device, sequence: header.firstSequence)
        }
        guard header.device == device else {
            throw FerryError(
                .foreignFile, "The segment belongs to another device than its place says. Move it back or remove it.",
                device: device, sequence: header.firstSequence)
        }
        if schemasOnly, let changeset = beginning(bytes[header.bodyRange], header) {
            return (header, [changeset])
        }
        let body = try body(bytes, header)
        let changesets = try BodyDecoder.decode(
            body, header: &header, valuesAtOnce: valuesAtOnce, fewValues: fewValues, schemasOnly: schemasOnly,
            parts: parts)
        return (header, changesets)
    }

    /// The schema of a segment with a single changeset, from the first bytes of a long body alone.
    /// - Returns: `nil` if more of the body is needed.
    private static func beginning(_ stored: ArraySlice<UInt8>, _ header: SegmentHeader) -> Changeset? {
        guard header.codec == .zlib, header.firstSequence == header.lastSequence, header.bodyBytes > beginningBytes
        else { return nil }
        var ignored = header
        // The whole body shows any fault.
        let bytes = try? Compression.decompress(stored, first: beginningBytes)
        let changesets = bytes.flatMap { try? BodyDecoder.decode($0[...], header: &ignored, schemasOnly: true) }
        return changesets?.first
    }

    private static let beginningBytes = 128 << 10

    private static func body(
        _ bytes: consuming [UInt8], _ header: SegmentHeader
    ) throws(FerryError) -> ArraySlice<UInt8> {
        switch header.codec {
        case .stored: bytes[header.bodyRange]
        case .zlib:
            try Compression.decompress(bytes[header.bodyRange], bodyLength: header.bodyBytes) {
                (beginning) throws(FerryError) in
                var ignored = header
                _ = try BodyDecoder.decode(beginning, header: &ignored)
            }[...]
        }
    }
}
