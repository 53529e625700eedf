/// Keeps passes apart while a program commits all the time. Each pass holds SQLite's write lock for some milliseconds, and a program
/// without a busy timeout fails where its write meets the lock. So passes that follow each other closely wait, each time longer, as long as
/// commits come during the wait. A single writer that waits for its change to arrive, and then writes the next, is left alone.
///
/// A value without a clock; instants are given.
///
/// Invariants:
/// - `distance` is 0, or between `firstMilliseconds` and `longestMilliseconds`.
/// - `restMilliseconds` is between the first and the longest rest.
/// - `distance` is above 0 only after `patience` publications in close succession.
struct PassSpacing: Sendable {
    /// Publications as close as that follow each other closely.
    static let closeMilliseconds = 250
    /// The same beyond the distance, where one is kept: a wait for the next commit and a pass lie between.
    static let closeBeyondDistanceMilliseconds = 500
    /// The number of such publications before passes wait.
    static let patience = 2
    static let firstMilliseconds = 250
    static let longestMilliseconds = 2000
    /// How long passes do not wait after a wait in which nothing was written. Each further such wait doubles the time, up to the longest.
    static let firstRestMilliseconds = 1000
    static let longestRestMilliseconds = 16_000

    private(set) var distance = 0
    private var lastPublication: ContinuousClock.Instant?
    private var streak = 0
    private var restUntil: ContinuousClock.Instant?
    private var restMilliseconds = firstRestMilliseconds

    /// Before this instant no further pass should pack changes; `nil`: at any time.
    var earliest: ContinuousClock.Instant? {
        distance == 0 ? nil : lastPublication.map { $0 + .milliseconds(distance) }
    }

    mutating func recordPublication(at now: ContinuousClock.Instant) {
        defer { lastPublication = now }
        let close = distance > 0 ? distance + Self.closeBeyondDistanceMilliseconds : Self.closeMilliseconds
        let isClose = lastPublication.map { $0.duration(to: now) < .milliseconds(close) }
        guard isClose ?? false else {
            (streak, distance) = (0, 0)
            return
        }
        streak += 1
        if let restUntil, now < restUntil { return }
        guard streak >= Self.patience else { return }
        // A second wait means that commits came during the first.
        if distance > 0 { restMilliseconds = Self.firstRestMilliseconds }
        distance = distance == 0 ? Self.firstMilliseconds : min(distance * 2, Self.longestMilliseconds)
    }

    /// Records a wait in which nothing was written: who writes waits for each change, and gets it at once.
    mutating func recordFruitlessWait(at now: ContinuousClock.Instant) {
        (streak, distance) = (0, 0)
        restUntil = now + .milliseconds(restMilliseconds)
        restMilliseconds = min(restMilliseconds * 2, Self.longestRestMilliseconds)
    }
}
