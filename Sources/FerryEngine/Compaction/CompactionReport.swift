import FerryContainer
import FerryStore

/// What `compact` did, or would do. The JSON keys are fixed.
public struct CompactionReport: Codable, Equatable, Sendable {
    public struct RolledUp: Codable, Equatable, Sendable {
        /// Number of segments replaced by larger segments.
        public var segments = 0
        /// Number of the larger segments.
        public var into = 0
    }

    public struct Snapshot: Codable, Equatable, Sendable {
        /// The file name of the manifest; `nil` if not written yet.
        public var name: String?
        /// The size of the snapshot's files.
        public var bytes: Int?
    }

    public struct Removed: Codable, Equatable, Sendable {
        /// Number of removed files of this device's log.
        public var segments = 0
        /// Their size.
        public var bytes = 0
        /// Number of removed snapshots of this device.
        public var snapshots = 0
    }

    /// True if nothing was done.
    public var dryRun = false
    public var rolledUp = RolledUp()
    /// The written snapshot, if any.
    public var snapshot: Snapshot?
    public var removed = Removed()
    /// Number of forgotten tombstones. A dry run counts all tombstones, of which some may stay.
    public var tombstones = 0
    /// True if a snapshot now replaces lost or damaged files of this device's log.
    public var mended = false
    /// Failed steps, with the reason. Compaction tries these steps again.
    public var skipped: [String] = []
    /// Devices that must replay more before segments can be removed.
    public var heldBackBy: [String] = []
    /// This device's part of the container now: number of log files, and their size.
    public var segments = 0
    public var bytes = 0
    public var seconds: Double = 0

    public init() {}

    /// True if anything was done, or would be.
    public var hasNews: Bool {
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
