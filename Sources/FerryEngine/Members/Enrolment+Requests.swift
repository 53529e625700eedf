import FerryContainer
import FerryCore
import FerryMembers
import FerrySeal

/// The requests that this computer made earlier: which request goes on, and which are withdrawn.
extension Enrolment {
    /// The earlier enrolment to go on with where no way is said: one that was let in, or else one by words. `nil` where a person needs new words:
    /// nobody knows whether a code that was typed before still works.
    package static func answered(
        containerPath: String, environment: ReplicaEnvironment = .live
    ) throws -> Enrolment? {
        let path = try Replica.fullPlace(containerPath)
        let (container, genesis) = try open(path, environment)
        return try answered(container, genesis, path, environment)
    }

    static func answered(
        _ container: Container, _ genesis: RecordHash, _ path: String, _ environment: ReplicaEnvironment
    ) throws -> Enrolment? {
        // A device with files is that of a database: the end of its enrolment was interrupted.
        try all(container, genesis, nil, path, environment).first {
            try !container.remains(of: $0.device).hasPublished && $0.isAdmitted()
        }
    }

    private func isAdmitted() throws -> Bool {
        do {
            if case .admitted = try state() { return true }
            return false
        } catch let error as FerryError where error.code == .codeRefused {
            return false
        }
    }

    /// Looks in the key store for a device with a claim and without a database. A request that is too old for members is passed over, unless a
    /// member let it in before.
    static func find(
        _ container: Container, _ genesis: RecordHash, _ way: Way?, _ path: String, _ environment: ReplicaEnvironment
    ) throws -> Enrolment? {
        let all = try all(container, genesis, way, path, environment)
        // Two joins at once may have asked twice by one code, which lets in one of the two.
        return try all.first { try $0.isAdmitted() } ?? all.first { !$0.isOver() }
    }

    private func isOver() -> Bool {
        guard let claim else { return false }
        return MemberReader.isOver(claim, now: environment.clock.milliseconds())
    }

    static func all(
        _ container: Container, _ genesis: RecordHash, _ way: Way?, _ path: String, _ environment: ReplicaEnvironment
    ) throws -> [Enrolment] {
        var found: [Enrolment] = []
        for device in try environment.keys.devices() {
            guard let file = try environment.keys.readable(device), file.container == container.id,
                file.genesis == genesis.bytes, let claim = try claim(of: device, container)
            else { continue }
            switch way {
            case nil: break
            case .words: guard claim.way == .words else { continue }
            case .code(let code):
                let key = code.claimKey(in: container.id)
                guard file.invitations.contains(where: { $0.claimKey == key && $0.claim == claim.hash }) else {
                    continue
                }
            case .recovery: continue
            }
            found.append(Enrolment(path, file, claim, environment))
        }
        return found
    }

    /// A device's claim; `nil` without a claim, and for a damaged claim: somebody who asks again writes another.
    private static func claim(of device: DeviceID, _ container: Container) throws -> Claim? {
        do {
            return try container.readClaim(of: device).map { try Claim(decoding: $0, container: container.id) }
        } catch let error as FerryError where error.saysNothing {
            return nil
        }
    }

    /// Withdraws the other requests of this computer without an answer: a person tried another way, and nobody goes on with them. A second
    /// database of this computer asks anew. A device that was let in keeps its keys.
    func withdrawOthers(_ container: Container) throws {
        guard case .sealed(let genesis) = container.details.sealing else { return }
        let others = try Self.all(container, genesis, nil, path, environment).filter { $0.device != device }
        if others.isEmpty { return }
        let roster = try Self.readMembership(container, genesis, file.keys, environment).roster
        for other in others where roster.isUnknown(other.device) { try other.cancel() }
    }
}
