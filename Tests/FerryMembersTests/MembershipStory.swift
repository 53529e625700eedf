import FerryCore
import FerryMembers
import FerrySeal
import FerryTestSupport

/// One random history of a membership: devices write, meet, let others in, copy themselves, leave and remove each other, behind
/// partitions; in two of three a thief has a device's keys, and everything that was ever published. It dates records back, brings in
/// others, admits known devices again, and accepts ends that nobody has.
///
/// What must hold is said in `findings`: it is empty where everything does.
final class MembershipStory {
    /// A device, honest or not.
    final class Person {
        let keys: DeviceKeys
        let membership: any Membership
        var known: Set<RecordHash> = []
        var written: UInt64 = 0
        /// How far the logs lie in this device's folder.
        var folder: [DeviceID: UInt64] = [:]
        /// How far logs are replayed, by themselves or by snapshots.
        var read: [DeviceID: UInt64] = [:]
        /// How far they were replayed from the logs themselves, while their devices counted.
        var seen: [DeviceID: UInt64] = [:]
        var isThief = false
        var hasLeft = false
        /// The device that this one was copied from, where nobody honest let it in otherwise.
        var original: DeviceID?

        var id: DeviceID { keys.device }

        init(_ keys: DeviceKeys, _ membership: any Membership) {
            self.keys = keys
            self.membership = membership
        }
    }

    private static let falseEnd: UInt64 = 1_000_000
    private static let maximumPeople = 9

    private var chance: Chance
    private let makeMembership: (RecordHash) -> any Membership
    private(set) var genesis = RecordHash.none
    private(set) var people: [Person] = []
    private(set) var records: [RecordHash: MemberRecord] = [:]
    private var order: [RecordHash] = []
    private var clock: UInt64 = 1_700_000_000_000
    private var nextEpoch: UInt64 = 1
    /// What the rings really hold.
    private var rings: [EpochID: Set<EpochID>] = [:]
    /// Devices that somebody honest, or the recovery key, removed.
    private var honestlyRemoved: Set<DeviceID> = []
    private var thieves: Set<DeviceID> = []
    /// What thieves said.
    private var forged: Set<RecordHash> = []
    private(set) var findings: [String] = []
    private(set) var thiefWasRemoved = false

    init(seed: UInt64, membership: @escaping (RecordHash) -> any Membership) {
        chance = Chance(seed: seed)
        makeMembership = membership
    }

    // MARK: Telling it

    func play() throws {
        let founder = TestKeys.devices[0]
        let first = try MemberRecord.first(
            by: founder, recovery: TestKeys.recovery,
            further: [
                .epoch(try TestKeys.making(1, mintEpoch([]), for: [founder.device, MemberRecord.recoveryAuthor]))
            ],
            milliseconds: tick())
        genesis = first.hash
        let person = Person(founder, makeMembership(genesis))
        people.append(person)
        publish(first, by: person)
        let hasThief = !chance.oneIn(3)
        for _ in 0..<(12 + chance.below(24)) {
            try step()
            if hasThief, thieves.count < 2, people.count > 2, chance.oneIn(thieves.isEmpty ? 8 : 20) { steal() }
            if !thieves.isEmpty, chance.oneIn(4) { try chance.oneIn(4) ? scheme() : dateBack() }
        }
        try meetUntilQuiet()
        try removeThieves()
        // Whatever thieves say after that is dated back, and comes too late.
        if !thieves.isEmpty { for _ in 0..<(2 + chance.below(5)) { try chance.oneIn(5) ? scheme() : dateBack() } }
        try meetUntilQuiet()
        try judge()
    }

    private func step() throws {
        let present = honest
        guard !present.isEmpty else { return }
        let person = chance.pick(present)
        let now = person.membership.result()
        let isMember = now.members.contains(person.id)
        switch chance.below(20) {
        case 0..<6: try write(person)
        case 6..<12 where present.count > 1: try meet(person, chance.pick(present))
        case 12...13 where isMember:
            try letIn(person, .code, now)
        case 14 where isMember: try letIn(person, .copy, now)
        case 15 where isMember && chance.oneIn(3): try leave(person)
        case 16 where isMember && chance.oneIn(2): try rotate(person)
        case 17...18 where isMember:
            let others = now.members.filter { $0 != person.id && person.membership.mayRemove(person.id, $0) }.sorted()
            let suspects = others.filter { thieves.contains($0) }
            if !suspects.isEmpty {
                try remove(person, chance.pick(suspects))
            } else if !others.isEmpty, chance.oneIn(4) {
                try remove(person, chance.pick(others))
            }
        case 19 where chance.oneIn(6): try recover(person, now)
        default: try write(person)
        }
    }

