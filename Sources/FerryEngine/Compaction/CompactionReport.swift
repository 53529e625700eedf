import FerryContainer
import FerryStore

/// What `compact` did, or would do. Its JSON keys are fixed.
public struct CompactionReport: Codable, Equatable, Sendable {
    public struct RolledUp: Codable, Equatable, Sendable {
        /// Segments that larger ones now stand for.
        public var segments = 0
        /// The number of the larger ones.
        public var into = 0
    }

    public struct Snapshot: Codable, Equatable, Sendable {
        /// The file name of its manifest; `nil` where it is not written yet.
        public var name: String?
        /// The size of its files.
        public var bytes: Int?
    }

    public struct Removed: Codable, Equatable, Sendable {
        /// Files of this device's log.
        public var segments = 0
        /// Their size.
        public var bytes = 0
        /// Snapshots of this device.
        public var snapshots = 0
    }

    /// Whether nothing was done.
    public var dryRun = false
    public var rolledUp = RolledUp()
    /// The snapshot that was written, if one was.
    public var snapshot: Snapshot?
    public var removed = Removed()
    /// Traces of deleted objects that were forgotten; in a dry run all there are, of which some may stay.
    public var tombstones = 0
    /// Whether files of this device's log were gone from the container, or damaged, and a snapshot stands for them now.
    public var mended = false
    /// What could not be done, and why; it is tried again.
    public var skipped: [String] = []
    /// Devices that let segments go only once they have replayed more.
    public var heldBackBy: [String] = []
    /// This device's part of the container as it is now: files of its log, and their size.
    public var segments = 0
    public var bytes = 0
    public var seconds: Double = 0

    public init() {}

    /// Whether anything was done, or would be.
    public var hasNews: Bool {
        rolledUp.into > 0 || snapshot != nil || removed != Removed() || tombstones > 0 || mended
    }

    /// Takes in what a step would do.
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
