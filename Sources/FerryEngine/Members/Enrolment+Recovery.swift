import FerryContainer
import FerryCore
import FerryMembers
import FerrySeal

/// Letting a new device in by the recovery code.
extension Enrolment {
    /// Lets a new device in by the recovery code: the new device makes an epoch, and opens everything within the recovery key's reach.
    ///
    /// The key store remembers the attempt until a database has the device (`end`), so an interrupted join goes on with the same device.
    static func recover(
        _ container: Container, _ genesis: RecordHash, _ code: SecretCode, _ path: String,
        _ environment: ReplicaEnvironment
    ) throws -> Enrolment {
        var unused: DeviceKeys?
        for file in try attempts(byRecovery: code, container, genesis, environment) {
            let membership = try readMembership(container, genesis, file.keys, environment)
            if membership.isMember { return Enrolment(path, file, nil, environment) }
            // The record was never published: the keys are used for the next one.
            if membership.roster.isUnknown(file.device) { unused = file.keys }
        }
        let (membership, keys, record) = try admitted(
            byRecovery: code, unused, container, genesis, environment)
        let attempt = KeyFile.Invitation(
            code: code, container: container.id, endMilliseconds: KeyFile.Invitation.ownEnd, claim: record.hash.bytes)
        let file = try KeyFile(
            keys: keys, genesis: genesis.bytes, highestEpoch: membership.highestEpoch, invitations: [attempt])
        try environment.keys.save(file)
        try container.publishRecord(record.bytes, name: RecordName(record.hash), of: keys.device)
        return Enrolment(path, file, nil, environment)
    }

    /// The devices that an interrupted join of this computer made by the same recovery code, and that have published nothing.
    private static func attempts(
        byRecovery code: SecretCode, _ container: Container, _ genesis: RecordHash, _ environment: ReplicaEnvironment
    ) throws -> [KeyFile] {
        let key = code.claimKey(in: container.id)
        return try environment.keys.devices().sorted().compactMap { device in
            guard let file = try environment.keys.readable(device), file.container == container.id,
                file.genesis == genesis.bytes, file.invitations.contains(where: { $0.claimKey == key }),
                try !container.remains(of: device).hasPublished
            else { return nil }
            return file
        }
    }

    /// Opens a container by the recovery code, to see the effect of a join: nothing is published, and no key is kept.
    /// - Returns: a membership with a device known to nobody else, and a store of the device's keys.
    /// - Throws: `codeRefused`, `fileNotThereYet`, as `begin`.
    static func rehearsal(
        byRecovery code: SecretCode, containerPath: String, environment: ReplicaEnvironment
    ) throws -> (membership: Membership, keys: any KeyStore) {
        let path = try Replica.fullPlace(containerPath)
        let (container, genesis) = try open(path, environment)
        let (membership, keys, _) = try admitted(byRecovery: code, nil, container, genesis, environment)
        let store = MemoryKeyStore()
        try store.save(KeyFile(keys: keys, genesis: genesis.bytes, highestEpoch: membership.highestEpoch))
        return (membership, store)
    }

    /// Makes the record by which the recovery key lets a new device in, and a membership in which the record counts.
    /// - Parameter known: the device's keys; `nil`: new ones.
    private static func admitted(
        byRecovery code: SecretCode, _ known: DeviceKeys?, _ container: Container, _ genesis: RecordHash,
        _ environment: ReplicaEnvironment
    ) throws -> (membership: Membership, keys: DeviceKeys, record: MemberRecord) {
        let recovery = try DeviceKeys(recovery: code, container: container.id)
        let keys = try known ?? DeviceKeys(mintedFor: container.id, random: environment.random)
        var membership = try readMembership(container, genesis, keys, environment)
        guard membership.roster.recovery == recovery.publicKeys else {
            throw FerryError(
                .codeRefused, "This is not the recovery code of this container.",
                path: container.backend.describe(""))
        }
        var ring = EpochKeyring()
        for record in membership.records.values {
            ring.take(record, with: recovery, as: MemberRecord.recoveryAuthor)
        }
        var receivers = membership.keys(of: membership.roster.members.keys)
        receivers[keys.device] = keys.publicKeys
        receivers[MemberRecord.recoveryAuthor] = recovery.publicKeys
        let epoch = try Membership.epoch(
            number: membership.roster.greatestEpoch + 1, in: container.id, for: receivers, random: environment.random)
        let seal = MembershipSealing(keys: keys, graph: membership.graph, roster: membership.roster, keyring: ring)
        let grants = try membership.grants(
            from: NeededEpochs(container.sealed(by: seal), membership).oldest, to: [keys.device: keys.publicKeys],
            of: ring,
            random: environment.random)
        let record = try membership.record(
            [.admit(Admission(.recovery, keys.publicKeys, in: container.id)), epoch] + grants, byRecovery: recovery,
            milliseconds: environment.clock.milliseconds())
        guard try membership.insert([record]).count == 1, membership.isMember else {
            throw FerryError(
                .internalInconsistency, "A record of the recovery key's does not count.",
                path: container.backend.describe(""))
        }
        return (membership, keys, record)
    }
}
