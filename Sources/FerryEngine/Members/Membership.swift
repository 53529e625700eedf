import FerryContainer
import FerryCore
import FerryMembers
import FerrySeal

/// This device's knowledge of a sealed container's membership: the counted records, the roster, and the epochs with
/// known secrets. A value: a replica keeps a single membership, and each pass brings it up to date.
///
/// Invariants:
/// - `records` has exactly the counted records, by their hashes.
/// - `roster` and `knowledge` follow from `graph`, `keyring` from the records and from `keys`.
struct Membership: Sendable {
    let genesis: RecordHash
    let container: ContainerID
    /// This device's keys.
    let keys: DeviceKeys
    private(set) var graph: MemberGraph
    private(set) var roster: Roster
    /// The knowledge told by heads of this device.
    private(set) var knowledge: MembershipKnowledge
    private(set) var keyring = EpochKeyring()
    private(set) var records: [RecordHash: MemberRecord] = [:]
    /// The greatest number of an epoch ever seen here or in the key store.
    private(set) var highestEpoch: UInt32
    /// The number in the key store.
    var storedEpoch: UInt32
    /// Records without their predecessors here.
    private var waiting: [RecordHash: MemberRecord] = [:]

    /// Begins without any record.
    init(keys: DeviceKeys, genesis: RecordHash, highestEpoch: UInt32 = 0) {
        self.genesis = genesis
        container = keys.container
        self.keys = keys
        self.highestEpoch = highestEpoch
        storedEpoch = highestEpoch
        graph = MemberGraph(genesis: genesis, container: keys.container)
        roster = Roster(graph)
        knowledge = MembershipKnowledge(graph, roster)
    }

    /// This device.
    var device: DeviceID { keys.device }
    /// Whether this device was let in and is not out.
    var isMember: Bool { roster.members[device] != nil }
    /// The counted record with this name.
    func record(named name: RecordName) -> MemberRecord? { hashes[name].flatMap { records[$0] } }
    private var hashes: [RecordName: RecordHash] = [:]

    /// Whether a record's signature does not hold. False as long as the author's keys are unknown, and for records of a former membership,
    /// which had another recovery code.
    func hasFalseSignature(_ record: MemberRecord) -> Bool {
        if record.membership != genesis { return false }
        var keys = record.isRecovery ? roster.recovery : graph.keys(of: record.author)
        if case .found(let founding)? = record.acts.first { keys = founding.founder }
        return keys.map { !record.isSigned(by: $0) } ?? false
    }

    /// Takes records, in any order.
    /// - Parameter areVerified: whether their signatures are known to hold.
    /// - Returns: the newly counted records, each after the records followed by it.
    /// - Throws: `limitExceeded` above the limits of a membership.
    @discardableResult
    mutating func insert(_ news: [MemberRecord], areVerified: Bool = false) throws(FerryError) -> [MemberRecord] {
        let before = graph.count
        for record in news where records[record.hash] == nil {
            switch try graph.insert(record, isVerified: areVerified) {
            case .counts: waiting[record.hash] = record
            // As in the graph, the first of several files with a record waits. Others may have a signature that does not hold.
            case .waits: waiting[record.hash] = waiting[record.hash] ?? record
            case .known, .refused: continue
            }
        }
        if graph.count == before { return [] }
        var counting: [MemberRecord] = []
        for hash in graph.hashes(after: before) {
            guard let record = waiting.removeValue(forKey: hash) else { continue }
            records[hash] = record
            hashes[RecordName(hash)] = hash
            counting.append(record)
            keyring.take(record, with: keys, as: device)
        }
        roster = Roster(graph)
        knowledge = MembershipKnowledge(graph, roster)
        highestEpoch = max(highestEpoch, roster.greatestEpoch)
        return counting
    }

    /// The seal for the container's files, by the present knowledge.
    /// - Parameter former: the seal before, in the same pass: unknown epochs met by that seal hold until a record
    ///   explains them.
    func seal(after former: (any FileSealing)? = nil) -> MembershipSealing {
        let seal = MembershipSealing(
            keys: keys, graph: graph, roster: roster, keyring: keyring, highestEpoch: highestEpoch)
        seal.takeOver(from: former)
        return seal
    }

    /// Whether the founder satisfies a condition.
    func isFounder(_ condition: (DeviceID) -> Bool) -> Bool { records[genesis].map { condition($0.author) } ?? false }

    /// The number of records in a record's past.
    func pastCount(of hash: RecordHash) -> Int {
        var (seen, rest): (Set<RecordHash>, [RecordHash]) = ([], records[hash]?.follows ?? [])
        while let next = rest.popLast() {
            if seen.insert(next).inserted { rest += records[next]?.follows ?? [] }
        }
        return seen.count
    }

    /// The records with an admission of a device.
    func admissions(of device: DeviceID) -> [(record: MemberRecord, admission: Admission)] {
        records.values.flatMap { record in
            record.acts.compactMap { act in
                if case .admit(let admission) = act, admission.device == device { (record, admission) } else { nil }
            }
        }.sorted { $0.record.hash < $1.record.hash }
    }