    private var honest: [Person] { people.filter { !$0.isThief && !$0.hasLeft } }

    private func tick() -> UInt64 {
        // Clocks are wrong: nothing may depend on them.
        clock += UInt64(chance.below(1000))
        return chance.oneIn(5) ? clock - UInt64(chance.below(1_000_000)) : clock
    }

    private func mintEpoch(_ earlier: Set<EpochID>) -> EpochID {
        let epoch = EpochID(high: chance.next(), low: nextEpoch)
        nextEpoch += 1
        rings[epoch] = earlier
        return epoch
    }

    private func publish(_ record: MemberRecord, by person: Person?) {
        records[record.hash] = record
        order.append(record.hash)
        if let person { learn(person, record) }
    }

    private func learn(_ person: Person, _ record: MemberRecord) {
        if person.known.insert(record.hash).inserted { person.membership.insert(record) }
    }

    private func say(_ person: Person, _ acts: [MemberAct]) throws {
        let record = try MemberRecord(
            by: person.keys, milliseconds: tick(), genesis: genesis, follows: person.membership.heads, acts: acts)
        publish(record, by: person)
    }

    // MARK: What honest devices do

    private func write(_ person: Person) throws {
        guard person.membership.result().members.contains(person.id) else { return }
        if person.membership.result().epoch == nil { try rotate(person) }
        let now = person.membership.result()
        guard let epoch = now.epoch else {
            findings.append("a member that made an epoch has none")
            return
        }
        let allowed = now.members.union([MemberRecord.recoveryAuthor])
        if !holders(of: epoch, among: person.known).isSubset(of: allowed) {
            findings.append("something was sealed under an epoch that others have")
        }
        person.written += 1
        person.folder[person.id] = person.written
        person.read[person.id] = person.written
        person.seen[person.id] = person.written
    }

    private func rotate(_ person: Person) throws {
        let now = person.membership.result()
        let has = Set(rings.keys.filter { holders(of: $0, among: person.known).contains(person.id) })
        let epoch = mintEpoch(has)
        let receivers = now.members.union([MemberRecord.recoveryAuthor])
        try say(person, [.epoch(try TestKeys.making(now.greatestEpoch + 1, epoch, for: receivers))])
    }

    private func newcomer() -> Person? {
        guard people.count < Self.maximumPeople else { return nil }
        return Person(TestKeys.devices[people.count], makeMembership(genesis))
    }

    private func letIn(_ person: Person, _ way: Admission.Way, _ now: PlainRoster.Result) throws {
        guard let guest = newcomer() else { return }
        var acts = [TestKeys.admit(way, guest.keys)]
        if let epoch = now.epoch { acts.append(.grant(epoch, [try TestKeys.wrap(guest.id)])) }
        people.append(guest)
        if way == .copy { guest.original = person.id }
        try say(person, acts)
        try meet(guest, person)
    }

    private func leave(_ person: Person) throws {
        guard honest.count > 2 else { return }
        try say(person, [.leave(TestKeys.end(person.written))])
        person.hasLeft = true
    }

    private func remove(_ person: Person, _ device: DeviceID) throws {
        let now = person.membership.result()
        let staying = now.members.subtracting([device]).union([MemberRecord.recoveryAuthor])
        let has = Set(rings.keys.filter { holders(of: $0, among: person.known).contains(person.id) })
        honestlyRemoved.insert(device)
        try say(
            person,
            [.remove(device), .epoch(try TestKeys.making(now.greatestEpoch + 1, mintEpoch(has), for: staying))])
    }

    /// The recovery code, typed at a member: a thief goes, or anybody.
    private func recover(_ person: Person, _ now: PlainRoster.Result) throws {
        let others = now.members.subtracting([person.id]).sorted()
        guard let device = others.first(where: thieves.contains) ?? (chance.oneIn(2) ? others.last : nil) else {
            return
        }
        try removeByRecovery(person, device)
    }

