import FerryCore
import FerryEngine
import FerryMembers
import FerrySeal
import FerryStore

/// What people do with the members of a sealed container, and what is done to them.
extension Step {
    /// How often a newcomer tries with one code, before a person makes another one.
    static let patience = 5

    /// Lets a newcomer get one step further.
    func joinSealed(_ host: Machine, _ sealed: SealedLife) throws {
        if let newcomer = random.element(of: sealed.newcomers), random.below(3) > 0 {
            return try goOn(newcomer, sealed)
        }
        guard simulation.machines.count < Simulation.maximumDevices, let way = try way(by: host, sealed) else { return }
        let newcomer = SealedLife.Newcomer(try simulation.makeMachine(), way)
        sealed.newcomers.append(newcomer)
        try goOn(newcomer, sealed)
    }

    /// How a newcomer asks; `nil` where the host lets nobody in.
    private func way(by host: Machine, _ sealed: SealedLife) throws -> Enrolment.Way? {
        let choice = random.below(8)
        if choice == 0, let code = sealed.recovery { return .recovery(code) }
        if choice < 4 { return .words }
        do {
            let code = try host.opened().invite().code
            tell(host, "invites")
            simulation.tally.note("invited")
            return .code(code)
        } catch let error as FerryError where simulation.isExpected(error.code) {
            tell(host, "cannot invite: \(error.code.rawValue)")
            return nil
        }
    }

    private func goOn(_ newcomer: SealedLife.Newcomer, _ sealed: SealedLife) throws {
        let machine = newcomer.machine
        if random.below(3) > 0 { try exchange(machine) } else { try deliver(machine) }
        newcomer.attempts += 1
        let reason = try attemptToJoin(machine) {
            let enrolment = try Enrolment.begin(
                containerPath: machine.containerPath, by: newcomer.way, environment: machine.environment)
            if random.below(3) > 0 { try exchange(machine) }
            if case .waiting(let words?) = try enrolment.state() { try approve(words) }
            try machine.join(enrolment)
            sealed.newcomers.removeAll { $0 === newcomer }
        }
        guard let reason else { return }
        let isInVain = reason == .codeRefused || newcomer.attempts.isMultiple(of: Self.patience)
        if isInVain, let host = random.element(of: simulation.living), let way = try way(by: host, sealed) {
            newcomer.way = way
        }
    }

    /// A person types the words of a newcomer on some member.
    private func approve(_ words: String) throws {
        guard let member = random.element(of: simulation.living) else { return }
        if random.below(3) > 0 { try exchange(member) }
        do {
            _ = try member.opened().approve(words: words)
            tell(member, "approves")
            simulation.tally.note("approved by words")
            if random.isOne(in: 2) { try exchange(member) }
        } catch let error as FerryError where simulation.isExpected(error.code) || error.code == .nothingFound {
            tell(member, "cannot approve: \(error.code.rawValue)")
        }
    }

    /// A device whose key is elsewhere, or that is out, asks to be let in again.
    func enrol(_ machine: Machine, _ sealed: SealedLife) throws {
        guard let out = try simulation.living.first(where: { try !sealed.isIn($0) }) else { return }
        if machine !== out, random.isOne(in: 2) { try exchange(machine) }
        if random.isOne(in: 2) { try exchange(out) }
        try simulation.bringBack(out)
    }

    func remove(_ machine: Machine, _ sealed: SealedLife) throws {
        let knowledge = try sealed.knowledge(of: machine)
        let roster = knowledge.roster
        let theirs = Set(try sealed.thieves.flatMap { try $0.devices })
        let thieves = roster.members.keys.filter(theirs.contains).sorted()
        let others = roster.members.keys.filter { $0 != knowledge.device }.sorted()
        guard let device = random.element(of: thieves.isEmpty || random.isOne(in: 4) ? others : thieves) else { return }
        if random.isOne(in: 2) { try exchange(machine) }
        try simulation.remove(device, by: machine)
        if random.isOne(in: 2) { try exchange(machine) }
    }

    func rotate(_ machine: Machine) throws {
        try simulation.expected {
            _ = try machine.opened().rotateKeys()
            tell(machine, "makes an epoch")
            simulation.tally.note("rotated")
        }
    }

    func renewKeys(_ machine: Machine) throws {
        try simulation.expected {
            let renewal = try machine.opened().renewKeys()
            tell(machine, "has new keys in place of \(renewal.formerDevice)")
            simulation.tally.note("renewed keys")
        }
    }

    /// Leaves for good. What nobody else has of its changes may be lost: others may remove the device before they read that.
    func leave(_ machine: Machine) throws {
        guard simulation.living.count > 2, machine.files.mount == .there, !machine.files.isFull else { return }
        try exchange(machine)
        try simulation.sync(machine, isThorough: true)
        try simulation.doubtAll(of: machine)
        try simulation.expected {
            let report = try machine.opened().leave(discardingDocuments: true)
            tell(machine, "leaves, told: \(report.isTold ?? false)")
        }
        try machine.close()
        machine.isLost = true
        try exchange(machine)
        simulation.tally.note("left")
    }

    /// The thieves of a device do something.
    func thieve(_ sealed: SealedLife) throws {
        guard let thief = random.element(of: sealed.thieves) else { return }
        try thief.act(random)
    }

    /// The provider deceives a device.
    func deceive(_ machine: Machine) throws {
        guard machine.files.mount == .there, let deed = random.element(of: Provider.Deed.allCases),
            let done = try simulation.provider.deceive(
                machine, deed, random, time: simulation.time.milliseconds / 1000)
        else { return }
        tell(machine, "is deceived, \(done)")
        if random.isOne(in: 2) { try simulation.sync(machine, isThorough: true) }
    }
}

extension Simulation {
    /// Does what people do, who may be told an error.
    func expected(_ body: () throws -> Void) throws {
        do {
            try body()
        } catch let error as FerryError where isExpected(error.code) {
            tell("it ends with \(error.code.rawValue)")
            tally.note("error \(error.code.rawValue)")
        }
    }

    /// Doubts what a device wrote, as far as no other device has it.
    func doubtAll(of machine: Machine) throws {
        ledger.doubt(ledger.values(by: machine.index))
        for other in living where other !== machine { ledger.trust(try other.values()) }
    }
}
