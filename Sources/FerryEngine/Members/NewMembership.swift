import FerryContainer
import FerryCore
import FerryMembers
import FerrySeal
import FerryStore

/// A membership at its founding: the founder's keys, the first record, and the recovery code.
struct NewMembership {
    let keys: DeviceKeys
    let first: MemberRecord
    /// Stored nowhere: a person writes the code down. `nil` without a recovery code.
    let recovery: SecretCode?

    /// Founds a membership. The key store has the founder's keys on return; nothing names the founder yet.
    /// - Parameters:
    ///   - formerLogs: the logs of the container before the founding.
    ///   - formerEpochs: the epochs of the former membership that documents need still.
    /// - Throws: as `KeyStore.save`.
    init(
        in container: ContainerID, hasRecovery: Bool, formerLogs: [Founding.FormerLog] = [],
        formerEpochs: [EpochSecret] = [], _ environment: ReplicaEnvironment
    ) throws {
        let random = environment.random
        keys = try DeviceKeys(mintedFor: container, random: random)
        recovery = hasRecovery ? SecretCode(minted: .recovery, random: random) : nil
        let recoveryKeys = try recovery.map { try DeviceKeys(recovery: $0, container: container) }
        var receivers = [keys.device: keys.publicKeys]
        receivers[MemberRecord.recoveryAuthor] = recoveryKeys?.publicKeys
        let epoch = try Membership.epoch(
            number: 1, in: container, for: receivers, ring: formerEpochs, random: random)
        first = try MemberRecord.first(
            by: keys, recovery: recoveryKeys, formerLogs: formerLogs.sorted { $0.device < $1.device }, further: [epoch],
            milliseconds: UInt64(max(environment.clock.milliseconds(), 0)))
        try environment.keys.save(KeyFile(keys: keys, genesis: first.hash.bytes, highestEpoch: 1))
    }

    /// The beginning of a store: the first record waits to be published.
    /// - Parameter former: the first record of the membership in the marker; `nil` for an open container, and for a new one.
    func beginning(after former: RecordHash? = nil) -> SealedBeginning {
        SealedBeginning(
            genesis: first.hash, records: [StoredRecord(hash: first.hash, bytes: first.bytes, isPublished: false)],
            former: former)
    }
}

extension SealedBeginning {
    /// The beginning of a newcomer's store.
    /// - Parameters:
    ///   - waiting: records from outside the container, still to be published. All further records lie in the container.
    ///   - former: the first record of the membership before, if this database knows one.
    init(_ membership: Membership, waiting: Set<RecordHash> = [], former: RecordHash? = nil) {
        self.init(
            genesis: membership.genesis,
            records: membership.graph.hashes(after: 0).compactMap { hash in
                membership.records[hash].map {
                    StoredRecord(hash: hash, bytes: $0.bytes, isPublished: !waiting.contains(hash))
                }
            }, former: former)
    }
}
