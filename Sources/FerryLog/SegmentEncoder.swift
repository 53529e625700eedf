import FerryCore

/// Encodes changesets into segments (Docs/Format.md, "Segments"). The same changesets give the same bytes, with the
/// same version of zlib.
public enum SegmentEncoder {
    /// Encodes consecutive changesets of one device.
    ///
    /// - Parameters:
    ///   - changesets: at least one; their sequence numbers count up and their times do not go back.
    ///   - container: the container that the segment is for; in another one it is refused.
    ///   - previous: by what the device's segment before is named (`SegmentHeader.chainEnd`), nil where there is none.
    ///   - tail: where the changesets come from several segments, the last one's `chainEnd`, so that the next segment
    ///     follows this one as well. Such a segment holds no more than `SegmentLimits.plannedContentBytes`.
    /// - Throws: `limitExceeded` where a value or all of them are larger than `SegmentLimits` allow: a caller with
    ///   several changesets tries fewer of them, one that cannot be divided cannot be published. `invalidArgument`
    ///   where the changesets break the rules of their types, which is a mistake of the program.
    public static func encode(
        _ changesets: [Changeset], container: ContainerID, previous: Checksum?, tail: Checksum? = nil
    ) throws(FerryError) -> Segment {
        guard let first = changesets.first, let last = changesets.last else {
            throw FerryError(.invalidArgument, "A segment needs at least one changeset.")
        }
        var budget = tail == nil ? SegmentBudget.forEncoding : .forRollingUp
        try budget.take(changesets.count, .changesets)
        let formatVersion =
            tail == nil ? BodyEncoder.formatVersion(of: changesets) : SegmentHeader.rolledUpVersion
        let (body, unrepeated) = try BodyEncoder.encode(changesets, formatVersion: formatVersion, budget: &budget)
        let compressed = try Compression.compress(body, unrepeated: unrepeated)
        let stored = compressed ?? body
        let header = SegmentHeader(
            container: container, device: first.device, firstSequence: first.sequence, lastSequence: last.sequence,
            lastTime: last.time, previous: previous, checksum: Checksum(high: 0, low: 0), tail: tail,
            bodyBytes: body.count,
            operationCount: budget.used(.operations), valueCount: budget.used(.values),
            codec: compressed == nil ? .stored : .zlib, storedBytes: stored.count,
            formatVersion: formatVersion)
        let size = header.prefixBytes + stored.count + SegmentHeader.checksumBytes
        try budget.check(size, atMost: SegmentLimits.fileBytes, "bytes in one segment")
        return assemble(header, stored: stored)
    }

    /// Puts a header, a body as it is to be stored, and the checksum of both into a file.
    static func assemble(_ header: SegmentHeader, stored: [UInt8]) -> Segment {
        var writer = ByteWriter(
            reservingCapacity: header.prefixBytes + stored.count + SegmentHeader.checksumBytes)
        header.write(to: &writer)
        writer.write(contentsOf: stored)
        let checksum = ContentHash.checksum(writer.bytes)
        writer.write(checksum)
        return Segment(
            bytes: writer.bytes, device: header.device, firstSequence: header.firstSequence,
            lastSequence: header.lastSequence, checksum: checksum, previous: header.previous,
            tail: header.tail)
    }
}
