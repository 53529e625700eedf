import FerryContainer
import FerryCore
import FerryLog

/// A read of other devices' logs under way: the batch, its size, and the logs that cannot go on.
///
/// Invariants:
/// - `load` is the size of `batch.changesets`. A batch with `isFull` gets no further changeset.
/// - A device has a stall only while its log cannot be read further.
/// - `batch.problems` stays empty until `finish`: `stalls` has the reasons meanwhile.
struct LogRead {
    /// Maximum number of listings in a read of a device's log. Files may vanish between listing and reading, because
    /// their author rolls up and removes.
    private static let maximumListings = 4

    private let reader: LogReader
    let isThorough: Bool
    var batch = LogReader.Batch()
    private(set) var stalls: [DeviceID: LogStall] = [:]
    private var load = Load()
    private var container: Container { reader.container }

    init(_ reader: LogReader, isThorough: Bool) {
        self.reader = reader
        self.isThorough = isThorough
    }

    /// The size of a batch so far.
    private struct Load {
        var operations = 0
        var values = 0
        var bytes = 0

        var isFull: Bool {
            operations >= LogReader.maximumOperations || values >= LogReader.maximumValues
                || bytes >= LogReader.maximumBytes
        }

        var isEmpty: Bool { bytes == 0 }

        /// True if a segment fits into the batch. The size of its texts and blobs is known only after decoding.
        func hasRoom(for header: SegmentHeader) -> Bool {
            operations + header.operationCount <= LogReader.maximumOperations
                && values + header.valueCount <= LogReader.maximumValues
                && bytes + header.bodyBytes <= LogReader.maximumBytes
        }

        mutating func add(_ header: SegmentHeader) {
            values += header.valueCount
            bytes += max(header.bodyBytes, header.contentBytes)
        }
    }

    /// A log, and how far the log is read.
    private struct Cursor {
        let peer: DeviceID
        let head: Head?
        /// The number of the next changeset.
        var next: UInt64
        /// The checksum of the last segment, if known.
        var previous: Checksum?
    }

    /// A whole segment that continues a log.
    fileprivate struct Found {
        var header: SegmentHeader
        var changesets: [Changeset]
        var path: String?
    }

    /// The result of trying files.
    fileprivate enum Attempt {
        case found(Found)
        /// The batch has no room.
        case full
        /// No file continues the log. `hasVanished`: a file was gone.
        case failed(LogStall, hasVanished: Bool)
    }

    // MARK: A log

    mutating func stall(_ peer: DeviceID, _ reason: LogStall.Reason, at sequence: UInt64, path: String? = nil) {
        stalls[peer] = LogStall(reason, at: sequence, path: path)
    }

    /// Reads a device's log into the batch, until the log ends or cannot go on, or the batch is full.
    /// - Parameter known: the checksum of the last replayed segment, if known.
    mutating func read(_ peer: DeviceID, after position: UInt64, _ head: Head?, _ known: Checksum?) throws {
        var cursor = Cursor(peer: peer, head: head, next: position + 1, previous: known)
        var files: ArraySlice<SegmentFile>?
        var listings = 0
        let end = reader.ends.left[peer] ?? .max
        while !batch.isFull, cursor.next <= end {
            if let head, head.position.sequence < cursor.next, !isThorough { return }
            var attempt: Attempt?
            // The head of a device that published a single segment since then names the segment: no listing is needed.
            if files == nil, let named = head?.lastSegment, named.first <= cursor.next, cursor.next <= named.last {
                attempt = try firstWhole(of: [SegmentFile(named)], cursor)
            }
            if case .failed(let stall, _) = attempt { stalls[peer] = stall }
            if attempt?.mayBeElsewhere ?? true {
                // Drops files behind the position, so that reading a long log examines each file once.
                if files == nil { listings += 1 }
                let listed = try (files ?? container.segmentFiles(of: peer, after: position)[...])
                    .drop { $0.name.last < cursor.next }
                files = listed
                let candidates = listed.prefix { $0.name.first <= cursor.next }.filter { cursor.next <= $0.name.last }
                    .sorted { $0.isTried(before: $1) }
                if candidates.isEmpty { return recordGap(cursor, listed) }
                container.prefetch(listed, of: peer)
                attempt = try firstWhole(of: candidates, cursor)
                if case .failed(let stall, hasVanished: true) = attempt, listings < Self.maximumListings {
                    stalls[peer] = stall
                    files = nil
                    continue
                }
            }
            switch attempt {
            case .found(let found): accept(found, &cursor)
            case .failed(let stall, _):
                stalls[peer] = stall
                if stall.isDamage {
                    batch.gaps[peer] = cursor.next + 1
                } else if !stall.isFork, let start = head?.logStart, start > cursor.next {
                    // The author has put a snapshot in the place of this file: the rest, a part or the key may never come.
                    batch.gaps[peer] = start
                }
                return
            case .full, nil:
                batch.isFull = true
                return
            }
        }
    }