    private func removeByRecovery(_ person: Person, _ device: DeviceID) throws {
        honestlyRemoved.insert(device)
        let now = person.membership.result()
        let staying = now.members.subtracting([device]).union([MemberRecord.recoveryAuthor])
        let making = try TestKeys.making(now.greatestEpoch + 1, mintEpoch([]), for: staying)
        publish(
            try MemberRecord(
                byRecovery: TestKeys.recovery, milliseconds: tick(), genesis: genesis, follows: person.membership.heads,
                acts: [.remove(device), .epoch(making)]), by: person)
    }

    /// One device gets what the other one's folder has, and does what is due.
    private func meet(_ person: Person, _ other: Person) throws {
        guard person !== other else { return }
        for hash in order where other.known.contains(hash) { records[hash].map { learn(person, $0) } }
        for (device, sequence) in other.folder { person.folder[device] = max(person.folder[device] ?? 0, sequence) }
        let now = person.membership.result()
        for (device, sequence) in person.folder {
            if now.members.contains(device) || now.left[device] != nil {
                let end = min(sequence, now.left[device]?.sequence ?? .max)
                person.read[device] = max(person.read[device] ?? 0, end)
                person.seen[device] = max(person.seen[device] ?? 0, end)
            }
        }
        guard now.members.contains(person.id) else { return }
        var acts: [MemberAct] = []
        for (device, end) in now.removed {
            let sequence = end?.sequence ?? 0
            let position = person.read[device] ?? 0
            // A snapshot that is there brings what was accepted.
            if position > sequence { acts.append(.accept(device, TestKeys.end(position))) }
            if sequence < Self.falseEnd { person.read[device] = max(position, sequence) }
        }
        if let epoch = now.epoch, !now.lacking.isEmpty, holders(of: epoch, among: person.known).contains(person.id) {
            acts.append(.grant(epoch, try now.lacking.sorted().map(TestKeys.wrap)))
        }
        if !acts.isEmpty { try say(person, acts) }
    }

    // MARK: What thieves do

    private func steal() {
        let victims = honest
        guard victims.count > 2 else { return }
        // Keys of a device that left may be found as well.
        let left = people.filter { $0.hasLeft && !$0.isThief }
        let victim = chance.pick(!left.isEmpty && chance.oneIn(3) ? left : victims)
        victim.isThief = true
        thieves.insert(victim.id)
    }

    /// A thief follows whatever records it likes, and says what it likes.
    private func dateBack() throws {
        let thief = chance.pick(people.filter(\.isThief))
        // It pretends to know these alone.
        var follows: Set<RecordHash> = []
        for _ in 0...chance.below(3) { follows.insert(chance.pick(order)) }
        if chance.oneIn(3), let other = honest.first { follows = Set(other.membership.heads) }
        var acts: [MemberAct] = []
        let devices = people.map(\.id).filter { $0 != thief.id }
        for _ in 0...chance.below(2) {
            switch chance.below(8) {
            case 0, 1:
                guard let guest = newcomer() else { continue }
                guest.isThief = true
                thieves.insert(guest.id)
                people.append(guest)
                acts.append(TestKeys.admit(chance.oneIn(3) ? .copy : .code, guest.keys))
            case 2, 3:
                let known = chance.pick(people.filter { $0 !== thief })
                acts.append(TestKeys.admit(chance.oneIn(4) ? .copy : .words, known.keys))
            case 4, 5: acts.append(.remove(chance.pick(devices)))
            case 6: acts.append(.accept(chance.pick(devices), TestKeys.end(Self.falseEnd + UInt64(chance.below(9)))))
            default:
                let has = rings.keys.filter { holders(of: $0, among: Set(order)).contains(thief.id) }.sorted()
                let wraps = try thieves.sorted().map(TestKeys.wrap)
                if chance.oneIn(2), !has.isEmpty {
                    acts.append(.grant(chance.pick(has), wraps))
                } else {
                    acts.append(
                        .epoch(
                            try TestKeys.making(
                                chance.oneIn(8) ? 1 << 30 : UInt32(1 + chance.below(6)), mintEpoch([]),
                                for: Set(people.map(\.id)))))
                }
            }
        }
        _ = forge(thief, after: Array(follows), acts)
        thief.written += 1
        for person in honest where chance.oneIn(3) {
            person.folder[thief.id] = max(person.folder[thief.id] ?? 0, thief.written)
        }
    }

