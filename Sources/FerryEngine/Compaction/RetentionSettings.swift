/// How long things are kept in the container, and how large its files may grow. The defaults suit devices that are used at
/// least once in two months; all devices of a container had better have the same.
public struct RetentionSettings: Equatable, Sendable {
    /// A device of which nothing was heard for so long holds nothing back any more, in milliseconds. When it returns, it
    /// starts from a snapshot.
    public var silentAfterMilliseconds: Int64 = 60 * 86_400_000
    /// How long a file that was replaced by a better one stays for those who are reading it, in milliseconds.
    public var replacedMilliseconds: Int64 = 3_600_000
    /// How often tombstones are looked for that can go, in milliseconds.
    public var tombstoneMilliseconds: Int64 = 86_400_000
    /// How long to wait after compaction met a file that cannot be read, in milliseconds.
    public var retryMilliseconds: Int64 = 3_600_000
    /// A snapshot is written only where the log has at least so many bytes that no snapshot covers.
    public var snapshotMinimumBytes = 256 << 10
    /// The first snapshot is written only where the log has more than so many changes for each row: after an import it would
    /// be as large as the log, and say nothing that is not in it.
    public var firstSnapshotChangesPerRow = 1.0
    /// Segments that wait are published as one of at most so many bytes.
    public var gatherBytes = 4 << 20
    /// Segments are rolled up into ones of at most so many bytes.
    public var segmentBytes = 8 << 20
    /// So many segments of about one size are rolled up into one: a power of two, 2 or more.
    public var rollUpFanout = 16

    public init() {}

    /// A head is written again after so long even where it has nothing new to say.
    var heartbeatMilliseconds: Int64 { silentAfterMilliseconds / 8 }
    /// A head that is no older than this is not noted again: each note is a transaction.
    var heardGranularityMilliseconds: Int64 { min(3_600_000, silentAfterMilliseconds / 32) }
}
