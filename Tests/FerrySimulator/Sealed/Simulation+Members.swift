import FerryCore
import FerryEngine
import FerryMembers
import FerrySeal

/// People who let devices in, and get devices back in, while everything works.
extension Simulation {
    /// The first machine that can let others in, without one of them.
    func host(except machine: Machine? = nil) throws -> Machine? {
        guard let sealed else { return nil }
        return try living.first { try $0 !== machine && sealed.isIn($0) }
    }

    /// Joins a new machine; in a sealed container by a code of another machine's.
    func letIn(_ machine: Machine) throws {
        try exchange(machine)
        guard sealed != nil else { return try machine.join() }
        guard let host = try host() else {
            return fail("nobody is a member who could let d\(machine.index) in")
        }
        let code = try host.opened().invite().code
        for _ in 0..<5 {
            time.milliseconds += 60_000
            let enrolment = try begin(machine, .code(code), host)
            do {
                try machine.join(enrolment)
                return try exchange(machine)
            } catch let error as FerryError where error.code == .enrolmentPending {
                continue
            }
        }
        fail("d\(machine.index) is not let in, though everything works")
    }

    /// Asks, and lets a host look.
    private func begin(_ machine: Machine, _ way: Enrolment.Way, _ host: Machine) throws -> Enrolment {
        try exchange(host)
        try exchange(machine)
        let enrolment = try Enrolment.begin(
            containerPath: machine.containerPath, by: way, environment: machine.environment)
        try exchange(machine)
        try exchange(host)
        try sync(host, isThorough: true)
        try exchange(host)
        try exchange(machine)
        return enrolment
    }

    /// Gets a device back in whose key is elsewhere, or that is out: by a code, or where nobody is in by the recovery code.
    func bringBack(_ machine: Machine) throws {
        guard let sealed, try !sealed.isIn(machine) else { return }
        do {
            let enrolment: Enrolment
            if let host = try host(except: machine) {
                let way = try sealed.returning[machine.index] ?? .code(host.opened().invite().code)
                sealed.returning[machine.index] = way
                enrolment = try begin(machine, way, host)
            } else if let code = sealed.recovery {
                tally.note("recovered")
                enrolment = try Enrolment.begin(
                    containerPath: machine.containerPath, by: .recovery(code), environment: machine.environment)
            } else {
                return fail("there is no recovery code")
            }
            sealed.forget(machine)
            _ = try machine.opened().enrol(enrolment)
            tell("d\(machine.index) is back")
            tally.note("came back")
            sealed.returning[machine.index] = nil
            try exchange(machine)
        } catch let error as FerryError where isExpected(error.code) {
            tell("d\(machine.index) does not come back yet: \(error.code.rawValue)")
            tally.note("did not come back yet")
            // A code is used, or was over, or whoever made it is out and does not answer: a person makes another one.
            sealed.attempts[machine.index, default: 0] += 1
            let isInVain = sealed.attempts[machine.index, default: 0].isMultiple(of: Step.patience)
            if error.code == .codeRefused || isInVain { sealed.returning[machine.index] = nil }
        }
    }

    /// Removes a member by another one, or by the recovery code where the member is older. Where it is the machine's own device, whose keys a
    /// thief has from a cloned computer, the machine gets new keys.
    func remove(_ device: DeviceID, by machine: Machine) throws {
        guard let sealed else { return }
        // A removal publishes first what the device has.
        let before = try sealed.look(at: machine)
        try remove(device, by: machine, sealed)
        try sealed.checkPublished(machine, since: before, self)
    }

    private func remove(_ device: DeviceID, by machine: Machine, _ sealed: SealedLife) throws {
        let replica = try machine.opened()
        machine.setSQLitesTime()
        if try device == sealed.knowledge(of: machine).device {
            return try expected {
                _ = try replica.renewKeys()
                tell("d\(machine.index) has new keys: a thief has the former ones")
                tally.note("renewed keys")
            }
        }
        do {
            do {
                _ = try replica.remove(device.description)
            } catch let error as FerryError where error.code == .removalRefused {
                tally.note("removed by the recovery code")
                _ = try replica.remove(device.description, recovery: sealed.recovery)
            }
            tell("d\(machine.index) removes \(device)")
            tally.note("removed")
        } catch let error as FerryError where isExpected(error.code) || error.code == .nothingFound {
            tell("d\(machine.index) does not remove \(device): \(error.code.rawValue)")
        }
    }

    // MARK: Thieves

    /// Removes all that thieves have, until nobody of it is in.
    func expelThieves() throws {
        guard let sealed, !sealed.thieves.isEmpty else { return }
        tell("thieves are removed")
        for _ in 0..<20 {
            guard try settle(), let machine = try host() else { return }
            guard let device = try stolenMember(knownTo: machine, sealed) else { return }
            try exchange(machine)
            try remove(device, by: machine)
            try exchange(machine)
        }
        fail("thieves come faster than they are removed")
    }

    /// A device of a thief that a machine takes for a member, or for one that left: its key still lets devices in.
    private func stolenMember(knownTo machine: Machine, _ sealed: SealedLife) throws -> DeviceID? {
        let theirs = Set(try sealed.thieves.flatMap { try $0.devices })
        let roster = try sealed.knowledge(of: machine).roster
        return (roster.members.keys.sorted() + roster.left.keys.sorted()).first(where: theirs.contains)
    }

    /// Removes a thief's device, as people do where a member's key never comes: a thief can make an epoch and keep its key.
    /// - Returns: false where no member is held back, or no thief is in.
    func removeHinderingThief() throws -> Bool {
        guard let sealed, let machine = try host(), try machine.opened().sync().held != nil else { return false }
        guard let device = try stolenMember(knownTo: machine, sealed) else { return false }
        tally.note("thieves that kept a key")
        try remove(device, by: machine)
        try exchange(machine)
        return try sealed.knowledge(of: machine).roster.removed.keys.contains(device)
    }

    /// Whatever thieves say and write after everybody knows that they are out.
    func letThievesGoOn() throws {
        guard let sealed else { return }
        for thief in sealed.thieves {
            let random = SimulatedRandom(seed: plan.seed, stream: 0x7e1f + UInt64(thief.machine.index))
            // A lost computer may not have had all records.
            try expected {
                for _ in 0..<(2 + random.below(3)) { try thief.forge(random) }
                try thief.write(isCounted: false)
            }
            try thief.upload()
            tally.note("thieves after their removal")
        }
    }

    /// Puts a file into the folder that all devices share, in whatever way the folder has; `nil` removes it.
    func plant(_ content: [UInt8]?, at path: String) throws {
        if kind.isReplicated {
            provider.plant(content, at: path)
        } else if let content {
            try sharedPlace.putContainerFile(content, at: path)
        } else {
            try sharedPlace.removeContainerFile(path)
        }
    }

    /// What lies in the shared place: in a replicated folder the newest version of each file.
    func publicFiles() throws -> [String: [UInt8]] {
        kind.isReplicated ? provider.newest : try sharedPlace.containerFiles()
    }
}
