import FerryCore

/// A part of a large value, as a file (Docs/Format.md, "Large values").
package enum PartFile {
    /// As many bytes at the beginning tell whether compression is worth the time.
    private static let sampleBytes = 64 << 10

    /// Puts bytes into a file. Equal bytes make the same file, with the same version of zlib.
    /// - Parameter content: at least 1 and at most `SegmentLimits.partBytes`.
    static func encode(
        _ content: ArraySlice<UInt8>, container: ContainerID
    ) throws(FerryError) -> (bytes: [UInt8], checksum: Checksum) {
        let sample = content.prefix(sampleBytes)
        let isCompressible = try Compression.deflated(sample, capacity: sample.count * 15 / 16) != nil
        return try SnapshotFile.encode(
            Array(content), .part, container: container, isCompressed: isCompressible)
    }

    /// Takes the bytes out of a file.
    /// - Throws: `damagedFile` for another part than this one; `fileNotThereYet` for a file that is cut off; `formatTooNew`, `foreignFile`.
    static func decode(
        _ file: [UInt8], _ part: LargeValue.Part, container: ContainerID
    ) throws(FerryError) -> ArraySlice<UInt8> {
        if isIncomplete(file) {
            throw FerryError(
                .fileNotThereYet,
                "A part of a large value has not arrived whole yet (\(file.count) bytes so far); the rest has still to "
                    + "arrive.")
        }
        let (body, _, checksum) = try SnapshotFile.decode(file, .part, container: container)
        guard checksum == part.checksum, body.count == part.count else {
            throw ByteReader.malformed("it is another part of a large value than its name says")
        }
        return body
    }

    /// Verifies a file without its value.
    /// - Throws: as `SnapshotChunkDecoder.verify`.
    package static func verify(_ file: [UInt8], container: ContainerID) throws(FerryError) -> Checksum {
        try SnapshotFile.decode(file, .part, container: container).checksum
    }

    /// True if an incomplete file may become whole: the file is shorter than its header says, or ends in zeros.
    package static func isIncomplete(_ file: [UInt8]) -> Bool {
        let least = SnapshotFile.headerBytes + SnapshotFile.checksumBytes
        let magic = SnapshotFile.Kind.part.magic
        guard file.count > least else {
            return file.allSatisfy { $0 == 0 } || file.starts(with: magic.prefix(file.count))
        }
        if file.suffix(SnapshotFile.checksumBytes).allSatisfy({ $0 == 0 }) { return true }
        guard file.starts(with: magic) else { return false }
        let stored = file[SnapshotFile.headerBytes - 8..<SnapshotFile.headerBytes].reversed()
            .reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return stored > UInt64(file.count - least)
    }
}
