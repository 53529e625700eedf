import FerryContent

/// How long files stay in the container, and how large they grow. The defaults suit devices in use at least once in two
/// months. All devices of a container should have equal settings.
package struct RetentionSettings: Equatable, Sendable {
    /// A device silent for this time holds nothing back, in milliseconds. After its return, the device starts from a
    /// snapshot.
    package var silentAfterMilliseconds: Int64 = 60 * 86_400_000
    /// How long a replaced file stays for present readers, in milliseconds.
    package var replacedMilliseconds: Int64 = 3_600_000
    /// The interval between searches for collectable tombstones, in milliseconds.
    package var tombstoneMilliseconds: Int64 = 86_400_000
    /// The interval between looks for contents and packs that nobody needs, in milliseconds.
    package var collectionMilliseconds: Int64 = 86_400_000
    /// How long nothing may use a content on a device before the device deletes the content, in milliseconds.
    package var unusedContentMilliseconds = ContentCollection.unusedMilliseconds
    /// Longer or equally long packs are packed anew when less than half of them is needed, in bytes.
    package var sparsePackBytes = 4 << 20
    /// How long compaction waits after meeting an unreadable file, in milliseconds.
    package var retryMilliseconds: Int64 = 3_600_000
    /// The minimum bytes of log beyond all snapshots before a snapshot is written.
    package var snapshotMinimumBytes = 256 << 10
    /// The minimum number of changes for each row before the first snapshot is written. After an import a snapshot
    /// would be as large as the log, and would add nothing.
    package var firstSnapshotChangesPerRow = 1.0
    /// The maximum bytes of a segment joined from waiting segments.
    package var gatherBytes = 4 << 20
    /// The maximum bytes of a segment made by roll-up.
    package var segmentBytes = 8 << 20
    /// The number of segments of similar size that become one segment: a power of two, 2 or more.
    package var rollUpFanout = 16

    /// How long this device waits for another device's files, if it has their changes and the container lacks the files, in
    /// milliseconds. Then this device writes a snapshot, because the author may be lost.
    package var undeliveredMilliseconds: Int64 = 86_400_000

    package init() {}

    /// How long a device waits before it reads a snapshot that is further in a log than the log's author.
    var patienceMilliseconds: Int64 { undeliveredMilliseconds / 24 }

    /// The interval after which a head is written again even without news.
    var heartbeatMilliseconds: Int64 { silentAfterMilliseconds / 8 }
    /// A head seen within this time is not recorded again: each record is a transaction.
    var heardGranularityMilliseconds: Int64 { min(3_600_000, silentAfterMilliseconds / 32) }
}
