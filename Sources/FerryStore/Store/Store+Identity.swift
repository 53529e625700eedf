import FerryCore
import FerrySchema

extension Store {
    /// Merges what several copies of a database published under the same ID, in a single transaction, and writes
    /// everything again under this device's ID. No reader can follow two branches of a log, and the authors of the
    /// branches may be gone.
    ///
    /// Known changes have no effect. So the merge may be repeated, also by several devices: each writes the same
    /// changes, at times just after the original times (`UnpublishedRestamping`).
    /// - Parameters:
    ///   - branches: all changesets of the log after `position`, by any author.
    ///   - device: the log's device; never this device.
    ///   - position: the last common changeset of the branches.
    ///   - isForkCertain: true if the branches certainly part there.
    ///   - encode: encodes the repeated changes as segments; these wait in the outbox.
    /// - Returns: the number of repeated and of pending changes.
    package func mergeBranches(
        _ branches: [Changeset], of device: DeviceID, after position: LogPosition, isForkCertain: Bool = true,
        encode: SegmentEncoding
    ) throws -> Int {
        try enter(tablesOf: branches)
        return try passing(encode) {
            try $0.mergeBranches(branches, of: device, after: position, isForkCertain: isForkCertain)
        }
    }

    /// Records a device's log as having branches with an unknown fork position (`ForkedLogList`).
    package func recordForkedLog(_ device: DeviceID) throws {
        // Usually the log is known already, and nothing is written.
        if try read({ try ForkedLogList.all(MetaTable(connection: $0)).contains(device) }) { return }
        try note { try ForkedLogList.add(device, MetaTable(connection: $0)) }
    }

    /// Forgets how far a device's log is replayed, and of which branch: the log is read from its beginning again. The log counts as a log with
    /// an unknown fork position (`ForkedLogList`), so nothing replayed before is lost.
    package func readAnew(_ device: DeviceID) throws {
        try note { connection in
            try ForkedLogList.add(device, MetaTable(connection: connection))
            try DeviceTable(connection).set(.init(), of: device)
        }
    }

    /// The files of a device's log present at the last search for branches, and the snapshots read for them; empty
    /// before the first search.
    package func branchesTakenIn(of device: DeviceID) throws -> [String] {
        try read { try MergedBranches($0).names(of: device) }
    }

    /// Records the files of a device's log present when its branches were merged, and the snapshots read for them.
    package func recordMergedBranches(_ names: [String], of device: DeviceID) throws {
        try note { try MergedBranches($0).set(names, of: device) }
    }

    /// Gives the database a new device ID, in a single transaction. The former device becomes a peer: its log counts as
    /// replayed up to `published`, and is read like any log.
    ///
    /// Nobody would ever send the rest of the former device's state. So the rest is written again under the new ID, at
    /// times just after the original times (`UnpublishedRestamping`). The next pass packs pending changes under the new
    /// ID. Device numbers in the state stay unchanged.
    /// - Parameters:
    ///   - device: the new, unused ID.
    ///   - published: its branches are merged first and then written again like the rest, because their authors may be gone.
    ///   - fingerprint: the database's present place.
    ///   - news: what changes of the membership; `nil` for an open container.
    ///   - encode: encodes the repeated changes as segments; these wait in the outbox.
    /// - Returns: the number of repeated changes.
    package func becomeNewDevice(
        _ device: DeviceID, published: PublishedLog, fingerprint: StoreFingerprint,
        membership news: MembershipNews? = nil,
        encode: SegmentEncoding
    ) throws -> Int {
        try enter(tablesOf: published.branches)
        return try transaction(encoding: encode) { session in
            let records = RecordTable(session.connection)
            if let sealed = news?.sealed { try records.begin(sealed) }
            if let record = news?.record { try records.add([record]) }
            return try session.becomeNewDevice(device, published: published, fingerprint: fingerprint)
        }
    }

    /// What a new device ID changes of the membership.
    package struct MembershipNews {
        /// The record that lets the new device in, which waits to be published then.
        package var record: StoredRecord?
        /// The membership that the database belongs to from now on; `nil`: the same as before.
        package var sealed: SealedBeginning?

        package init(record: StoredRecord? = nil, sealed: SealedBeginning? = nil) {
            self.record = record
            self.sealed = sealed
        }
    }

    /// Records where the container lies, in a transaction of its own. Durable on return.
    package func recordContainerPath(_ path: String) throws {
        try note(durably: true) { try MetaTable(connection: $0).set(.containerPath, path) }
    }

    /// The saved fingerprint; `nil` if none was saved.
    package func fingerprint() throws -> StoreFingerprint? {
        try read { try MetaTable(connection: $0).string(.fingerprint).flatMap { StoreFingerprint(text: $0) } }
    }

    /// Saves the store's present place. If a different file lies there, also saves the published position of this device's log.
    package func note(_ fingerprint: StoreFingerprint) throws {
        try note { connection in
            let meta = MetaTable(connection: connection)
            let former = try meta.string(.fingerprint).flatMap { StoreFingerprint(text: $0) }
            if former.map(fingerprint.isReplaced) ?? false,
                let position = try OwnLogPosition(connection).published().last
            {
                try meta.set(.replacedFile, "\(position.sequence) \(position.time.rawValue)")
            }
            try meta.set(.fingerprint, fingerprint.text)
        }
    }

    /// The published position of this device's log when a different file was last found in the database's place; `nil` if none was,
    /// or segments waited then.
    package func replacedFilePosition() throws -> LogPosition? {
        guard let text = try read({ try MetaTable(connection: $0).string(.replacedFile) }) else { return nil }
        let parts = text.split(separator: " ").compactMap { UInt64($0) }
        guard parts.count == 2 else { return nil }
        return LogPosition(sequence: parts[0], time: HybridTime(rawValue: parts[1]))
    }

    /// The device whose keys are being replaced; `nil` if none are.
    package func renewedKeys() throws -> DeviceID? {
        try read { try MetaTable(connection: $0).string(.renewedKeys).flatMap { DeviceID($0) } }
    }

    /// Records whose keys are being replaced, in a transaction of its own. Durable on return.
    package func note(renewedKeys device: DeviceID?) throws {
        try note(durably: true) { connection in
            let meta = MetaTable(connection: connection)
            if let device { try meta.set(.renewedKeys, device.hex) } else { try meta.remove(.renewedKeys) }
        }
    }

    /// The device that has begun to leave; `nil` if none has.
    package func leavingDevice() throws -> DeviceID? {
        try read { try MetaTable(connection: $0).string(.leaving).flatMap { DeviceID($0) } }
    }

    /// Records that a device begins to leave, in a transaction of its own. Durable on return.
    package func note(leaving device: DeviceID) throws {
        try note(durably: true) { try MetaTable(connection: $0).set(.leaving, device.hex) }
    }

    /// The first record of the membership that this database's membership replaced; `nil` if none is known.
    package func formerGenesis() throws -> RecordHash? {
        try read { try MetaTable(connection: $0).string(.formerGenesis).flatMap { RecordHash(hex: $0) } }
    }

    /// The path of the database at its last sync; `nil` before the first.
    package func notedPath() throws -> String? { try read { try MetaTable(connection: $0).string(.path) } }

    /// Saves the database's present path.
    package func note(path: String) throws { try note { try MetaTable(connection: $0).set(.path, path) } }
}
