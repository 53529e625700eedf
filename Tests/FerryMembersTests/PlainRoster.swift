import FerryCore
import FerryMembers
import FerrySeal

/// A second implementation of the rules of membership, in the plainest code: sets of records, and every rule as Docs/Sealing.md
/// says it. It shares nothing with `MemberGraph` but the records. A rule can be left out, to see that the tests notice.
final class PlainRoster {
    /// A rule that is broken on purpose.
    enum Fault: String, CaseIterable {
        /// A device may remove any other.
        case equalRights
        /// A seat before one seat of the other is enough.
        case someSeat
        /// All seats count for kin, not the earliest alone.
        case lateSeats
        /// The acts of a removed device stand, whatever its remover knew.
        case everythingStands
        /// A device is admitted by whoever, admitted or not.
        case anyAuthor
        /// Ends are accepted of those who do not know of the removal.
        case acceptedBlindly
        /// An epoch is clean whoever has it.
        case dirtyEpochs
        /// A later epoch's ring is not thought of.
        case forgottenRings
        /// Removed devices may be let in again.
        case returns
        /// Whoever was let in once may go on saying things, member or not.
        case goneAuthors
        /// A removal need not know the device.
        case unnamedRemovals
        /// The acts of a device that left stand, whoever has its keys.
        case leaversStand
        /// A copy has the seats of its author also where that was gone.
        case lateCopies
        /// An epoch has whatever number its maker says.
        case anyNumber
        /// A device is named by admissions that give it a seat, and by no others.
        case seatlessNames
    }

    private let fault: Fault?
    private let genesis: RecordHash
    private(set) var records: [RecordHash: MemberRecord] = [:]
    private var pasts: [RecordHash: Set<RecordHash>] = [:]
    private var verdicts: [RecordHash: Bool] = [:]
    private var removalVerdicts: [RecordHash: Set<DeviceID>] = [:]

    init(genesis: RecordHash, fault: Fault? = nil) {
        self.genesis = genesis
        self.fault = fault
    }

    func insert(_ record: MemberRecord) {
        records[record.hash] = record
        pasts = [:]
        verdicts = [:]
        removalVerdicts = [:]
    }

    // MARK: The graph

    /// `nil` where something of it is not here.
    private func past(_ hash: RecordHash) -> Set<RecordHash>? {
        if let past = pasts[hash] { return past }
        guard let record = records[hash] else { return nil }
        var past = Set(record.follows)
        for followed in record.follows {
            guard let more = self.past(followed) else { return nil }
            past.formUnion(more)
        }
        pasts[hash] = past
        return past
    }

    /// Rule 1.
    private func counts(_ hash: RecordHash) -> Bool {
        if let verdict = verdicts[hash] { return verdict }
        guard let record = records[hash], record.membership == genesis, let past = past(hash) else { return false }
        var verdict = record.follows.allSatisfy(counts)
        if verdict, !record.isFirst, !record.isRecovery {
            verdict =
                fault == .goneAuthors ? admitted(past).contains(record.author) : isMember(record.author, past)
        }
        verdicts[hash] = verdict
        return verdict
    }

    /// All records that count.
    private var everything: Set<RecordHash> { Set(records.keys.filter(counts)) }

    private func acts(_ scope: Set<RecordHash>) -> [(record: MemberRecord, act: MemberAct)] {
        scope.flatMap { hash in records[hash].map { record in record.acts.map { (record, $0) } } ?? [] }
    }

    // MARK: Rule 2

    /// - Parameter areAll: true: also those of copies that do not stand.
    private func seats(
        _ device: DeviceID, _ scope: Set<RecordHash>, _ seen: Set<DeviceID> = [], areAll: Bool = false
    ) -> Set<RecordHash> {
        if seen.contains(device) { return [] }
        var seats: Set<RecordHash> = []
        for (record, act) in acts(scope) {
            switch act {
            case .found where record.author == device: seats.insert(record.hash)
            case .admit(let admission) where admission.device == device:
                if admission.way == .copy {
                    guard areAll || fault == .lateCopies || stands(record, scope) else { continue }
                    seats.formUnion(self.seats(record.author, scope, seen.union([device]), areAll: areAll))
                } else {
                    seats.insert(record.hash)
                }
            default: break
            }
        }
        return seats
    }

