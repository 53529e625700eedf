import FerryCore
import Synchronization

/// Random numbers determined by a seed alone (SplitMix64: Steele, Lea and Flood, 2014).
package struct Chance: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Makes a generator. Neighboring seeds give unrelated numbers.
    package init(seed: UInt64) { state = seed &* 0x2545_f491_4f6c_dd1d &+ 0x9e37_79b9_7f4a_7c15 }

    /// The generator as published, from a state.
    package init(state: UInt64) { self.state = state }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        return Self.mix(state)
    }

    /// Spreads a number over all bits.
    package static func mix(_ number: UInt64) -> UInt64 {
        var mixed = number
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    /// A number in 0 ..< bound.
    package mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    /// True once in `count` times.
    package mutating func oneIn(_ count: Int) -> Bool { below(count) == 0 }

    package mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }
}

/// Repeatable random numbers from a seed, for production code that needs a source.
package final class SeededRandom: RandomSource {
    private let chance: Mutex<Chance>

    package init(seed: UInt64) { chance = Mutex(Chance(seed: seed)) }

    package func next() -> UInt64 { chance.withLock { $0.next() } }

    /// A number in 0 ..< bound.
    package func below(_ bound: Int) -> Int { chance.withLock { $0.below(bound) } }
}
