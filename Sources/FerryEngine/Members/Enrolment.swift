import FerryContainer
import FerryCore
import FerryMembers
import FerrySeal

/// A newcomer's way into a sealed container: ask, wait until somebody lets this device in, and join.
///
///     let enrolment = try Enrolment.begin(for: store, containerPath: folder, by: .code(code))
///     try await enrolment.waitUntilAdmitted()
///     let (replica, report) = try enrolment.join(store)
///
/// An enrolment lives in the key store and in the folder, and outlives the process: a second `begin` goes on with the enrolment.
public final class Enrolment: Sendable {
    /// How a newcomer asks.
    public enum Way: Sendable {
        /// With the code of an invitation: the inviting device answers without a person.
        case code(SecretCode)
        /// With six words, for a person to type on a member.
        case words
        /// With the recovery code: no second device is needed.
        case recovery(SecretCode)
    }

    /// How far an enrolment is.
    public enum State: Equatable, Sendable {
        /// Not let in yet. The words are `nil` where a code is used.
        case waiting(words: String?)
        /// Let in by a device; `nil`: by the recovery key. After `.words` the device's screen shows the same words.
        case admitted(by: DeviceID?, words: String)
    }

    let path: String
    let environment: ReplicaEnvironment
    let file: KeyFile
    let claim: Claim?

    /// The newcomer.
    public var device: DeviceID { file.device }
    package var container: ContainerID { file.container }

    init(_ path: String, _ file: KeyFile, _ claim: Claim?, _ environment: ReplicaEnvironment) {
        self.path = path
        self.file = file
        self.claim = claim
        self.environment = environment
    }

    // MARK: Beginning

    /// Asks to be let in, or goes on with an earlier enrolment.
    /// - Throws: `invalidArgument` for an open container; `codeRefused` for a different membership's recovery code; `fileNotThereYet` while
    ///   the first record has not arrived; `inputOutput`.
    package static func begin(
        containerPath: String, by way: Way, environment: ReplicaEnvironment = .live
    ) throws -> Enrolment {
        let path = try Replica.fullPlace(containerPath)
        let (container, genesis) = try open(path, environment)
        if case .recovery(let code) = way { return try recover(container, genesis, code, path, environment) }
        // A person who tries another way may not know that the way before has succeeded.
        if let admitted = try answered(container, genesis, path, environment) { return admitted }
        if let present = try find(container, genesis, way, path, environment) { return present }
        // Members take these requests for too old, and did not answer in time.
        for former in try all(container, genesis, way, path, environment) { try former.cancel() }
        var code: SecretCode?
        if case .code(let given) = way { code = given }
        let unused = try code.flatMap { try unusedKeys(byCode: $0, container, genesis, environment) }
        let keys = try unused ?? DeviceKeys(mintedFor: container.id, random: environment.random)
        let membership = try readMembership(container, genesis, keys, environment)
        guard !membership.roster.members.isEmpty else {
            throw FerryError(
                .codeRefused,
                membership.roster.recovery == nil
                    ? "Nobody is a member of this container any more, and there is no recovery code: nobody can let this device in. Make a new "
                        + "container: `ferry init`, in a database of the container after `ferry leave`."
                    : "Nobody is a member of this container any more: the recovery code alone lets this device in (--recovery -).",
                path: path)
        }
        let milliseconds = UInt64(max(environment.clock.milliseconds(), 0))
        let claim = try Claim(by: keys, code: code, genesis: genesis, milliseconds: milliseconds)
        // A newcomer keeps the code's keys beside its own keys, bound to the claim: the answer is checked with the code's keys.
        let invitations = code.map {
            KeyFile.Invitation(
                code: $0, container: container.id, endMilliseconds: KeyFile.Invitation.ownEnd, claim: claim.hash)
        }
        let file = try KeyFile(
            keys: keys, genesis: genesis.bytes, invitations: invitations.map { [$0] } ?? [])
        try environment.keys.save(file)
        try container.publishClaim(claim.bytes, of: keys.device)
        return Enrolment(path, file, claim, environment)
    }

