import FerryContainer
import FerryCore
import FerryLog
import FerryStore

/// How far the log that another device has read is the one that this store knows: two copies of one database may have
/// published under one ID, and then a position in their log does not say on which branch it lies
/// (Docs/Architecture/identity-and-forks.md).
///
/// A position is the number of a changeset and its time. Where the log goes on here, that changeset is looked for along the
/// chain that ends where this store stands.
final class SharedLogs {
    /// The most files that are read for one log.
    private static let maximumFiles = 32

    private let container: Container
    private let own: DeviceID
    private let vector: VersionVector
    private let checksums: [DeviceID: Checksum]
    /// This device's segments, those whose files it has removed among them.
    private let segments: [OwnSegment]
    /// Where logs are known to fork: the last position that all branches have, as far as that can be told.
    private(set) var forks: [DeviceID: LogPosition]
    private var files: [DeviceID: [SegmentFile]] = [:]
    private var trails: [DeviceID: Trail] = [:]

    init(
        _ container: Container, own: DeviceID, _ reading: StoreReading, segments: [OwnSegment],
        forks: [DeviceID: LogPosition]
    ) {
        self.container = container
        self.own = own
        vector = reading.vector
        checksums = reading.checksums
        self.segments = segments
        self.forks = forks
    }

    /// The last position in a device's log that this store certainly shares with one that acknowledges `position`.
    /// - Throws: `inputOutput` and the like; files that are damaged or missing only leave more in doubt.
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

    /// Where the branches of a log part; no position where it has one branch, or where that cannot be told.
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
            // Those who read the log tell of it.
            found = []
        }
        files[author] = found
        return found
    }

    // MARK: Along the chain

    /// What was read of a log, from its end here towards its beginning.
    private struct Trail {
        /// The times of the changesets found.
        var times: [UInt64: HybridTime] = [:]
        /// The number before which it goes on, and what the segment that ends there is called by the next one.
        var next: UInt64
        var checksum: Checksum?
        var files = 0
        var hasEnded = false
    }

    /// The time of a changeset in the log as this store knows it; `nil` where that cannot be told.
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

    /// Reads the file that holds what comes before what was read.
    private func extend(_ trail: inout Trail, _ author: DeviceID) throws {
        let candidates = try listed(author).filter { $0.name.first <= trail.next && trail.next <= $0.name.last }
            .sorted { $0.isTried(before: $1) }
        for file in candidates where trail.files < Self.maximumFiles {
            trail.files += 1
            guard let bytes = try container.readSegment(file, of: author),
                let (header, changesets) = try? SegmentDecoder.decodeSchemas(  // others name a damaged one
                    bytes, container: container.id, device: author),
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
