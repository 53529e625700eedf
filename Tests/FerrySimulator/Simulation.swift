import FerryContainer
import FerryCore
import FerryEngine
import FerryStore
import FerryTestSupport
import Foundation
import GRDB

/// One simulated life of a container: production code, unmodified, over a file system, clocks, random numbers and an order of
/// events that a seed decides.
///
/// Two to eight devices write, sync, are copied, restored, killed, migrated and retired, while the folder delays,
/// reorders, doubles, garbles and hides files. At quiet points, when all faults are over, everything must settle, and
/// every property of `SimulatedProperties` must hold. The same seed tells the same story, byte for byte.
///
/// Each step has random numbers of its own, so a story from which steps are left out is otherwise the same: that is how a
/// failure is shrunk (`Shrinking`).
public final class Simulation {
    /// What is simulated.
    public struct Plan: Sendable {
        public var seed: UInt64
        /// How many devices begin; 2 to 8. `nil`: as the seed has it.
        public var devices: Int?
        /// How many steps.
        public var steps: Int
        /// The steps that are taken; `nil`: all.
        public var only: Set<Int>?
        /// The kind of folder; `nil`: as the seed has it.
        public var provider: ProviderKind?
        /// What somebody does to a database at the end, behind Ferry's back: the properties must notice it.
        public var sabotage: String?

        public init(
            seed: UInt64, devices: Int? = nil, steps: Int = 30, only: Set<Int>? = nil, provider: ProviderKind? = nil
        ) {
            self.seed = seed
            self.devices = devices
            self.steps = steps
            self.only = only
            self.provider = provider
        }
    }

    /// What came of it.
    public struct Outcome: Sendable {
        public var trace: [String]
        /// What is wrong; empty where every property held.
        public var problems: [String]
        public var tally: Tally
    }

    static let maximumDevices = 8
    /// From how many steps on a life always ends with days that pass and a device that joins.
    private static let manySteps = 20

    let plan: Plan
    let kind: ProviderKind
    let provider: Provider
    let retention: RetentionSettings
    let time = SimulatedClock.Time()
    let folder: URL
    /// The one disk of folders that all devices share.
    private let sharedDisk = MemoryFileSystem()
    private(set) var machines: [Machine] = []
    private(set) var trace: [String] = []
    private(set) var problems: [String] = []
    var tally = Tally()
    var ledger = Ledger()
    private var count = 0
    private let beginners: Int
    private let policies: [PolicySetting]

    public init(_ plan: Plan) throws {
        self.plan = plan
        let random = SimulatedRandom(seed: plan.seed)
        let kinds = ProviderKind.allCases
        kind = plan.provider ?? kinds[random.below(kinds.count)]
        beginners = min(max(plan.devices ?? 2 + random.below(3), 2), Self.maximumDevices)
        provider = Provider(kind)
        var retention = RetentionSettings()
        retention.silentAfterMilliseconds = 3 * 86_400_000
        retention.replacedMilliseconds = 5 * 60_000
        retention.tombstoneMilliseconds = 0
        retention.retryMilliseconds = 60_000
        retention.snapshotMinimumBytes = 1 << (8 + random.below(5))
        retention.firstSnapshotChangesPerRow = Double(plan.seed % 2)
        retention.segmentBytes = 4 << 10
        retention.rollUpFanout = 2 << random.below(2)
        self.retention = retention
        policies = random.isOne(in: 2) ? [PolicySetting(table: "feed", column: "unread", .counter)] : []
        folder = try ScratchFolder.make("ferry-simulation")
        try sharedDisk.createDirectory(at: "/shared")
        try sharedDisk.synchronizeDirectory(at: "/")
        provider.met = { [unowned self] in tally.note($0) }
    }

    /// Plays it to its end, and removes its databases.
    public static func run(_ plan: Plan) throws -> Outcome {
        let simulation = try Simulation(plan)
        defer {
            FaultVFS.setTime(milliseconds: nil)
            try? FileManager.default.removeItem(at: simulation.folder)  // a temporary folder
        }
        return simulation.run()
    }

