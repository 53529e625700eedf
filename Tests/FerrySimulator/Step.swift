import FerryContainer
import FerryCore
import FerryEngine
import FerryStore
import FerryTestSupport
import GRDB

/// One event of a simulation, with random numbers of its own.
struct Step {
    private let simulation: Simulation
    private let number: Int
    private let random: SimulatedRandom

    init(_ simulation: Simulation, _ number: Int) {
        self.simulation = simulation
        self.number = number
        random = SimulatedRandom(seed: simulation.plan.seed, stream: UInt64(number) + 1)
    }

    /// What can happen, and how often in a hundred or so.
    private enum Event: CaseIterable {
        case write, sync, busySync, exchange, deliver, spoil, mount, fill, flaw, kill, crash, databaseFault, restart,
            time, skew, copy,
            backUp, restore, lose,
            join, migrate, retire, compact, archive, rest

        var weight: Int {
            switch self {
            case .write: 30
            case .sync: 18
            case .busySync: 6
            case .exchange: 8
            case .deliver: 8
            case .spoil: 10
            case .mount: 3
            case .fill: 2
            case .flaw: 3
            case .kill: 5
            case .crash: 5
            case .databaseFault: 4
            case .restart: 1
            case .time: 4
            case .skew: 2
            case .copy: 2
            case .backUp: 2
            case .restore: 2
            case .lose: 1
            case .join: 2
            case .migrate: 2
            case .retire: 1
            case .compact: 3
            case .archive: 1
            case .rest: 1
            }
        }
    }

    private static let total = Event.allCases.reduce(0) { $0 + $1.weight }

    private func event() -> Event {
        var rest = random.below(Self.total)
        for event in Event.allCases {
            rest -= event.weight
            if rest < 0 { return event }
        }
        return .write
    }

    func take() throws {
        simulation.time.milliseconds += Int64(random.below(10)) * 60_000
        let event = event()
        guard let machine = random.element(of: simulation.living) else { return }
        switch event {
        case .write: try write(machine)
        case .sync: try sync(machine)
        case .busySync: try syncWhileThingsHappen(machine)
        case .exchange: try exchange(machine)
        case .deliver: try deliver(machine)
        case .spoil: try spoil(machine)
        case .mount: mount(machine)
        case .fill:
            machine.files.isFull.toggle()
            tell(machine, machine.files.isFull ? "has no space left" : "has space again")
        case .flaw:
            guard simulation.kind == .network, let flaw = random.element(of: DeviceFileSystem.NetworkFlaw.allCases)
            else {
                return
            }
            machine.files.flaw = flaw
            // Something to publish, so that it strikes.
            try write(machine)
            try simulation.sync(machine, isThorough: true)
        case .kill: try kill(machine)
        case .crash: try crash(machine)
        case .databaseFault: try databaseFault(machine)
        case .restart:
            tell(machine, "is started again")
            try machine.reopen()
        case .time:
            let hours = [1, 12, 24, 30, 100][random.below(5)]
            simulation.tell("\(number) \(hours) hours pass")
            simulation.time.milliseconds += Int64(hours) * 3_600_000
        case .skew:
            let hours = [-30, -2, 0, 2, 20, 72, 24 * 400][random.below(7)]
            machine.clock.skew = Int64(hours) * 3_600_000
            tell(machine, "has a clock that is \(hours) hours ahead")
            simulation.tally.note("clocks set wrong", hours == 0 ? 0 : 1)
        case .copy: try copy(machine)
        case .backUp: try backUp(machine)
        case .restore: try restore(machine)
        case .lose: try lose(machine)
        case .join: try join()
        case .migrate: try migrate(machine)
        case .retire: try retire(machine)
        case .compact: try compact(machine)
        case .archive: try exchangeArchive(machine)
        case .rest: try simulation.rest()
        }
    }

    private func tell(_ machine: Machine, _ text: String) { simulation.tell("\(number) d\(machine.index) \(text)") }

    // MARK: The app

