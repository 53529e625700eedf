import FerryContainer
import FerryCore
import FerryEngine
import FerryStore
import FerryTestSupport
import Foundation
import GRDB

/// An event of a simulation, with random numbers of its own.
struct Step {
    let simulation: Simulation
    let number: Int
    let random: SimulatedRandom

    init(_ simulation: Simulation, _ number: Int) {
        self.simulation = simulation
        self.number = number
        random = SimulatedRandom(seed: simulation.plan.seed, stream: UInt64(number) + 1)
    }

    /// The events, with their frequency in about a hundred.
    private enum Event: CaseIterable {
        case write, sync, busySync, watch, exchange, deliver, spoil, mount, fill, flaw, kill, crash, databaseFault,
            restart, time, skew, copy, backUp, restore, lose, join, migrate, retire, compact, archive, rest,
            deceive, thieve, remove, rotate, renewKeys, leave, enrol, misbehave, loseLatest

        var weight: Int {
            switch self {
            case .write: 30
            case .sync: 18
            case .busySync: 6
            case .watch: 4
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
            case .deceive, .thieve, .remove, .rotate, .renewKeys, .leave, .enrol, .misbehave, .loseLatest: 0
            }
        }

        /// The frequency in the life of a sealed container.
        var sealedWeight: Int {
            switch self {
            case .join: 6
            case .lose: 4
            case .archive: 0
            case .deceive: 8
            case .thieve: 12
            case .enrol: 4
            case .remove: 3
            case .rotate: 2
            case .renewKeys, .leave: 1
            default: weight
            }
        }

        /// The frequency in a life, in a folder or in a storage.
        func frequency(isSealed: Bool, isRemote: Bool) -> Int {
            let weight = isSealed ? sealedWeight : self.weight
            if !isRemote { return weight }
            // Nothing carries files, so no file comes late or torn.
            return switch self {
            case .exchange, .deliver, .spoil, .flaw: 0
            case .misbehave: 14
            case .loseLatest: 4
            default: weight
            }
        }
    }

    private func event() -> Event {
        let weights = Event.allCases.map {
            $0.frequency(isSealed: simulation.sealed != nil, isRemote: simulation.kind.isRemote)
        }
        var rest = random.below(weights.reduce(0, +))
        for (event, weight) in zip(Event.allCases, weights) {
            rest -= weight
            if rest < 0 { return event }
        }
        return .write
    }

    func take() throws {
        simulation.storage?.remember()
        simulation.time.milliseconds += Int64(random.below(10)) * 60_000
        let event = event()
        guard let machine = random.element(of: simulation.living) else { return }
        switch event {
        case .write: try write(machine)
        case .sync: try sync(machine)
        case .busySync: try syncWhileThingsHappen(machine)
        case .watch: try SimulatedWatch(self, machine).run()
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
            // Writes something to publish, so that the flaw strikes.
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
            let former = machine.clock.skew
            machine.clock.skew = Int64(hours) * 3_600_000
            if former - machine.clock.skew > HybridClock.maximumLeadMilliseconds {
                simulation.ledger.expectTwoTimes(by: machine.index)
            }
            tell(machine, "has a clock that is \(hours) hours ahead")
            simulation.tally.note("clocks set wrong", hours == 0 ? 0 : 1)
        case .copy: try copy(machine)
        case .backUp: try backUp(machine)
        case .restore: try restore(machine)
        case .lose: try lose(machine)
        case .join: try join(by: machine)
        case .migrate: try migrate(machine)
        case .retire: try retire(machine)
        case .compact: try compact(machine)
        case .archive: try exchangeArchive(machine)
        case .rest: try simulation.rest()
        case .misbehave: try misbehave(machine)
        case .loseLatest: try loseLatest(machine)
        case .deceive, .thieve, .remove, .rotate, .renewKeys, .leave, .enrol: try takeSealed(event, machine)
        }
    }

    private func takeSealed(_ event: Event, _ machine: Machine) throws {
        guard let sealed = simulation.sealed else { return }
        switch event {
        case .deceive: try deceive(machine)
        case .thieve: try thieve(sealed)
        case .remove: try remove(machine, sealed)
        case .rotate: try rotate(machine)
        case .renewKeys: try renewKeys(machine)
        case .leave: try leave(machine)
        default: try enrol(machine, sealed)
        }
    }

    func tell(_ machine: Machine, _ text: String) { simulation.tell("\(number) d\(machine.index) \(text)") }

    // MARK: The app

    /// Writes one to four statements, in a single transaction or in several. In a life with documents, also a document.
    private func write(_ machine: Machine) throws {
        try simulation.documents?.act(machine, simulation)
        let isOneTransaction = random.isOne(in: 2)
        let statements = 1 + random.below(4)
        if isOneTransaction {
            try transaction(machine, statements)
        } else {
            for _ in 0..<statements { try transaction(machine, 1) }
        }
    }

    func transaction(_ machine: Machine, _ statements: Int) throws {
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
            // A process that dies during a commit does not learn the outcome.
            let before = simulation.ledger.values(by: machine.index)
            for note in notes { note(&simulation.ledger) }
            simulation.ledger.doubt(simulation.ledger.values(by: machine.index).subtracting(before))
            throw error
        }
    }

    /// Runs a random statement.
    /// - Returns: the ledger's entries, to be made after the commit.
    private func write(_ database: Database, _ machine: Machine) throws -> [(inout Ledger) -> Void] {
        let count = simulation.nextCount()
        switch random.below(8) {
        case 0:
            let line = simulation.line(count)
            try database.execute(sql: "INSERT INTO line VALUES (?)", arguments: [line])
            return [{ $0.note(line: line, by: machine.index) }]
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
        case 3 where simulation.sealed != nil:
            guard let sealed = simulation.sealed else { return [] }
            try database.execute(
                sql: "INSERT OR REPLACE INTO \(sealed.mark) VALUES (?, ?)",
                arguments: ["\(sealed.mark) \(random.below(4))", Data(sealed.content(count))])
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

    func exchange(_ machine: Machine) throws {
        // Nothing carries files between a storage and its devices.
        if simulation.kind.isRemote { return }
        plug(machine)
        try simulation.exchange(machine)
    }

    /// Plugs the stick in: a stick is in a single device at a time.
    private func plug(_ machine: Machine) {
        guard simulation.kind == .stick else { return }
        for other in simulation.machines { other.files.mount = other === machine ? .there : .missing }
        simulation.tally.note("stick moved")
    }

    /// Syncs while files arrive and the app writes between any two accesses. Over a storage other devices sync in between.
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
                } else if simulation.kind.isRemote {
                    try syncAnother(than: machine)
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

    /// Syncs another device in the middle of a device's sync, between two requests.
    private func syncAnother(than machine: Machine) throws {
        guard let other = random.element(of: simulation.living.filter({ $0 !== machine })) else { return }
        simulation.tally.note("syncs between requests")
        if random.isOne(in: 2) { try transaction(other, 1) }
        try simulation.sync(other, isThorough: random.isOne(in: 2))
    }

    /// Delivers some of the pending files, in any order.
    func deliver(_ machine: Machine) throws {
        guard simulation.kind.isReplicated, machine.files.mount == .there else { return }
        let pending = random.shuffled(simulation.provider.pending(for: machine.index))
        let some = Array(pending.prefix(1 + random.below(3)))
        try simulation.provider.download(some, to: machine.index, machine.files.disk)
        if !some.isEmpty {
            simulation.tally.note("files delivered out of order", pending.count > 1 ? 1 : 0)
            tell(machine, "gets \(some.joined(separator: " "))")
        }
    }
}