    /// An earlier enrolment without an end; `nil` if there is none.
    package static func pending(
        containerPath: String, environment: ReplicaEnvironment = .live
    ) throws -> Enrolment? {
        let path = try Replica.fullPlace(containerPath)
        let (container, genesis) = try open(path, environment)
        return try find(container, genesis, nil, path, environment)
    }

    static func open(
        _ path: String, _ environment: ReplicaEnvironment
    ) throws -> (Container, RecordHash) {
        try Replica.refuseKeys(environment.keys, inside: path)
        let container = try environment.open(at: path)
        guard case .sealed(let genesis) = container.details.sealing else {
            throw FerryError(
                .invalidArgument, "The container is open: no code is needed to join it.", path: path)
        }
        return (container, genesis)
    }

    /// The container without a seal.
    func openPlain() throws -> Container { try Self.open(path, environment).0 }

    // MARK: Waiting

    /// The failure where nobody has let this device in. Names this computer's clock where records of members are much later.
    package func pendingFailure() throws -> FerryError {
        var failure = Self.pending(path)
        if claim?.way == .code { failure.message += " " + Self.patience }
        if let clock = try clockWarning() { failure.message += " " + clock }
        return failure
    }

    /// What a code waits for, and when nobody answers it.
    package static let patience =
        "The device that made the code answers with its next sync. If that device has synced since, or was removed, the code is no longer good: "
        + "ask for another one."

    /// Whether this device asks by a code.
    package var isByCode: Bool { claim?.way == .code }

    /// Whether a person lets this device in, and compares the words of both screens.
    package var isByWords: Bool { claim?.way == .words }

    /// What is wrong with this computer's clock, by the times of the members' records; `nil` where they do not tell.
    package func clockWarning() throws -> String? {
        let (container, genesis) = try Self.open(path, environment)
        let membership = try Self.readMembership(container, genesis, file.keys, environment)
        let now = environment.clock.milliseconds()
        let newest = membership.records.values.map { Int64(clamping: $0.milliseconds) }.max() ?? 0
        let behind = newest.milliseconds(since: now)
        guard behind > MemberReader.claimLifeMilliseconds else { return nil }
        return
            "This computer's clock is \(behind / 86_400_000) days behind the members' clocks: they take its request for too old. Set the "
            + "clock, and run the same command again."
    }

    /// Says how far the enrolment is.
    /// - Throws: `codeRefused` where somebody without the code let this device in, and where the code has let in another device; as
    ///   `begin`.
    public func state() throws -> State { try admission().state }

    /// How far the enrolment is, and all knowledge of the membership.
    func admission() throws -> (state: State, membership: Membership) {
        let (container, genesis) = try Self.open(path, environment)
        guard file.genesis == genesis.bytes else {
            throw FerryError(
                .codeRefused, "The container was founded anew since this device asked to be let in. Ask again.",
                path: path)
        }
        let membership = try Self.readMembership(container, genesis, file.keys, environment)
        let waiting = State.waiting(words: claim.flatMap { $0.way == .words ? $0.words : nil })
        guard membership.isMember else {
            if let removed = membership.roster.removed[device] {
                throw FerryError(
                    .codeRefused,
                    removed.removedMilliseconds == nil
                        ? "Whoever let this device in was no member any more. Ask again, with another invitation."
                        : "This device was removed before it joined. Ask again, with another invitation.", path: path)
            }
            if let other = winner(membership) {
                let isOwn = try environment.keys.readable(other) != nil
                throw FerryError(
                    .codeRefused,
                    isOwn
                        ? "The code was used by another join on this computer: it has let in the device \(other), and works once. Ask with "
                            + "another invitation."
                        : "The code was used: it has let in the device \(other), and works once. Ask with another invitation. If that is "
                            + "no device of yours, somebody else knew the code: remove it (`ferry devices … remove`).",
                    path: path,
                    device: other)
            }
            if membership.refusedClaimants.contains(device) {
                throw FerryError(
                    .codeRefused,
                    "The code is no longer good: it was taken back, has run out, or its device has new keys. Ask with another invitation "
                        + "(`ferry invite`).", path: path)
            }
            // Another enrolment of this computer was let in, and withdrew this one.
            if claim != nil, try environment.keys.readable(device) == nil {
                throw FerryError(
                    .codeRefused,
                    "Another request of this computer was let in, and this one was withdrawn. Run the same command again: it asks anew.",
                    path: path)
            }
            return (waiting, membership)
        }
        guard let (record, _) = try accepted(membership) else {
            throw FerryError(
                .codeRefused,
                "Somebody let this device in who does not know the code. Ask again, with another invitation.",
                path: path)
        }
        let isHere = try record.isRecovery || isKnown(record, membership, container)
        guard membership.roster.epoch.map({ membership.keyring[$0.id] != nil }) ?? true, isHere else {
            return (waiting, membership)
        }
        let by = record.isRecovery ? nil : record.author
        return (.admitted(by: by, words: Self.words(of: record)), membership)
    }

