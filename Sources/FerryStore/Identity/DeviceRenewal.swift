import FerryCore

/// A device ID that a database had before it was restored or copied.
public struct FormerDevice: Equatable, Sendable {
    public var device: DeviceID
    /// The last changeset of that device's log that the database remembers as its own.
    public var sequence: UInt64
    /// Where the branch ends that the database published under that ID, if another one certainly parts from it behind
    /// `sequence`: all that the database had said there was written again.
    public var end: LogEnd?

    public init(device: DeviceID, sequence: UInt64, end: LogEnd? = nil) {
        self.device = device
        self.sequence = sequence
        self.end = end
    }
}

extension FormerDevice {
    /// The IDs that a database had before, the last one first.
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

/// What of a device's log is known to be in the container, and to be this database's own.
public struct PublishedLog: Equatable, Sendable {
    public var position: LogPosition
    /// The checksum of the last segment up to there; `nil` where it is not known.
    public var checksum: Checksum?
    /// Whether the container holds other changesets under numbers that this database has given away too.
    public var isForked: Bool
    /// Whether it is certain that `position` is where the branches part, where there are any.
    public var isForkCertain: Bool
    /// Whether all that this database published behind that is still in the container.
    public var isWhole: Bool
    /// Where this database's own branch ends in the container, where that is known.
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
    /// How far this device's log was published, as the store remembers: what was packed, less what waits in the outbox.
    /// - Returns: the number of the last changeset published; with its time and checksum where nothing waits.
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

    /// Gives the database another device ID, in one transaction: from then on the former device is a peer, whose log was
    /// replayed as far as `published` says, and which is read like any other.
    ///
    /// What the state has of the former device beyond that, nobody would ever send: it is written again under the new
    /// ID, as soon after its own time as can be told from it (`UnsentRewriting`). Notes that are not packed yet are
    /// packed under the new ID by the next pass. Numbers of devices in the state stay what they are.
    /// - Parameters:
    ///   - device: the new ID; nobody may have it yet.
    ///   - branches: where several copies published under the ID, what each said from there on. It is merged first and
    ///     then written again like the rest, because whoever said it may not be there any more.
    ///   - fingerprint: where the database is now.
    ///   - seal: makes segments of what is written again; they wait in the outbox.
    /// - Returns: the number of changes that were written again.
    public func becomeNewDevice(
        _ device: DeviceID, published: PublishedLog, branches: [Changeset] = [], fingerprint: StoreFingerprint,
        seal: SegmentSealer
    ) throws -> Int {
        try enter(tablesOf: branches)
        return try access { access in
            var access = access
            let (connection, former) = (access.connection, access.device)
            if published.isForked {
                // Branches are merged below, and replay has to meet what is pending as state. It is written again with the
                // rest.
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
            // Its log begins with the schema, like every log.
            try access.meta.set(.schemaUnsent, 1)
            // Until now nobody counted this device when deletions were forgotten.
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