    /// Writes one to four statements in one transaction or in several.
    private func write(_ machine: Machine) throws {
        let isOneTransaction = random.isOne(in: 2)
        let statements = 1 + random.below(4)
        if isOneTransaction {
            try transaction(machine, statements)
        } else {
            for _ in 0..<statements { try transaction(machine, 1) }
        }
    }

    private func transaction(_ machine: Machine, _ statements: Int) throws {
        var notes: [(inout Ledger) -> Void] = []
        do {
            try machine.database { database in
                for _ in 0..<statements { notes += try write(database, machine) }
            }
            for note in notes { note(&simulation.ledger) }
            tell(machine, "writes \(statements)")
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            tell(machine, "is refused by a constraint")
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
            tell(machine, "finds the database busy")
            simulation.tally.note("writes while busy")
        } catch {
            guard machine.faults.isCrashed else { throw error }
            // A process that dies while it commits does not learn whether it did.
            let before = simulation.ledger.values(by: machine.index)
            for note in notes { note(&simulation.ledger) }
            simulation.ledger.doubt(simulation.ledger.values(by: machine.index).subtracting(before))
            throw error
        }
    }

    /// - Returns: what is to be noted once it is committed.
    private func write(_ database: Database, _ machine: Machine) throws -> [(inout Ledger) -> Void] {
        let count = simulation.nextCount()
        switch random.below(8) {
        case 0:
            try database.execute(sql: "INSERT INTO line VALUES ('line \(count)')")
            return [{ $0.note(line: "line \(count)", by: machine.index) }]
        case 1:
            let name = "cell \(random.below(3))"
            let before = try String.fetchOne(database, sql: "SELECT value FROM cell WHERE name = ?", arguments: [name])
            try database.execute(
                sql: "INSERT INTO cell VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
                arguments: [name, "value \(count)"])
            return [{ $0.note(cell: name, value: "value \(count)", seeing: before, by: machine.index) }]
        case 2:
            try database.execute(sql: "INSERT INTO half VALUES ('pair \(count)', 1), ('pair \(count)', 2)")
            return []
        default:
            try database.execute(sql: SimulatedApp.statement(random, version: machine.version, count: count))
            return []
        }
    }

    // MARK: Syncing

    private func sync(_ machine: Machine) throws {
        if random.isOne(in: 2) { try exchange(machine) }
        try simulation.sync(machine, isThorough: random.isOne(in: 3))
        if random.isOne(in: 2) { try exchange(machine) }
    }

    private func exchange(_ machine: Machine) throws {
        plug(machine)
        try simulation.exchange(machine)
    }

    /// A stick is in one device at a time.
    private func plug(_ machine: Machine) {
        guard simulation.kind == .stick else { return }
        for other in simulation.machines { other.files.mount = other === machine ? .there : .missing }
        simulation.tally.note("stick moved")
    }

    /// Files come and the app writes between any two accesses of a sync.
    private func syncWhileThingsHappen(_ machine: Machine) throws {
        simulation.tally.note("syncs while things happen")
        var isBusy = false
        machine.files.meanwhile = {
            guard !isBusy, random.isOne(in: 6) else { return }
            isBusy = true
            defer { isBusy = false }
            do {
                if random.isOne(in: 2) {
                    try transaction(machine, 1)
                } else {
                    try deliver(machine)
                }
            } catch {
                simulation.fail("meanwhile: \(error)")
            }
        }
        defer { machine.files.meanwhile = nil }
        try simulation.sync(machine, isThorough: random.isOne(in: 2))
    }

    /// Some of what waits comes, in any order.
    private func deliver(_ machine: Machine) throws {
        guard simulation.kind.isReplicated, machine.files.mount == .there else { return }
        let pending = random.shuffled(simulation.provider.pending(for: machine.index))
        let some = Array(pending.prefix(1 + random.below(3)))
        try simulation.provider.download(some, to: machine.index, machine.files.disk)
        if !some.isEmpty {
            simulation.tally.note("files delivered out of order", pending.count > 1 ? 1 : 0)
            tell(machine, "gets \(some.joined(separator: " "))")
        }
    }

