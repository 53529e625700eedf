import FerryCore
import FerrySchema

extension Store {
    /// Records the devices in a container this device is about to join. The folder may be in an older state, and these
    /// devices may have forgotten deletions unknown here.
    package func awaitCounting(by devices: [DeviceID]) throws {
        try note { try MemberAcknowledgements.expect(devices, MetaTable(connection: $0)) }
    }

    /// The devices known to count this device before they forget deletions. Also the number of this device's changeset
    /// a device must acknowledge to count.
    package func countingDevices() throws -> (devices: Set<DeviceID>, acknowledging: UInt64) {
        try read { try lastCounting.value($0, MemberAcknowledgements.known) }
    }

    /// Publishes retained and revived rows again that remote devices may have forgotten without counting this device.
    /// Also publishes deletions of rows inserted by this device again.
    ///
    /// Does nothing unless a snapshot was merged, the device got a new ID, a device newly counts this device, or a
    /// device lacks an object.
    /// - Parameters:
    ///   - isLast: true if everything is replayed, so this need not be repeated.
    ///   - counting: the newly counting devices; everything named by their heads is replayed here.
    ///   - successors: newly counting devices with an earlier ID.
    ///   - requests: objects missing on remote devices.
    /// - Returns: true if there is something new to publish, including pending changes.
    package func republishRows(
        isLast: Bool, counting: Set<DeviceID> = [], successors: Set<DeviceID> = [], requests: [MissingRequest] = [],
        encode: SegmentEncoding
    ) throws -> Bool {
        let isDue = try !counting.isEmpty || read { try MetaTable(connection: $0).integer(.returned) } != nil
        if try !isDue && (requests.isEmpty || readAccess { try Republication($0).find(requests).isEmpty }) {
            return false
        }
        return try passing(encode) {
            try $0.republishRows(
                isDue: isDue, isLast: isLast, counting: counting, successors: successors, requests: requests)
        }
    }

    /// Lists objects updated here and never inserted; writes only after a change of the list.
    /// - Parameters:
    ///   - isContradicted: true if a device has replayed the same and holds a different state. Otherwise only listed objects are
    ///     checked.
    ///   - maximumCount: maximum number of listed objects.
    package func recordUpdatedObjects(isContradicted: Bool, atMost maximumCount: Int) throws {
        guard try isContradicted || read({ try MetaTable(connection: $0).string(.updated) }) != nil else { return }
        let (known, found) = try readAccess { access in
            let objects = UnresolvedObjects(access, atMost: maximumCount)
            let found = try isContradicted ? objects.findUpdated() : objects.stillUpdated()
            return (try UnresolvedObjects.Updated.all(access.meta), found)
        }
        if known != found { try note { try UnresolvedObjects.Updated.save(found, MetaTable(connection: $0)) } }
    }

    /// The unresolved objects for this device's head: IDs in ascending order. Empty while a snapshot is read, since the
    /// snapshot may contain them.
    package func missingObjects(atMost maximumCount: Int) throws -> [ObjectID] {
        try readAccess { access in
            try lastMissing.value(access.connection) { _ in
                try ImportProgress.read(access.meta) == nil
                    ? UnresolvedObjects(access, atMost: maximumCount).find() : []
            }
        }
    }

    /// Forgets tombstones nothing can bring back: `stable` covers everything known of them. May be repeated, also after
    /// a crash: each batch is a separate transaction. Call while no further process of Ferry's works on the database.
    ///
    /// - Parameter stable: for each device, the position in its log every active device has replayed, by heads this
    ///   store has caught up with. A vector above the truth makes devices show different rows.
    /// - Returns: the number of forgotten objects.
    /// - Throws: `busy`, `inputOutput`; earlier batches stay collected.
    @discardableResult
    package func collectTombstones(stable: VersionVector) throws -> Int {
        if try tombstoneCount() == 0 { return 0 }
        var progress = TombstoneCollector.Progress(stable: stable)
        for number in try readAccess({ try TombstoneCollector.tables($0, stable: stable) }) {
            while try transaction({ try TombstoneCollector.collectBatch(of: number, $0.access, &progress) }) {}
        }
        return progress.collected
    }

    /// The number of remembered tombstones.
    package func tombstoneCount() throws -> Int { try readAccess(TombstoneCollector.count) }
}
