import FerryCore
import FerrySQL
import FerrySchema

/// The store's records of itself and of remote devices, read in a single transaction: for syncs, heads and reports.
///
/// The content changes only under the device's lock, so the reading stays true until the lock's holder writes.
package struct StoreSummary: Sendable {
    /// All known devices, including this device, in the order of their numbers.
    package let devices: [DeviceRecord]
    /// The former IDs of the database, latest first.
    package let formerDevices: [PreviousIdentity]
    /// The digests of this database's tables. Empty while a snapshot is read: then the state belongs to no position.
    package let tables: [TableDigests]
    /// The first changeset of this device's log still in the container; earlier changesets are in snapshots. 0 if the
    /// log is complete.
    package let logStart: UInt64
    /// Compaction's notes (`Store.setCompactionNotes`).
    package let compactionNotes: DecodedOnce
    /// The number of the oldest epoch under which a segment of this device's in the container is sealed; `nil` in an open container, and
    /// without segments.
    package let oldestSegmentEpoch: UInt32?
    /// Number of hidden objects.
    package let hidden: Int
    /// True if unresolved objects may exist here (`Store.missingObjects`).
    package let isMissingObjects: Bool
    /// True if everything packed is published.
    package let isPublished: Bool
    /// The last backdated changeset of each device's log.
    package let lateChanges: [DeviceID: UInt64]
    /// Logs written by two copies of a database, with an unknown fork position: logs this database wrote a branch of,
    /// or merged all branches of.
    package let forkedLogs: Set<DeviceID>
    /// Logs known to some device and not fully in the container.
    package let undelivered: UndeliveredLogs
    /// Tables with a different primary key on remote devices.
    package let otherGenerations: [OtherGeneration]
    /// Tables with rows or changes waiting for a process with the app's collation or function.
    package let waitingTables: [WaitingTable]
    /// True if the store has tables of contents and documents.
    package let hasDocuments: Bool
    /// The reason and start of sync failures; `nil` if the last sync succeeded.
    package let failure: StallReason?

    /// The digests of state and rows for heads, by token.
    package var digests: [UInt32: UInt64] { TableDigests.published(tables) }

    /// The replayed position of every device's log, including this device's.
    package let vector: VersionVector
    /// Retired devices that have not come back.
    package let retired: Set<DeviceID>
    /// The devices' names for people, if known.
    package let names: [DeviceID: String]
    /// The checksum of each device's last packed or replayed segment, if known.
    package let checksums: [DeviceID: Checksum]
    /// The reasons for devices' logs to wait at the last sync.
    package let waiting: [DeviceID: StallReason]

    init(_ connection: SQLConnection) throws {
        let meta = MetaTable(connection: connection)
        devices = try DeviceRecord.all(connection)
        formerDevices = try PreviousIdentity.all(meta)
        tables = try ImportProgress.read(meta) == nil ? TableDigests.all(connection) : []
        logStart = UInt64(clamping: try meta.integer(.logStart) ?? 0)
        compactionNotes = DecodedOnce(try meta.string(.compaction))
        oldestSegmentEpoch = try OwnSegmentList(connection).oldestEpoch()
        let exceptions = try AnomalyTable.counts(connection)
        hidden = exceptions.reduce(0) { $0 + ($1.key.isHidden ? $1.value : 0) }
        isMissingObjects = try exceptions[.missing] != nil || meta.string(.updated) != nil
        isPublished = try Outbox(connection).count() == 0
        lateChanges = try BackdatedChanges.all(meta)
        forkedLogs = try ForkedLogList.all(meta)
        undelivered = try UndeliveredLogs(meta)
        hasDocuments = try DocumentTables.areMade(meta)
        failure = try StallReason.failure(meta)
        waitingTables = try WaitingTable.all(connection)
        otherGenerations = try OtherGeneration.all(connection)
        let devices = devices
        func table<Value>(_ value: (DeviceRecord) -> Value?) -> [DeviceID: Value] {
            Dictionary(uniqueKeysWithValues: devices.compactMap { record in value(record).map { (record.id, $0) } })
        }
        vector = VersionVector(table { $0.position.sequence > 0 ? $0.position : nil })
        retired = Set(devices.filter { $0.retiredMilliseconds != nil }.map(\.id))
        names = table { $0.name.isEmpty ? nil : $0.name }
        checksums = table { $0.checksum }
        waiting = table { $0.waiting }
    }
}
