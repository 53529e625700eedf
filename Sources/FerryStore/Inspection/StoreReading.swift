import FerryCore

/// What a store remembers of itself and of the other devices, read in one transaction: what a sync goes by, and what
/// heads and reports tell.
///
/// All of it changes only under the device's lock, so it stays true until whoever has the lock writes.
public struct StoreReading: Sendable {
    /// All devices that the store knows, this one included, in the order of their numbers.
    public let devices: [DeviceRecord]
    /// The IDs that the database had before, the last one first.
    public let formerDevices: [FormerDevice]
    /// What can be proven of each table of this database; nothing while a snapshot is read in, because the state is that of no
    /// position then.
    public let tables: [TableDigests]
    /// The number of the first changeset that this device's log in the container still has, what is before being in
    /// snapshots; 0 where all of it is there.
    public let logStart: UInt64
    /// What compaction has to remember (`Store.setCompactionNotes`).
    public let compactionNotes: String?
    /// The number of objects that are hidden.
    public let hidden: Int
    /// Whether objects may be missing here (`Store.missingObjects`).
    public let isMissingObjects: Bool
    /// Whether everything packed is published.
    public let isPublished: Bool
    /// The last changeset of each device's log that says again what was said before.
    public let lateChanges: [DeviceID: UInt64]
    /// The logs that two copies of a database wrote, and of which nothing tells where the branches part: those of which this
    /// database wrote one, or took in all.
    public let forkedLogs: Set<DeviceID>
    /// Tables that other devices have by another primary key.
    public let otherGenerations: [OtherGeneration]
    /// Tables with rows, or changes of the app's, that wait for a process with a collation or a function of the app's.
    public let waitingTables: [WaitingTable]
    /// Why the last sync failed, and since when syncs fail for that reason; `nil` where it did not.
    public let failure: WaitingReason?

    /// The digests of state and rows as heads tell them, by what they cover.
    public var digests: [UInt32: UInt64] { TableDigests.published(tables) }

    /// What is replayed of every device's log, this device's own included.
    public let vector: VersionVector
    /// Devices that were retired and have not come back.
    public let retired: Set<DeviceID>
    /// What people call the devices, as far as their names are known.
    public let names: [DeviceID: String]
    /// The checksum of the last segment packed or replayed of each device, where it is known.
    public let checksums: [DeviceID: Checksum]
    /// What devices' logs waited for at the last sync.
    public let waiting: [DeviceID: WaitingReason]

    init(_ connection: SQLConnection) throws {
        let meta = StoreMeta(connection: connection)
        devices = try DeviceRecord.all(connection)
        formerDevices = try FormerDevice.all(meta)
        tables = try SnapshotProgress.read(meta) == nil ? TableDigests.all(connection) : []
        logStart = UInt64(clamping: try meta.integer(.logStart) ?? 0)
        compactionNotes = try meta.string(.compaction)
        let exceptions = try ExceptionList.counts(connection)
        hidden = exceptions.reduce(0) { $0 + ($1.key.isHidden ? $1.value : 0) }
        isMissingObjects = try exceptions[.missing] != nil || meta.string(.updated) != nil
        isPublished = try Outbox(connection).count() == 0
        lateChanges = try LateChanges.all(meta)
        forkedLogs = try ForkedLogList.all(meta)
        failure = try WaitingReason.failure(meta)
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

extension Store {
    /// Reads what a sync goes by.
    public func reading() throws -> StoreReading {
        try read { try lastReading.value($0) { try StoreReading($0) } }
    }
}
