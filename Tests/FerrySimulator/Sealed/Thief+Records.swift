import FerryCore
import FerryMembers
import FerrySeal

/// Records that no Ferry would make: dated back, in whatever directory, with ends that nobody has, and with keys that do not fit.
extension Thief {
    /// A number of a changeset that no log has.
    private static let falseEnd: UInt64 = 1_000_000

    /// Makes a record, and publishes it.
    func forge(_ random: SimulatedRandom) throws {
        guard let author = random.element(of: try keys) else { return }
        let container = author.container
        let known = try records(in: container)
        guard let genesis = known.first(where: \.isFirst)?.hash else { return }
        var graph = MemberGraph(genesis: genesis, container: container)
        for record in known { try graph.insert(record, isVerified: true) }
        let counting = known.filter { graph.contains($0.hash) }
        // It pretends to know these alone.
        var follows: Set<RecordHash> = random.isOne(in: 3) ? graph.heads : []
        if follows.isEmpty {
            for _ in 0...random.below(3) { random.element(of: counting).map { _ = follows.insert($0.hash) } }
        }
        var acts: [MemberAct] = []
        for _ in 0...random.below(2) {
            if let act = try act(of: author, counting, Roster(graph), random) { acts.append(act) }
        }
        let clock = UInt64(max(machine.clock.milliseconds() - Int64(random.below(10)) * 3_600_000, 0))
        // What says a thing twice, and what follows nothing, is refused by its form.
        guard !acts.isEmpty,
            let record = try? MemberRecord(
                by: author, milliseconds: clock, genesis: genesis, follows: follows.sorted(), acts: acts)
        else { return }
        let directories = Set(counting.map(\.author)).filter { $0 != MemberRecord.recoveryAuthor }.sorted()
        let directory = random.isOne(in: 3) ? random.element(of: directories) ?? author.device : author.device
        try publish(record, in: directory)
    }

    private func act(
        of author: DeviceKeys, _ records: [MemberRecord], _ roster: Roster, _ random: SimulatedRandom
    ) throws -> MemberAct? {
        let container = author.container
        let named = Self.named(in: records, author.container)
        let others = named.keys.filter { $0 != author.device }.sorted()
        switch random.below(9) {
        case 0, 1:
            let guest = try DeviceKeys(mintedFor: container, random: random)
            minted.append(guest)
            return Self.admit(random.isOne(in: 3) ? .copy : .code, guest.publicKeys, container)
        case 2:
            guard let known = random.element(of: others), let keys = named[known] else { return nil }
            return Self.admit(random.isOne(in: 4) ? .copy : .words, keys, container)
        case 3, 4: return random.element(of: others).map { .remove($0) }
        case 5:
            let sequence = Self.falseEnd + UInt64(random.below(9))
            let checksum = Checksum(high: random.next(), low: 1)
            return random.element(of: others).map {
                .accept($0, LogEnding(sequence: sequence, time: HybridTime(rawValue: sequence), checksum: checksum))
            }
        case 6:
            var keyring = EpochKeyring()
            for record in records { keyring.take(record, with: author, as: author.device) }
            guard let secret = random.element(of: keyring.all) else { return nil }
            let outsiders = Dictionary(uniqueKeysWithValues: try keys.map { ($0.device, $0.publicKeys) })
            return .grant(secret.id, try Self.wraps(secret, for: outsiders, random))
        default:
            let secret = EpochSecret(mintedFor: container, random: random)
            let number = random.isOne(in: 2) ? roster.greatestEpoch + 1 : UInt32(1 + random.below(6))
            // A wrap that nobody can open hands nothing on, and says that it does.
            let wraps =
                random.isOne(in: 2)
                ? try Self.wraps(secret, for: named, random)
                : try named.keys.sorted().map {
                    try KeyWrap(
                        receiver: $0, encapsulated: [UInt8](repeating: 7, count: KeyWrap.encapsulatedLength),
                        ciphertext: [UInt8](repeating: 7, count: KeyWrap.ciphertextLength))
                }
            return .epoch(
                EpochMaking(
                    number: number, epoch: secret.id, wraps: wraps, ring: try secret.sealRing([], random: random)))
        }
    }

    private static func admit(
        _ way: Admission.Way, _ keys: DevicePublicKeys, _ container: ContainerID
    ) -> MemberAct {
        let told = [UInt8](repeating: 9, count: 32)
        return .admit(
            Admission(
                way, keys, in: container, claim: way == .code || way == .words ? told : nil,
                answer: way == .code ? told : nil))
    }

    private static func wraps(
        _ secret: EpochSecret, for receivers: [DeviceID: DevicePublicKeys], _ random: SimulatedRandom
    ) throws -> [KeyWrap] {
        try receivers.sorted { $0.key < $1.key }.map { try KeyWrap(secret, for: $0.key, $0.value, random: random) }
    }

    /// The public keys of all devices that records name.
    private static func named(
        in records: [MemberRecord], _ container: ContainerID
    ) -> [DeviceID: DevicePublicKeys] {
        var named: [DeviceID: DevicePublicKeys] = [:]
        for act in records.flatMap(\.acts) {
            switch act {
            case .found(let founding): named[founding.founder.device(in: container)] = founding.founder
            case .admit(let admission): named[admission.device] = admission.keys
            default: break
            }
        }
        return named
    }

    /// What a record says, for the story.
    func text(of record: MemberRecord) -> String {
        record.acts.map { act in
            switch act {
            case .found: "found"
            case .admit(let admission): "admit \(admission.way) \(admission.device)"
            case .remove(let device): "remove \(device)"
            case .leave: "leave"
            case .accept(let device, let end): "accept \(device) \(end.sequence)"
            case .epoch(let making): "epoch \(making.number)"
            case .grant(let epoch, let wraps): "grant \(epoch) to \(wraps.count)"
            case .unknown: "unknown"
            }
        }.joined(separator: ", ")
    }
}
