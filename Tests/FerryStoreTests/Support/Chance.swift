import FerryCore

/// Random numbers that a seed alone determines (SplitMix64: Steele, Lea and Flood, 2014).
struct Chance: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x2545_f491_4f6c_dd1d &+ 0x9e37_79b9_7f4a_7c15 }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }

    /// A number in 0 ..< bound.
    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    /// True once in `count` times.
    mutating func oneIn(_ count: Int) -> Bool { below(count) == 0 }

    mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }
}

/// The random source and the clock of a device under test. Unchecked, because a test uses its devices one by one.
final class SeededRandom: RandomSource, @unchecked Sendable {
    private var chance: Chance
    init(seed: UInt64) { chance = Chance(seed: seed) }
    func next() -> UInt64 { chance.next() }
}

/// A clock that stands still until a test moves it; what triggers noted happened at its time too.
final class SetClock: WallClock, @unchecked Sendable {
    var now: Int64
    /// How far apart the notes of one flush are.
    var captureStep: Int64 = 0

    init(now: Int64) { self.now = now }

    func milliseconds() -> Int64 { now }

    func milliseconds(captured: Int64) -> Int64 {
        now += captureStep
        return now
    }
}
