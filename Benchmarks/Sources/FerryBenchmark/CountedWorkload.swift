import FerryContainer
import FerryCore
import FerryEngine
import FerryStore
import Foundation

/// Fourteen fixed pieces of work on small data, whose instructions `Scripts/bench-instructions` counts.
///
/// Each runs in a process of its own. The work is prepared first; callgrind counts from the call of `ferry_counted` to the return
/// (`--toggle-collect=ferry_counted`). Rows, statements and IDs are the same in every run, so counts repeat to within a
/// fraction of a percent.
enum CountedWorkload: String, CaseIterable {
    /// An app's own writes, with Ferry's triggers in the database.
    case songsInsert = "songs-insert"
    case songsUpdate = "songs-update"
    case songsDelete = "songs-delete"
    /// Packing and encoding what the app wrote.
    case songsPackInsertions = "songs-pack-insertions"
    case songsPackUpdates = "songs-pack-updates"
    case shopPackDeletions = "shop-pack-deletions"
    /// What the other device does.
    case songsJoin = "songs-join"
    case songsReplayUpdates = "songs-replay-updates"
    case songsReplayDeletions = "songs-replay-deletions"
    case songsReplayConflicts = "songs-replay-conflicts"
    case shopReplayDeletions = "shop-replay-deletions"
    /// Changesets of one row: packed one by one, and replayed together.
    case smallPacks = "small-packs"
    case smallReplay = "small-replay"
    /// A sync that finds nothing.
    case nothingNew = "nothing-new"

    static let argument = "count"

    /// Runs the work that the arguments name.
    /// - Returns: false if the arguments ask for something else.
    static func main(_ arguments: [String]) throws -> Bool {
        guard arguments.first == argument else { return false }
        if arguments.count == 1 {
            for workload in allCases { print(workload.rawValue) }
            return true
        }
        guard arguments.count == 2, let workload = CountedWorkload(rawValue: arguments[1]) else {
            throw BenchmarkError("say one of these behind `count`: \(allCases.map(\.rawValue).joined(separator: ", "))")
        }
        let place = try Place(below: FileManager.default.temporaryDirectory.path)
        defer { place.remove() }
        try CountedRun(place: place).run(workload)
        return true
    }
}

/// The work between two toggles of callgrind, and what the work threw.
private nonisolated(unsafe) var countedWork: () throws -> Void = {}
private nonisolated(unsafe) var countedFailure: (any Error)?

/// Callgrind counts while this function runs. The name is the C name, as the tool sees it.
@_cdecl("ferry_counted")
@inline(never)
func countedEntry() {
    do { try countedWork() } catch { countedFailure = error }
}

/// Two devices with their data, made for one piece of work.
private struct CountedRun {
    let place: Place
    private static let rows = 2000
    private static let changesets = 100

    /// The environment of a device: the computer's clock and files, and random numbers that repeat.
    private func environment(_ seed: UInt64) -> ReplicaEnvironment {
        ReplicaEnvironment(
            clock: SystemClock(), random: RepeatedRandom(seed: seed), fileSystem: PosixFileSystem(),
            host: SystemHost())
    }

    private func count(_ work: @escaping () throws -> Void) throws {
        countedWork = work
        countedEntry()
        if let countedFailure { throw countedFailure }
    }

    private func first(_ workload: some Workload) throws -> Device {
        let path = place.database("first")
        let app = try Database(path: path)
        try app.execute(workload.schema)
        let store = try Store(path: path)
        let made = try ReplicaSetup(environment: environment(1)).create(
            store, containerPath: place.container, name: "first")
        return Device(app: app, replica: made.replica)
    }

    private func joining() throws -> Device {
        let path = place.database("second")
        let joined = try ReplicaSetup(environment: environment(2)).join(
            databasePath: path, containerPath: place.container, name: "second")
        guard let replica = joined.replica else { throw BenchmarkError("a join made no replica") }
        return Device(app: try Database(path: path), replica: replica)
    }

    func run(_ counted: CountedWorkload) throws {
        switch counted {
        case .shopPackDeletions, .shopReplayDeletions: try run(counted, RecordShop(rows: Self.rows))
        default: try run(counted, Songs(rows: Self.rows))
        }
    }

    private func run(_ counted: CountedWorkload, _ workload: some Workload) throws {
        let first = try first(workload)
        func update() throws {
            try workload.update(first.app, first: 0, count: workload.updatableRows, transactionSize: 1000)
        }
        if counted == .songsInsert { return try count { _ = try workload.insert(first.app) } }
        _ = try workload.insert(first.app)
        switch counted {
        case .songsPackInsertions: return try count { try first.pack() }
        case .songsUpdate, .songsPackUpdates:
            try first.pack()
            if counted == .songsUpdate { return try count(update) }
            try update()
            return try count { try first.pack() }
        case .songsDelete, .shopPackDeletions:
            try first.pack()
            if counted == .songsDelete { return try count { _ = try workload.delete(first.app) } }
            _ = try workload.delete(first.app)
            return try count { try first.pack() }
        default: try first.sync()
        }
        func small() throws {
            for index in 0..<Self.changesets {
                try workload.update(first.app, first: index, count: 1, transactionSize: 1)
                try first.pack()
            }
        }
        if counted == .smallPacks { return try count(small) }
        if counted == .songsJoin { return try count { _ = try joining() } }
        let second = try joining()
        try first.sync()
        switch counted {
        case .songsReplayUpdates: try update()
        case .smallReplay: try small()
        case .songsReplayConflicts:
            try workload.update(
                second.app, first: workload.updatableRows, count: workload.updatableRows, transactionSize: 1000)
            try second.sync()
            try update()
        case .songsReplayDeletions, .shopReplayDeletions: _ = try workload.delete(first.app)
        default: try second.sync()
        }
        try first.pack()
        try first.sync()
        try count { try second.sync() }
        try Device.compare(first, second, workload)
    }
}

/// Random numbers that are the same in every run.
private final class RepeatedRandom: RandomSource, @unchecked Sendable {
    private let lock = NSLock()
    private var random: Random

    init(seed: UInt64) { random = Random(seed: seed) }

    func next() -> UInt64 {
        lock.lock()
        defer { lock.unlock() }
        return random.next()
    }
}