    /// What thieves do in several records.
    private func scheme() throws {
        let all = people.filter(\.isThief)
        guard let witness = honest.first, let thief = all.first else { return }
        let victim = chance.pick(honest)
        let seen = witness.membership.heads
        guard chance.oneIn(2), let guest = newcomer() else {
            // An older device is let in again, and then removed as if that had made it younger.
            let author = chance.pick(all)
            let again = forge(author, after: seen, [TestKeys.admit(chance.oneIn(2) ? .words : .code, victim.keys)])
            if let again { _ = forge(author, after: [again], [.remove(victim.id)]) }
            return
        }
        // One that is gone raises an accomplice by a copy, dated back, and another one lets that accomplice in.
        guest.isThief = true
        thieves.insert(guest.id)
        people.append(guest)
        let inside = forge(chance.pick(all), after: seen, [TestKeys.admit(.words, guest.keys)])
        let raised = forge(thief, after: [chance.pick(order)], [TestKeys.admit(.copy, guest.keys)])
        if let inside, let raised { _ = forge(guest, after: [inside, raised], [.remove(victim.id)]) }
    }

    /// Says what a thief likes, and puts that where some or all find it.
    /// - Returns: `nil` where its form is refused, as of what says a thing twice.
    private func forge(_ thief: Person, after follows: [RecordHash], _ acts: [MemberAct]) -> RecordHash? {
        guard !acts.isEmpty,
            let record = try? MemberRecord(
                by: thief.keys, milliseconds: tick(), genesis: genesis, follows: follows, acts: acts)
        else { return nil }
        forged.insert(record.hash)
        publish(record, by: nil)
        // It lies in the folder of somebody, or of all.
        for person in honest where chance.oneIn(2) { learnPast(person, record) }
        return record.hash
    }

    private func learnPast(_ person: Person, _ record: MemberRecord) {
        for hash in record.follows where !person.known.contains(hash) { records[hash].map { learnPast(person, $0) } }
        learn(person, record)
    }

    // MARK: The end

    private func meetUntilQuiet() throws {
        for person in honest { for hash in order { records[hash].map { learn(person, $0) } } }
        for _ in 0..<6 {
            let before = order.count
            for person in honest { for other in honest { try meet(person, other) } }
            if order.count == before { return }
        }
        findings.append("devices do not come to rest")
    }

    /// Somebody removes every thief that is a member: who may, or else the recovery key.
    private func removeThieves() throws {
        for _ in 0..<Self.maximumPeople * 2 {
            // Where thieves have put out everybody, the recovery code alone helps.
            let isIn = { (person: Person) in person.membership.result().members.contains(person.id) }
            guard let person = honest.first(where: isIn) ?? honest.first else { return }
            guard let thief = person.membership.result().members.sorted().first(where: thieves.contains) else { return }
            let members = person.membership.result().members
            let able = honest.first { members.contains($0.id) && $0.membership.mayRemove($0.id, thief) }
            if let able { try remove(able, thief) } else { try removeByRecovery(person, thief) }
            thiefWasRemoved = true
            try meetUntilQuiet()
        }
        findings.append("thieves come faster than they are removed")
    }

    /// The whole story, to be looked at.
    var telling: String {
        let names = Dictionary(
            uniqueKeysWithValues: people.enumerated().map { ($1.id, "\($0)\($1.isThief ? "T" : "")") })
        let numbers = Dictionary(uniqueKeysWithValues: order.enumerated().map { ($1, $0) })
        return order.compactMap { records[$0] }.enumerated().map { number, record in
            let acts = record.acts.map { act -> String in
                switch act {
                case .found: "found"
                case .admit(let admission): "admit \(admission.way) \(names[admission.device] ?? "?")"
                case .remove(let device): "remove \(names[device] ?? "?")"
                case .leave(let end): "leave \(end.sequence)"
                case .accept(let device, let end): "accept \(names[device] ?? "?") \(end.sequence)"
                case .epoch(let making):
                    "epoch \(making.number) e\(making.epoch.low) for \(making.wraps.compactMap { names[$0.receiver] }.sorted())"
                case .grant(let epoch, let wraps):
                    "grant e\(epoch.low) to \(wraps.compactMap { names[$0.receiver] }.sorted())"
                case .unknown: "unknown"
                }
            }
            let follows = record.follows.compactMap { numbers[$0] }.sorted()
            return
                "\(number)\(forged.contains(record.hash) ? "!" : "") by \(names[record.author] ?? "recovery") after \(follows): "
                + acts.joined(separator: ", ")
        }.joined(separator: "\n")
    }

