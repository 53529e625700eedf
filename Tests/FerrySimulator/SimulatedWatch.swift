import FerryContainer
import FerryCore
import FerryEngine
import FerryTestSupport

/// A device that watches for a while, as `ferry watch` and apps do: production's loop, with turns of the simulation as
/// waits.
///
/// In each turn something may happen, with or without an event for the loop. In the end nothing happens any more, and
/// the loop must have found everything without an event by itself.
final class SimulatedWatch {
    private let step: Step
    private let machine: Machine
    private let watcher: SimulatedWatcher
    private let loop: WatchLoop
    private let events = Locked<[SyncEvent]>([])
    private var turnsLeft: Int
    /// How long nothing has happened, in milliseconds.
    private var quietMilliseconds = 0
    private let configuration = WatchConfiguration()
    private var isFaultArmed = false
    private var isOver = false

    private var simulation: Simulation { step.simulation }
    private var random: SimulatedRandom { step.random }

    init(_ step: Step, _ machine: Machine) throws {
        self.step = step
        self.machine = machine
        turnsLeft = 3 + step.random.below(10)
        watcher = SimulatedWatcher(deliversEvents: step.random.isOne(in: 2))
        loop = WatchLoop(try machine.opened(), configuration: configuration, watcher: watcher) {
            [events] event in
            events.withLock { $0.append(event) }
        }
    }

    /// A time after which every interval of the loop has passed, in milliseconds. The longest poll and the longest wait after a failure
    /// come first, then the interval between thorough looks, which polls make.
    private var enough: Int {
        guard let storage = machine.storage?.shared else {
            return 2 * configuration.poll.maximumMilliseconds + configuration.thoroughMilliseconds
                + configuration.retryMaximumMilliseconds
        }
        let timing = simulation.kind == .laggingRemote ? RemoteTiming.rclone : RemoteTiming()
        // A poll has a jitter of a fifth, and a listing lags.
        return 4 * timing.restMilliseconds + storage.pageCount * timing.listingMilliseconds
            + Int(storage.lagMilliseconds)
    }

    func run() throws {
        step.tell(machine, "watches")
        simulation.tally.note("watches")
        watcher.turn = { [unowned self] in turn(atMost: $0) }
        loop.run()
        noteEvents()
        disarm()
        try SimulatedProperties.checkAlways(machine, simulation)
        if quietMilliseconds >= enough { try checkNothingIsLeft() }
        step.tell(machine, "watches no more, folder \(try simulation.fingerprint(machine))")
    }

    private func turn(atMost timeout: Int) -> (milliseconds: Int, reason: WakeReason) {
        disarm()
        noteEvents()
        var (milliseconds, reason) = (timeout, WakeReason.timedOut)
        if turnsLeft > 0 {
            turnsLeft -= 1
            do {
                if try happen(), random.below(3) > 0 {
                    (milliseconds, reason) = (random.below(min(timeout, 20) + 1), .changed)
                } else {
                    simulation.tally.note("nothing told")
                }
            } catch {
                simulation.fail("while d\(machine.index) watches: \(error)")
                isOver = true
            }
        } else {
            // What a storage does wrong for a while comes to its end first.
            if machine.storage.map({ $0.isHonest || $0.isDeceived }) ?? true { quietMilliseconds += timeout }
            isOver = isOver || quietMilliseconds >= enough
        }
        if isOver { loop.stop() }
        simulation.time.milliseconds += Int64(milliseconds)
        machine.setSQLitesTime()
        return (milliseconds, reason)
    }

    /// Makes something happen.
    /// - Returns: true if the loop may be told.
    private func happen() throws -> Bool {
        switch random.below(9) {
        case 0, 1:
            try step.transaction(machine, 1 + random.below(3))
        case 2:
            try step.deliver(machine)
        case 3:
            try step.exchange(machine)
        case 4:
            guard let other = random.element(of: simulation.living.filter { $0 !== machine }) else { return false }
            try simulation.exchange(other)
            try simulation.sync(other, isThorough: random.isOne(in: 2))
            try simulation.exchange(other)
            try simulation.exchange(machine)
        case 5:
            if machine.storage == nil { try step.spoil(machine) } else { try step.misbehaveShortly(machine) }
        case 6:
            step.mount(machine)
        case 7:
            let faults = FaultVFS.Fault.allCases.filter { $0 != .crash }
            guard let fault = random.element(of: faults) else { return false }
            machine.faults.arm(fault, at: 1 + random.below(40))
            isFaultArmed = true
        default:
            return false
        }
        return true
    }

    private func disarm() {
        machine.storage?.shared.memory.recover()
        guard isFaultArmed else { return }
        machine.faults.disarm()
        isFaultArmed = false
    }

    /// Checks that reported failures are expected failures.
    private func noteEvents() {
        let told = events.withLock { events in
            defer { events.removeAll() }
            return events
        }
        for event in told {
            switch event {
            case .synced(let report):
                simulation.tally.note("watching synced")
                step.tell(
                    machine, "sent \(report.published.changes), replayed \(report.replayed.changes) while it watched")
            case .failed(let error):
                simulation.tally.note("watching failed")
                step.tell(machine, "met \(error.code.rawValue) while it watched")
                if !simulation.isExpected(error.code), !Step.isOfTheDisk(error.code) {
                    simulation.fail("d\(machine.index) met while it watched: \(error)")
                }
            case .started, .following, .leading, .databaseChanged, .reopened, .stopped: break
            }
        }
    }

    /// Checks that a further sync finds nothing left by the loop.
    private func checkNothingIsLeft() throws {
        guard machine.files.mount == .there, !machine.files.isFull, machine.storage?.isHonest ?? true else { return }
        guard let report = try simulation.sync(machine, isThorough: true) else { return }
        simulation.tally.note("watches that left nothing")
        // A storage is listed so seldom that contents may be due for collection by now.
        let maySend = machine.storage != nil && simulation.documents != nil
        if report.published.changes > 0 && !maySend || report.replayed.changes > 0 {
            simulation.fail(
                "d\(machine.index) watched and left \(report.published.changes) to send, \(report.replayed.changes) to replay"
            )
        }
    }
}
