import FerryContainer
import FerryCore
import FerryMembers
import FerrySeal
import FerryStore

/// This device's knowledge of a sealed container's epochs and keys. The JSON keys are fixed. Nothing in the report is
/// secret.
public struct KeysReport: Codable, Equatable, Sendable {
    package struct Epoch: Codable, Equatable, Sendable {
        package var number: Int
        package var id: String
        /// The ID of the making device; `nil`: the recovery key.
        package var madeBy: String?
        package var madeMilliseconds: Int64
    }

    /// The epoch for sealing files; `nil` until the next sync makes an epoch.
    package var epoch: Epoch?
    /// The number of epochs with known secrets.
    public var epochs: Int
    /// Whether there is a recovery code.
    public var recovery: Bool
    /// The number of members.
    public var members: Int

    private enum CodingKeys: String, CodingKey {
        case epochs, members
        case epoch = "currentEpoch"
        case recovery = "hasRecovery"
    }
}

extension Replica {
    /// The epochs and keys. Changes nothing.
    /// - Throws: `keyMissing`; `invalidArgument` for an open container.
    package func keys() throws -> KeysReport {
        try refreshIdentity()
        let membership = try requiredMembership()
        return Self.keysReport(membership)
    }

    private static func keysReport(_ membership: Membership) -> KeysReport {
        KeysReport(
            epoch: membership.roster.epoch.map { epoch in
                KeysReport.Epoch(
                    number: Int(epoch.number), id: epoch.id.description, madeBy: epoch.madeBy?.description,
                    madeMilliseconds: Int64(clamping: epoch.milliseconds))
            }, epochs: membership.keyring.all.count, recovery: membership.roster.recovery != nil,
            members: membership.roster.members.count)
    }

    /// Makes a new epoch: later files are sealed under a new secret.
    /// - Throws: `notMember`, `keyMissing`, and as `sync`.
    package func rotateKeys() throws -> KeysReport {
        try betweenSyncs { container in
            var membership = try requiredMembership()
            let act = try membership.epoch(
                for: membership.keys(of: membership.roster.members.keys), random: environment.random)
            try say([act], &membership, container)
            return Self.keysReport(membership)
        }
    }

    /// Gives this device new keys, under a new ID, and removes the former keys: for keys in danger.
    /// - Throws: as `rotateKeys`. Call again after a failure: an interrupted renewal goes on.
    package func renewKeys() throws -> Renewal {
        try betweenSyncs { container in
            let renewal: Renewal
            let former: DeviceID
            if let interrupted = try store.renewedKeys(), interrupted != identity.device {
                // The new keys are in use, and the keys in danger count still.
                former = interrupted
                renewal = Renewal(
                    reason: .keys, formerDevice: former.description, device: identity.device.description, sentAgain: 0)
            } else {
                former = identity.device
                try store.note(renewedKeys: former)
                renewal = try becomeNewDevice(.keys, container)
                container = try openContainer()
                try publishRecords(container)
            }
            var membership = try requiredMembership()
            let staying = membership.roster.members.keys.filter { $0 != former }
            let acts: [MemberAct] = [
                .remove(former),
                try membership.epoch(for: membership.keys(of: staying), random: environment.random),
            ]
            try say(acts, &membership, container)
            // A stranger with the former keys may know the codes, too.
            let ended = try endInvitations(of: former, for: identity.device)
            try environment.keys.remove(former)
            try store.note(renewedKeys: nil)
            return renewal.telling(endedInvitations: ended)
        }
    }

    /// Whether a code is the recovery code of the container. While the container is away, the last known membership decides.
    /// - Throws: `containerMismatch`, `notSealed` where the container is not, or no longer, of the membership known here.
    package func isRecoveryCode(_ code: SecretCode) throws -> Bool {
        try refreshIdentity()
        do {
            _ = try openContainerAfresh()
        } catch let error as FerryError
            where Self.isOfTheContainer(error.code) && ![.containerMismatch, .notSealed].contains(error.code)
        {
            // The container is away, or this device may not read it.
        }
        let membership = try requiredMembership()
        return try DeviceKeys(recovery: code, container: membership.container).publicKeys == membership.roster.recovery
    }

