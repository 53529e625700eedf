import FerryContainer
import FerryCore
import FerryLog
import FerryStore

/// Decides how far a log read by a different device equals the log that this store knows. Two copies of a database may
/// have published under the same ID. Then a position does not identify the branch
/// (Docs/Architecture/identity-and-forks.md).
///
/// A position is a changeset's number and time. If the log continues here, the changeset is searched along the chain
/// that ends at this store's position.
///
/// Invariants:
/// - `forks` holds only positions where the branches certainly part.
/// - The times of a trail belong to the chain that ends at this store's position.
final class SharedLogs {
    /// Maximum number of files read for a log.
    private static let maximumFiles = 32

    private let container: Container
    private let own: DeviceID
    private let vector: VersionVector
    private let checksums: [DeviceID: Checksum]
    /// This device's segments, including segments with removed files.
    private let segments: [OwnSegment]
    /// The known forks of logs: the last position common to all branches, if known.
    private(set) var forks: [DeviceID: LogPosition]
    private var files: [DeviceID: [SegmentFile]] = [:]
    private var trails: [DeviceID: Trail] = [:]

    init(
        _ container: Container, own: DeviceID, _ reading: StoreSummary, segments: [OwnSegment],
        forks: [DeviceID: LogPosition]
    ) {
        self.container = container
        self.own = own
        vector = reading.vector
        checksums = reading.checksums
        self.segments = segments
        self.forks = forks
    }

    /// Returns the last position in a device's log that this store certainly shares with a device that acknowledges
    /// `position`.
    /// - Throws: `inputOutput` and the like; damaged or missing files only leave more in doubt.
    func shared(_ author: DeviceID, _ position: LogPosition) throws -> LogPosition {
        let here = vector[author]
        if position == here || position.sequence == 0 { return position }
        if position.sequence < here.sequence, position.time <= here.time,
            try time(of: position.sequence, in: author) == position.time
        {
            return position
        }
        let fork = try fork(of: author)
        let isBefore = position.sequence <= fork.sequence && position.time <= fork.time
        return isBefore ? position : fork
    }

    /// The position where the branches of a log part; `.none` for a single branch, or if the position is unknown.
    private func fork(of author: DeviceID) throws -> LogPosition {
        if let known = forks[author] { return known }
        let files = try listed(author)
        if ForkedLog.overlap(files.map(\.name)) {
            let log = try ForkedLog(files, of: author, container)
            forks[author] = log.fork
        }
        return forks[author] ?? .none
    }

    private func listed(_ author: DeviceID) throws -> [SegmentFile] {
        if let known = files[author] { return known }
        let found: [SegmentFile]
        do {
            found = try container.segmentFiles(of: author)
        } catch let error as FerryError where error.concernsOneFile {
            // Readers of the log report the error.
            found = []
        }
        files[author] = found
        return found
    }

    // MARK: Along the chain

    /// The part of a log read so far, from its end here towards its beginning.
    private struct Trail {
        /// The times of the changesets found.
        var times: [UInt64: HybridTime] = [:]
        /// The number of the next changeset to read, backwards, and the checksum that names the segment ending there.
        var next: UInt64
        var checksum: Checksum?
        var files = 0
        var hasEnded = false
    }

    /// The time of a changeset in the log known to this store; `nil` if unknown.
    private func time(of sequence: UInt64, in author: DeviceID) throws -> HybridTime? {
        if author == own, let segment = segments.first(where: { $0.last == sequence }) { return segment.time }
        let here = vector[author]
        var trail =
            trails[author]
            ?? Trail(times: [here.sequence: here.time], next: here.sequence, checksum: checksums[author])
        while trail.times[sequence] == nil, !trail.hasEnded { try extend(&trail, author) }
        trails[author] = trail
        return trail.times[sequence]
    }

    /// Reads the file before the part read so far.
    private func extend(_ trail: inout Trail, _ author: DeviceID) throws {
        let candidates = try listed(author).filter { $0.name.first <= trail.next && trail.next <= $0.name.last }
            .sorted { $0.isTried(before: $1) }
        for file in candidates where trail.files < Self.maximumFiles {
            trail.files += 1
            guard let (header, changesets) = try SegmentDecoder.decodedSchemas(file, of: author, container),
                changesets.contains(where: { trail.times[$0.sequence] == $0.time })
                    || (header.lastSequence == trail.next && trail.checksum == header.chainEnd)
            else { continue }
            for changeset in changesets where changeset.sequence <= trail.next {
                trail.times[changeset.sequence] = changeset.time
            }
            trail.next = header.firstSequence - 1
            trail.checksum = header.previous
            trail.hasEnded = trail.next == 0
            return
        }
        trail.hasEnded = true
    }
}
