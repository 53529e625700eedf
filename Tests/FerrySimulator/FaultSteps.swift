import FerryContainer
import FerryCore
import FerryStore
import FerryTestSupport

/// Faults of the folder, of the database's disk and of the process.
extension Step {
    func spoil(_ machine: Machine) throws {
        guard simulation.kind.isReplicated, machine.files.mount == .there,
            let mischief = random.element(of: Provider.Mischief.allCases),
            let done = try simulation.provider.spoil(
                machine.index, machine.files.disk, mischief, random, time: simulation.time.milliseconds / 1000)
        else { return }
        tell(machine, "has \(done)")
        if random.isOne(in: 2) { try simulation.sync(machine, isThorough: true) }
    }

    func mount(_ machine: Machine) {
        guard simulation.kind != .stick, let mount = random.element(of: DeviceFileSystem.Mount.allCases) else { return }
        machine.files.mount = mount
        tell(machine, "finds its folder \(mount.rawValue)")
    }

    /// Kills the process at a step by which a sync changes the folder, or cuts the power there. Over a storage, before or after a request.
    func kill(_ machine: Machine) throws {
        let (disk, storage) = (machine.files.disk, machine.storage?.shared.memory)
        if let storage {
            storage.inject(random.isOne(in: 2) ? .killedBefore : .killedAfter, afterRequests: random.below(25))
        } else {
            disk.inject(.kill, afterSteps: random.below(25))
        }
        let losses: [MemoryFileSystem.Loss] = [.nothing, .contents, .everything, .random(random)]
        let loss = losses[simulation.kind == .network ? 0 : random.below(losses.count)]
        do {
            if simulation.sealed != nil, random.isOne(in: 4) {
                try rotate(machine)
            } else {
                try simulation.sync(machine, isThorough: random.isOne(in: 2))
            }
            disk.removeFault()
        } catch is SimulatedCrash {
            tell(machine, "is killed")
            simulation.tally.note("killed at a step")
        }
        storage?.recover()
        disk.crash(losing: loss)
        try machine.reopen()
    }

    /// Kills the process at a call by which SQLite writes, or cuts the power there; in a sync or in the app.
    func crash(_ machine: Machine) throws {
        let (before, written) = (try machine.values(), simulation.ledger.values(by: machine.index))
        machine.faults.arm(.crash, at: 1 + random.below(random.isOne(in: 2) ? 12 : 60))
        do {
            if random.isOne(in: 4) {
                try transaction(machine, 2)
            } else {
                try simulation.sync(machine, isThorough: random.isOne(in: 2), isChecked: false)
            }
        } catch let error {
            // Nobody sees errors of a dead process.
            if !machine.faults.isCrashed { throw error }
        }
        let isCrashed = machine.faults.isCrashed
        machine.faults.disarm()
        try machine.abandon()
        let isPowerLost = random.isOne(in: 2)
        try machine.faults.recover(losing: isPowerLost ? .random(seed: random.next()) : .nothing)
        if isPowerLost, simulation.kind.hasOwnDisks { machine.files.disk.crash(losing: .random(random)) }
        try machine.reopen()
        // A migration may be lost, too.
        try machine.findVersion()
        let (after, all) = (try machine.values(), simulation.ledger.values(by: machine.index))
        if isPowerLost {
            // Unsynchronized commits may be lost, with everything that they replaced.
            simulation.ledger.doubt(before.union(all).subtracting(after))
        } else {
            let lost = before.union(all.subtracting(written)).subtracting(after)
            if !lost.isDisjoint(with: simulation.ledger.certainLines) {
                simulation.fail("d\(machine.index) lost \(lost.sorted()) though only its process died")
            }
        }
        machine.lastTime = try machine.hybridTime()
        try SimulatedProperties.checkAlways(machine, simulation)
        if isCrashed { simulation.tally.note(isPowerLost ? "power lost" : "crashed in the database") }
        tell(machine, isCrashed ? (isPowerLost ? "loses its power" : "crashes") : "is started again")
    }

    /// Makes a call of SQLite to the disk fail once, or every call from there on.
    func databaseFault(_ machine: Machine) throws {
        let kinds = FaultVFS.Fault.allCases.filter { $0 != .crash }
        guard let fault = random.element(of: kinds) else { return }
        let injected = machine.faults.injected
        machine.faults.arm(fault, at: 1 + random.below(40), times: random.isOne(in: 2) ? 1 : .max)
        do {
            try simulation.sync(machine, isThorough: random.isOne(in: 2), isChecked: false)
        } catch let error as FerryError where Self.isOfTheDisk(error.code) {
            tell(machine, "syncs: \(error.code.rawValue), the database's disk")
        }
        machine.faults.disarm()
        try SimulatedProperties.checkAlways(machine, simulation)
        simulation.tally.note("database \(fault.rawValue)", machine.faults.injected - injected)
        // After such an error a program may continue, or be restarted.
        if random.isOne(in: 2) { try machine.reopen() }
    }

    /// Errors that a person may get when the disk below the database fails.
    static func isOfTheDisk(_ code: FerryError.Code) -> Bool {
        [.inputOutput, .busy, .database, .databaseCorrupt, .notADatabase].contains(code)
    }
}
