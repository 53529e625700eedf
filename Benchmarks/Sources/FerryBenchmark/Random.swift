/// Repeatable random numbers (SplitMix64).
struct Random {
    private var state: UInt64
    /// Not by the step's own constant: then each seed would give the numbers of the one before, but for the first.
    init(seed: UInt64) { state = seed &* 0xd134_2543_de82_ef95 }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ value >> 30) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ value >> 27) &* 0x94d0_49bb_1331_11eb
        return value ^ value >> 31
    }

    /// The numbers below `count` in random order.
    mutating func shuffled(_ count: Int) -> [Int] {
        var numbers = Array(0..<count)
        for index in numbers.indices.reversed() { numbers.swapAt(index, below(index + 1)) }
        return numbers
    }

    mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(max(limit, 1))) }

    private static let words = [
        "river", "midnight", "Sonata", "blue", "September", "window", "Requiem", "silver", "walking", "train", "heart",
        "Nocturne", "shadow", "garden", "fire", "ocean", "Prelude", "winter", "glass", "street", "moonlight", "dance",
        "stone", "golden", "letter", "Variations", "rain", "harbour", "morning", "echo", "lantern", "summer",
    ]

    mutating func word() -> String { Self.words[below(Self.words.count)] }
}