    // MARK: Faults

    private func spoil(_ machine: Machine) throws {
        guard simulation.kind.isReplicated, machine.files.mount == .there,
            let mischief = random.element(of: Provider.Mischief.allCases),
            let done = try simulation.provider.spoil(
                machine.index, machine.files.disk, mischief, random, time: simulation.time.milliseconds / 1000)
        else { return }
        tell(machine, "has \(done)")
        if random.isOne(in: 2) { try simulation.sync(machine, isThorough: true) }
    }

    private func mount(_ machine: Machine) {
        guard simulation.kind != .stick, let mount = random.element(of: DeviceFileSystem.Mount.allCases) else { return }
        machine.files.mount = mount
        tell(machine, "finds its folder \(mount.rawValue)")
    }

    /// The process dies at one of the steps by which a sync changes the folder, or the power fails there.
    private func kill(_ machine: Machine) throws {
        let disk = machine.files.disk
        disk.inject(.kill, afterSteps: random.below(25))
        let losses: [MemoryFileSystem.Loss] = [.nothing, .contents, .everything, .random(random)]
        let loss = losses[simulation.kind == .network ? 0 : random.below(losses.count)]
        do {
            try simulation.sync(machine, isThorough: random.isOne(in: 2))
            disk.removeFault()
        } catch is SimulatedCrash {
            tell(machine, "is killed")
            simulation.tally.note("killed at a step")
        }
        disk.crash(losing: loss)
        try machine.reopen()
    }