    private func earliest(_ seats: Set<RecordHash>) -> Set<RecordHash> {
        fault == .lateSeats ? seats : seats.filter { seat in !seats.contains { past(seat)?.contains($0) ?? false } }
    }

    private func isOlderOrKin(_ device: DeviceID, _ other: DeviceID, _ scope: Set<RecordHash>) -> Bool {
        let (own, others) = (seats(device, scope), seats(other, scope))
        guard !own.isEmpty, fault == .unnamedRemovals || !others.isEmpty else { return false }
        if fault == .equalRights || earliest(own) == earliest(others) { return true }
        return own.contains { seat in
            let isBefore = { (other: RecordHash) in self.past(other)?.contains(seat) ?? false }
            return fault == .someSeat ? others.contains(where: isBefore) : others.allSatisfy(isBefore)
        }
    }

    // MARK: Rules 3 and 4

    private func removals(_ hash: RecordHash) -> Set<DeviceID> {
        if let known = removalVerdicts[hash] { return known }
        guard let record = records[hash], let past = past(hash) else { return [] }
        let removed = record.acts.compactMap { act -> DeviceID? in
            guard case .remove(let device) = act, fault == .unnamedRemovals || isNamed(device, past) else { return nil }
            return record.isRecovery || isOlderOrKin(record.author, device, past) ? device : nil
        }
        removalVerdicts[hash] = Set(removed)
        return Set(removed)
    }

    private func removalsOf(_ device: DeviceID, _ scope: Set<RecordHash>) -> [RecordHash] {
        scope.filter { removals($0).contains(device) }
    }

    private func leavingsOf(_ device: DeviceID, _ scope: Set<RecordHash>) -> [RecordHash] {
        scope.filter { hash in
            records[hash]?.author == device
                && records[hash]?.acts.contains { if case .leave = $0 { true } else { false } } ?? false
        }
    }

    private func stands(_ record: MemberRecord, _ scope: Set<RecordHash>) -> Bool {
        if record.isRecovery || fault == .everythingStands { return true }
        let leavings = fault == .leaversStand ? [] : leavingsOf(record.author, scope)
        return (removalsOf(record.author, scope) + leavings).allSatisfy {
            $0 == record.hash || past($0)?.contains(record.hash) ?? false
        }
    }

    // MARK: Rule 5

    private func admitted(_ scope: Set<RecordHash>) -> Set<DeviceID> {
        var admitted: Set<DeviceID> = []
        while true {
            let before = admitted.count
            for (record, act) in acts(scope) {
                switch act {
                case .found: admitted.insert(record.author)
                case .admit(let admission):
                    let isAuthorAdmitted = record.isRecovery || fault == .anyAuthor || admitted.contains(record.author)
                    if isAuthorAdmitted, stands(record, scope) { admitted.insert(admission.device) }
                default: break
                }
            }
            if admitted.count == before { return admitted }
        }
    }

    private func isRemoved(_ device: DeviceID, _ scope: Set<RecordHash>) -> Bool {
        let removals = removalsOf(device, scope)
        guard fault == .returns else { return !removals.isEmpty }
        // Only until somebody who knows of it lets the device in again.
        return removals.contains { removal in
            !acts(scope).contains { record, act in
                guard case .admit(let admission) = act, admission.device == device else { return false }
                return past(record.hash)?.contains(removal) ?? false
            }
        }
    }

    private func isNamed(_ device: DeviceID, _ scope: Set<RecordHash>) -> Bool {
        if fault == .seatlessNames { return !seats(device, scope).isEmpty }
        return acts(scope).contains { record, act in
            switch act {
            case .found: record.author == device
            case .admit(let admission): admission.device == device
            default: false
            }
        }
    }

    /// Rule 6.
    private func isOut(_ device: DeviceID, _ scope: Set<RecordHash>) -> Bool {
        isRemoved(device, scope) || (isNamed(device, scope) && !admitted(scope).contains(device))
    }

