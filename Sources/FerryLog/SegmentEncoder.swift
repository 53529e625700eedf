import FerryCore

/// Encodes changesets into segments (Docs/Format.md, "Segments"). The same changesets give the same bytes, with the
/// same version of zlib.
package enum SegmentEncoder {
    /// Encodes consecutive changesets of a device.
    ///
    /// - Parameters:
    ///   - changesets: at least one; their sequence numbers count up and their times do not go back.
    ///   - container: the segment's container; any other container refuses the segment.
    ///   - previous: the name of the device's segment before (`SegmentHeader.chainEnd`), nil for the first segment.
    ///   - tail: for changesets of several segments, the last segment's `chainEnd`, so that the next segment also
    ///     follows this segment. Such a segment holds no more than `SegmentLimits.plannedContentBytes`.
    ///   - parts: where large values go; `nil` if all values are to stand in the segment. The segment is published after its parts.
    /// - Throws: `limitExceeded` if a value or all of them are larger than `SegmentLimits` allow. A caller with several
    ///   changesets tries fewer of them; a single changeset cannot be published. `invalidArgument` if the changesets
    ///   break the rules of their types, a mistake of the program.
    package static func encode(
        _ changesets: [Changeset], container: ContainerID, previous: Checksum?, tail: Checksum? = nil,
        parts: PartOutput? = nil
    ) throws(FerryError) -> Segment {
        guard let parts else {
            return try encode(changesets, container: container, previous: previous, tail: tail, large: nil)
        }
        var thresholds = parts.settings.thresholds[...]
        while true {
            let large = LargeValueDictionary(
                parts, container: container, threshold: thresholds.popFirst() ?? parts.settings.threshold)
            do throws(FerryError) {
                return try encode(changesets, container: container, previous: previous, tail: tail, large: large)
            } catch {
                // A caller with many rows tries fewer. The values of a row may be large together.
                guard error.code == .limitExceeded, !thresholds.isEmpty,
                    Self.hasContents(changesets, of: parts.settings.threshold)
                else { throw error }
            }
        }
    }

    /// True if changesets have more bytes of texts and blobs.
    private static func hasContents(_ changesets: [Changeset], of byteCount: Int) -> Bool {
        var sum = 0
        for table in changesets.lazy.flatMap(\.tables) {
            for operation in table.operations {
                for value in table.values(of: operation) { sum += value.byteCount }
                if sum > byteCount { return true }
            }
        }
        return false
    }

    private static func encode(
        _ changesets: [Changeset], container: ContainerID, previous: Checksum?, tail: Checksum?,
        large: LargeValueDictionary?
    ) throws(FerryError) -> Segment {
        guard let first = changesets.first, let last = changesets.last else {
            throw FerryError(.invalidArgument, "A segment needs at least one changeset.")
        }
        var budget = tail == nil ? SegmentBudget.forEncoding : .forRollingUp
        try budget.take(changesets.count, .changesets)
        var formatVersion =
            tail == nil ? BodyEncoder.formatVersion(of: changesets) : SegmentHeader.rolledUpVersion
        let (body, unrepeated) = try BodyEncoder.encode(
            changesets, formatVersion: formatVersion, large: large, budget: &budget)
        if let large, !large.isEmpty { formatVersion = SegmentHeader.largeValueVersion }
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

    /// Puts a header, a stored body, and the checksum of both into a file.
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