    /// The process dies at one of the calls by which SQLite writes, or the power fails there; in a sync or in the app.
    private func crash(_ machine: Machine) throws {
        let (before, written) = (try machine.values(), simulation.ledger.values(by: machine.index))
        machine.faults.arm(.crash, at: 1 + random.below(random.isOne(in: 2) ? 12 : 60))
        do {
            if random.isOne(in: 4) {
                try transaction(machine, 2)
            } else {
                try simulation.sync(machine, isThorough: random.isOne(in: 2), isChecked: false)
            }
        } catch let error {
            // Whatever is thrown by a process that is dead, nobody sees.
            if !machine.faults.isCrashed { throw error }
        }
        let isCrashed = machine.faults.isCrashed
        machine.faults.disarm()
        try machine.abandon()
        let isPowerLost = random.isOne(in: 2)
        try machine.faults.recover(losing: isPowerLost ? .random(seed: random.next()) : .nothing)
        if isPowerLost, simulation.kind.isReplicated { machine.files.disk.crash(losing: .random(random)) }
        try machine.reopen()
        // A migration may be lost too.
        try machine.findVersion()
        let (after, all) = (try machine.values(), simulation.ledger.values(by: machine.index))
        if isPowerLost {
            // What was committed last and not synchronized yet may be lost, with all that it had replaced.
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

    /// A call of SQLite's to the disk fails once, or from there on.
    private func databaseFault(_ machine: Machine) throws {
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
        // A program that met such an error may go on, or be started again.
        if random.isOne(in: 2) { try machine.reopen() }
    }

    /// Errors that a person gets when the disk below the database fails.
    private static func isOfTheDisk(_ code: FerryError.Code) -> Bool {
        [.inputOutput, .busy, .database, .databaseCorrupt, .notADatabase].contains(code)
    }

    // MARK: Devices that come and go

    private func copy(_ machine: Machine) throws {
        guard simulation.machines.count < Simulation.maximumDevices else { return }
        // A virtual machine that is cloned cannot be told from its original by where it lies.
        let isClone = random.isOne(in: 2)
        let host = isClone ? SimulatedHost(machine: machine.host.machine, file: machine.host.file) : nil
        let copy = try simulation.makeMachine(host: host)
        try machine.copyDatabase(to: copy.path)
        // Whoever copies a database waits until it is on the disk.
        copy.faults.takeAsSynchronized()
        copy.version = machine.version
        copy.lastTime = try machine.hybridTime()
        // What was noted and is not packed yet has the times of the other's clock.
        copy.clock.latest = machine.clock.latest
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

    private func backUp(_ machine: Machine) throws {
        let path = simulation.path("backup\(number).sqlite")
        try machine.copyDatabase(to: path)
        machine.backup = (path, machine.version)
        tell(machine, "is backed up")
    }

    private func restore(_ machine: Machine) throws {
        guard machine.backup != nil else { return }
        let before = try machine.values()
        let isAllSent = try machine.opened().status().unpublished == 0
        try machine.restore()
        // What was not sent since the backup was made is gone with the database.
        if !isAllSent {
            let known = before.union(simulation.ledger.values(by: machine.index))
            simulation.ledger.doubt(known.subtracting(try machine.values()))
        }
        tell(machine, "is restored from its backup\(isAllSent ? ", all sent" : "")")
        simulation.tally.note("restored")
    }

    /// The device is stolen, with what it had not sent.
    private func lose(_ machine: Machine) throws {
        guard simulation.living.count > 2 else { return }
        simulation.ledger.doubt(simulation.ledger.values(by: machine.index))
        for other in simulation.living where other !== machine {
            // Unless somebody has it already.
            simulation.ledger.trust(try other.values())
        }
        try machine.close()
        machine.isLost = true
        tell(machine, "is lost")
        simulation.tally.note("lost devices")
    }

    private func join() throws {
        guard simulation.machines.count < Simulation.maximumDevices else { return }
        let machine = try simulation.makeMachine()
        if !simulation.kind.isReplicated || random.below(3) > 0 {
            try exchange(machine)
        } else {
            try deliver(machine)
        }
        do {
            try machine.join()
            tell(machine, "joins")
            simulation.tally.note("joined")
        } catch let error as FerryError
            where Simulation.isExpected(error.code) || [.databaseMissing, .nothingFound].contains(error.code)
        {
            tell(machine, "cannot join: \(error.code.rawValue)")
            simulation.tally.note("could not join yet")
            try machine.removeDatabase()
        }
    }

    private func migrate(_ machine: Machine) throws {
        guard machine.version < SimulatedApp.migrations.count else { return }
        try machine.migrate()
        tell(machine, "has version \(machine.version) of the app")
        simulation.tally.note("migrated")
    }

    private func retire(_ machine: Machine) throws {
        guard machine.files.mount == .there, !machine.files.isFull else { return }
        let replica = try machine.opened()
        let candidates = try replica.devices().devices.filter { !$0.isThisDevice && $0.activity != "retired" }
        guard let device = random.element(of: candidates) else { return }
        do {
            try replica.retire(device.id)
            tell(machine, "retires \(device.id)")
            simulation.tally.note("retired")
        } catch let error as FerryError where Simulation.isExpected(error.code) {
            tell(machine, "cannot retire: \(error.code.rawValue)")
        }
    }

    private func compact(_ machine: Machine) throws {
        do {
            let report = try machine.opened().compact()
            simulation.note(report)
            tell(machine, "compacts")
        } catch let error as FerryError where Simulation.isExpected(error.code) {
            tell(machine, "cannot compact: \(error.code.rawValue)")
        }
    }

    /// A snapshot goes from one device to another as a file.
    private func exchangeArchive(_ machine: Machine) throws {
        guard let other = random.element(of: simulation.living) else { return }
        let file = simulation.path("archive\(number).ferry")
        do {
            _ = try machine.opened().exportSnapshot(to: file)
            _ = try other.opened().importSnapshot(from: file)
            tell(machine, "gives a file to d\(other.index)")
            simulation.tally.note("archives")
        } catch let error as FerryError
            where Simulation.isExpected(error.code) || [.deviceForked, .busy].contains(error.code)
        {
            // From the device's own future, or changes wait while the folder is away.
            tell(machine, "cannot give a file to d\(other.index): \(error.code.rawValue)")
        }
    }
}
