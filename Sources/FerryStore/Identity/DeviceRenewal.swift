import FerryCore

/// A device ID of this database before the database was restored or copied.
public struct FormerDevice: Equatable, Sendable {
    public var device: DeviceID
    /// The last changeset of that device's log remembered as this database's own.
    public var sequence: UInt64
    /// The end of the branch this database published under that ID, if a different branch certainly parts behind
    /// `sequence`. Everything on the branch was written again.
    public var end: LogEnd?

    public init(device: DeviceID, sequence: UInt64, end: LogEnd? = nil) {
        self.device = device
        self.sequence = sequence
        self.end = end
    }
}

extension FormerDevice {
    /// The former IDs of a database, latest first.
    static func all(_ meta: StoreMeta) throws -> [FormerDevice] {
        try (meta.string(.formerDevices) ?? "").split(separator: " ").compactMap { entry in
            let parts = entry.split(separator: ":").map(String.init)
            guard parts.count == 2 || parts.count == 4, let device = DeviceID(parts[0]), let sequence = UInt64(parts[1])
            else { return nil }
            var former = FormerDevice(device: device, sequence: sequence)
            if parts.count == 4, let last = UInt64(parts[2]), let checksum = Checksum(parts[3]) {
                former.end = LogEnd(sequence: last, checksum: checksum)
            }
            return former
        }
    }

    fileprivate var text: String {
        "\(device.hex):\(sequence)" + (end.map { ":\($0.sequence):\($0.checksum.hex)" } ?? "")
    }
}

/// The part of a device's log known to be in the container, and to be this database's own.
public struct PublishedLog: Equatable, Sendable {
    public var position: LogPosition
    /// The checksum of the last segment up to the position; `nil` if unknown.
    public var checksum: Checksum?
    /// True if the container also holds foreign changesets under numbers used by this database.
    public var isForked: Bool
    /// True if the branches, if any, certainly part at `position`.
    public var isForkCertain: Bool
    /// True if everything this database published after the position is still in the container.
    public var isWhole: Bool
    /// The end of this database's own branch in the container, if known.
    public var end: LogEnd?

    public init(
        position: LogPosition, checksum: Checksum?, isForked: Bool, isForkCertain: Bool = true, isWhole: Bool = true,
        end: LogEnd? = nil
    ) {
        self.end = end
        self.position = position
        self.checksum = checksum
        self.isForked = isForked
        self.isForkCertain = isForkCertain
        self.isWhole = isWhole
    }
}

extension Store {
    /// The published end of this device's log, as remembered by the store: the packed changesets without the outbox.
    /// - Returns: the number of the last published changeset; with time and checksum if the outbox is empty.
    public func publishedLog() throws -> (sequence: UInt64, last: LogPosition?, checksum: Checksum?) {
        try read { connection in
            let row = try connection.rows(
                """
                SELECT sequence, time, checksum, (SELECT min(first) FROM ferry_outbox) FROM ferry_device
                WHERE number = (SELECT value FROM ferry_meta WHERE name = 'device')
                """
            ).first
            guard case .integer(let sequence)? = row?[0], case .integer(let time)? = row?[1] else {
                throw FerryError(.internalInconsistency, "The store does not say which device it is.")
            }
            if case .integer(let first)? = row?[3] { return (UInt64(clamping: max(first, 1) - 1), nil, nil) }
            let position = LogPosition(
                sequence: UInt64(sequence), time: HybridTime(rawValue: UInt64(bitPattern: time)))
            if case .blob(let bytes)? = row?[2] { return (position.sequence, position, Checksum(bytes: bytes)) }
            return (position.sequence, position, nil)
        }
    }

    /// Gives the database a new device ID, in a single transaction. The former device becomes a peer: its log counts as
    /// replayed up to `published`, and is read like any log.
    ///
    /// Nobody would ever send the rest of the former device's state. So the rest is written again under the new ID, at
    /// times just after the original times (`UnsentRewriting`). The next pass packs pending changes under the new ID.
    /// Device numbers in the state stay unchanged.
    /// - Parameters:
    ///   - device: the new, unused ID.
    ///   - branches: if several copies published under the ID, all their changesets after the fork. They are merged first and then
    ///     written again like the rest, because their authors may be gone.
    ///   - fingerprint: the database's present place.
    ///   - seal: encodes the repeated changes as segments; these wait in the outbox.
    /// - Returns: the number of repeated changes.
    public func becomeNewDevice(
        _ device: DeviceID, published: PublishedLog, branches: [Changeset] = [], fingerprint: StoreFingerprint,
        seal: SegmentSealer
    ) throws -> Int {
        try enter(tablesOf: branches)
        return try access { access in
            var access = access
            let (connection, former) = (access.connection, access.device)
            if published.isForked {
                // Branches are merged below, and replay must meet pending changes as state. They are written again with
                // the rest.
                var clock = try access.hybridClock()
                var (outcome, touched) = (PassOutcome(), Set<Int>())
                try pack(&access, &clock, &outcome, seal, &touched)
                try access.save(clock)
            }
            let packed = try access.versionVector()[former].sequence
            try connection.execute(
                "INSERT INTO ferry_device(id, name, sequence, time) SELECT ?, name, 0, 0 FROM ferry_device WHERE id = ?",
                .blob(device.bytes[...]), .blob(former.bytes[...]))
            try access.meta.set(.device, connection.lastInsertedKey)
            try connection.execute("DELETE FROM ferry_outbox")
            try connection.execute("DELETE FROM ferry_segment")
            try access.meta.set(.logStart, 0)
            try access.meta.set(.compaction, "")
            try access.meta.remove(.removedSegments)
            let list =
                [
                    FormerDevice(
                        device: former, sequence: published.position.sequence,
                        end: published.isForked && published.isForkCertain ? published.end : nil)
                ]
                + (try FormerDevice.all(access.meta))
            try access.meta.set(
                .formerDevices, list.map(\.text).joined(separator: " "))
            try access.meta.set(.fingerprint, fingerprint.text)
            // Every log begins with the schema.
            try access.meta.set(.schemaUnsent, 1)
            // Until now nobody counted this device before forgetting deletions.
            try access.meta.set(.returned, 0)
            if !published.isForkCertain || !published.isWhole { try ForkedLogList.add(former, access.meta) }
            let renewed = try StoreAccess(
                connection, registry: access.registry, clock: clock, random: random, hooks: hooks,
                digests: access.digests, departures: access.departures)
            try CountingDevices.begin(renewed)
            var clock = try renewed.hybridClock()
            var touched = try branches.isEmpty ? [] : Self.merge(branches, of: former, renewed, &clock)
            try connection.execute(
                "UPDATE ferry_device SET sequence = ?, time = ?, checksum = ? WHERE id = ?",
                .integer(Int64(published.position.sequence)),
                .integer(Int64(bitPattern: published.position.time.rawValue)),
                published.checksum.map { .blob($0.bytes[...]) } ?? .null, .blob(former.bytes[...]))
            if packed <= published.position.sequence && branches.isEmpty { return (0, []) }
            let rewriting = UnsentRewriting(renewed, former: former, published)
            var outcome = PassOutcome()
            touched.formUnion(
                try rewriting.run { changes in
                    try stage(changes, schema: nil, time: clock.tick(), renewed, seal, &outcome)
                })
            try renewed.save(clock)
            try renewed.keyValueChanges.save(connection)
            return (outcome.packed, touched.map { access.registry[$0] }.filter(\.isLocal).map(\.name))
        }
    }
}