    /// The admission believed by this device: the answer to the device's claim.
    private func accepted(_ membership: Membership) throws -> (MemberRecord, Admission)? {
        let all = membership.admissions(of: device)
        guard let claim else { return all.first { $0.admission.way == .recovery } }
        return all.first { record, admission in
            guard admission.claim == claim.hash, admission.way == claim.way else { return false }
            guard claim.way == .code else { return true }
            guard let invitation = file.invitations.first, let keys = membership.roster.keys(of: record.author) else {
                return false
            }
            return claim.isAnswer(admission.answer, by: record.author, keys, under: invitation)
        }
    }

    /// The device let in by this claim's code instead; `nil` where no such device is known.
    private func winner(_ membership: Membership) -> DeviceID? {
        guard let claim, let invitation = file.invitations.first else { return nil }
        for record in membership.records.values {
            guard let keys = membership.roster.keys(of: record.author) else { continue }
            for case .admit(let admission) in record.acts
            where claim.isBeaten(by: admission, of: record.author, keys, under: invitation) {
                return admission.device
            }
        }
        return nil
    }

    /// Whether a member's head tells of an admission: then the folder's state is no older than the admission. A head of the admitting
    /// member tells by the count of records, because records only grow. A further member may know as many different records.
    private func isKnown(_ record: MemberRecord, _ membership: Membership, _ container: Container) throws -> Bool {
        let sealed = try container.sealed(by: membership.seal())
        let needed = membership.pastCount(of: record.hash) + 1
        for member in membership.roster.members.keys.sorted() where member != device {
            do {
                let head = try sealed.readHead(of: member)
                guard let knowledge = head?.sealed?.knowledge, knowledge.records >= needed else { continue }
                if member == record.author || knowledge.recordsDigest == membership.knowledge.recordsDigest {
                    return true
                }
            } catch let error as FerryError where error.concernsOneFile || error.code == .fileNotThereYet {
                continue
            }
        }
        return false
    }

    /// Three words of an admission: both screens show the words, so a person sees that both mean the same admission.
    static func words(of record: MemberRecord) -> String { Proquints.encode(Array(record.hash.bytes.prefix(6))) }

    /// Gives up: forgets the keys and withdraws the claim. Not after the join.
    public func cancel() throws {
        let (container, _) = try Self.open(path, environment)
        try container.withdrawClaim(of: device)
        try environment.keys.remove(device)
    }

    /// Ends the enrolment: a database has the device now. The code's keys are forgotten.
    func end(_ container: Container) throws {
        try Self.end(of: device, container, environment.keys)
        try withdrawOthers(container)
    }

    /// Reads all records of a container.
    static func readMembership(
        _ container: Container, _ genesis: RecordHash, _ keys: DeviceKeys, _ environment: ReplicaEnvironment
    ) throws -> Membership {
        var membership = Membership(keys: keys, genesis: genesis)
        let reader = MemberReader(container: container, now: environment.clock.milliseconds())
        // The first look may take directories of members for strangers'. They are read whole once records name the members.
        var before = -1
        while membership.graph.count > before {
            before = membership.graph.count
            try membership.insert(reader.look(membership).records)
        }
        guard membership.graph.count > 0 else {
            throw FerryError(
                .fileNotThereYet,
                "The first record of the container's membership has not arrived. Wait until it is there.",
                path: container.backend.describe(""))
        }
        return membership
    }
}
