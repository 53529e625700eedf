import FerryCore

/// The part of a column under `max` or `min`, beside its plain value: the best value since the last reset.
///
/// A local write of a worse value must take effect, so it begins anew. `reset` is its stamp, and values from before the
/// reset, or by devices that had not seen the reset, no longer count. Of two resets the later wins.
package struct ExtremePart: Hashable, Sendable {
    /// The write that began anew; `nil` without a reset.
    package var reset: Stamp?
    package var best: StampedValue

    package init(reset: Stamp?, best: StampedValue) {
        self.reset = reset
        self.best = best
    }

    enum Direction { case maximum, minimum }

    /// True if a value is worse than a second value. NULL is no value: worse than all.
    static func isWorse(_ left: FieldValue, than right: FieldValue, _ direction: Direction) -> Bool {
        if left == .null || right == .null { return left == .null && right != .null }
        let order = ValueOrder.compare(left, right)
        return direction == .maximum ? order < 0 : order > 0
    }

    /// The better value; stamps decide between equal values, such as 1 and 1.0.
    static func better(_ left: StampedValue, _ right: StampedValue, _ direction: Direction) -> StampedValue {
        if isWorse(left.value, than: right.value, direction) { return right }
        if isWorse(right.value, than: left.value, direction) { return left }
        return right.wins(over: left) ? right : left
    }

    mutating func merge(_ other: ExtremePart, _ direction: Direction) {
        if reset == other.reset {
            best = Self.better(best, other.best, direction)
        } else if Self.isEarlier(reset, other.reset) {
            self = other
        }
    }

    /// The visible value of a column that was also written plainly: such a value counts if later than the reset.
    static func shown(_ part: ExtremePart?, _ plain: StampedValue?, _ direction: Direction) -> FieldValue? {
        guard let part else { return plain?.value }
        guard let plain, isEarlier(part.reset, plain.stamp) else { return part.best.value }
        return better(part.best, plain, direction).value
    }

    /// The part for a local write.
    /// - Parameter shown: the value visible before.
    static func written(
        _ value: FieldValue, _ stamp: Stamp, over part: ExtremePart?, shown: FieldValue?, _ direction: Direction
    ) -> ExtremePart {
        let isReset = shown.map { isWorse(value, than: $0, direction) } ?? false
        return ExtremePart(reset: isReset ? stamp : part?.reset, best: StampedValue(stamp, value))
    }

    private static func isEarlier(_ left: Stamp?, _ right: Stamp?) -> Bool {
        guard let right else { return false }
        return left.map { $0 < right } ?? true
    }
}
