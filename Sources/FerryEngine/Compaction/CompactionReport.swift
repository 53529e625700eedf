import FerryContainer
import FerryStore

/// What `compact` did, or would do. The JSON keys are fixed.
///
/// Invariants:
/// - Counts only grow while a compaction runs.
/// - A failed step is in `skipped`, and counts nowhere else.
package struct CompactionReport: Codable, Equatable, Sendable {
    package struct RolledUp: Codable, Equatable, Sendable {
        /// Number of segments replaced by larger segments.
        package var segments = 0
        /// Number of the larger segments.
        package var into = 0
    }

    package struct Snapshot: Codable, Equatable, Sendable {
        /// The file name of the manifest; `nil` if not written yet.
        package var name: String?
        /// The size of the snapshot's files.
        package var bytes: Int?
    }

    package struct Removed: Codable, Equatable, Sendable {
        /// Number of removed files of this device's log.
        package var segments = 0
        /// Their size.
        package var bytes = 0
        /// Number of removed snapshots of this device.
        package var snapshots = 0
    }

    /// True if nothing was done.
    package var dryRun = false
    package var rolledUp = RolledUp()
    /// The written snapshot, if any.
    package var snapshot: Snapshot?
    package var removed = Removed()
    /// Number of forgotten tombstones. A dry run counts all tombstones, of which some may stay.
    package var tombstones = 0
    /// True if a snapshot now replaces lost or damaged files of this device's log.
    package var mended = false
    /// Failed steps, with the reason. Compaction tries these steps again.
    package var skipped: [String] = []
    /// Devices that must replay more before segments can be removed.
    package var heldBackBy: [String] = []
    /// This device's part of the container now: number of log files, and their size.
    package var segments = 0
    package var bytes = 0
    package var durationMilliseconds: Int64 = 0

    private enum CodingKeys: String, CodingKey {
        case dryRun, rolledUp, snapshot, tombstones, mended, skipped, heldBackBy, segments, bytes, durationMilliseconds
        case removed = "removedFiles"
    }

    package init() {}

    /// True if anything was done, or would be.
    package var hasNews: Bool {
        rolledUp.into > 0 || snapshot != nil || removed != Removed() || tombstones > 0 || mended
    }

    /// Adds what a step would do.
    mutating func foresee(_ step: CompactionStep, _ segments: [OwnSegment], tombstones count: Int) {
        switch step {
        case .rollUp(let first, let last):
            rolledUp.into += 1
            rolledUp.segments +=
                segments.filter {
                    $0.replacedMilliseconds == nil && first <= $0.first && $0.last <= last
                }.count
        case .writeSnapshot: snapshot = Snapshot()
        case .beginLog: break
        case .removeSegments(let names):
            removed.segments += names.count
            removed.bytes += segments.reduce(0) { $0 + (names.contains($1.fileName) ? $1.bytes : 0) }
        case .removeSnapshots(let names): removed.snapshots += names.count
        case .collectTombstones: tombstones = count
        }
    }
}
