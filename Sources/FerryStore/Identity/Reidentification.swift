import FerryCore
import FerrySchema

/// The part of a device's log known to be in the container, and to be this database's own.
package struct PublishedLog: Sendable {
    package var position: LogPosition
    /// The checksum of the last segment up to the position; `nil` if unknown.
    package var checksum: Checksum?
    /// True if the container also holds foreign changesets under numbers used by this database.
    package var isForked: Bool
    /// True if the branches, if any, certainly part at `position`.
    package var isForkCertain: Bool
    /// True if everything this database published after the position is still in the container.
    package var isWhole: Bool
    /// The end of this database's own branch in the container, if known.
    package var end: LogEnd?
    /// Where the database and the container were set back to, if remote devices have read other changes behind; `.none` for an unknown
    /// place.
    package var setBack: LogPosition?
    /// If several copies published under the ID, all their changesets after the fork.
    package var branches: [Changeset] = []

    package init(
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

    /// The last position that every reader of the log certainly shares: everything later is written again.
    var sentUnderID: LogPosition { setBack ?? position }
}

extension StoreSession {
    /// Gives the database a new device ID. From then on the former device is a peer, with its log replayed up to
    /// `published`.
    ///
    /// Nobody would ever send the rest of the former device's state. So the rest is written again under the new ID
    /// (`UnpublishedRestamping`).
    /// - Returns: the number of repeated changes.
    func becomeNewDevice(
        _ device: DeviceID, published: PublishedLog, fingerprint: StoreFingerprint
    ) throws -> Int {
        let branches = published.branches
        let former = access.device
        if published.isForked {
            // Branches are merged below, and replay must meet pending changes as state. They are written again with
            // the rest.
            try pack()
        }
        let packed = try access.versionVector()[former].sequence
        let lastOldRows = try access.meta.integer(.lastOldRows).map { UInt64(clamping: $0) }
        try access.meta.set(.device, DeviceTable(connection).enter(device, namedAs: former))
        try Outbox(connection).removeAll()
        try OwnSegmentList(connection).removeAll()
        try access.meta.set(.logStart, 0)
        try access.meta.set(.lastOldRows, 0)
        try access.meta.set(.compaction, "")
        try access.meta.remove(.removedSegments)
        let list =
            [
                PreviousIdentity(
                    device: former, sequence: published.sentUnderID.sequence,
                    end: published.isForked && published.isForkCertain ? published.end : nil)
            ]
            + (try PreviousIdentity.all(access.meta))
        try access.meta.set(
            .formerDevices, list.map(\.text).joined(separator: " "))
        try access.meta.set(.fingerprint, fingerprint.text)
        // Every log begins with the schema.
        try access.meta.set(.schemaUnsent, 1)
        try NewestSchema(access.connection).noteSent(nil)
        // Until now nobody counted this device before forgetting deletions.
        try access.meta.set(.returned, 0)
        if !published.isForkCertain || !published.isWhole { try ForkedLogList.add(former, access.meta) }
        access = try access.renewed(on: access.registry)
        try MemberAcknowledgements.begin(access)
        if !branches.isEmpty { touched.formUnion(try merge(branches, of: former)) }
        try DeviceTable(connection).set(
            .init(position: published.position, checksum: published.checksum), of: former)
        if packed <= published.sentUnderID.sequence && branches.isEmpty { return 0 }
        let packedBefore = outcome.packed
        let restamping = try UnpublishedRestamping(access, former: former, published, lastOldRows: lastOldRows)
        touched.formUnion(try restamping.run { try stage($0) })
        return outcome.packed - packedBefore
    }
}
