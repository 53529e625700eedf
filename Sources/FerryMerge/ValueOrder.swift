import FerryCore

/// A value and its time of writing.
package struct StampedValue: Hashable, Sendable {
    package var stamp: Stamp
    package var value: FieldValue

    package init(_ stamp: Stamp, _ value: FieldValue) {
        self.stamp = stamp
        self.value = value
    }

    /// Later, or written at the same time by another copy of the device and greater.
    func wins(over other: StampedValue) -> Bool {
        stamp != other.stamp ? other.stamp < stamp : other.value < value
    }

    /// The later of two writes; `nil` where there is none.
    static func newest(_ left: StampedValue?, _ right: StampedValue?) -> StampedValue? {
        guard let left, let right else { return left ?? right }
        return right.wins(over: left) ? right : left
    }
}

/// The order of values in SQLite: NULL, numbers by their value, texts and then blobs by their bytes
/// (https://www.sqlite.org/datatype3.html#sort_order). Collations play no part, because they differ by column.
enum ValueOrder {
    /// - Returns: negative where `left` comes first, 0 where SQLite takes both for equal.
    static func compare(_ left: FieldValue, _ right: FieldValue) -> Int {
        let (a, b) = (rank(left), rank(right))
        if a != b { return a - b }
        switch (left, right) {
        case (.integer(let x), .integer(let y)): return x < y ? -1 : x == y ? 0 : 1
        case (.real(let x), .real(let y)): return x < y ? -1 : x == y ? 0 : 1
        case (.integer(let x), .real(let y)): return compare(x, y)
        case (.real(let x), .integer(let y)): return -compare(y, x)
        default: return left == right ? 0 : left < right ? -1 : 1
        }
    }

    private static func rank(_ value: FieldValue) -> Int {
        switch value {
        case .null: 0
        case .integer, .real: 1
        case .text: 2
        case .blob: 3
        case .reference: 4
        }
    }

    /// Exact, even if turning the integer into a real would round the integer.
    private static func compare(_ integer: Int64, _ real: Double) -> Int {
        if real >= 0x1p63 { return -1 }
        // Not-a-number sorts below all numbers; SQLite stores none.
        if real < -0x1p63 || real.isNaN { return 1 }
        let whole = real.rounded(.down)
        let floor = Int64(whole)
        if integer != floor { return integer < floor ? -1 : 1 }
        return whole < real ? -1 : 0
    }
}