    private func isMember(_ device: DeviceID, _ scope: Set<RecordHash>) -> Bool {
        admitted(scope).contains(device) && !isRemoved(device, scope) && leavingsOf(device, scope).isEmpty
    }

    // MARK: What it comes to

    /// The parts of a roster that the rules decide.
    struct Result: Hashable {
        var members: Set<DeviceID> = []
        var left: [DeviceID: LogEnding] = [:]
        var removed: [DeviceID: LogEnding?] = [:]
        var epoch: EpochID?
        var lacking: Set<DeviceID> = []
        var greatestEpoch: UInt32 = 0

        init() {}

        init(_ roster: Roster) {
            members = Set(roster.members.keys)
            left = roster.left.mapValues(\.end)
            removed = roster.removed.mapValues(\.end)
            epoch = roster.epoch?.id
            lacking = Set(roster.epoch?.lacking ?? [])
            greatestEpoch = roster.greatestEpoch
        }
    }

    func mayRemove(_ device: DeviceID, _ other: DeviceID) -> Bool { isOlderOrKin(device, other, everything) }

    var heads: [RecordHash] {
        let all = everything
        let followed = Set(all.flatMap { records[$0]?.follows ?? [] })
        return all.filter { !followed.contains($0) }.sorted()
    }

    func result() -> Result {
        let scope = everything
        let admitted = admitted(scope)
        var result = Result()
        var named: Set<DeviceID> = []
        for (record, act) in acts(scope) {
            if case .found = act { named.insert(record.author) }
            if case .admit(let admission) = act { named.insert(admission.device) }
        }
        for device in named {
            if isRemoved(device, scope) || !admitted.contains(device) {
                result.removed[device] = .some(end(of: device, scope, admitted))
            } else if let end = leavingsOf(device, scope).compactMap({ self.end($0) }).max() {
                result.left[device] = end
            } else {
                result.members.insert(device)
            }
        }
        epochs(scope, &result)
        return result
    }

    // MARK: What stories ask

    /// Whether some seat of one is one of the other's first ones or before it, in some past. A seat that does not stand by all records
    /// may have stood by that past.
    func mayHaveBeenOlder(_ device: DeviceID, _ other: DeviceID) -> Bool {
        let (own, others) = (seats(device, everything, areAll: true), earliest(seats(other, everything)))
        return own.contains { seat in others.contains { $0 == seat || past($0)?.contains(seat) ?? false } }
    }

    /// Whether a device is a member by some past without any seat of another.
    func couldSpeakBefore(_ device: DeviceID, _ other: DeviceID) -> Bool {
        let (own, others) = (seats(device, everything, areAll: true), earliest(seats(other, everything)))
        return own.contains { seat in !others.contains { past(seat)?.contains($0) ?? false } }
    }

    /// Whether a device could remove another in some past: it may have been older, and was not gone where the other was let in.
    func couldReach(_ device: DeviceID, _ other: DeviceID) -> Bool {
        mayHaveBeenOlder(device, other)
            && acts(everything).contains { record, act in
                guard case .admit(let admission) = act, admission.device == other, let past = past(record.hash) else {
                    if case .found = act { return record.author == other }
                    return false
                }
                return !isRemoved(device, past) && leavingsOf(device, past).isEmpty
            }
    }

    /// Whether somebody of these lets a device in once more in a past of its choice, which has no other admission of the device. There
    /// the device is younger than it is, whoever is older by all records (Docs/Sealing.md, "Who is a member").
    func isLetInAnew(_ device: DeviceID, by authors: Set<DeviceID>) -> Bool {
        let seats = acts(everything).compactMap { record, act -> MemberRecord? in
            switch act {
            case .found: record.author == device ? record : nil
            case .admit(let admission): admission.device == device ? record : nil
            default: nil
            }
        }
        return seats.contains { seat in
            authors.contains(seat.author) && seats.count > 1
                && !seats.contains { past(seat.hash)?.contains($0.hash) ?? false }
        }
    }