    // MARK: New IDs

    /// Mints the keys of this database's next device, and admits this device by the former device. The key store has
    /// the keys on return.
    /// - Returns: `nil` for an open container.
    /// - Throws: `notMember`, `keyMissing`.
    func successor(_ container: Container) throws -> (device: DeviceID, record: StoredRecord)? {
        guard let membership = try membership() else { return nil }
        try checkMember(membership)
        let keys = try DeviceKeys(mintedFor: membership.container, random: environment.random)
        try environment.keys.save(
            KeyFile(keys: keys, genesis: membership.genesis.bytes, highestEpoch: membership.highestEpoch))
        var acts: [MemberAct] = [.admit(Admission(.copy, keys.publicKeys, in: membership.container))]
        // Contents that nobody has heard of may need an earlier epoch than the files in the container.
        let seal = membership.seal()
        let contents = try store.contentEpochs().map(seal.number).filter { $0 > 0 }.min()
        acts += try membership.grants(
            from: min(NeededEpochs(container, membership).oldest, contents ?? .max), to: [keys.device: keys.publicKeys],
            random: environment.random)
        let record = try membership.record(acts, milliseconds: environment.clock.milliseconds())
        return (keys.device, StoredRecord(hash: record.hash, bytes: record.bytes, isPublished: false))
    }

    /// Refuses to begin an enrolment of a member with its key: the former device would stay a member, and nobody would use the device.
    /// - Throws: `invalidArgument`; as `Container.open`, with advice for a container that was moved.
    package func checkNeedsEnrolment() throws {
        try refreshIdentity()
        do {
            _ = try Container.open(place())
        } catch let error as FerryError {
            throw hinting(error)
        }
        do {
            guard var membership = try membership() else { return }
            try place().refresh(.full)
            let container = try plainContainer()
            let reader = MemberReader(container: container, now: environment.clock.milliseconds())
            try membership.insert(reader.look(membership).records)
            try checkMember(membership)
            // An enrolment was interrupted after the database had become its device.
            if try Enrolment.isOpen(of: identity.device, container, environment.keys) { return }
        } catch let error as FerryError
            where [.keyMissing, .notMember, .notSealed, .containerMismatch].contains(error.code)
        {
            return
        }
        throw FerryError(
            .invalidArgument,
            "The database is a member of the container already, and its key is here: `ferry sync` is all that it needs. "
                + "`ferry keys … renew` gives it new keys.", path: store.path)
    }

    /// The first record of the membership that a membership replaced on this device; `nil` if none is known to be earlier. A folder that was
    /// set back shows an earlier membership, and a device may enrol there: then the membership that the device leaves is the later one.
    private func membershipReplaced(by membership: Membership) throws -> RecordHash? {
        guard let known = identity.genesis, known != membership.genesis else { return try store.formerGenesis() }
        guard let stored = try store.records().first(where: { $0.hash == known }),
            let present = membership.records[membership.genesis]
        else { return known }
        let founding = try MemberRecord(decoding: stored.bytes, container: identity.container)
        return founding.milliseconds > present.milliseconds ? nil : known
    }

