import FerryContainer
import FerryCore
import FerryMembers
import FerrySeal
import FerryStore

/// Answers requests: lets newcomers in, and tells claimants whose code is dead.
extension Replica {
    /// The number of requests with the code of an open invitation of this device that are too old to count: the newcomer's clock is wrong,
    /// or this computer's.
    func lateClaims(_ look: MemberReader.Look, _ membership: Membership) throws -> Int {
        let byCode = look.lateClaims.filter { $0.way == .code && membership.roster.isUnknown($0.device) }
        guard !byCode.isEmpty, let file = try environment.keys.load(membership.device) else { return 0 }
        let now = UInt64(max(environment.clock.milliseconds(), 0))
        return byCode.filter { claim in
            file.invitations.contains { $0.admits(claim, genesis: membership.genesis, milliseconds: now) }
        }.count
    }

    /// Lets in every claimant with the code of an invitation of this device.
    func letIn(
        _ claims: [Claim], _ membership: inout Membership, _ container: Container
    ) throws -> [DeviceID] {
        let byCode = claims.filter { $0.way == .code }
        guard !byCode.isEmpty, !membership.roster.needsUpdate, var file = try environment.keys.load(membership.device)
        else { return [] }
        let now = UInt64(max(environment.clock.milliseconds(), 0))
        if bindUsedInvitations(&file, membership) { try environment.keys.save(file) }
        var admitted: [DeviceID] = []
        for claim in byCode where membership.roster.isUnknown(claim.device) {
            guard
                let place = file.invitations.firstIndex(where: {
                    $0.admits(claim, genesis: membership.genesis, milliseconds: now)
                })
            else { continue }
            if file.invitations[place].claim == nil {
                // Durable before anybody can see an answer: the code lets in only this claim.
                file.invitations[place].claim = claim.hash
                try environment.keys.save(file)
            }
            let answer = claim.answer(
                by: file.invitations[place], of: membership.device, membership.keys.publicKeys)
            try admit(claim, answer: answer, &membership, container)
            admitted.append(claim.device)
        }
        try refuse(byCode, file, &membership, container)
        return admitted
    }

    /// Binds invitations that have let a device in by this device's records. A key store put back from a backup does not know of the
    /// admission, and a code works once.
    /// - Returns: true if there was one.
    private func bindUsedInvitations(_ file: inout KeyFile, _ membership: Membership) -> Bool {
        let unused = file.invitations.indices.filter { file.invitations[$0].claim == nil }
        if unused.isEmpty { return false }
        var isChanged = false
        for record in membership.records.values where record.author == membership.device {
            for case .admit(let admission) in record.acts where admission.way == .code {
                for place in unused
                where file.invitations[place].isAnswered(
                    by: admission, of: membership.device, membership.keys.publicKeys, genesis: membership.genesis)
                {
                    file.invitations[place].claim = admission.claim
                    isChanged = true
                }
            }
        }
        return isChanged
    }

    /// Tells claimants with a dead code of this device that the code is no longer good: a record removes the device that no record names. Each
    /// code is refused once, so nobody fills the membership with requests; the key store then forgets the code.
    private func refuse(
        _ claims: [Claim], _ file: KeyFile, _ membership: inout Membership, _ container: Container
    ) throws {
        let now = UInt64(max(environment.clock.milliseconds(), 0))
        var file = file
        let refused = membership.refusedClaimants
        var acts: [MemberAct] = []
        for claim in claims where membership.roster.isUnknown(claim.device) && claim.genesis == membership.genesis {
            let dead = file.invitations.firstIndex { $0.isDead(milliseconds: now) && claim.isProved(by: $0) }
            guard let dead, acts.count < MemberRecord.maximumActs else { continue }
            file.invitations.remove(at: dead)
            if !refused.contains(claim.device) { acts.append(.remove(claim.device)) }
        }
        if !acts.isEmpty { try say(acts, &membership, container) }
        // The record comes first: after a crash the code is found dead once more, and the record is there.
        guard try environment.keys.load(file.device)?.invitations.count != file.invitations.count else { return }
        var present = file
        present.highestEpoch = max(file.highestEpoch, membership.highestEpoch)
        try environment.keys.save(present)
    }

    /// Lets a newcomer in, and hands on the epochs of existing files.
    @discardableResult
    func admit(
        _ claim: Claim, answer: [UInt8]? = nil, _ membership: inout Membership, _ container: Container
    ) throws -> MemberRecord {
        let admission = Admission(
            claim.way, claim.keys, in: membership.container, claim: claim.hash, answer: answer)
        var acts: [MemberAct] = [.admit(admission)]
        let newcomer = [claim.device: claim.keys]
        if membership.roster.epoch == nil, membership.highestEpoch == membership.roster.greatestEpoch {
            let receivers = membership.keys(of: membership.roster.members.keys).merging(newcomer) { own, _ in own }
            acts.append(try membership.epoch(for: receivers, random: environment.random))
        }
        let sealed = try container.sealed(by: membership.seal())
        acts += try membership.grants(
            from: NeededEpochs(sealed, membership).oldest, to: newcomer, random: environment.random)
        return try say(acts, &membership, container)
    }
}

extension Roster {
    /// Whether no record names a device.
    func isUnknown(_ device: DeviceID) -> Bool {
        members[device] == nil && left[device] == nil && removed[device] == nil
    }
}
