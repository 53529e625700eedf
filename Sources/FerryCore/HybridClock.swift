/// Assigns the times of a device's own changes: never earlier than the wall clock at capture, never earlier than
/// anything assigned or observed before.
///
/// A value: the caller keeps the clock in the store, and saves it in the transaction that uses its times. So a time is
/// on disk before its publication.
package struct HybridClock: Equatable, Sendable {
    /// The latest time assigned or observed.
    package private(set) var now: HybridTime

    /// How far a peer's time may be ahead of the local wall clock and still move this clock: one day. Changes further
    /// ahead are replayed all the same, and the status names their device (Docs/Faults.md, 18).
    package static let maximumLeadMilliseconds: Int64 = 24 * 3600 * 1000

    package init(now: HybridTime = .zero) { self.now = now }

    /// Moves to the wall-clock time of a captured change, unless that time is in the past. Changes of a millisecond
    /// share a time; call `tick` to tell them apart.
    package mutating func advance(toMilliseconds milliseconds: Int64) -> HybridTime {
        now = max(now, HybridTime(milliseconds: milliseconds))
        return now
    }

    /// The milliseconds since the Unix epoch of a Julian day, within the range of SQLite's dates.
    package static func milliseconds(julianDay: Double) -> Int64 {
        let milliseconds = (julianDay - 2_440_587.5) * 86_400_000
        guard milliseconds.isFinite else { return 0 }
        return Int64(min(max(milliseconds.rounded(), -0x1p52), 0x1p52))
    }

    /// Assigns a time later than all before.
    package mutating func tick() -> HybridTime {
        now = now.next
        return now
    }

    /// Observes a peer's time, so that later changes of this device are later.
    /// - Returns: false if the time is too far ahead of `wallMilliseconds`; the clock did not move then.
    @discardableResult
    package mutating func observe(_ time: HybridTime, wallMilliseconds: Int64) -> Bool {
        if time <= now { return true }
        guard time.milliseconds - wallMilliseconds <= Self.maximumLeadMilliseconds else { return false }
        now = time
        return true
    }

    /// Makes a local change effective. Its time is later than everything known of the object, even if a peer's clock is far ahead, and
    /// later than every re-sent former value (`HybridTime.afterResending`). Only this object's time jumps.
    /// - Parameters:
    ///   - newest: the newest time of the object.
    ///   - former: the newest time before this flush; `nil` for a new object.
    package mutating func effective(
        _ time: HybridTime, after newest: HybridTime, former: HybridTime?, wallMilliseconds: () -> Int64
    ) -> HybridTime {
        let later = max(time, newest.next, former?.afterResending ?? .zero)
        if later == time { return time }
        let admitted = min(later, .latest)
        if admitted > now { observe(admitted, wallMilliseconds: wallMilliseconds()) }
        return admitted
    }
}

extension Int64 {
    /// The difference of two dates, within 64 bits: a head may tell any date.
    package func milliseconds(since former: Int64) -> Int64 {
        let (difference, overflows) = subtractingReportingOverflow(former)
        return overflows ? (self < former ? .min : .max) : difference
    }
}
