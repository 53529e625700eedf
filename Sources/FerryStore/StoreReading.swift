import FerryCore

/// What a store remembers of itself and of the other devices, read in one transaction: what a sync goes by, and what
/// heads and reports tell.
///
/// All of it changes only under the device's lock, so it stays true until whoever has the lock writes.
public struct StoreReading: Sendable {
    /// All devices that the store knows, this one included, in the order of their numbers.
    public var devices: [DeviceRecord]
    /// The IDs that the database had before, the last one first.
    public var formerDevices: [FormerDevice]
    /// Digests of the state, by what they cover; none while a snapshot is read in, because the state is that of no position
    /// then.
    public var digests: [UInt32: UInt64]
    /// The number of the first changeset that this device's log in the container still has, what is before being in
    /// snapshots; 0 where all of it is there.
    public var logStart: UInt64
    /// What compaction has to remember (`Store.setCompactionNotes`).
    public var compactionNotes: String?
    /// The number of objects that are hidden.
    public var hidden: Int
    /// Whether everything packed is published.
    public var isPublished: Bool
    /// Why the last sync failed, and since when syncs fail for that reason; `nil` where it did not.
    public var failure: WaitingReason?

    init(_ connection: SQLConnection) throws {
        let meta = StoreMeta(connection: connection)
        devices = try DeviceRecord.all(connection)
        formerDevices = try FormerDevice.all(meta)
        digests = try SnapshotProgress.read(meta) == nil ? StateDigests.published(connection) : [:]
        logStart = UInt64(try meta.integer(.logStart) ?? 0)
        compactionNotes = try meta.string(.compaction)
        let kinds = ExceptionKind.allCases.filter(\.isHidden).map { "\($0.rawValue)" }.joined(separator: ", ")
        hidden = try connection.count("SELECT count(*) FROM ferry_exception WHERE kind IN (\(kinds))")
        isPublished = try Outbox(connection).count() == 0
        failure = try WaitingReason.failure(meta)
    }

    /// What is replayed of every device's log, this device's own included.
    public var vector: VersionVector {
        let known = devices.filter { $0.position.sequence > 0 }
        return VersionVector(Dictionary(uniqueKeysWithValues: known.map { ($0.id, $0.position) }))
    }

    /// What people call the devices, as far as their names are known.
    public var names: [DeviceID: String] {
        Dictionary(uniqueKeysWithValues: devices.filter { !$0.name.isEmpty }.map { ($0.id, $0.name) })
    }

    /// The checksum of the last segment packed or replayed of each device, where it is known.
    public var checksums: [DeviceID: Checksum] {
        Dictionary(uniqueKeysWithValues: devices.compactMap { record in record.checksum.map { (record.id, $0) } })
    }

    /// What devices' logs waited for at the last sync.
    public var waiting: [DeviceID: WaitingReason] {
        Dictionary(uniqueKeysWithValues: devices.compactMap { record in record.waiting.map { (record.id, $0) } })
    }
}

extension Store {
    /// Reads what a sync goes by.
    public func reading() throws -> StoreReading { try read { try StoreReading($0) } }
}
