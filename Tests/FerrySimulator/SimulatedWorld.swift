import FerryCore
import FerryEngine
import FerryTestSupport

/// The clock of a device: the simulation's time plus an error.
///
/// `@unchecked Sendable` because a simulation runs on a single thread.
final class SimulatedClock: WallClock, @unchecked Sendable {
    /// The time that all clocks share, in milliseconds since the Unix epoch.
    final class Time {
        var milliseconds: Int64 = 1_700_000_000_000
    }

    private let time: Time
    /// How far the clock is ahead of the true time, in milliseconds.
    var skew: Int64 = 0
    /// The latest time read from this clock, or from the clock of the original database.
    var latest: Int64 = 0

    init(_ time: Time) { self.time = time }

    /// Lets a millisecond pass for all clocks.
    func tick() { time.milliseconds += 1 }

    func milliseconds() -> Int64 {
        let now = time.milliseconds + skew
        latest = max(latest, now)
        return now
    }
    /// The time recorded by a trigger: SQLite has the same time (`Machine.setSQLitesTime`).
    func milliseconds(captured: Int64) -> Int64 { captured }
}

/// Repeatable random numbers in several independent sequences.
///
/// `@unchecked Sendable` because a simulation runs on a single thread.
final class SimulatedRandom: RandomSource, @unchecked Sendable {
    private var chance: Chance

    /// - Parameter stream: selects one of the seed's independent sequences.
    init(seed: UInt64, stream: UInt64 = 0) {
        chance = Chance(state: Chance.mix(seed) ^ Chance.mix(stream &+ 0x5851_f42d_4c95_7f2d))
    }

    func next() -> UInt64 { chance.next() }

    /// A number from 0 up to and excluding a bound.
    func below(_ bound: Int) -> Int { bound <= 1 ? 0 : chance.below(bound) }

    /// True once in so many times.
    func isOne(in times: Int) -> Bool { below(times) == 0 }

    func element<Element>(of elements: [Element]) -> Element? {
        elements.isEmpty ? nil : elements[below(elements.count)]
    }

    func shuffled<Element>(_ elements: [Element]) -> [Element] {
        var elements = elements
        for index in elements.indices.dropFirst() { elements.swapAt(index, below(index + 1)) }
        return elements
    }
}

/// The computer of a database, as far as Ferry asks.
///
/// `@unchecked Sendable` because a simulation runs on a single thread.
final class SimulatedHost: HostIdentity, @unchecked Sendable {
    let machine: String
    /// The number of the database's file; changes when the file is replaced.
    var file: UInt64

    init(machine: String, file: UInt64) {
        self.machine = machine
        self.file = file
    }

    func machineID() -> String? { machine }
    func fileNumber(at path: String) -> UInt64? { file }
}

/// Counts of events: a fault counts only after a run shows its occurrence.
public struct Tally: Sendable {
    public private(set) var counts: [String: Int] = [:]

    public init() {}

    mutating func note(_ kind: String, _ times: Int = 1) {
        if times > 0 { counts[kind, default: 0] += times }
    }

    public mutating func add(_ other: Tally) { counts.merge(other.counts, uniquingKeysWith: +) }

    /// A line of kinds, in the order of names, with their counts.
    public var text: String {
        counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    }
}
