import FerryCore

/// The part of a column under `counter`, beside its plain value: for each device its additions to a base.
///
/// The base is a plain write, known by its stamp: the row's insertion, or any write that is no addition. Additions to
/// an older base no longer count.
package struct CounterPart: Hashable, Sendable {
    /// All additions of a device, as of the device's newest write.
    package struct Total: Hashable, Sendable {
        package var stamp: Stamp
        package var amount: Int64

        package init(_ stamp: Stamp, _ amount: Int64) {
            self.stamp = stamp
            self.amount = amount
        }
    }

    package var base: StampedValue
    package var totals: [DeviceID: Total]

    package init(base: StampedValue, totals: [Total]) {
        self.base = base
        self.totals = Dictionary(totals.map { ($0.stamp.device, $0) }) { Self.newest($0, $1) }
    }

    var newest: Stamp { totals.values.map(\.stamp).reduce(base.stamp, max) }

    private static func newest(_ left: Total, _ right: Total) -> Total {
        if left.stamp != right.stamp { return left.stamp < right.stamp ? right : left }
        return left.amount < right.amount ? right : left
    }

    mutating func merge(_ other: CounterPart) {
        if base == other.base {
            totals.merge(other.totals, uniquingKeysWith: Self.newest)
        } else if other.base.wins(over: base) {
            self = other
        }
    }

    /// Forgets additions from before a stamp.
    mutating func forget(before floor: Stamp) { totals = totals.filter { floor < $0.value.stamp } }

    /// True if the base was written before a stamp. A column's default, a base without a writer, never was; without
    /// additions such a base says nothing.
    func isVoid(before floor: Stamp) -> Bool {
        base.stamp.time == .zero ? totals.isEmpty : base.stamp < floor
    }

    /// The visible value: the sum, held within the range of integers.
    static func shown(_ part: CounterPart?, _ plain: StampedValue?) -> FieldValue? {
        guard let part, plain.map({ !$0.wins(over: part.base) }) ?? true else { return plain?.value }
        guard case .integer(let base) = part.base.value else { return part.base.value }
        let sum = part.totals.values.reduce(Int128(base)) { $0 + Int128($1.amount) }
        return .integer(Int64(clamping: sum))
    }

    /// The part that counts beside a plain write: a later plain write is a new base. `nil` if nothing was written.
    static func from(_ plain: StampedValue?, _ part: CounterPart?) -> CounterPart? {
        if let plain, part.map({ plain.wins(over: $0.base) }) ?? true { return CounterPart(base: plain, totals: []) }
        return part
    }

    /// The addition by which a write comes from one value to another; `nil` if the write is no addition.
    package static func addition(from former: FieldValue?, to value: FieldValue) -> Int64? {
        guard case .integer(let present) = value, case .integer(let former)? = former else { return nil }
        let (added, overflows) = present.subtractingReportingOverflow(former)
        return overflows ? nil : added
    }

    /// The part for a local write: this device's total alone, so that the cost does not grow with the devices.
    /// - Parameters:
    ///   - part: the known part, or `nil` without any additions.
    ///   - plain: the newest plain write.
    ///   - shown: the value visible before. A unified row may show another value than this register's: then the addition
    ///     alone counts.
    /// - Returns: `nil` for a new base: the write is no addition to an integer, or an addition beyond their range.
    static func written(
        _ value: FieldValue, _ stamp: Stamp, over part: CounterPart?, _ plain: StampedValue?, shown: FieldValue?
    ) -> CounterPart? {
        guard let added = addition(from: shown, to: value), let known = from(plain, part) else { return nil }
        let (total, overflows) = (known.totals[stamp.device]?.amount ?? 0).addingReportingOverflow(added)
        if overflows { return nil }
        let own = CounterPart(base: known.base, totals: [Total(stamp, total)])
        if CounterPart.shown(known, nil) != shown { return own }
        // Where a sum is held at the end of the range, an addition would have no effect.
        var merged = known
        merged.merge(own)
        return CounterPart.shown(merged, nil) == value ? own : nil
    }
}
