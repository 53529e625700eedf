import FerryContainer
import FerryCore
import FerryDocuments
import FerryEngine
import FerryStore
import FerryTestSupport
import Foundation
import GRDB

/// A simulated life of a container: unmodified production code over a simulated world. A seed decides the file system,
/// clocks, random numbers and the order of events.
///
/// Two to eight devices write, sync, are copied, restored, killed, migrated and retired, while the folder delays,
/// reorders, doubles, garbles and hides files. At quiet points, after all faults, everything must settle, and every
/// property of `SimulatedProperties` must hold. The same seed gives the same story, byte for byte.
///
/// Each step has random numbers of its own. So a story without some steps is otherwise the same: this is how failures
/// are shrunk (`Shrinking`).
public final class Simulation {
    /// The plan of a simulation.
    public struct Plan: Sendable {
        public var seed: UInt64
        /// The number of devices at the beginning, 2 to 8; `nil`: decided by the seed.
        public var devices: Int?
        /// The number of steps.
        public var steps: Int
        /// The steps to take; `nil`: all.
        public var only: Set<Int>?
        /// The kind of folder or storage; `nil`: decided by the seed.
        public var provider: ProviderKind?
        /// Whether the container is sealed; `nil`: decided by the seed.
        public var sealed: Bool?
        /// Whether there are documents; `nil`: decided by the seed.
        public var documents: Bool?
        /// SQL run on a database at the end, behind Ferry's back: the properties must notice the change.
        public var sabotage: String?
        /// What is done to a sealed container at the end, which the properties must notice.
        public var sealedSabotage: SealedSabotage?
        /// True: in a storage a device's files are hidden from another one's listings, which the properties must notice.
        public var hidesFromListings = false

        public init(
            seed: UInt64, devices: Int? = nil, steps: Int = 30, only: Set<Int>? = nil, provider: ProviderKind? = nil,
            sealed: Bool? = nil
        ) {
            self.sealed = sealed
            self.seed = seed
            self.devices = devices
            self.steps = steps
            self.only = only
            self.provider = provider
        }
    }

    /// The outcome of a simulation.
    public struct Outcome: Sendable {
        public var trace: [String]
        /// The failures; empty if every property held.
        public var problems: [String]
        public var tally: Tally
    }

    static let maximumDevices = 8
    /// The number of steps from which a life always ends with passing days and a joining device.
    private static let manySteps = 20