    /// Who let a device in.
    func admitters(of device: DeviceID) -> Set<DeviceID> {
        Set(
            acts(everything).compactMap { record, act in
                if case .admit(let admission) = act, admission.device == device { record.author } else { nil }
            })
    }

    /// Whether a record counts, and all who removed its author knew it.
    func wasKnown(_ record: MemberRecord) -> Bool { counts(record.hash) && stands(record, everything) }

    /// Whether a device was out by a record's past.
    func knewAsOut(_ record: MemberRecord, _ device: DeviceID) -> Bool {
        guard let past = past(record.hash) else { return false }
        return isOut(device, past)
    }

    private func end(_ leaving: RecordHash) -> LogEnding? {
        for case .leave(let end) in records[leaving]?.acts ?? [] { return end }
        return nil
    }

    /// Rule 6.
    private func end(of device: DeviceID, _ scope: Set<RecordHash>, _ admitted: Set<DeviceID>) -> LogEnding? {
        var ends: [LogEnding] = []
        for (record, act) in acts(scope) {
            guard case .accept(device, let end) = act, let past = past(record.hash) else { continue }
            guard isOut(device, past) || fault == .acceptedBlindly,
                record.isRecovery || admitted.contains(record.author)
            else {
                continue
            }
            if stands(record, scope) { ends.append(end) }
        }
        return ends.max()
    }

    // MARK: Epochs

    private func number(_ hash: RecordHash) -> UInt32? {
        guard let record = records[hash], let past = past(hash) else { return nil }
        for case .epoch(let making) in record.acts {
            let known = past.contains { other in
                guard number(other) != nil else { return false }
                return (records[other]?.acts ?? []).contains {
                    if case .epoch(let former) = $0 { former.epoch == making.epoch } else { false }
                }
            }
            let greatest = past.compactMap { number($0) }.max() ?? 0
            return (making.number == greatest + 1 || fault == .anyNumber) && !known ? making.number : nil
        }
        return nil
    }

    private func epochs(_ scope: Set<RecordHash>, _ result: inout Result) {
        let makings = scope.filter { number($0) != nil }
        var holders: [RecordHash: Set<DeviceID>] = [:]
        var ids: [RecordHash: EpochID] = [:]
        for hash in makings {
            guard let record = records[hash] else { continue }
            for case .epoch(let making) in record.acts {
                ids[hash] = making.epoch
                holders[hash] = Set(making.wraps.map(\.receiver)).union([record.author])
            }
        }
        for (record, act) in acts(scope) {
            guard case .grant(let epoch, let wraps) = act else { continue }
            for hash in makings
            where ids[hash] == epoch && (hash == record.hash || past(record.hash)?.contains(hash) ?? false) {
                holders[hash]?.formUnion(Set(wraps.map(\.receiver)).union([record.author]))
            }
        }
        let allowed = result.members.union([MemberRecord.recoveryAuthor])
        let own = holders
        if fault != .forgottenRings {
            for hash in makings {
                for later in makings where past(later)?.contains(hash) ?? false {
                    holders[hash]?.formUnion(own[later] ?? [])
                }
            }
        }
        let dirty = makings.filter { fault != .dirtyEpochs && !(holders[$0] ?? []).isSubset(of: allowed) }
        let dirtyIDs = Set(dirty.compactMap { ids[$0] })
        let clean = makings.filter { hash in ids[hash].map { !dirtyIDs.contains($0) } ?? false }
        result.greatestEpoch = makings.compactMap { number($0) }.max() ?? 0
        let current = clean.max { left, right in
            (number(left) ?? 0, ids[left] ?? EpochID(high: 0, low: 0)) < (
                number(right) ?? 0, ids[right] ?? EpochID(high: 0, low: 0)
            )
        }
        guard let current, let id = ids[current] else { return }
        result.epoch = id
        let having = clean.filter { ids[$0] == id }.reduce(into: Set<DeviceID>()) { $0.formUnion(own[$1] ?? []) }
        result.lacking = result.members.subtracting(having)
    }
}