    /// Adds a segment's changesets to the batch.
    private mutating func accept(_ found: Found, _ cursor: inout Cursor) {
        let peer = cursor.peer
        stalls[peer] = nil
        let end = reader.ends.left[peer] ?? .max
        for changeset in found.changesets where changeset.sequence >= cursor.next && changeset.sequence <= end {
            batch.changesets.append(changeset)
            load.operations += changeset.operationCount
        }
        load.add(found.header)
        batch.segments[peer, default: 0] += 1
        batch.files[peer, default: []].append((found.header.lastSequence, found.path))
        batch.checksums[peer] = found.header.chainEnd
        batch.isFull = load.isFull
        cursor.previous = found.header.chainEnd
        cursor.next = found.header.lastSequence + 1
    }

    /// Tries files in their order: the first whole file that continues the log.
    private func firstWhole(of candidates: [SegmentFile], _ cursor: Cursor) throws -> Attempt {
        let (peer, next) = (cursor.peer, cursor.next)
        var stall = LogStall(.notThereYet, at: next)
        var hasVanished = false
        for candidate in candidates {
            let path = container.path(of: candidate, peer)
            do {
                guard let (bytes, epoch) = try container.readSegmentFile(candidate, of: peer) else {
                    hasVanished = true
                    continue
                }
                if SegmentDecoder.isIncomplete(bytes) {
                    stall = LogStall(.incomplete(candidate, bytes: bytes.count), at: next, path: path)
                    continue
                }
                switch try naming(candidate, { try decode(bytes, under: epoch, cursor) }) {
                case .segment(let header, let changesets):
                    return .found(Found(header: header, changesets: changesets, path: path))
                case .full: return .full
                case .foreign: stall = LogStall(.forked, at: next)
                case .other: continue
                }
            } catch let error as FerryError where error.concernsOneFile {
                // Cut off or garbled: the file may still be on its way, so the next read tries again. Further
                // candidates may be whole.
                var error = error
                if error.path == nil { error.path = path }
                stall = LogStall(.unreadable(error), at: next, path: error.path)
            }
        }
        return .failed(stall, hasVanished: hasVanished)
    }

    /// Names the file in errors of its content. Errors of reading name the file already.
    private func naming<Result>(_ file: SegmentFile, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as FerryError where error.concernsOneFile {
            var named = error
            named.message = "\(file.fileName): \(error.message)"
            throw named
        }
    }

    /// The content of a file.
    private enum Content {
        case segment(SegmentHeader, [Changeset])
        /// The batch has no room.
        case full
        /// A segment that follows another segment than the last one read.
        case foreign
        /// A segment without the next changeset.
        case other
    }

    private func decode(_ bytes: [UInt8], under epoch: EpochID?, _ cursor: Cursor) throws -> Content {
        let known = try SegmentDecoder.header(bytes)
        if !load.isEmpty, !load.hasRoom(for: known) { return .full }
        let (header, changesets) =
            reader.schemasOnly
            ? try SegmentDecoder.decodeSchemas(bytes, header: known, container: container.id, device: cursor.peer)
            : try SegmentDecoder.decode(
                bytes, header: known, container: container.id, device: cursor.peer,
                parts: container.partSource(of: cursor.peer, under: epoch))
        guard header.firstSequence <= cursor.next, header.lastSequence >= cursor.next else { return .other }
        // A roll-up that begins earlier has a different predecessor.
        if header.firstSequence == cursor.next, let previous = cursor.previous, let told = header.previous,
            told != previous
        {
            // The file belongs to a copy of the device's database, whose log is not read here; the followed branch may
            // still arrive.
            return .foreign
        }
        try checkRoom(for: header)
        return .segment(header, changesets)
    }

    /// Checks that the disk has room for a segment, in the database and in its journal. A small file may expand to more
    /// than the disk holds, whoever wrote the file.
    /// Segments within the size that a writer plans for pass unchecked.
    private func checkRoom(for header: SegmentHeader) throws {
        guard header.contentBytes > SegmentLimits.plannedContentBytes, let room = reader.room(),
            room / 2 < header.contentBytes
        else { return }
        let gigabytes = (header.contentBytes >> 29) + 1
        throw FerryError(
            .limitExceeded,
            "It holds \(header.contentBytes) bytes of texts and blobs, and the disk has no room for that. Make room for "
                + "\(gigabytes) GB, and it is replayed by the next sync.",
            device: header.device, sequence: header.firstSequence)
    }

    /// Records why no listed file has the next changeset, if the log has the changeset at all.
    private mutating func recordGap(_ cursor: Cursor, _ files: ArraySlice<SegmentFile>) {
        let (peer, next) = (cursor.peer, cursor.next)
        if let head = cursor.head, head.logStart > next {
            batch.gaps[peer] = head.logStart
            return stall(peer, .collected(start: head.logStart), at: next)
        }
        let announced = max(cursor.head?.position.sequence ?? 0, files.map(\.name.last).max() ?? 0)
        guard announced >= next else { return }
        let placeholder = try? container.requestDownload(of: peer, sequence: next)  // the next read reports the result
        guard let placeholder else { return stall(peer, .notThereYet, at: next) }
        stall(peer, .placeholder, at: next, path: placeholder)
    }
}

extension LogRead.Attempt {
    /// True if a file that was not tried may continue the log.
    fileprivate var mayBeElsewhere: Bool { if case .failed = self { true } else { false } }
}
