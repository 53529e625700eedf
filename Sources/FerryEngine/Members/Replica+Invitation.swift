import FerryContainer
import FerryCore
import FerryMembers
import FerrySeal

extension Replica {
    /// How long an invitation lasts where nothing else is said: a day, in milliseconds.
    package static let invitationMilliseconds: Int64 = 86_400_000

    /// Makes a code for a single admission. The code's keys go into the key store; the code itself is kept nowhere.
    /// This device alone answers the code, with the next sync.
    /// - Parameter code: the code to use, for a single code to several containers; `nil`: a new code.
    /// - Returns: the code, and the end by this device's clock.
    /// - Throws: `notMember`, `keyMissing`, `busy`; `limitExceeded` for too many open invitations; `invalidArgument` for an open
    ///   container.
    package func invite(
        forMilliseconds duration: Int64 = Replica.invitationMilliseconds, code: SecretCode? = nil
    ) throws -> (code: SecretCode, endMilliseconds: Int64) {
        try lock.withLock {
            try refreshIdentity()
            let membership = try requiredMembership()
            try checkMember(membership)
            let now = environment.clock.milliseconds()
            let (end, isTooLong) = now.addingReportingOverflow(duration)
            guard duration > 0, !isTooLong else {
                throw FerryError(.invalidArgument, "An invitation lasts for a second at least. Choose another time.")
            }
            let code = code ?? SecretCode(minted: .invitation, random: environment.random)
            var file = try keyFile()
            // An expired invitation lets nobody in any more, except with a bound claim: such a claim lasts a while.
            file.invitations.removeAll { invitation in
                let age = now.milliseconds(since: Int64(clamping: invitation.endMilliseconds))
                return age > (invitation.claim == nil ? 0 : MemberReader.claimLifeMilliseconds)
            }
            file.invitations.append(
                KeyFile.Invitation(code: code, container: membership.container, endMilliseconds: UInt64(end)))
            try environment.keys.save(file)
            return (code, end)
        }
    }

    /// Takes back all unused invitations of this device.
    /// - Returns: their number.
    @discardableResult
    package func cancelInvitations() throws -> Int {
        try lock.withLock {
            try refreshIdentity()
            _ = try requiredMembership()
            var file = try keyFile()
            let before = file.invitations.count
            file.invitations.removeAll { $0.claim == nil }
            if file.invitations.count < before { try environment.keys.save(file) }
            return before - file.invitations.count
        }
    }

    /// The devices that ask for admission by words, the oldest first.
    /// - Throws: `notMember`, `keyMissing`, and as `sync` where the folder cannot be read.
    package func claims() throws -> [Claim] {
        try lock.withLock {
            try refreshIdentity()
            return try lookForClaims().look.claims.filter { $0.way == .words }
        }
    }

    /// The devices whose requests are too old to count, the oldest first.
    /// - Throws: as `claims`.
    package func lateClaims() throws -> [Claim] {
        try lock.withLock {
            try refreshIdentity()
            return try lookForClaims().look.lateClaims
        }
    }

    /// Lets in the device with these words on the screen.
    /// - Returns: the device, and three words for both screens.
    /// - Throws: `nothingFound` if no asking device shows the words; `formatTooNew` for a record of a newer Ferry;
    ///   `notMember`, `keyMissing`, `busy`.
    package func approve(words: String) throws -> (device: DeviceID, words: String) {
        try lock.withLock {
            try refreshIdentity()
            let typed = Self.letters(words)
            let (look, container) = try lookForClaims()
            func isMeant(_ claim: Claim) -> Bool { claim.way == .words && Self.letters(claim.words) == typed }
            guard let claim = look.claims.first(where: isMeant) else {
                if let answer = try earlierAnswer(container, isMeant) { return answer }
                if let late = look.lateClaims.first(where: isMeant) {
                    throw FerryError(
                        .nothingFound, LateClaim.sentence(late, now: environment.clock.milliseconds()),
                        path: identity.containerPath)
                }
                throw FerryError(
                    .nothingFound,
                    "No device that asks to be let in shows these words. Compare them with the other screen; the folder's syncer "
                        + "may still have to bring its wish.", path: identity.containerPath)
            }
            var membership = try requiredMembership()
            try checkUnderstood(membership)
            let record = try admit(claim, &membership, container)
            return (claim.device, Enrolment.words(of: record))
        }
    }

    /// What an earlier attempt answered to a device that has not joined so far; `nil` without an answer. A crash may have come before the
    /// answer was published.
    private func earlierAnswer(
        _ container: Container, _ isMeant: (Claim) -> Bool
    ) throws -> (device: DeviceID, words: String)? {
        let membership = try requiredMembership()
        for (device, member) in membership.roster.members.sorted(by: { $0.key < $1.key }) where member.way == .words {
            // An unreadable claim shows no words.
            guard let bytes = try? container.readClaim(of: device),
                let claim = try? Claim(decoding: bytes, container: container.id), claim.device == device,
                isMeant(claim),
                let answer = membership.admissions(of: device).first(where: { $0.admission.claim == claim.hash })
            else { continue }
            try publishRecords(container)
            return (device, Enrolment.words(of: answer.record))
        }
        return nil
    }

    private static func letters(_ words: String) -> String { words.lowercased().filter(\.isLetter) }

    private func lookForClaims() throws -> (look: MemberReader.Look, container: Container) {
        var container = try openContainerAfresh()
        try learn(&container, isForced: true)
        let look = try MemberReader(container: container, now: environment.clock.milliseconds())
            .look(requiredMembership())
        return (look, container)
    }
}

/// A request that is too old to count.
package enum LateClaim {
    /// The words for a person: whose clock may be wrong, and what to do.
    package static func sentence(_ claim: Claim, now: Int64) -> String {
        let days = now.milliseconds(since: Int64(clamping: claim.milliseconds)) / 86_400_000
        return
            "A device asked to be let in \(days) days ago, by its own clock, and a request counts for 7 days. Check the clock there and "
            + "the clock here, and run the same command there again."
    }
}