    /// Makes this database the device of an enrolment: for a database with the key elsewhere, or with a device that is
    /// out. Changes that nobody has are sent again under the new ID.
    /// - Throws: `enrolmentPending` while nobody has let the device in; `containerMismatch` for a different container's
    ///   enrolment; `codeRefused`, `busy`, and as `sync`.
    @discardableResult
    public func enrol(_ enrolment: Enrolment) throws -> Renewal {
        let renewal = try lock.withLock { () throws -> Renewal in
            try refreshIdentity()
            guard enrolment.container == identity.container else {
                throw FerryError(
                    .containerMismatch, "The database belongs to another container than the one that was asked.",
                    path: store.path)
            }
            var (state, membership) = try enrolment.admission()
            guard case .admitted = state else { throw Enrolment.pending(enrolment.path) }
            try place().refresh(.full)
            let plain = try Container.open(
                place(), expecting: ContainerPin(id: identity.container, genesis: membership.genesis))
            let container = try plain.sealed(by: membership.seal())
            let former = identity.device
            if former == enrolment.device {
                // An earlier attempt was interrupted after the database had become this device.
                let sentAgain = try sendFormerLogs(membership.roster)
                try enrolment.end(plain)
                let before = try store.reading().formerDevices.first?.device ?? former
                try endInvitations(of: before, for: former)
                return Renewal(
                    reason: .enrolled,
                    formerDevice: before.description,
                    device: former.description, sentAgain: sentAgain)
            }
            let published = try publishedLog(of: former, membership.roster, container)
            let waiting = try handOnEpochsOfContents(&membership)
            let replaced = try membershipReplaced(by: membership)
            var sentAgain = try store.becomeNewDevice(
                enrolment.device, published: published, fingerprint: fingerprint,
                membership: .init(sealed: SealedBeginning(membership, waiting: waiting, former: replaced)),
                encode: segmentEncoding(for: identity))
            memory.forget()
            try refreshIdentity()
            sentAgain += try sendFormerLogs(membership.roster)
            try enrolment.end(plain)
            try endInvitations(of: former, for: identity.device)
            return Renewal(
                reason: .enrolled, formerDevice: former.description, device: identity.device.description,
                sentAgain: sentAgain)
        }
        _ = try sync()
        return renewal
    }

    /// Sends again what this database wrote under still earlier IDs, as far as the members do not have it. Who founded the membership anew
    /// may never have met these IDs. Safe to repeat: what was sent again has stamps of the present ID.
    /// - Returns: the number of repeated changes.
    func sendFormerLogs(_ roster: Roster) throws -> Int {
        let reading = try store.reading()
        var sent = 0
        for former in reading.formerDevices.dropFirst() where roster.members[former.device] == nil {
            let end = roster.end(of: former.device)
            guard reading.vector[former.device].sequence > end?.sequence ?? 0 else { continue }
            sent += try store.mergeBranches(
                [], of: former.device, after: end.map { LogPosition(sequence: $0.sequence, time: $0.time) } ?? .none,
                encode: segmentEncoding(for: identity))
        }
        return sent
    }

    /// The known or accepted part of the log of this database's former device.
    private func publishedLog(
        of former: DeviceID, _ roster: Roster, _ container: Container
    ) throws -> PublishedLog {
        if roster.members[former] != nil { return try publishedLog(container) }
        // Nobody reads the log any more; members accepted a part. So also where a clone of the computer left under the same ID: nobody reads
        // beyond the end that the clone told. The changes of this database's own publications count, as far as accepted.
        // All further changes are sent again: a copy of the database, or its state before a restoration, may have published different
        // changes under the same numbers. A snapshot brings the accepted changes that this database lacks.
        guard let end = roster.end(of: former) else {
            return PublishedLog(position: .none, checksum: nil, isForked: false)
        }
        let log = try store.publishedLog()
        let segments = try store.removedSegments() + store.ownSegments()
        let last = segments.last { $0.last == log.sequence }
        if end.sequence < log.sequence {
            return PublishedLog(
                position: LogPosition(sequence: end.sequence, time: end.time), checksum: end.checksum, isForked: false)
        }
        let checksum = log.checksum ?? last.flatMap { $0.first == $0.last ? $0.checksum : nil }
        if end.sequence == log.sequence, let checksum, checksum != end.checksum {
            return PublishedLog(position: .none, checksum: nil, isForked: false)
        }
        // A malicious member may say that more was accepted than anybody has.
        let heads = try ContainerView(container, except: former).heads
        let known = LogReader.furthest(of: former, in: heads)
        if end.sequence > log.sequence, known < log.sequence {
            return PublishedLog(
                position: LogPosition(sequence: known, time: .zero), checksum: nil, isForked: false)
        }
        // Without a known time, every stamp of the former device is written again.
        return PublishedLog(
            position: LogPosition(sequence: log.sequence, time: log.last?.time ?? last?.time ?? .zero), checksum: nil,
            isForked: false)
    }
}
