import FerryContainer
import FerryCore
import FerryMembers

/// Due epochs: a new epoch if none is clean, and epochs that members lack (Docs/Sealing.md, "Epochs").
extension Replica {
    /// Makes an epoch if none is clean. Hands the current epoch, and epochs made beside it, on to members without them.
    func prepareEpoch(_ membership: inout Membership, _ container: Container) throws {
        var situation = MemberDuties.Situation(
            device: membership.device, roster: membership.roster, hasSomethingToPublish: true,
            knownEpochs: Set(membership.keyring.all.map(\.id)))
        if let epoch = membership.roster.epoch {
            situation.lackingOthers = membership.graph.epochsBeside(
                epoch.id, lackedBy: membership.roster.members.keys)
        }
        for duty in MemberDuties(situation).due {
            switch duty {
            case .rotate:
                // Fewer than were seen: records are missing, and the number would be used twice.
                if membership.highestEpoch > membership.roster.greatestEpoch { continue }
                let act = try membership.epoch(
                    for: membership.keys(of: membership.roster.members.keys), random: environment.random)
                try say([act], &membership, container)
            case .grant(let epoch, let devices):
                let act = try membership.grant(epoch, to: membership.keys(of: devices), random: environment.random)
                if let act { try say([act], &membership, container) }
            case .admit, .cover, .accept: continue
            }
        }
    }

    /// This device's head; `nil` without a head, for an unreadable head, and after somebody changed the file: this pass writes the head
    /// again, and the next pass reads it.
    private func ownHead(of membership: Membership, _ container: Container) throws -> Head? {
        do {
            return try container.readHead(of: membership.device)
        } catch let error as FerryError where error.concernsOneFile {
            return nil
        }
    }

    /// Hands earlier epochs of existing files on to members without them: to devices admitted on the other side of a
    /// partition. Epochs without a file in the folder are handed on to nobody.
    /// - Parameters:
    ///   - container: gets the present seal.
    ///   - heads: of the remaining members.
    func handEpochsOn(_ container: inout Container, heads: [DeviceID: Head]) throws {
        guard var membership = try membershipOfPass(), let own = try ownHead(of: membership, container) else { return }
        let told = heads.filter { membership.roster.isReadable($0.key) }.values.compactMap { $0.sealed?.oldestEpoch }
        let oldest = max(told.min().map { min($0, own.sealed?.oldestEpoch ?? $0) } ?? .max, 1)
        var situation = MemberDuties.Situation(device: membership.device, roster: membership.roster)
        situation.knownEpochs = Set(membership.keyring.all.map(\.id))
        for epoch in situation.knownEpochs
        where epoch != membership.roster.epoch?.id && membership.graph.number(of: epoch) >= oldest {
            situation.lackingOthers[epoch] = membership.graph.lacking(epoch, among: membership.roster.members.keys)
        }
        let acts = try MemberDuties(situation).due.compactMap { duty -> MemberAct? in
            guard case .grant(let epoch, let devices) = duty, epoch != membership.roster.epoch?.id else { return nil }
            return try membership.grant(epoch, to: membership.keys(of: devices), random: environment.random)
        }
        if acts.isEmpty { return }
        for start in stride(from: 0, to: acts.count, by: MemberRecord.maximumActs) {
            try say(Array(acts[start..<min(start + MemberRecord.maximumActs, acts.count)]), &membership, container)
        }
        container = try container.sealed(by: membership.seal(after: container.seal))
    }
}