    let plan: Plan
    let kind: ProviderKind
    let provider: Provider
    let retention: RetentionSettings
    /// The storage of all devices; `nil` where the container is a folder.
    let storage: SimulatedStorage?
    let time = SimulatedClock.Time()
    let folder: URL
    /// What a life with a sealed container has besides; `nil` for an open one.
    let sealed: SealedLife?
    /// What a life with documents has besides; `nil` without.
    let documents: DocumentLife?
    /// The disk of a folder that all devices share.
    let sharedDisk = MemoryFileSystem()
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
        let folders = ProviderKind.folders
        kind = plan.provider ?? Self.remoteKind(of: plan.seed) ?? folders[random.below(folders.count)]
        beginners = min(max(plan.devices ?? 2 + random.below(3), 2), Self.maximumDevices)
        provider = Provider(kind)
        storage =
            kind.isRemote
            ? SimulatedStorage(kind, time, SimulatedRandom(seed: plan.seed, stream: 0x5706)) : nil
        var retention = RetentionSettings()
        retention.silentAfterMilliseconds = 3 * 86_400_000
        retention.replacedMilliseconds = 5 * 60_000
        retention.tombstoneMilliseconds = 0
        retention.retryMilliseconds = 60_000
        retention.undeliveredMilliseconds = 5 * 60_000
        retention.snapshotMinimumBytes = 1 << (8 + random.below(5))
        retention.firstSnapshotChangesPerRow = Double(plan.seed % 2)
        retention.segmentBytes = 4 << 10
        retention.rollUpFanout = 2 << random.below(2)
        // Numbers of their own: so an open life is the same whatever there is for sealed ones.
        let sealing = SimulatedRandom(seed: plan.seed, stream: 0x5ea1)
        let isSealed = sealing.isOne(in: 3)
        sealed = plan.sealed ?? isSealed ? SealedLife(sealing) : nil
        let hasDocuments = SimulatedRandom(seed: plan.seed, stream: 0xd0c5)
        let areThere = hasDocuments.isOne(in: 3)
        documents = plan.documents ?? areThere ? DocumentLife(hasDocuments) : nil
        if documents != nil {
            retention.collectionMilliseconds = 3_600_000
            retention.unusedContentMilliseconds = 6 * 3_600_000
            retention.sparsePackBytes = 10_000
        }
        self.retention = retention
        policies = random.isOne(in: 2) ? [PolicySetting(table: "feed", column: "unread", .counter)] : []
        folder = try ScratchFolder.make("ferry-simulation")
        try sharedDisk.createDirectory(at: "/shared")
        try sharedDisk.synchronizeDirectory(at: "/")
        provider.met = { [unowned self] in tally.note($0) }
    }

    /// The kind of storage that the seed decides on; `nil`: a folder. Numbers of their own: so a life in a folder is the same whatever
    /// storages there are.
    private static func remoteKind(of seed: UInt64) -> ProviderKind? {
        let random = SimulatedRandom(seed: seed, stream: 0x5705)
        return random.isOne(in: 6) ? random.element(of: ProviderKind.remotes) : nil
    }

    /// Plays the life to its end, and removes its databases.
    public static func run(_ plan: Plan) throws -> Outcome {
        let simulation = try Simulation(plan)
        defer {
            FaultVFS.setTime(milliseconds: nil)
            try? FileManager.default.removeItem(at: simulation.folder)  // a temporary folder
        }
        return simulation.run()
    }

    /// Plays the life to its end. Thrown errors are problems like any.
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
        for thief in sealed?.thieves ?? [] {
            do { try thief.close() } catch { problems.append("a thief's device does not close: \(error)") }
        }
        for machine in machines {
            do { try machine.close() } catch { problems.append("device \(machine.index) does not close: \(error)") }
        }
        return Outcome(trace: trace, problems: problems, tally: tally)
    }

    func tell(_ text: String) { trace.append(text) }

    func fail(_ text: String) { problems.append(text) }

    /// A number not used before.
    func nextCount() -> Int {
        count += 1
        return count
    }

    // MARK: Devices

    func begin() throws {
        tell(
            "seed \(plan.seed): \(kind.rawValue), \(beginners) devices, \(policies.isEmpty ? "plain" : "counter")"
                + (sealed.map { $0.hasThieves ? ", sealed, thieves" : ", sealed" } ?? ""))
        if sealed != nil { tally.note("sealed lives") }
        try makeMachine().create(policies: policies, sealed: sealed)
        for _ in 1..<beginners {
            let machine = try makeMachine()
            for other in machines { try exchange(other) }
            try letIn(machine)
            try exchange(machine)
        }
    }

    func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

    /// Makes a machine without a database.
    func makeMachine(host: SimulatedHost? = nil, keys: SimulatedKeyStore? = nil) throws -> Machine {
        let disk = kind.hasOwnDisks ? MemoryFileSystem() : sharedDisk
        if kind.hasOwnDisks {
            try disk.createDirectory(at: "/shared")
            try disk.synchronizeDirectory(at: "/")
        }
        let machine = try buildMachine(machines.count, over: disk, storage, host: host, keys: keys)
        machine.files.met = { [unowned self] in tally.note($0) }
        machine.storage?.met = { [unowned self] in tally.note($0) }
        machine.storage?.wroteElsewhere = { [unowned self, unowned machine] in
            fail("d\(machine.index) writes \($0) into a place that is not its container")
        }
        machines.append(machine)
        try documents?.prepare(machine)
        return machine
    }

    /// Makes a machine that is none of the life's own.
    func buildMachine(
        _ index: Int, over disk: MemoryFileSystem, _ storage: SimulatedStorage?, host: SimulatedHost? = nil,
        keys: SimulatedKeyStore? = nil
    ) throws -> Machine {
        let place = path("device\(index)")
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
        // Every other machine takes some of the fast paths.
        var chance = Chance(seed: plan.seed &+ 0xb000 &+ UInt64(index))
        let fastPaths = chance.oneIn(2) ? FastPaths.all : FastPaths(rawValue: UInt16(chance.below(512)))
        let files = DeviceFileSystem(disk)
        let machine = Machine(
            index: index, name: ["device \(index)", sealed?.mark].compactMap(\.self).joined(separator: " "),
            path: place + "/feeds.sqlite", files: files, storage: storage.map { DeviceStorage($0, files) },
            faults: try FaultVFS(folder: place), clock: SimulatedClock(time),
            host: host ?? SimulatedHost(machine: "host \(index)", file: 1),
            keys: keys ?? SimulatedKeyStore(sealed?.witness ?? SimulatedKeyStore.Witness()),
            random: SimulatedRandom(seed: plan.seed, stream: 1_000_000 + UInt64(index)), retention: retention,
            fastPaths: fastPaths, companions: documents.map { [DocumentUpkeep($0.retention)] } ?? [])
        // In every fifth life values of some letters lie in parts.
        if plan.seed.isMultiple(of: 5) {
            machine.largeValues.threshold = 8
            machine.largeValues.partBytes = 6
        }
        return machine
    }

    /// The place that is common to all devices, where files are not replicated.
    var sharedPlace: any SimulatedPlace { storage.map { $0 as any SimulatedPlace } ?? sharedDisk }

    /// Machines in use.
    var living: [Machine] { machines.filter { !$0.isLost && $0.replica != nil } }

    /// Lets the provider carry all news between a device and the rest. Listings of a storage catch up.
    func exchange(_ machine: Machine) throws {
        storage?.catchUp()
        if kind.isReplicated, machine.files.mount == .there, !machine.files.isFull {
            try provider.settle(machine.index, machine.files.disk, time: time.milliseconds / 1000)
        }
    }

    /// The content of a device's folder, in a few characters.
    func fingerprint(_ machine: Machine) throws -> String {
        var bytes: [UInt8] = []
        for (path, content) in try machine.place.containerFiles().sorted(by: { $0.key < $1.key }) {
            // Signatures are other ones each time on Apple's systems.
            let content = sealed == nil ? content : Array(content.dropLast(64))
            bytes += Array(path.utf8) + ContentHash.checksum(content).bytes
        }
        return hexString(ContentHash.checksum(bytes).bytes.prefix(4))
    }

    /// Writes a line as the app does.
    /// - Returns: the line.
    @discardableResult
    func writeLine(_ machine: Machine) throws -> String {
        let line = self.line(nextCount())
        try machine.database { try $0.execute(sql: "INSERT INTO line VALUES (?)", arguments: [line]) }
        ledger.note(line: line, by: machine.index)
        tell("d\(machine.index) writes")
        return line
    }

    /// The text of a line.
    func line(_ count: Int) -> String { ["line \(count)", sealed?.mark].compactMap(\.self).joined(separator: " ") }

    /// The rows as people see them.
    func queries(version: Int) -> [String] {
        SimulatedApp.queries(version: version) + (sealed.map { [$0.query] } ?? [])
    }

    // MARK: Syncing

    /// Syncs a device, and records the outcome.
    /// - Parameter isChecked: true: check the properties that always hold.
    /// - Returns: the report; `nil` after a failure that is no defect.
    /// - Throws: `SimulatedCrash`, and unexpected errors.
    @discardableResult
    func sync(_ machine: Machine, isThorough: Bool, isChecked: Bool = true) throws -> SyncReport? {
        machine.setSQLitesTime()
        let who = "d\(machine.index) \(isThorough ? "syncs thoroughly" : "syncs")"
        let before = try sealed?.look(at: machine)
        do {
            let report = try machine.opened().sync(isThorough: isThorough)
            note(report)
            let waiting = report.waiting.map { $0.code }.sorted().joined(separator: " ")
            tell(
                "\(who): sent \(report.published.changes), replayed \(report.replayed.changes)"
                    + (report.conflicts > 0 ? ", \(report.conflicts) conflicts" : "")
                    + (report.renewed.map { ", \($0.reason.rawValue)" } ?? "")
                    + (waiting.isEmpty ? "" : ", waits: \(waiting)") + (report.held == nil ? "" : ", held back")
                    + ", folder \(try fingerprint(machine))")
            if let before { try sealed?.checkPublished(machine, since: before, self) }
            if isChecked { try SimulatedProperties.checkAlways(machine, self) }
            return report
        } catch let error as FerryError where isExpected(error.code) {
            tell("\(who): \(error.code.rawValue)")
            tally.note("error \(error.code.rawValue)")
            return nil
        }
    }

    private func note(_ report: SyncReport) {
        tally.note("changes replayed", report.replayed.changes)
        tally.note("conflicts", report.conflicts)
        if let renewed = report.renewed { tally.note("renewed as \(renewed.reason.rawValue)") }
        if report.held != nil { tally.note("held back") }
        tally.note("let in", report.admitted?.count ?? 0)
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

    /// Errors that a person may get while the folder misbehaves.
    func isExpected(_ code: FerryError.Code) -> Bool {
        let codes: [FerryError.Code] = [
            .containerMissing, .containerEmpty, .containerMismatch, .damagedFile, .foreignFile, .inputOutput,
            .fileNotThereYet, .logCollected, .containerTooNew, .formatTooNew,
        ]
        let sealedCodes: [FerryError.Code] = [.notMember, .keyMissing, .notSealed, .enrolmentPending, .codeRefused]
        return codes.contains(code) || sealed != nil && sealedCodes.contains(code)
            || kind.isRemote && code == .accessDenied
    }

    // MARK: The end

    /// Ends all faults, and lets everything come to rest.
    /// - Returns: true if everything came to rest.
    func settle() throws -> Bool {
        for machine in machines {
            machine.files.mount = .there
            machine.files.isFull = false
            machine.files.flaw = nil
            machine.files.meanwhile = nil
            machine.clock.skew = 0
            machine.storage?.becomeHonest()
        }
        try provider.becomeHonest(sharedPlace)
        // Acknowledgements in a round's heads are read in the next round.
        var quiet = 0
        for _ in 0..<40 {
            time.milliseconds += 10 * 60_000
            var hasNews = false
            for machine in living {
                try exchange(machine)
                guard let report = try sync(machine, isThorough: true) else {
                    hasNews = true
                    try bringBack(machine)
                    continue
                }
                // What is not in the container is waited for, and then told of by a snapshot.
                let keeps = try !machine.opened().store.reading().undelivered.kept.isEmpty
                let isNews =
                    report.hasNews || report.replayed.changes > 0 || report.renewed != nil || keeps
                    || report.held != nil
                hasNews = hasNews || isNews
                try exchange(machine)
            }
            quiet = hasNews ? 0 : quiet + 1
            if quiet == 2 { return true }
        }
        if try removeHinderingThief() { return try settle() }
        fail("the devices do not come to rest")
        return false
    }

    /// A quiet point: everything settles, and every property holds.
    func rest() throws {
        tell("rest")
        tally.note("quiet points")
        guard try settle() else { return }
        if try Set(living.map { try $0.opened().identity.device }).count < living.count {
            // Clones with equal changes are a single device until a clone writes something different.
            tally.note("clones told apart later")
            for machine in living { try writeLine(machine) }
            guard try settle() else { return }
        }
        if let sabotage = plan.sabotage {
            let victim = living[living.count - 1]
            try victim.sabotage(sabotage)
        }
        if let sabotage = plan.sealedSabotage { try sealed?.commit(sabotage, self) }
        try SimulatedProperties.checkAtRest(self)
        try sealed?.checkAtRest(self)
        try documents?.checkAtRest(self)
        try checkThatAListingFindsWhatLatestLost()
    }

    private func conclude() throws {
        try rest()
        if problems.isEmpty, let sealed, !sealed.thieves.isEmpty {
            try expelThieves()
            try letThievesGoOn()
            try rest()
        }
        // For short lives a part is enough: the end is half of their cost.
        guard problems.isEmpty, plan.steps >= Self.manySteps || plan.seed % 4 == 0 else { return }
        // In the end all devices have the app's last version.
        for machine in living {
            while machine.version < SimulatedApp.migrations.count { try machine.migrate() }
        }
        // Everything forgettable is forgotten, and a device joining now finds all rows the same.
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
            try letIn(machine)
            tell("d\(machine.index) joins")
        }
        try rest()
    }
}