    /// Plays it to its end. What is thrown is a problem like any.
    public func run() -> Outcome {
        do {
            try begin()
            for number in 0..<plan.steps where plan.only?.contains(number) ?? true {
                try Step(self, number).take()
                if !problems.isEmpty { break }
            }
            if problems.isEmpty { try conclude() }
        } catch {
            problems.append("\(error)")
        }
        for machine in machines {
            do { try machine.close() } catch { problems.append("device \(machine.index) does not close: \(error)") }
        }
        return Outcome(trace: trace, problems: problems, tally: tally)
    }

    func tell(_ text: String) { trace.append(text) }

    func fail(_ text: String) { problems.append(text) }

    /// A number that was not used before.
    func nextCount() -> Int {
        count += 1
        return count
    }

    // MARK: Devices

    private func begin() throws {
        tell("seed \(plan.seed): \(kind.rawValue), \(beginners) devices, \(policies.isEmpty ? "plain" : "counter")")
        try makeMachine().create(policies: policies)
        for _ in 1..<beginners {
            let machine = try makeMachine()
            for other in machines { try exchange(other) }
            try machine.join()
            try exchange(machine)
        }
    }

    func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

    /// A machine without a database.
    func makeMachine(host: SimulatedHost? = nil) throws -> Machine {
        let index = machines.count
        let disk = kind.isReplicated ? MemoryFileSystem() : sharedDisk
        if kind.isReplicated {
            try disk.createDirectory(at: "/shared")
            try disk.synchronizeDirectory(at: "/")
        }
        let place = path("device\(index)")
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
        let machine = Machine(
            index: index, path: place + "/feeds.sqlite", files: DeviceFileSystem(disk),
            faults: try FaultVFS(folder: place), clock: SimulatedClock(time),
            host: host ?? SimulatedHost(machine: "host \(index)", file: 1),
            random: SimulatedRandom(seed: plan.seed, stream: 1_000_000 + UInt64(index)), retention: retention)
        machine.files.met = { [unowned self] in tally.note($0) }
        machines.append(machine)
        return machine
    }

    /// Machines that are in use.
    var living: [Machine] { machines.filter { !$0.isLost && $0.replica != nil } }

    /// Lets the provider carry everything that is new between a device and the others.
    func exchange(_ machine: Machine) throws {
        if kind.isReplicated, machine.files.mount == .there, !machine.files.isFull {
            try provider.settle(machine.index, machine.files.disk, time: time.milliseconds / 1000)
        }
    }

    /// What lies in a device's folder, in a few characters.
    func fingerprint(_ machine: Machine) throws -> String {
        var bytes: [UInt8] = []
        for (path, content) in try Provider.files(on: machine.files.disk).sorted(by: { $0.key < $1.key }) {
            bytes += Array(path.utf8) + ContentHash.checksum(content).bytes
        }
        return hexString(ContentHash.checksum(bytes).bytes.prefix(4))
    }

    /// Writes a line as the app does.
    private func writeLine(_ machine: Machine) throws {
        let line = "line \(nextCount())"
        try machine.database { try $0.execute(sql: "INSERT INTO line VALUES (?)", arguments: [line]) }
        ledger.note(line: line, by: machine.index)
        tell("d\(machine.index) writes")
    }

    // MARK: Syncing

    /// Syncs a device, and tells how it went.
    /// - Parameter isChecked: whether what holds always is looked at afterwards.
    /// - Returns: the report; `nil` where it failed for a reason that is no defect.
    /// - Throws: `SimulatedCrash`, and whatever should not happen.
    @discardableResult
    func sync(_ machine: Machine, isThorough: Bool, isChecked: Bool = true) throws -> SyncReport? {
        machine.setSQLitesTime()
        let who = "d\(machine.index) \(isThorough ? "syncs thoroughly" : "syncs")"
        do {
            let report = try machine.opened().sync(isThorough: isThorough)
            note(report)
            let waiting = report.waiting.map { $0.code }.sorted().joined(separator: " ")
            tell(
                "\(who): sent \(report.published.changes), replayed \(report.replayed.changes)"
                    + (report.conflicts > 0 ? ", \(report.conflicts) conflicts" : "")
                    + (report.renewed.map { ", \($0.reason.rawValue)" } ?? "")
                    + (waiting.isEmpty ? "" : ", waits: \(waiting)")
                    + ", folder \(try fingerprint(machine))")
            if isChecked { try SimulatedProperties.checkAlways(machine, self) }
            return report
        } catch let error as FerryError where Self.isExpected(error.code) {
            tell("\(who): \(error.code.rawValue)")
            tally.note("error \(error.code.rawValue)")
            return nil
        }
    }

