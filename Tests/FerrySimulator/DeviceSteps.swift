import FerryContainer
import FerryCore
import FerryEngine
import FerryStore

/// Devices that come and go, and what people do for them.
extension Step {
    func copy(_ machine: Machine) throws {
        guard simulation.machines.count < Simulation.maximumDevices else { return }
        // The place of a cloned virtual machine does not distinguish the clone from the original.
        let isClone = random.isOne(in: 2)
        let host = isClone ? SimulatedHost(machine: machine.host.machine, file: machine.host.file) : nil
        // A cloned computer has the keys, too; another one may have got them with everything else.
        let hasKeys = simulation.sealed != nil && (isClone || random.isOne(in: 2))
        let copy = try simulation.makeMachine(host: host, keys: hasKeys ? machine.keys.copy() : nil)
        try machine.copyDatabase(to: copy.path)
        // A person who copies a database waits for the disk.
        copy.faults.takeAsSynchronized()
        copy.version = machine.version
        copy.lastTime = try machine.hybridTime()
        // Pending changes have times of the original's clock.
        copy.clock.latest = machine.clock.latest
        // A change of more than a day ahead gets a time of a day ahead, by the clock of whoever packs the change.
        simulation.ledger.note(copy: copy.index, of: machine.index)
        if machine.clock.skew - copy.clock.skew > HybridClock.maximumLeadMilliseconds {
            simulation.ledger.expectTwoTimes(by: machine.index)
        }
        try copy.reopen()
        if isClone { try copy.opened().store.note(StoreFingerprint(path: copy.path, on: copy.host)) }
        if simulation.kind.isReplicated, random.isOne(in: 2), machine.files.mount == .there {
            for (path, content) in try Provider.files(on: machine.files.disk).sorted(by: { $0.key < $1.key }) {
                try Provider.put(content, at: path, on: copy.files.disk)
            }
            simulation.provider.copyHoldings(of: machine.index, to: copy.index)
        }
        tell(machine, "is \(isClone ? "cloned" : "copied") as d\(copy.index)")
        simulation.tally.note(isClone ? "cloned" : "copied")
    }

    func backUp(_ machine: Machine) throws {
        let path = simulation.path("backup\(number).sqlite")
        try machine.copyDatabase(to: path)
        machine.backup = (path, machine.version)
        tell(machine, "is backed up")
    }

    func restore(_ machine: Machine) throws {
        guard machine.backup != nil else { return }
        let before = try machine.values()
        let isAllSent = try machine.opened().status().unpublished == 0
        try machine.restore()
        // Changes unsent since the backup are lost with the database.
        if !isAllSent {
            let known = before.union(simulation.ledger.values(by: machine.index))
            simulation.ledger.doubt(known.subtracting(try machine.values()))
        }
        if let sealed = simulation.sealed {
            sealed.forget(machine)
            // Others may remove the device before they read what it had published.
            simulation.ledger.doubt(before.subtracting(try machine.values()))
            for other in simulation.living where other !== machine { simulation.ledger.trust(try other.values()) }
        }
        tell(machine, "is restored from its backup\(isAllSent ? ", all sent" : "")")
        simulation.tally.note("restored")
    }

    /// The device is stolen, together with unsent changes.
    func lose(_ machine: Machine) throws {
        guard simulation.living.count > 2 else { return }
        // Values already on a remaining device are safe.
        try simulation.doubtAll(of: machine)
        try machine.close()
        machine.isLost = true
        tell(machine, "is lost")
        simulation.tally.note("lost devices")
        guard let sealed = simulation.sealed, sealed.hasThieves else { return }
        if let thief = try Thief(of: machine, in: simulation) {
            sealed.thieves.append(thief)
            simulation.tally.note("thieves")
        }
    }

    func join(by host: Machine) throws {
        if let sealed = simulation.sealed { return try joinSealed(host, sealed) }
        guard simulation.machines.count < Simulation.maximumDevices else { return }
        let machine = try simulation.makeMachine()
        if !simulation.kind.isReplicated || random.below(3) > 0 {
            try exchange(machine)
        } else {
            try deliver(machine)
        }
        _ = try attemptToJoin(machine) { try machine.join() }
    }

    /// Lets a newcomer join, or takes away what the attempt left.
    /// - Returns: why the newcomer cannot join yet; `nil` once the newcomer has joined.
    func attemptToJoin(_ machine: Machine, _ join: () throws -> Void) throws -> FerryError.Code? {
        do {
            try join()
            tell(machine, "joins")
            simulation.tally.note("joined")
            return nil
        } catch let error as FerryError
            where simulation.isExpected(error.code) || [.databaseMissing, .nothingFound].contains(error.code)
        {
            tell(machine, "cannot join: \(error.code.rawValue)")
            simulation.tally.note("could not join yet")
            try machine.removeDatabase()
            return error.code
        }
    }

    func migrate(_ machine: Machine) throws {
        guard machine.version < SimulatedApp.migrations.count else { return }
        try machine.migrate()
        tell(machine, "has version \(machine.version) of the app")
        simulation.tally.note("migrated")
    }

    func retire(_ machine: Machine) throws {
        guard machine.files.mount == .there, !machine.files.isFull else { return }
        let replica = try machine.opened()
        do {
            let candidates = try replica.devices().devices.filter { !$0.isThisDevice && $0.activity != .retired }
            guard let device = random.element(of: candidates) else { return }
            try replica.retire(device.id)
            tell(machine, "retires \(device.id)")
            simulation.tally.note("retired")
        } catch let error as FerryError where simulation.isExpected(error.code) {
            tell(machine, "cannot retire: \(error.code.rawValue)")
        }
    }

    func compact(_ machine: Machine) throws {
        do {
            let report = try machine.opened().compact()
            simulation.note(report)
            tell(machine, "compacts")
        } catch let error as FerryError where simulation.isExpected(error.code) {
            tell(machine, "cannot compact: \(error.code.rawValue)")
        }
    }

    /// Carries a snapshot from a device to another as a file.
    func exchangeArchive(_ machine: Machine) throws {
        guard let other = random.element(of: simulation.living) else { return }
        let file = simulation.path("archive\(number).ferry")
        do {
            _ = try machine.opened().exportSnapshot(to: file)
            _ = try other.opened().importSnapshot(from: file)
            tell(machine, "gives a file to d\(other.index)")
            simulation.tally.note("archives")
        } catch let error as FerryError
            where simulation.isExpected(error.code)
            || [.deviceForked, .busy, .olderState, .contentNotHere].contains(error.code)
        {
            // The file comes from the device's own future or from its copy, or changes or bytes wait for the folder.
            tell(machine, "cannot give a file to d\(other.index): \(error.code.rawValue)")
        }
    }
}
