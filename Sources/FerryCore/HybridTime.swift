/// A hybrid logical clock time: 48 bits of milliseconds since the Unix epoch, then a 16-bit counter.
///
/// Source: Kulkarni and others, "Logical Physical Clocks and Consistent Snapshots in Globally Distributed Databases"
/// (2014). Values up to `latest` are admitted from peers. So arithmetic on any admitted time cannot overflow, and the
/// raw value always fits a signed SQLite integer.
@usableFromInline package struct HybridTime: Hashable, Comparable, Sendable {
    /// `milliseconds << 16 | counter`.
    @usableFromInline package let rawValue: UInt64

    @inlinable
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// Milliseconds outside of 0 ..< 2^47 are clamped to the range.
    @inlinable
    package init(milliseconds: Int64, counter: UInt16 = 0) {
        let bounded = UInt64(min(max(milliseconds, 0), 1 << 47 - 1))
        rawValue = bounded << 16 | UInt64(counter)
    }

    /// Milliseconds since the Unix epoch.
    @inlinable package var milliseconds: Int64 { Int64(rawValue >> 16) }
    @inlinable package var counter: UInt16 { UInt16(truncatingIfNeeded: rawValue) }

    /// The last time of a millisecond. `zero` before the epoch.
    package static func end(ofMillisecond milliseconds: Int64) -> HybridTime {
        milliseconds < 0 ? .zero : HybridTime(milliseconds: milliseconds, counter: .max)
    }

    /// The next time; the counter overflows into the milliseconds.
    @inlinable package var next: HybridTime { HybridTime(rawValue: rawValue == .max ? .max : rawValue + 1) }

    /// A re-sent value is a tick later than the original, once more under each further device ID. A new change is so many ticks later
    /// than the former value. So a new change wins over every re-sent former value.
    private static let newChangeTicks: UInt64 = 256

    /// The earliest time of a new change to a value of this time.
    package var afterResending: HybridTime {
        let (sum, overflows) = rawValue.addingReportingOverflow(Self.newChangeTicks)
        return HybridTime(rawValue: overflows ? .max : sum)
    }

    @inlinable
    package static func < (left: HybridTime, right: HybridTime) -> Bool { left.rawValue < right.rawValue }

    /// The last time of pre-existing rows of a database that joins: earlier than anything written since. Such rows fill gaps
    /// and overwrite nothing.
    @inlinable package static var unknown: HybridTime { HybridTime(milliseconds: 1) }
    /// The first time that does not give way.
    private static let firstThatStays: UInt64 = 1 << 15
    /// True if this is the time of rows that joined a container where others' rows count (`ferry join --rows merge` and
    /// `theirs`). Each such database takes an earlier time than the databases before, so that its values lose to
    /// theirs. For the same reason its insertions count as younger than all others (`Stamp.isOlder`).
    @inlinable package var givesWay: Bool { rawValue > 0 && rawValue < 1 << 15 }

    /// The ticks between the times of two joins. A database with a new ID sends its rows again a tick later, and stays below the
    /// rows of an earlier join.
    private static let joiningTicks: UInt64 = 16

    /// The time for the rows of a database that joins.
    /// - Parameters:
    ///   - givingWay: true if the container's rows count.
    ///   - present: the unknown times in the container. After so many joins that no earlier time is left, several
    ///     databases share the last time, and the devices' IDs decide between them.
    package static func joining(givingWay: Bool, among present: some Sequence<HybridTime>) -> HybridTime {
        let rivals = present.filter { !$0.isKnown && $0.givesWay == givingWay && $0 != .zero }.map(\.rawValue)
        let earliest = rivals.min() ?? (givingWay ? firstThatStays : unknown.rawValue)
        return HybridTime(rawValue: max(earliest, joiningTicks + (givingWay ? 1 : firstThatStays)) - joiningTicks)
    }
    /// True if this is a time of writing.
    @inlinable package var isKnown: Bool { self > .unknown }
    /// Earlier than every time that a device assigns.
    @inlinable package static var zero: HybridTime { HybridTime(rawValue: 0) }
    /// The last time that a device gives a change of its own, in the year 5000. A later clock is wrong: nothing is
    /// packed before somebody sets the clock right (`FerryError.Code.clockAhead`).
    package static let latestOfClock = HybridTime(milliseconds: 95_617_584_000_000)
    /// The last time that is admitted from a peer, in the year 6425.
    @inlinable package static var latest: HybridTime { HybridTime(rawValue: ((1 << 47) - (1 << 37)) << 16) }
}