    private func note(_ report: SyncReport) {
        tally.note("changes replayed", report.replayed.changes)
        tally.note("conflicts", report.conflicts)
        if let renewed = report.renewed { tally.note("renewed as \(renewed.reason.rawValue)") }
        for waiting in report.waiting { tally.note("waiting \(waiting.code)") }
        if let compaction = report.compaction { note(compaction) }
    }

    func note(_ report: CompactionReport) {
        tally.note("snapshots written", report.snapshot == nil ? 0 : 1)
        tally.note("segments collected", report.removed.segments)
        tally.note("segments rolled up", report.rolledUp.segments)
        tally.note("tombstones collected", report.tombstones)
        tally.note("own log mended", report.mended ? 1 : 0)
    }

    /// Errors that a person gets while the folder misbehaves.
    static func isExpected(_ code: FerryError.Code) -> Bool {
        let codes: [FerryError.Code] = [
            .containerMissing, .containerEmpty, .containerMismatch, .damagedFile, .foreignFile, .inputOutput,
            .fileNotThereYet, .logCollected, .containerTooNew, .formatTooNew,
        ]
        return codes.contains(code)
    }

    // MARK: The end

    /// Ends all faults, and lets everything come to rest.
    /// - Returns: whether it did.
    func settle() throws -> Bool {
        for machine in machines {
            machine.files.mount = .there
            machine.files.isFull = false
            machine.files.flaw = nil
            machine.files.meanwhile = nil
            machine.clock.skew = 0
        }
        // What a head acknowledges in one round the others read in the next.
        var quiet = 0
        for _ in 0..<40 {
            time.milliseconds += 10 * 60_000
            var hasNews = false
            for machine in living {
                try exchange(machine)
                guard let report = try sync(machine, isThorough: true) else {
                    hasNews = true
                    continue
                }
                hasNews = hasNews || report.hasNews || report.renewed != nil
                try exchange(machine)
            }
            quiet = hasNews ? 0 : quiet + 1
            if quiet == 2 { return true }
        }
        fail("the devices do not come to rest")
        return false
    }

    /// A quiet point: everything settles, and every property holds.
    func rest() throws {
        tell("rest")
        tally.note("quiet points")
        guard try settle() else { return }
        if try Set(living.map { try $0.opened().identity.device }).count < living.count {
            // Clones that have said the same are one device until one of them says something else.
            tally.note("clones told apart later")
            for machine in living { try writeLine(machine) }
            guard try settle() else { return }
        }
        if let sabotage = plan.sabotage {
            let victim = living[living.count - 1]
            try victim.sabotage(sabotage)
        }
        try SimulatedProperties.checkAtRest(self)
    }

    private func conclude() throws {
        try rest()
        // Of short lives a part is enough: this is half of what they cost.
        guard problems.isEmpty, plan.steps >= Self.manySteps || plan.seed % 4 == 0 else { return }
        // All have the app's last version in the end.
        for machine in living {
            while machine.version < SimulatedApp.migrations.count { try machine.migrate() }
        }
        // Everything that can be forgotten is, and a device that joins now finds all the same.
        if plan.seed % 8 < 4 {
            tell("days pass")
            for _ in 0..<4 {
                time.milliseconds += 86_400_000
                for machine in living {
                    try exchange(machine)
                    try sync(machine, isThorough: true)
                    try exchange(machine)
                }
            }
            for machine in living { note(try machine.opened().compact()) }
        }
        if machines.count < Self.maximumDevices {
            let machine = try makeMachine()
            try exchange(machine)
            try machine.join()
            tell("d\(machine.index) joins")
        }
        try rest()
    }
}
