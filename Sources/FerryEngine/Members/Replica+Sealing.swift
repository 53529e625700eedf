import FerryContainer
import FerryCore
import FerryMembers
import FerrySeal
import FerryStore

/// The result of sealing a container. The JSON keys are fixed.
public struct SealReport: Codable, Equatable, Sendable {
    package struct Accepted: Codable, Equatable, Sendable {
        package var device: String
        /// The last counted changeset of the device's open log.
        package var sequence: Int
    }

    /// The new device of this database.
    public var device: String
    public var formerDevice: String
    /// The open logs, and how far they count: their devices enrol.
    package var accepted: [Accepted]
    /// Whether there is a recovery code.
    public var recovery: Bool
    /// How many packs of documents are not sealed anew yet, because their bytes have not arrived. A later sync goes on.
    package var waitingPacks = 0
    /// How many further devices had published in the container, and take no part before they enrol. Former IDs of a device, and devices
    /// that were out, are not among them.
    package var others = 0
}

extension Replica {
    /// Seals an open container, or founds the membership of a sealed container anew. This device is then the only
    /// member, and every further device enrols. No data of any database is lost.
    ///
    /// Each step may be repeated. A crash before the marker is replaced leaves an open container, and the next sealing
    /// founds the membership again.
    /// - Parameters:
    ///   - recovery: gets the recovery code before anything is changed; `nil`: there is none (`ContainerSealing.sealed`).
    ///   - anew: whether the container is sealed already.
    ///   - anyway: true: do not wait for missing logs.
    /// - Throws: `invalidArgument` where the container is sealed already and `anew` is false, or the reverse.
    ///   `fileNotThereYet` while a log waits; `keyExposed` if further users could read the keys; `busy`, and as `sync`.
    @discardableResult
    public func seal(
        recovery: RecoveryCodeKeeper?, anew: Bool = false, anyway: Bool = false
    ) throws -> SealReport {
        try refreshIdentity()
        try Self.refuseKeys(environment.keys, inside: identity.containerPath)
        let isInterrupted = try isSealingInterrupted()
        if !isInterrupted {
            guard (identity.genesis != nil) == anew else {
                throw FerryError(
                    .invalidArgument,
                    anew
                        ? "The container is open. Seal it without --anew."
                        : "The container is sealed already. `ferry seal --anew` founds its membership anew.",
                    path: identity.containerPath)
            }
            let report = try sync()
            if let waiting = report.waiting.first, !anyway {
                throw FerryError(
                    .fileNotThereYet,
                    "\(waiting.device) is waited for: \(waiting.reason) What it wrote would be sent again only once it enrols. Sync "
                        + "again later, or seal all the same: --anyway.", path: waiting.file)
            }
        }
        var report = try lock.withLock {
            try found(isInterrupted: isInterrupted, recovery)
        }
        // The first record is published, and the marker names it: now the log and the snapshot go out, sealed, and with them the packs of
        // documents.
        _ = try sync()
        try lock.withLock { try publishSnapshot() }
        report.waitingPacks = try formerPacks().count
        return report
    }

    /// Whether the database has a membership of its own, and the marker does not name it: sealing was interrupted between the two. The
    /// marker is that of the open container, or of the former membership.
    private func isSealingInterrupted() throws -> Bool {
        guard identity.genesis != nil else { return false }
        try place().refresh(.full)
        let marker = try Container.open(place())
        guard marker.id == identity.container else { return false }
        switch marker.details.sealing {
        case .none: return true
        case .sealed(let genesis):
            guard try genesis == store.formerGenesis() && genesis != identity.genesis else { return false }
            // A database that enrolled knows the former membership, too, and founded nothing.
            return try membership()?.isFounder { $0 == identity.device } ?? false
        }
    }

    /// Whether the folder has this database's container with the marker of an earlier time, before the sealing or before the membership was
    /// founded anew: the folder was set back, or somebody replaced the marker. An interrupted sealing looks the same.
    ///
    /// The database knows the membership that its own membership replaced. So a later membership is never taken for an earlier one.
    func isMarkerOfFormerTime() throws -> Bool {
        guard let own = identity.genesis else { return false }
        let marker = try Container.open(place())
        guard marker.id == identity.container else { return false }
        switch marker.details.sealing {
        case .none: return true
        case .sealed(let told): return try told != own && told == store.formerGenesis()
        }
    }

    private func found(
        isInterrupted: Bool, _ keepRecovery: RecoveryCodeKeeper?
    ) throws -> SealReport {
        try refreshIdentity()
        let container =
            isInterrupted
            ? try Container.open(place()) : try openContainer()
        let former = identity.device
        // The device of an interrupted attempt has published its first record at most, and no marker names the record.
        if isInterrupted { try container.removeRecords(of: former) }
        let published =
            isInterrupted
            ? PublishedLog(position: .none, checksum: nil, isForked: false) : try publishedLog(container)
        let reading = try store.reading()
        // Devices that were out need no enrolment, nor do former IDs of this database.
        let out = isInterrupted ? [] : try devicesThatAreOut()
        let ended = try endedDevices(reading).union(out)
        var ends: [DeviceID: LogEnding] = [:]
        for (device, position) in reading.vector.positions where position.sequence > 0 && device != former {
            ends[device] = LogEnding(
                sequence: position.sequence, time: position.time,
                checksum: reading.checksums[device] ?? Checksum(high: 0, low: 0))
        }
        if published.position.sequence > 0 {
            ends[former] = LogEnding(
                sequence: published.position.sequence, time: published.position.time,
                checksum: published.checksum ?? Checksum(high: 0, low: 0))
        }
        let founded = try NewMembership(
            in: identity.container, hasRecovery: keepRecovery != nil,
            formerLogs: ends.map { Founding.FormerLog(device: $0.key, end: $0.value) },
            formerEpochs: try epochsOfContents(), environment)
        var replaced: RecordHash?
        if case .sealed(let genesis) = container.details.sealing { replaced = genesis }
        if let code = founded.recovery { try keepRecovery?(code) }
        try endInvitations(of: former, for: founded.keys.device)
        _ = try store.becomeNewDevice(
            founded.keys.device, published: published, fingerprint: fingerprint,
            membership: .init(sealed: founded.beginning(after: replaced)), encode: segmentEncoding(for: identity))
        memory.forget()
        try refreshIdentity()
        try publishRecords(container)
        _ = try container.replaceMarker(
            ContainerDescription(
                id: container.id, name: container.name, createdMilliseconds: container.details.createdMilliseconds,
                sealing: .sealed(genesis: founded.first.hash)))
        return SealReport(
            device: identity.device.description, formerDevice: former.description,
            accepted: ends.sorted { $0.key < $1.key }.map {
                SealReport.Accepted(device: $0.key.description, sequence: Int(clamping: $0.value.sequence))
            }, recovery: founded.recovery != nil, others: ends.keys.count { $0 != former && !ended.contains($0) })
    }

    private func publishSnapshot() throws {
        try refreshIdentity()
        try writeSnapshot(openContainer())
    }
}
