import FerryCore

/// Decodes segments that nobody vouches for (Docs/Format.md, "Segments"). Whatever the bytes, it returns or throws, in
/// time and memory bounded by `SegmentLimits`.
public enum SegmentDecoder {
    /// Reads the header of a whole file and verifies the file's checksum; the body is not looked at.
    ///
    /// - Throws: `damagedFile` where the file is cut off or changed: it may be incomplete yet, look again later.
    ///   `formatTooNew` where a newer Ferry wrote it: this device's Ferry needs an update.
    public static func header(_ bytes: [UInt8]) throws(FerryError) -> SegmentHeader {
        try SegmentHeader(file: bytes)
    }

    /// Decodes a whole file. Texts and blobs are slices that share the decompressed body: a value kept for long is
    /// better copied.
    ///
    /// - Parameters:
    ///   - container: the container that the file was found in.
    ///   - device: the device whose segment it is held for.
    /// - Throws: as `header`, and `foreignFile` where the segment belongs to another container or device: it was moved
    ///   or forged, and is not to be replayed. Errors about the content name the changeset.
    public static func decode(
        _ bytes: [UInt8], container: ContainerID, device: DeviceID
    ) throws(FerryError) -> (SegmentHeader, [Changeset]) {
        let header = try SegmentHeader(file: bytes)
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
        let stored = bytes[header.bodyRange]
        let body =
            switch header.codec {
            case .stored: stored
            case .zlib: try Compression.decompress(stored, bodyLength: header.bodyBytes)[...]
            }
        return (header, try BodyDecoder.decode(body, header: header))
    }
}
