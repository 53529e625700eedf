import FerryContainer
import FerryEngine
import FerrySeal
import FerryStore
import Foundation

/// A sealed container beside an open one: the same statements, the same calls, in turns.
struct SealedBenchmark {
    let rows: Int
    let folder: String
    /// How many changes are sent one by one.
    let singles: Int

    static let section = "sealed beside open, memory"
    static let packing = "pack and publish insertions"
    static let publishing = "publish them alone"
    static let joining = "join with an empty database"
    static let replayingInsertions = "replay insertions"
    static let replayingUpdates = "replay updates"
    static let single = "one change by a sync on each side, median"
    static let glance = "a look that finds nothing"
    static let thorough = "a thorough look that finds nothing"
    static let bytes = "bytes in the container after all of it"
    static let resting = "a pair that rests"
    static let restingGlance = "a look at files that have looked the same for a while"
    static let restingThorough = "a thorough look at them"

    /// Measures both, each first in every other round.
    func round(_ number: Int, _ results: Measurements) throws {
        Self.name(results)
        for isSealed in number.isMultiple(of: 2) ? [true, false] : [false, true] {
            let place = try Place(below: folder)
            defer { place.remove() }
            try measure(SealedPair(isSealed, in: place), isSealed ? .ferry : .plain, results)
        }
    }

    private static func name(_ results: Measurements) {
        results.name(.plain, "open", in: section)
        results.name(.ferry, "sealed", in: section)
    }

    private func measure(_ pair: SealedPair, _ variant: Measurements.Variant, _ results: Measurements) throws {
        let songs = Songs(rows: rows)
        func add(_ name: String, _ seconds: Double) {
            results.add(Self.section, name, "ms", variant, seconds * 1000)
        }
        let first = try pair.found(songs)
        let early = try pair.join("early")
        try first.sync()
        _ = try songs.insert(first.app)
        let packed = try seconds { try first.pack() }
        let published = try seconds { try first.sync() }
        add(Self.packing, packed + published)
        add(Self.publishing, published)
        add(Self.replayingInsertions, try seconds { try early.sync() })
        let second = try pair.join("second") { add(Self.joining, $0) }
        for device in [first, early, second] { try device.sync() }
        try songs.update(first.app, first: 0, count: rows, transactionSize: 1000)
        try first.pack()
        try first.sync()
        add(Self.replayingUpdates, try seconds { try second.sync() })
        var times: [Double] = []
        for index in 0..<singles {
            try songs.update(first.app, first: index, count: 1, transactionSize: 1)
            times.append(
                try seconds {
                    try first.sync(isThorough: false)
                    try second.sync(isThorough: false)
                })
        }
        add(Self.single, median(times) ?? 0)
        for device in [first, early, second, first] { try device.sync() }
        let nothing = try NothingNew(second)
        results.add(Self.section, Self.glance, "ms", variant, nothing.glance)
        results.add(Self.section, Self.thorough, "ms", variant, nothing.thorough)
        results.add(Self.section, Self.bytes, "bytes", variant, Double(try pair.containerBytes()))
        try Device.compare(first, second, songs)
        try Device.compare(first, early, songs)
    }

    // MARK: Rest

    /// Two that watch, open and sealed at the same time, while nothing happens.
    func rest(intervalSeconds: Int, _ results: Measurements) throws {
        Self.name(results)
        let places = [try Place(below: folder), try Place(below: folder)]
        defer { for place in places { place.remove() } }
        var configuration = WatchConfiguration()
        let milliseconds = intervalSeconds * 1000
        configuration.poll = PollSchedule(minimumMilliseconds: milliseconds, maximumMilliseconds: milliseconds)
        configuration.thoroughMilliseconds = milliseconds / 2
        let songs = Songs(rows: 1000)
        var pairs: [[Device]] = []
        for (place, isSealed) in zip(places, [false, true]) {
            let pair = try SealedPair(isSealed, in: place)
            let first = try pair.found(songs)
            _ = try songs.insert(first.app)
            try first.sync()
            let second = try pair.join("second")
            for device in [first, second, first] { try device.sync() }
            pairs.append([first, second])
        }
        // Whoever has watched for a while has seen every head more than once.
        Thread.sleep(forTimeInterval: 2.1)
        for device in pairs.joined() { for _ in 0..<2 { try device.sync() } }
        for (pair, variant) in zip(pairs, [Measurements.Variant.plain, .ferry]) {
            let nothing = try NothingNew(pair[1], times: 400)
            results.add(Self.section, Self.restingGlance, "ms", variant, nothing.glance)
            results.add(Self.section, Self.restingThorough, "ms", variant, nothing.thorough)
        }
        let watchers = pairs.map { pair in pair.map { Watcher($0, configuration) } }
        // What is measured is this time itself.
        let wall = Double(intervalSeconds * Self.looks) + 0.5
        Thread.sleep(forTimeInterval: wall)
        for (pair, variant) in zip(watchers, [Measurements.Variant.plain, .ferry]) {
            let share = try pair.reduce(0) { try $0 + $1.stop() } / wall * 100
            results.add(Self.section, Self.resting, "% of a core", variant, share)
        }
    }

    /// How many times a resting pair looks.
    private static let looks = 6
}

/// Devices of one container, each with a key store of its own.
struct SealedPair {
    private let place: Place
    private let isSealed: Bool
    private let founder = Founder()

    /// The device that lets others in.
    private final class Founder {
        var device: Device?
    }

    init(_ isSealed: Bool, in place: Place) throws {
        self.place = place
        self.isSealed = isSealed
    }

    private func environment() -> ReplicaEnvironment {
        var environment = ReplicaEnvironment.live
        environment.keys = MemoryKeyStore()
        return environment
    }

    /// Makes a database and the container.
    func found(_ workload: some Workload) throws -> Device {
        let path = place.database("first")
        let app = try Database(path: path)
        try app.execute(workload.schema)
        let setup = ReplicaSetup(
            environment: environment(), sealing: isSealed ? .sealed(recovery: { _ in }) : .open)
        let made = try setup.create(Store(path: path), containerPath: place.container, name: "first").replica
        let device = Device(app: app, replica: made)
        founder.device = device
        return device
    }

    /// Joins with an empty database; in a sealed container a code has let the device in before.
    /// - Parameter took: gets the seconds of the join alone.
    func join(_ name: String, took: (Double) -> Void = { _ in }) throws -> Device {
        guard let founder = founder.device else { throw BenchmarkError("nobody has founded the container") }
        let environment = environment()
        var enrolment: Enrolment?
        if isSealed {
            let code = try founder.replica.invite().code
            enrolment = try Enrolment.begin(
                containerPath: place.container, by: .code(code), environment: environment)
            try founder.sync()
        }
        let setup = ReplicaSetup(environment: environment, enrolment: enrolment)
        var made: Replica?
        let path = place.database(name)
        took(
            try seconds {
                made = try setup.join(databasePath: path, containerPath: place.container, name: name).replica
            })
        guard let made else { throw BenchmarkError("a join made no replica") }
        return Device(app: try Database(path: path), replica: made)
    }

    func containerBytes() throws -> Int {
        let files = FileManager.default.enumerator(atPath: place.container)
        var sum = 0
        while let name = files?.nextObject() as? String {
            let attributes = try FileManager.default.attributesOfItem(atPath: place.container + "/" + name)
            if attributes[.type] as? FileAttributeType == .typeRegular { sum += attributes[.size] as? Int ?? 0 }
        }
        return sum
    }
}