    /// The devices whose claims were refused: a record removes a device that no record names (Docs/Format.md, "Claims"). Such a removal counts for
    /// nothing else.
    var refusedClaimants: Set<DeviceID> {
        var refused: Set<DeviceID> = []
        for record in records.values {
            for case .remove(let device) in record.acts where roster.isUnknown(device) { refused.insert(device) }
        }
        return refused
    }

    /// The remaining members with the seats of a device: the copies, the original, and the original's copies.
    func kin(of device: DeviceID) -> [DeviceID] {
        roster.members.keys.filter {
            $0 != device && graph.mayRemove(device, $0) && graph.mayRemove($0, device)
        }.sorted()
    }

    // MARK: Making records

    /// Makes a record of this device or of the recovery key. The record follows everything known here.
    /// - Throws: as `MemberRecord.init`.
    func record(_ acts: [MemberAct], byRecovery recovery: DeviceKeys? = nil, milliseconds: Int64) throws -> MemberRecord
    {
        let follows = Array(graph.heads.sorted().prefix(MemberRecord.maximumFollowed))
        let time = UInt64(max(milliseconds, 0))
        if let recovery {
            return try MemberRecord(
                byRecovery: recovery, milliseconds: time, genesis: genesis, follows: follows, acts: acts)
        }
        return try MemberRecord(by: keys, milliseconds: time, genesis: genesis, follows: follows, acts: acts)
    }

    /// Makes an epoch for receivers and the recovery key. Mostly the ring is empty: a holder of a ring could open the rings of
    /// all earlier epochs too, down to the first. Earlier epochs are handed on one by one (`grants`).
    /// - Parameter ring: epochs that no member holds, such as those of a former membership.
    func epoch(
        for receivers: [DeviceID: DevicePublicKeys], ring: [EpochSecret] = [], random: any RandomSource
    ) throws -> MemberAct {
        var all = receivers
        all[MemberRecord.recoveryAuthor] = roster.recovery
        return try Self.epoch(
            number: roster.greatestEpoch + 1, in: container, for: all, ring: ring, random: random)
    }

    /// Makes an epoch.
    /// - Parameters:
    ///   - receivers: the holders; the recovery key under `MemberRecord.recoveryAuthor`.
    ///   - ring: epochs that the holders get along.
    static func epoch(
        number: UInt32, in container: ContainerID, for receivers: [DeviceID: DevicePublicKeys],
        ring: [EpochSecret] = [], random: any RandomSource
    ) throws -> MemberAct {
        let secret = EpochSecret(mintedFor: container, random: random)
        return .epoch(
            EpochMaking(
                number: number, epoch: secret.id, wraps: try wraps(of: secret, for: receivers, random: random),
                ring: try secret.sealRing(ring, random: random)))
    }

    /// Hands on an epoch with a known secret.
    /// - Returns: `nil` without the secret.
    func grant(
        _ epoch: EpochID, to receivers: [DeviceID: DevicePublicKeys], random: any RandomSource
    ) throws -> MemberAct? {
        guard let secret = keyring[epoch], !receivers.isEmpty else { return nil }
        return .grant(epoch, try Self.wraps(of: secret, for: receivers, random: random))
    }

    /// Hands on the epochs of existing files.
    /// - Parameters:
    ///   - oldest: the number of the oldest needed epoch; no older epoch is handed on.
    ///   - keyring: the epochs to hand on; `nil`: this device's.
    /// - Returns: an act for each epoch, the newest first; at most as many acts as a record holds beside two further
    ///   acts.
    func grants(
        from oldest: UInt32, to receivers: [DeviceID: DevicePublicKeys], of keyring: EpochKeyring? = nil,
        random: any RandomSource
    ) throws -> [MemberAct] {
        let needed = (keyring ?? self.keyring).all.map { (secret: $0, number: graph.number(of: $0.id)) }
            .filter { $0.number >= max(oldest, 1) }.sorted { $0.number > $1.number }
        return try needed.prefix(MemberRecord.maximumActs - 2).map { epoch in
            .grant(epoch.secret.id, try Self.wraps(of: epoch.secret, for: receivers, random: random))
        }
    }

    /// The public keys of members.
    func keys(of devices: some Sequence<DeviceID>) -> [DeviceID: DevicePublicKeys] {
        var keys: [DeviceID: DevicePublicKeys] = [:]
        for device in devices { keys[device] = roster.members[device]?.keys }
        return keys
    }

    private static func wraps(
        of secret: EpochSecret, for receivers: [DeviceID: DevicePublicKeys], random: any RandomSource
    ) throws -> [KeyWrap] {
        try receivers.sorted { $0.key < $1.key }.map { device, keys in
            try KeyWrap(secret, for: device, keys, random: random)
        }
    }
}
