import FerryContainer
import FerryCore
import FerryLog
import FerryStore

/// Reads devices' logs from their beginnings, with a single segment in memory at a time.
///
/// Unreadable parts are skipped and reported: for history, some changes are better than none.
struct LogWalk {
    /// Maximum number of listings, because files may vanish: their author may roll up and remove in the meantime.
    private static let maximumListings = 4

    let container: Container

    /// The result of a walk.
    struct Result {
        /// The last changeset read; 0 without any.
        var last: UInt64 = 0
        /// Why changesets are missing between or before the changesets read.
        var problem: FerryError?
    }

    /// Calls `body` with each changeset of a device's log in the container, in order, each once.
    func forEachChangeset(of device: DeviceID, _ body: (Changeset) throws -> Void) throws -> Result {
        var result = Result()
        var files = try container.segmentFiles(of: device)
        var damage: FerryError?
        var listings = 1
        while true {
            let next = result.last + 1
            files.removeAll { $0.name.last < next }
            let candidate = files.filter { $0.name.first <= next }.min { $0.isTried(before: $1) }
            guard let candidate else {
                guard let following = files.map(\.name.first).min() else {
                    if result.problem == nil, damage == nil, let start = logStart(of: device), start > next {
                        result.problem = missing(device, next)
                    }
                    break
                }
                result.problem = damage ?? missing(device, next)
                result.last = following - 1
                continue
            }
            do {
                guard let changesets = try read(candidate, of: device) else {
                    listings += 1
                    if listings <= Self.maximumListings {
                        files = try container.segmentFiles(of: device, after: result.last)
                    } else {
                        files.removeAll { $0 == candidate }
                    }
                    continue
                }
                for changeset in changesets where changeset.sequence > result.last {
                    try body(changeset)
                    result.last = changeset.sequence
                }
            } catch let error as FerryError where error.concernsOneFile {
                damage = error
                damage?.message = "\(candidate.fileName): \(error.message)"
            }
            files.removeAll { $0 == candidate }
        }
        // Damage at the end leaves no later gap to report it.
        if result.problem == nil, let damage, damage.sequence.map({ $0 > result.last }) ?? true {
            result.problem = damage
        }
        return result
    }

    /// Reads a file's changesets.
    /// - Returns: `nil` if the file is gone.
    private func read(_ file: SegmentFile, of device: DeviceID) throws -> [Changeset]? {
        guard let (bytes, epoch) = try container.readSegmentFile(file, of: device) else { return nil }
        return try SegmentDecoder.decode(
            bytes, container: container.id, device: device, parts: container.partSource(of: device, under: epoch),
            asksForFew: true
        ).1
    }

    /// The beginning of a device's log, by its head.
    private func logStart(of device: DeviceID) -> UInt64? {
        try? container.readHead(of: device)?.logStart  // a head is a hint: without the head, the reason is less precise
    }

    private func missing(_ device: DeviceID, _ sequence: UInt64) -> FerryError {
        if let start = logStart(of: device), start > sequence {
            return FerryError(
                .fileNotThereYet,
                "Its changes before number \(start) still count, and are no longer in the container one by one: the files of "
                    + "a log are removed once a snapshot holds what they said.", device: device, sequence: sequence)
        }
        return FerryError(
            .fileNotThereYet, "Its changes from number \(sequence) on are not in the container, though later ones are.",
            device: device, sequence: sequence)
    }
}