    private func judge() throws {
        let plain = PlainRoster(genesis: genesis)
        for hash in order { records[hash].map(plain.insert) }
        let witnesses = honest
        // What devices find, not what the plain rules say, is judged.
        guard let told = witnesses.first?.membership.result() else { return }
        for person in witnesses where person.membership.result() != told {
            findings.append("two devices have two rosters")
        }
        let shuffled = makeMembership(genesis)
        for hash in order.shuffled(using: &chance) { records[hash].map(shuffled.insert) }
        if shuffled.result() != told { findings.append("the order of records decides") }

        for thief in thieves where told.members.contains(thief) {
            findings.append(
                honestlyRemoved.contains(thief)
                    ? "a removed device is a member" : "somebody whom a thief brought in is a member")
        }
        for device in honestlyRemoved where told.members.contains(device) {
            findings.append("a removed device is a member")
        }
        for person in witnesses where told.members.contains(person.id) {
            for (device, sequence) in person.seen {
                guard let end = told.removed[device] else { continue }
                if sequence > end?.sequence ?? 0 { findings.append("an accepted write is lost") }
            }
        }
        for (device, end) in told.removed {
            if let end, end.sequence >= Self.falseEnd, !mayHaveSaid(end, of: device, plain) {
                findings.append("a later write comes in")
            }
        }
        for person in witnesses where told.removed[person.id] != nil && !honestlyRemoved.contains(person.id) {
            // Who was let in by a thief may be out with it; this one has a member to thank, or founded the membership.
            let hosts = plain.admitters(of: person.id).subtracting(thieves).filter(told.members.contains)
            let isWellIn = !hosts.isEmpty || person === people[0]
            if isWellIn, !thieves.contains(where: { plain.couldReach($0, person.id) }),
                !plain.isLetInAnew(person.id, by: thieves)
            {
                findings.append("an older device is thrown out")
            }
        }
        for person in witnesses where told.members.contains(person.id) {
            for copy in people where copy.original == person.id && told.members.contains(copy.id) {
                let others = plain.admitters(of: copy.id).subtracting(thieves).subtracting([person.id])
                // A thief that is not younger than the original may have raised the copy: that takes an older device.
                let isRaised = plain.admitters(of: copy.id).contains {
                    $0 != person.id && plain.couldSpeakBefore($0, person.id)
                }
                if others.isEmpty, !isRaised, plain.admitters(of: person.id).isDisjoint(with: thieves),
                    !person.membership.mayRemove(person.id, copy.id)
                {
                    findings.append("a device cannot remove its copy")
                }
            }
        }
        if told.greatestEpoch > order.count { findings.append("the numbers of epochs are used up") }
        if let epoch = told.epoch {
            if !holders(of: epoch, among: Set(order)).isSubset(of: told.members.union([MemberRecord.recoveryAuthor])) {
                findings.append("somebody who is no member has the epoch")
            }
            if !told.lacking.isEmpty { findings.append("a member lacks the epoch") }
        }
    }

    /// Whether a thief said so while it was a member, after the device was out and before its removers knew: it may.
    private func mayHaveSaid(_ end: LogEnding, of device: DeviceID, _ plain: PlainRoster) -> Bool {
        records.values.contains { record in
            record.acts.contains(.accept(device, end)) && plain.wasKnown(record) && plain.knewAsOut(record, device)
        }
    }

    /// Who has an epoch's secret, by wraps and by what rings really hold, as far as these records tell. That a thief which is a
    /// member gives keys away nobody can see, let alone prevent: what it hands on is left out.
    private func holders(of epoch: EpochID, among known: Set<RecordHash>) -> Set<DeviceID> {
        var holders: [EpochID: Set<DeviceID>] = [:]
        for hash in known {
            guard let record = records[hash] else { continue }
            for act in record.acts {
                switch act {
                case .epoch(let making):
                    holders[making.epoch, default: []].formUnion(making.wraps.map(\.receiver) + [record.author])
                case .grant(let granted, let wraps) where !forged.contains(hash):
                    holders[granted, default: []].formUnion(wraps.map(\.receiver) + [record.author])
                default: break
                }
            }
        }
        var all = holders[epoch, default: []]
        for (later, held) in rings where held.contains(epoch) { all.formUnion(holders[later, default: []]) }
        return all
    }
}
